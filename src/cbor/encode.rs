//! Writing CBOR: heads with the shortest argument, texts, numbers. RFC 8949 §3, §4.2.1.

use alloc::vec::Vec;

use super::major;
use crate::brief::Bytes;
use crate::error::OutOfMemory;
use crate::num::u64_from_usize;

/// CBOR that is being written.
///
/// # Errors
/// Everything that adds to it fails with [`OutOfMemory`] where memory cannot be had.
#[derive(Clone, Default)]
pub(crate) struct Output(Vec<u8>);

impl core::fmt::Debug for Output {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        Bytes(&self.0).fmt(f)
    }
}

impl Output {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Forgets what comes after the first `length` bytes.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// Bytes that are CBOR already.
    #[inline]
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<(), OutOfMemory> {
        self.0.try_reserve(bytes.len()).map_err(|_| OutOfMemory)?;
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    /// Takes memory for so many bytes, and no more.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        self.0.try_reserve_exact(bytes).map_err(|_| OutOfMemory)
    }

    /// Replaces what stands from `from` on by other bytes. As many take no memory.
    pub(crate) fn replace(&mut self, from: usize, other: Self) -> Result<(), OutOfMemory> {
        if from == 0 {
            *self = other;
            return Ok(());
        }
        self.truncate(from);
        self.raw(&other.0)
    }

    /// Bytes that are CBOR already, before all others.
    // Not inlined, so that the proof that nothing panics finds its copies by its name.
    #[inline(never)]
    pub(crate) fn prepend(&mut self, bytes: &[u8]) -> Result<(), OutOfMemory> {
        let before = self.0.len();
        self.0.try_reserve_exact(bytes.len()).map_err(|_| OutOfMemory)?;
        self.0.extend_from_slice(bytes);
        self.0.copy_within(..before, bytes.len());
        self.0.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    /// A head of the major type, the argument in as few bytes as can be.
    #[inline]
    pub(super) fn head(&mut self, major: u8, argument: u64) -> Result<(), OutOfMemory> {
        let initial = |info: u8| major << 5 | info;
        // Pieces of known sizes: most heads are short.
        if let Ok(argument) = u8::try_from(argument) {
            return match argument {
                0..24 => self.raw(&[initial(argument)]),
                _ => self.raw(&[initial(24), argument]),
            };
        }
        if let Ok(argument) = u16::try_from(argument) {
            self.raw(&[initial(25)])?;
            return self.raw(&argument.to_be_bytes());
        }
        if let Ok(argument) = u32::try_from(argument) {
            self.raw(&[initial(26)])?;
            return self.raw(&argument.to_be_bytes());
        }
        self.raw(&[initial(27)])?;
        self.raw(&argument.to_be_bytes())
    }

    /// Puts a head before what stands from `at` on.
    pub(super) fn insert_head(
        &mut self,
        at: usize,
        major: u8,
        argument: u64,
    ) -> Result<(), OutOfMemory> {
        let before = self.0.len();
        self.head(major, argument)?;
        let mut head = [0; 9];
        let written = self.0.iter().skip(before);
        let length = written.len();
        head.iter_mut().zip(written).for_each(|(to, from)| *to = *from);
        self.0.copy_within(at..before, at.saturating_add(length));
        let room = self.0.iter_mut().skip(at).take(length);
        room.zip(head).for_each(|(to, from)| *to = from);
        Ok(())
    }

    #[inline]
    pub(crate) fn uint(&mut self, number: u64) -> Result<(), OutOfMemory> {
        self.head(major::UINT, number)
    }

    #[inline]
    pub(crate) fn text(&mut self, text: &str) -> Result<(), OutOfMemory> {
        self.text_of(text.as_bytes())
    }

    /// A text of bytes that are UTF-8.
    #[inline]
    pub(crate) fn text_of(&mut self, bytes: &[u8]) -> Result<(), OutOfMemory> {
        self.head(major::TEXT, u64_from_usize(bytes.len()))?;
        self.raw(bytes)
    }

    /// The head of an array of so many items.
    pub(crate) fn array(&mut self, items: u64) -> Result<(), OutOfMemory> {
        self.head(major::ARRAY, items)
    }

    /// The head of a map of so many entries.
    pub(crate) fn map(&mut self, entries: u64) -> Result<(), OutOfMemory> {
        self.head(major::MAP, entries)
    }

    /// A float in the fewest bytes that keep it, every NaN being the same.
    pub(super) fn float(&mut self, value: f64) -> Result<(), OutOfMemory> {
        let (info, bits) = shortest(value);
        self.raw(&[FLOAT << 5 | info])?;
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

/// The major type of floats and simple values.
const FLOAT: u8 = 7;

/// The additional information and the bits of the shortest float of that value.
pub(super) fn shortest(value: f64) -> (u8, u64) {
    if value.is_nan() {
        return (25, 0x7e00);
    }
    let half = half::f16::from_f64(value);
    if half.to_f64().to_bits() == value.to_bits() {
        return (25, half.to_bits().into());
    }
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "held against it below"
    )]
    let single = value as f32;
    if f64::from(single).to_bits() == value.to_bits() {
        return (26, single.to_bits().into());
    }
    (27, value.to_bits())
}
