//! Byte ranges by which the records of tensors refer to names and other texts, instead of copying them: in the manifest, or in the
//! texts that the parser of another format has kept.

use crate::num::usize_from_u32;

/// A byte range of the texts of an index. The texts are the manifest, or for another format the texts that the parser
/// has kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The offset of the first byte.
    offset: u32,
    length: u32,
}

impl Span {
    /// The span of a missing text.
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

    /// Returns the bytes of `texts` from the first byte of the span to the end of `texts`, or no bytes if the span is missing.
    pub(crate) fn onward(self, texts: &[u8]) -> &[u8] {
        texts.get(usize_from_u32(self.offset)..).unwrap_or_default()
    }

    /// Returns the offset of the first byte.
    #[cfg(feature = "write")]
    pub(crate) fn offset(self) -> u32 {
        self.offset
    }

    /// Returns the bytes of the span in `texts`. Returns no bytes if the span is missing, or if the caller's bytes have
    /// become fewer since they were checked.
    #[inline]
    pub(crate) fn of(self, texts: &[u8]) -> &[u8] {
        let start = usize_from_u32(self.offset);
        texts.get(start..start.wrapping_add(usize_from_u32(self.length))).unwrap_or_default()
    }
}
