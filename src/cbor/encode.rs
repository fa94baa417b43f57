//! A writer of CBOR items, which gives each head and each float its shortest form (RFC 8949 §3, §4.2.1).

use alloc::vec::Vec;

use super::value::shortest_float;
use super::{NULL, SIMPLE, head_bytes, major};
use crate::debug_summary::Bytes;
use crate::error::OutOfMemory;
use crate::num::u64_from_usize;

/// A writer of CBOR items, one after another, for example of attributes. The items of an array or map are added after its
/// head. The writer does not check that as many items follow as the head declares; this is checked when the CBOR is used.
///
/// ```
/// # fn f() -> Result<(), zten::error::OutOfMemory> {
/// let mut out = zten::attributes::Encoder::default();
/// out.map(1)?;
/// out.text("bits")?;
/// out.uint(4)?;
/// assert_eq!(out.as_bytes(), b"\xa1\x64bits\x04");
/// # Ok(()) }
/// # f().unwrap();
/// ```
///
/// # Errors
/// All methods that add items fail with [`OutOfMemory`] if there is not enough memory.
#[derive(Clone, Default)]
pub struct Encoder(Vec<u8>);

impl core::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        Bytes(&self.0).fmt(f)
    }
}

impl Encoder {
    /// Returns the bytes that have been written.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the bytes that have been written, as a vector.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Creates an encoder, and calls `write` to add items to it.
    pub(crate) fn with(
        write: impl FnOnce(&mut Self) -> Result<(), OutOfMemory>,
    ) -> Result<Self, OutOfMemory> {
        let mut out = Self::default();
        write(&mut out)?;
        Ok(out)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Drops all bytes that have been written after the first `length` bytes.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// Adds `items`, bytes that are complete CBOR items, to the end.
    #[inline]
    pub fn raw(&mut self, items: &[u8]) -> Result<(), OutOfMemory> {
        self.0.try_reserve(items.len()).map_err(|_| OutOfMemory)?;
        self.0.extend_from_slice(items);
        Ok(())
    }

    /// Reserves memory for exactly `bytes` further bytes, so that adding them cannot fail.
    pub fn reserve(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        self.0.try_reserve_exact(bytes).map_err(|_| OutOfMemory)
    }

    /// Adds `items`, bytes that are complete CBOR items, at the beginning.
    pub(crate) fn prepend(&mut self, items: &[u8]) -> Result<(), OutOfMemory> {
        self.reserve(items.len())?;
        self.insert(0, items)
    }

    /// Inserts the head of an array, map or tag (its major type and its argument) at the offset `at` of the output. The items
    /// that have been written after `at` become its content. Callers use this function if they do not know the number of items
    /// before they have written them.
    pub(super) fn insert_head(
        &mut self,
        at: usize,
        major: u8,
        argument: u64,
    ) -> Result<(), OutOfMemory> {
        let (bytes, start) = head_bytes(major, argument);
        self.insert(at, bytes.get(start..).unwrap_or_default())
    }

    /// Inserts `items`, bytes of CBOR, at the offset `at` of the output.
    fn insert(&mut self, at: usize, items: &[u8]) -> Result<(), OutOfMemory> {
        self.raw(items)?;
        if let Some(moved) = self.0.get_mut(at..).filter(|moved| items.len() <= moved.len()) {
            moved.rotate_right(items.len());
        }
        Ok(())
    }

    /// Overwrites the output from the offset `at` on with `bytes`. Returns `None`, and changes nothing, if the output ends
    /// before all of them.
    pub(crate) fn overwrite(&mut self, at: usize, bytes: &[u8]) -> Option<()> {
        let over = self.0.get_mut(at..)?.get_mut(..bytes.len())?;
        over.copy_from_slice(bytes);
        Some(())
    }

    /// Adds the head of an item of the major type `major` with the argument `argument`, in the fewest bytes: RFC 8949 §4.2.1.
    #[inline]
    pub(super) fn head(&mut self, major: u8, argument: u64) -> Result<(), OutOfMemory> {
        match u8::try_from(argument) {
            Ok(argument @ 0..24) => self.raw(&[major << 5 | argument]),
            _ => self.long_head(major, argument),
        }
    }

    /// Adds a head as [`head`](Self::head) does, if the argument does not fit into the initial byte: it is 24 or more.
    #[inline(never)]
    fn long_head(&mut self, major: u8, argument: u64) -> Result<(), OutOfMemory> {
        // Arrays of a constant size are copied without a call of `memcpy`, unlike a slice of 2 to 9 bytes.
        let initial = major << 5;
        if let Ok(argument) = u8::try_from(argument) {
            self.raw(&[initial | 0x18, argument])
        } else if let Ok(argument) = u16::try_from(argument) {
            self.raw(&[initial | 0x19])?;
            self.raw(&argument.to_be_bytes())
        } else if let Ok(argument) = u32::try_from(argument) {
            self.raw(&[initial | 0x1a])?;
            self.raw(&argument.to_be_bytes())
        } else {
            self.raw(&[initial | 0x1b])?;
            self.raw(&argument.to_be_bytes())
        }
    }

    /// Adds the unsigned integer `number`.
    #[inline]
    pub fn uint(&mut self, number: u64) -> Result<(), OutOfMemory> {
        self.head(major::UINT, number)
    }

    /// Adds the negative integer −1 − `below`, as CBOR stores negative integers.
    pub fn negative(&mut self, below: u64) -> Result<(), OutOfMemory> {
        self.head(major::NEGATIVE, below)
    }

    /// Adds `bytes` as a byte string.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), OutOfMemory> {
        self.head(major::BYTES, u64_from_usize(bytes.len()))?;
        self.raw(bytes)
    }

    /// Adds `text` as a text string.
    #[inline]
    pub fn text(&mut self, text: &str) -> Result<(), OutOfMemory> {
        self.text_of(text.as_bytes())
    }

    /// Adds `bytes` as a text string. The caller has checked that they are UTF-8.
    #[inline]
    pub(crate) fn text_of(&mut self, bytes: &[u8]) -> Result<(), OutOfMemory> {
        self.head(major::TEXT, u64_from_usize(bytes.len()))?;
        self.raw(bytes)
    }

    /// Adds the head of an array of `items` items.
    pub fn array(&mut self, items: u64) -> Result<(), OutOfMemory> {
        self.head(major::ARRAY, items)
    }

    /// Adds the head of a map of `entries` entries. Each entry is a key followed by a value.
    pub fn map(&mut self, entries: u64) -> Result<(), OutOfMemory> {
        self.head(major::MAP, entries)
    }

    /// Sets the number of entries of a map to `entries`, at most 23. The head of the map is at the offset `at` of the output,
    /// and was written for an empty map.
    pub(crate) fn count(&mut self, at: usize, entries: u8) {
        if let Some(head) = self.0.get_mut(at) {
            *head |= entries;
        }
    }

    /// Adds the tag `number`. The next item that is added is its content.
    pub fn tag(&mut self, number: u64) -> Result<(), OutOfMemory> {
        self.head(major::TAG, number)
    }

    /// Adds the bool `value`.
    pub fn bool(&mut self, value: bool) -> Result<(), OutOfMemory> {
        self.raw(&[if value { 0xf5 } else { 0xf4 }])
    }

    /// Adds `null`.
    pub fn null(&mut self) -> Result<(), OutOfMemory> {
        self.raw(&[NULL])
    }

    /// Adds the simple value `number`: RFC 8949 §3.3.
    pub fn simple(&mut self, number: u8) -> Result<(), OutOfMemory> {
        match number {
            0..24 => self.raw(&[major::SIMPLE << 5 | number]),
            _ => self.raw(&[SIMPLE, number]),
        }
    }

    /// Adds the float `value` in the fewest bytes that keep its value. For a NaN, all of its bits are kept.
    pub fn float(&mut self, value: f64) -> Result<(), OutOfMemory> {
        let (info, bits) = shortest_float(value);
        self.raw(&[major::SIMPLE << 5 | info])?;
        let double = bits.to_be_bytes();
        let [_, _, _, _, single @ ..] = &double;
        let [_, _, half @ ..] = single;
        match info {
            25 => self.raw(half),
            26 => self.raw(single),
            _ => self.raw(&double),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Encoder) -> Result<(), OutOfMemory>) -> Vec<u8> {
        let mut out = Encoder::default();
        write(&mut out).unwrap();
        out.into_bytes()
    }

    #[test]
    fn shortest_heads() {
        for (value, wanted) in [
            (0, &[0x00][..]),
            (23, &[0x17]),
            (24, &[0x18, 24]),
            (255, &[0x18, 255]),
            (256, &[0x19, 1, 0]),
            (65535, &[0x19, 255, 255]),
            (65536, &[0x1a, 0, 1, 0, 0]),
            (u32::MAX.into(), &[0x1a, 255, 255, 255, 255]),
            (1 << 32, &[0x1b, 0, 0, 0, 1, 0, 0, 0, 0]),
            (u64::MAX, &[0x1b, 255, 255, 255, 255, 255, 255, 255, 255]),
        ] {
            assert_eq!(written(|out| out.uint(value)), wanted);
        }
    }

    #[test]
    fn shortest_floats() {
        for (value, wanted) in [
            (0.0, &[0xf9, 0, 0][..]),
            (-0.0, &[0xf9, 0x80, 0]),
            (1.5, &[0xf9, 0x3e, 0]),
            (65504.0, &[0xf9, 0x7b, 0xff]),
            (5.960_464_477_539_063e-8, &[0xf9, 0, 1]),
            (100_000.0, &[0xfa, 0x47, 0xc3, 0x50, 0]),
            (1.1, &[0xfb, 0x3f, 0xf1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a]),
            (f64::INFINITY, &[0xf9, 0x7c, 0]),
            (f64::NEG_INFINITY, &[0xf9, 0xfc, 0]),
            (f64::from(1e-5_f32), &[0xfa, 0x37, 0x27, 0xc5, 0xac]),
        ] {
            assert_eq!(written(|out| out.float(value)), wanted, "{value}");
        }
    }

    #[test]
    fn every_bit_of_a_nan_is_kept() {
        for (bits, wanted) in [
            (0x7ff8_0000_0000_0000, &[0xf9, 0x7e, 0][..]),
            (0xfff8_0000_0000_0000, &[0xf9, 0xfe, 0]),
            (0x7ff0_0400_0000_0000, &[0xf9, 0x7c, 1]),
            (0x7ff8_0200_0000_0000, &[0xfa, 0x7f, 0xc0, 0x10, 0]),
            (0xfff0_0000_2000_0000, &[0xfa, 0xff, 0x80, 0, 1]),
            (0x7ff0_0000_1000_0000, &[0xfb, 0x7f, 0xf0, 0, 0, 0x10, 0, 0, 0]),
            (0xfff8_0000_0000_0001, &[0xfb, 0xff, 0xf8, 0, 0, 0, 0, 0, 1]),
            (0x7fff_ffff_ffff_ffff, &[0xfb, 0x7f, 255, 255, 255, 255, 255, 255, 255]),
        ] {
            assert_eq!(written(|out| out.float(f64::from_bits(bits))), wanted, "{bits:#x}");
        }
    }

    #[test]
    fn each_type() {
        assert_eq!(written(|out| out.text("ä")), b"\x62\xc3\xa4");
        assert_eq!(written(|out| out.bytes(&[0xff; 300]))[..4], *b"\x59\x01\x2c\xff");
        assert_eq!(written(|out| out.array(300)), b"\x99\x01\x2c");
        assert_eq!(written(|out| out.map(24)), b"\xb8\x18");
        assert_eq!(written(|out| out.tag(1)), b"\xc1");
        assert_eq!(written(|out| out.negative(u64::MAX)), [&[0x3b][..], &[0xff; 8]].concat());
        assert_eq!(written(Encoder::null), b"\xf6");
        assert_eq!(written(|out| out.bool(true)), b"\xf5");
        assert_eq!(written(|out| out.simple(23)), b"\xf7");
        assert_eq!(written(|out| out.simple(32)), b"\xf8\x20");
    }

    #[test]
    fn what_is_put_before_moves_the_rest() {
        let mut out = Encoder(b"\x01\x02".to_vec());
        out.insert_head(1, major::ARRAY, 300).unwrap();
        out.prepend(b"\x0a").unwrap();
        assert_eq!(out.as_bytes(), b"\x0a\x01\x99\x01\x2c\x02");
    }
}
