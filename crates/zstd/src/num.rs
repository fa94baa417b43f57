//! Conversions between integer widths that cannot lose anything on any supported target.

const _: () = assert!(usize::BITS >= 32 && usize::BITS <= 64, "a 32- or 64-bit target is needed");

/// Whether there is to be no code that is there for speed alone.
#[cfg(feature = "decode")]
pub(crate) const SMALL: bool = cfg!(feature = "small");

/// A `usize` as `u64`.
#[inline(always)]
#[expect(clippy::as_conversions, reason = "usize has at most 64 bits, asserted above")]
pub(crate) const fn wide(n: usize) -> u64 {
    n as u64
}

/// A `u32` as `usize`.
#[inline(always)]
#[expect(clippy::as_conversions, reason = "usize has at least 32 bits, asserted above")]
pub(crate) const fn index(n: u32) -> usize {
    n as usize
}

/// The length of something that is known to be shorter than 4 GiB, such as a block.
///
/// A longer one loses its high bits: no code relies on that.
#[cfg(feature = "encode")]
#[inline(always)]
pub(crate) fn short(n: usize) -> u32 {
    u32::try_from(n & index(u32::MAX)).unwrap_or_default()
}
