//! Conversions between integers that lose nothing, and access to values that earlier checks have shown to exist.

const _: () = assert!(usize::BITS >= 32 && usize::BITS <= 64, "a 32- or 64-bit target is needed");

/// Returns `n` as `u64`, which has room for every `usize`.
#[inline(always)]
#[expect(clippy::as_conversions, reason = "usize has at most 64 bits, asserted above")]
pub(crate) const fn u64_from_usize(n: usize) -> u64 {
    n as u64
}

/// Returns `n` as `usize`, which has at least 32 bits on all targets of this crate.
#[inline(always)]
#[expect(clippy::as_conversions, reason = "usize has at least 32 bits, asserted above")]
pub(crate) const fn usize_from_u32(n: u32) -> usize {
    n as usize
}

/// Returns `n` as `u32`. `n` is known to be below 4 GiB, such as a length within a block.
///
/// For a larger `n` the high bits are lost. No code relies on that.
#[inline(always)]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it says so")]
pub(crate) fn len_u32(n: usize) -> u32 {
    n as u32
}

/// Returns the low 32 bits of `n`.
#[inline(always)]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it says so")]
pub(crate) fn low_u32(n: u64) -> u32 {
    n as u32
}

/// Returns the low 8 bits of `n`.
#[cfg(feature = "decode")]
#[inline(always)]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it says so")]
pub(crate) fn low_u8(n: u32) -> u8 {
    n as u8
}

/// Access to a value that is known to exist because of earlier checks, in the loops of the decoder and in the
/// encoder.
///
/// Builds with debug assertions, such as those of tests and fuzz targets, panic if the value is missing after all. Other
/// builds continue with a default value, and contain no code that panics.
pub(crate) trait DebugExpect<T>: Sized {
    /// Returns the value, or `other` if it is missing.
    fn debug_expect_or(self, other: T) -> T;

    /// Returns the value, or the default of its type if it is missing.
    #[inline(always)]
    #[track_caller]
    fn debug_expect(self) -> T
    where
        T: Default,
    {
        self.debug_expect_or(T::default())
    }
}

impl<T> DebugExpect<T> for Option<T> {
    #[inline(always)]
    #[track_caller]
    fn debug_expect_or(self, other: T) -> T {
        debug_assert!(self.is_some(), "a value is missing that earlier checks should have ensured");
        self.unwrap_or(other)
    }
}

impl<T, E> DebugExpect<T> for Result<T, E> {
    #[inline(always)]
    #[track_caller]
    fn debug_expect_or(self, other: T) -> T {
        self.ok().debug_expect_or(other)
    }
}
