//! Conversions between integers that lose nothing, and values that earlier checks have shown to be there.

const _: () = assert!(usize::BITS >= 32 && usize::BITS <= 64, "a 32- or 64-bit target is needed");

/// A `usize` as `u64`.
#[inline(always)]
#[expect(clippy::as_conversions, reason = "usize has at most 64 bits, asserted above")]
pub(crate) const fn u64_from_usize(n: usize) -> u64 {
    n as u64
}

/// A `u32` as `usize`.
#[inline(always)]
#[expect(clippy::as_conversions, reason = "usize has at least 32 bits, asserted above")]
pub(crate) const fn usize_from_u32(n: u32) -> usize {
    n as usize
}

/// A length that is known to be below 4 GiB, such as one within a manifest or a block.
///
/// A longer one loses its high bits: no code relies on that.
#[inline(always)]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it says so")]
pub(crate) fn len_u32(n: usize) -> u32 {
    n as u32
}

/// The low 32 bits of a number.
#[inline(always)]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it says so")]
pub(crate) fn low_u32(n: u64) -> u32 {
    n as u32
}

/// The low 8 bits of a number.
#[cfg(feature = "decode")]
#[inline(always)]
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it says so")]
pub(crate) fn low_u8(n: u32) -> u8 {
    n as u8
}

/// A value that earlier checks have shown to be there, in the loops that decode and in the encoder.
///
/// Builds with debug assertions, those of tests and fuzz targets among them, panic if it is missing after all; other
/// builds continue with a default and contain no code to panic.
pub(crate) trait DebugExpect<T>: Sized {
    /// The value, or `other`.
    fn debug_expect_or(self, other: T) -> T;

    /// The value, or the default of its type.
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
        debug_assert!(self.is_some(), "a value that earlier checks ensure is missing");
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
