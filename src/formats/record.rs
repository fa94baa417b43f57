//! A compact encoding in memory of numbers and texts, such as the facts that a reader keeps about each tensor. A number
//! takes one byte for every seven bits, lowest bits first, and all bytes but the last have their highest bit set (LEB128).

use alloc::vec::Vec;

use crate::num::u64_from_usize;

/// The length in bytes of the longest LEB128 encoding of a 64-bit number.
pub(super) const NUMBER: usize = 10;

/// Appends the LEB128 encoding of `number` to `out`.
pub(super) fn number(out: &mut Vec<u8>, mut number: u64) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

/// Appends the length of `text` in bytes, as [`number`] encodes it, and then the bytes of `text` to `out`.
pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    number(out, u64_from_usize(text.len()));
    out.extend_from_slice(text.as_bytes());
}

/// A reader of a record: of numbers and texts in the order in which [`number`] and [`text`] appended
/// them. The caller must know this order.
pub(super) struct FieldReader<'r>(pub(super) &'r [u8]);

impl<'r> FieldReader<'r> {
    /// Reads the next number. Returns 0 if the record has ended.
    pub(super) fn number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let Some((byte, rest)) = self.0.split_first() else { break };
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                break;
            }
        }
        number
    }

    /// Reads the next text. Returns an empty text if the record has ended.
    pub(super) fn text(&mut self) -> &'r str {
        let length = usize::try_from(self.number()).unwrap_or(usize::MAX);
        let (text, rest) = self.0.split_at_checked(length).unwrap_or_default();
        self.0 = rest;
        str::from_utf8(text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_numbers_and_texts_are_read_in_order() {
        let edges = (0..64).flat_map(|bit| [1_u64 << bit, (1 << bit) - 1, u64::MAX >> bit]);
        let edges: Vec<u64> = edges.collect();
        let mut out = Vec::new();
        for edge in &edges {
            number(&mut out, *edge);
        }
        text(&mut out, "ä\0");
        number(&mut out, u64::MAX);
        let mut record = FieldReader(&out);
        assert!(edges.iter().all(|edge| record.number() == *edge));
        assert_eq!((record.text(), record.number()), ("ä\0", u64::MAX));
        assert!(record.0.is_empty());
    }

    #[test]
    fn a_number_takes_one_byte_for_every_seven_bits() {
        for (value, bytes) in [(0, 1), (127, 1), (128, 2), (u64::MAX >> 1, 9), (u64::MAX, NUMBER)] {
            let mut out = Vec::new();
            number(&mut out, value);
            assert_eq!(out.len(), bytes, "{value}");
        }
    }
}
