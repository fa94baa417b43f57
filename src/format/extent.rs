//! The byte range of a blob.

/// The range of a blob: all of it before the manifest, and starting at a multiple of 64; in 2, before
/// the footer, and at a multiple of 4096.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    offset: u64,
    length: u64,
}

impl Extent {
    /// Returns the range of `length` bytes from `offset` on, if it ends at `most` at the latest.
    #[inline(always)]
    pub(crate) fn within(offset: u64, length: u64, most: u64) -> Option<Self> {
        let end = offset.checked_add(length)?;
        (end <= most).then_some(Self { offset, length })
    }

    #[cfg(any(
        test,
        feature = "write",
        all(feature = "zstd", any(feature = "v2", feature = "std"))
    ))]
    /// Returns a part of a range, which need not begin at a multiple of anything.
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
        self.offset.saturating_add(self.length)
    }

    /// Returns the range of the file.
    pub fn range(&self) -> core::ops::Range<u64> {
        self.offset..self.end()
    }
}
