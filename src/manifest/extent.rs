//! The byte range of a blob.

use crate::num::Assured as _;

/// The range of a blob: all of it before the manifest, and starting at a multiple of 64; in 2, before
/// the footer, and at a multiple of 4096.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    offset: u64,
    length: u64,
}

impl Extent {
    /// For extents that have been validated, or read again from a manifest that has.
    pub(super) fn new(offset: u64, length: u64) -> Self {
        Self { offset, length }
    }

    /// A part of one, which need not begin at a multiple of anything.
    #[cfg(all(feature = "zstd", any(feature = "v2", feature = "std")))]
    pub(crate) fn part(offset: u64, length: u64) -> Self {
        Self { offset, length }
    }

    /// First byte, from the beginning of the file. A multiple of 64; in 2, of 4096.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Stored bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// One past the last byte.
    pub fn end(&self) -> u64 {
        self.offset.checked_add(self.length).assured_or(u64::MAX)
    }

    /// Returns the range of the file.
    pub fn range(&self) -> core::ops::Range<u64> {
        self.offset..self.end()
    }
}
