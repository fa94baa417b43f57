//! Byte ranges of the texts of an index.

use crate::num::usize_from_u32;

/// A byte range of the texts of an index: of a manifest, or of the texts that the parser of another format has kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The offset of the first byte.
    offset: u32,
    length: u32,
}

impl Span {
    /// The span of a text that is missing.
    pub(crate) const NONE: Self = Self { offset: u32::MAX, length: 0 };

    /// Creates the span of `length` bytes from `offset` on.
    #[inline]
    pub(crate) const fn new(offset: u32, length: u32) -> Self {
        Self { offset, length }
    }

    /// Returns whether the text is missing.
    #[inline]
    pub(crate) fn is_none(self) -> bool {
        self.offset == u32::MAX
    }

    /// Returns the offset of the first byte.
    #[cfg(feature = "write")]
    pub(crate) fn offset(self) -> u32 {
        self.offset
    }

    /// Returns the bytes of the span in `texts`, or no bytes if the span is missing. The caller's bytes may have become
    /// fewer since they were checked; then there are no bytes either.
    #[inline]
    pub(crate) fn of(self, texts: &[u8]) -> &[u8] {
        let start = usize_from_u32(self.offset);
        texts.get(start..start.wrapping_add(usize_from_u32(self.length))).unwrap_or_default()
    }
}
