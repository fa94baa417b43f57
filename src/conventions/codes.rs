//! Unpacking the integer codes of quantized tensors, several of which share a word, into floats.

use super::plan::{ColumnPacking, Order};

/// For each of eight successive codes, the index of its group of 4 bits in a word of AWQ. Group 0 has the lowest bits of the word.
const AWQ: [u32; 8] = [0, 4, 1, 5, 2, 6, 3, 7];

/// Fills `row` with the codes in `bytes`, which hold one row of codes of `bits` bits in little-endian words of 32 bits. Numbers of
/// `row` for which `bytes` hold no code stay as they are, or become 0 in an [`Order::Stream`] of other codes than 4 or 8 bits.
pub(super) fn unpack(order: Order, bits: u8, bytes: &[u8], row: &mut [f32]) {
    let (words, _) = bytes.as_chunks::<4>();
    let mask = mask(bits);
    match order {
        Order::Stream if bits == 8 => {
            row.iter_mut().zip(bytes).for_each(|(slot, code)| *slot = f32::from(*code));
        }
        Order::Stream if bits == 4 => {
            let codes = bytes.iter().flat_map(|byte| [byte & 15, byte >> 4]);
            row.iter_mut().zip(codes).for_each(|(slot, code)| *slot = f32::from(code));
        }
        Order::Stream => {
            let (mut held, mut count, mut bytes) = (0_u32, 0_u8, bytes.iter());
            for slot in row {
                while count < bits {
                    let next = bytes.next().copied().unwrap_or_default();
                    held |= u32::from(next).wrapping_shl(count.into());
                    count = count.saturating_add(8);
                }
                *slot = float(held & mask);
                held = held.wrapping_shr(bits.into());
                count = count.saturating_sub(bits);
            }
        }
        Order::Words => {
            let codes = usize::from(32_u8.checked_div(bits).unwrap_or(1).max(1));
            for (slots, word) in row.chunks_mut(codes).zip(words) {
                let mut rest = u32::from_le_bytes(*word);
                for slot in slots {
                    *slot = float(rest & mask);
                    rest = rest.wrapping_shr(bits.into());
                }
            }
        }
        Order::Awq => {
            for (slots, word) in row.chunks_mut(AWQ.len()).zip(words) {
                let word = u32::from_le_bytes(*word);
                for (slot, position) in slots.iter_mut().zip(AWQ) {
                    *slot = float(word.wrapping_shr(position.saturating_mul(4)) & 15);
                }
            }
        }
    }
}

/// Fills `rows` with codes that are packed along the rows: the codes of a column follow each other in the words of that column.
/// `bytes` holds whole rows of `columns` words, and `rows` whole rows of `columns` codes.
pub(super) fn unpack_columns(
    packing: ColumnPacking,
    columns: usize,
    bytes: &[u8],
    rows: &mut [f32],
) {
    let ColumnPacking { bits, word } = packing;
    let (words, _) = bytes.as_chunks::<4>();
    let mask = mask(bits);
    for (number, row) in rows.chunks_mut(columns.max(1)).enumerate() {
        let start = number.saturating_mul(bits.into());
        if word == 8 {
            // Words of one byte hold codes of 4 or 8 bits, so no code is in two words.
            let (first, shift) = (start >> 3, u32::try_from(start & 7).unwrap_or_default());
            let words = bytes.get(first.saturating_mul(columns)..).unwrap_or_default();
            for (slot, word) in row.iter_mut().zip(words) {
                *slot = float(u32::from(word.wrapping_shr(shift)) & mask);
            }
            continue;
        }
        let (first, shift) = (start >> 5, u32::try_from(start & 31).unwrap_or_default());
        let from = |word: usize| words.get(word.saturating_mul(columns)..).unwrap_or_default();
        let low = from(first);
        if shift.saturating_add(bits.into()) <= 32 {
            for (slot, word) in row.iter_mut().zip(low) {
                *slot = float(u32::from_le_bytes(*word).wrapping_shr(shift) & mask);
            }
        } else {
            let high = from(first.saturating_add(1));
            for (slot, (low, high)) in row.iter_mut().zip(low.iter().zip(high)) {
                let low = u32::from_le_bytes(*low).wrapping_shr(shift);
                let high = u32::from_le_bytes(*high).wrapping_shl(32_u32.saturating_sub(shift));
                *slot = float((low | high) & mask);
            }
        }
    }
}

/// Returns a word whose lowest `bits` bits are set.
fn mask(bits: u8) -> u32 {
    u32::MAX.wrapping_shr(32_u32.saturating_sub(bits.into()).min(31))
}

/// Converts a code of at most 8 bits to the float of the same value.
fn float(code: u32) -> f32 {
    // The lowest byte is taken without a check that the code fits in a byte, so that the compiler can vectorize the loops of
    // the callers.
    let [lowest, ..] = code.to_le_bytes();
    lowest.into()
}

/// Returns the number of bytes of a row of `columns` codes of `bits` bits: whole words of 32 bits. Returns `None` if the number
/// exceeds 64 bits.
pub(super) fn row_bytes(order: Order, bits: u8, columns: u64) -> Option<u64> {
    let words = match order {
        Order::Stream | Order::Awq => columns.checked_mul(bits.into())?.div_ceil(32),
        Order::Words => columns.div_ceil(32_u64.checked_div(bits.into())?.max(1)),
    };
    words.checked_mul(4)
}
