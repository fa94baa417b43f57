//! Encoding the literals section of a block: RFC 8878 §3.1.1.3.1.

use super::bits::Bits;
use super::huffman::{self, Codes, Counts, Lengths};
use crate::num::{DebugExpect as _, len_u32, u64_from_usize};

/// The largest number of literals that are written as one stream. More are written as four.
const ONE_STREAM: usize = 1023;
/// The smallest number of literals for which Huffman codes are worth their description.
const FEW: usize = 32;

/// Writes the literals section of a block: as one repeated byte, in Huffman codes, or raw.
pub(super) fn write(
    literals: &[u8],
    counts: &Counts,
    lengths: Option<&Lengths>,
    out: &mut Bits<'_>,
) {
    match (literals, lengths) {
        ([only, _, ..], None) => {
            plain(1, literals.len(), out);
            out.bytes(&[*only]);
            return;
        }
        (_, Some(lengths)) if literals.len() >= FEW => {
            let start = out.length();
            if pays(literals.len(), huffman::cost(counts, lengths).div_ceil(8))
                && coded(literals, lengths, out).is_some()
                && pays(literals.len(), u64_from_usize(out.length().saturating_sub(start)))
            {
                return;
            }
            out.back_to(start);
        }
        _ => {}
    }
    plain(0, literals.len(), out);
    out.bytes(literals);
}

/// Returns whether storing `bytes` bytes as `stored` bytes saves enough to be worth the time of decoding.
pub(super) fn pays(bytes: usize, stored: u64) -> bool {
    let gain = bytes >> 6;
    stored.saturating_add(u64_from_usize(gain)).saturating_add(2) < u64_from_usize(bytes)
}

/// Writes the header of literals without codes. `kind` is 0 for raw literals and 1 for a repeated byte.
fn plain(kind: u32, size: usize, out: &mut Bits<'_>) {
    let size = len_u32(size);
    let (format, length) = match size {
        0..32 => (size << 3, 1),
        32..4096 => (size << 4 | 1 << 2, 2),
        4096.. => (size << 4 | 3 << 2, 3),
    };
    let header = (format | kind).to_le_bytes();
    out.bytes(header.get(..length).debug_expect());
}

fn coded(literals: &[u8], lengths: &Lengths, out: &mut Bits<'_>) -> Option<()> {
    let size = literals.len();
    let (format, length, bits) = match size {
        0..=ONE_STREAM => (0, 3, 10),
        1024..0x4000 => (2, 4, 14),
        _ => (3, 5, 18),
    };
    let header = out.leave(length);
    let start = out.length();
    let codes = Codes::new(lengths);
    codes.describe(out)?;
    if size <= ONE_STREAM {
        codes.encode(literals, out);
    } else {
        let table = out.leave(6);
        let mut jumps = [0; 6];
        let mut jump = jumps.chunks_exact_mut(2);
        for stream in literals.chunks(size.div_ceil(4)) {
            let start = out.length();
            codes.encode(stream, out);
            let length = u16::try_from(out.length().saturating_sub(start)).ok()?;
            // The length of the last stream is not stored.
            if let Some(jump) = jump.next() {
                jump.copy_from_slice(&length.to_le_bytes());
            }
        }
        out.fill(table, &jumps);
    }
    let stored = u64_from_usize(out.length().saturating_sub(start));
    let sizes = (stored.checked_shl(bits)? | u64_from_usize(size)) << 4 | format << 2 | 2;
    out.fill(header, sizes.to_le_bytes().get(..length)?);
    Some(())
}
