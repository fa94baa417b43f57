//! The elements of OCP's microscaling formats that are not FP8: v2 appendix A.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{ByteOrder, Element, LogicalType, StorageType, sealed};

/// `f8_e8m0`: 2 to the power of the byte less 127; FF is not a number.
///
/// Equality is that of the bits.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(transparent)]
pub struct F8E8M0(u8);

impl F8E8M0 {
    /// The element of that bit pattern.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Its bit pattern.
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// Whether it is not a number.
    pub const fn is_nan(self) -> bool {
        self.0 == 0xff
    }

    /// Its value, exactly: every one is an `f32`, 2⁻¹²⁷ a subnormal one.
    pub fn to_f32(self) -> f32 {
        match self.0 {
            0 => f32::from_bits(0x0040_0000),
            0xff => f32::from_bits(0x7fc0_0000),
            exponent => f32::from_bits(u32::from(exponent) << 23),
        }
    }
}

impl sealed::Sealed for F8E8M0 {}

impl Element for F8E8M0 {
    const DTYPE: StorageType = StorageType::U8;
    const LOGICAL: Option<LogicalType> = Some(LogicalType::F8E8M0);
    /// There is no zero: what stands for it is the smallest.
    const ZERO: Self = Self(0);

    #[inline]
    fn native(bytes: &[u8]) -> Option<&[Self]> {
        <[Self]>::ref_from_bytes(bytes).ok()
    }

    #[inline]
    fn read(bytes: &[u8], _: ByteOrder) -> Option<Self> {
        bytes.first().map(|bits| Self(*bits))
    }
}

/// `f4_e2m1`: sign, two bits of exponent, one of mantissa. Two share a byte, the first in its low
/// nibble, so that they are read by [`View::nibbles`](crate::view::View::nibbles).
///
/// Equality is that of the bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct F4E2M1(u8);

impl F4E2M1 {
    /// The element of the bit pattern in the low nibble.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 15)
    }

    /// Its bit pattern, in the low nibble.
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// Its value, exactly: one of ±0, ±0.5, ±1, ±1.5, ±2, ±3, ±4, ±6.
    pub fn to_f32(self) -> f32 {
        let value = match self.0 & 7 {
            0 => 0.0,
            1 => 0.5,
            2 => 1.0,
            3 => 1.5,
            4 => 2.0,
            5 => 3.0,
            6 => 4.0,
            _ => 6.0,
        };
        if self.0 & 8 == 0 { value } else { -value }
    }
}
