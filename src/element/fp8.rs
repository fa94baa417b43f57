//! The four 8-bit floats: v1.2 §2. One byte each, widened to `f32` exactly.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{ByteOrder, Element, LogicalType, StorageType, sealed};

/// The value of a finite pattern of one sign bit, then exponent, then `MANTISSA` bits of
/// mantissa.
#[inline]
fn widen<const MANTISSA: u32, const BIAS: u32>(bits: u8) -> f32 {
    // Nothing here can wrap: the exponent field ends up between 127 - 16 and 127 + 16.
    let exponent_of = |power: u32| power.wrapping_sub(BIAS).wrapping_add(127).wrapping_shl(23);
    let sign = u32::from(bits & 0x80) << 24;
    let magnitude = bits & 0x7f;
    let mantissa = magnitude & 1_u8.wrapping_shl(MANTISSA).wrapping_sub(1);
    let value = if mantissa == magnitude {
        // A zero exponent: a multiple of the smallest step. No subnormal `f32` comes into it,
        // because some machines flush those to zero.
        f32::from(mantissa) * f32::from_bits(exponent_of(1_u32.wrapping_sub(MANTISSA)))
    } else {
        let fields = u32::from(magnitude).wrapping_shl(23_u32.wrapping_sub(MANTISSA));
        f32::from_bits(fields.wrapping_add(exponent_of(0)))
    };
    f32::from_bits(value.to_bits() | sign)
}

/// The quiet NaN of that sign.
fn nan(bits: u8) -> f32 {
    f32::from_bits(0x7fc0_0000 | (u32::from(bits & 0x80) << 24))
}

macro_rules! fp8 {
    (
        $(#[$doc:meta])* $name:ident,
        mantissa $mantissa:literal, bias $bias:literal,
        nan $nan:pat, infinite $infinite:expr;
    ) => {
        $(#[$doc])*
        ///
        /// Equality and hashes are those of the bits, and so NaN equals itself; compare
        #[doc = concat!("[`to_f32`](", stringify!($name), "::to_f32) for the numbers.")]
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, Hash,
            FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
        )]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
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
                matches!(self.0, $nan)
            }

            /// Its value, exactly: every one is an `f32`. A NaN becomes the quiet NaN of the
            /// same sign.
            #[inline]
            pub fn to_f32(self) -> f32 {
                let infinite: Option<u8> = $infinite;
                if self.is_nan() {
                    nan(self.0)
                } else if infinite == Some(self.0 & 0x7f) {
                    f32::INFINITY.copysign(if self.0 > 0x7f { -1.0 } else { 1.0 })
                } else {
                    widen::<$mantissa, $bias>(self.0)
                }
            }
        }

        impl From<$name> for f32 {
            fn from(element: $name) -> Self {
                element.to_f32()
            }
        }

        impl sealed::Sealed for $name {}

        impl Element for $name {
            const DTYPE: StorageType = StorageType::U8;
            const LOGICAL: Option<LogicalType> = Some(LogicalType::$name);
            const ZERO: Self = Self(0);

            #[inline]
            fn native(bytes: &[u8]) -> Option<&[Self]> {
                <[Self]>::ref_from_bytes(bytes).ok()
            }

            #[inline]
            fn read(bytes: &[u8], _: ByteOrder) -> Option<Self> {
                bytes.first().copied().map(Self)
            }
        }
    };
}

fp8! {
    /// `f8_e4m3fn`: 4 bits of exponent, 3 of mantissa, bias 7. No infinities; `0x7f` and `0xff`
    /// are NaN; the largest is 448.
    F8E4M3Fn, mantissa 3, bias 7, nan 0x7f | 0xff, infinite None;
}

fp8! {
    /// `f8_e5m2`: 5 bits of exponent, 2 of mantissa, bias 15, with the infinities and NaNs of
    /// IEEE 754; the largest finite one is 57344.
    F8E5M2, mantissa 2, bias 15, nan 0x7d..=0x7f | 0xfd..=0xff, infinite Some(0x7c);
}

fp8! {
    /// `f8_e4m3fnuz`: 4 bits of exponent, 3 of mantissa, bias 8. No infinities and no negative
    /// zero, whose pattern `0x80` is the one NaN; the largest is 240.
    F8E4M3Fnuz, mantissa 3, bias 8, nan 0x80, infinite None;
}

fp8! {
    /// `f8_e5m2fnuz`: 5 bits of exponent, 2 of mantissa, bias 16. No infinities and no negative
    /// zero, whose pattern `0x80` is the one NaN; the largest is 57344.
    F8E5M2Fnuz, mantissa 2, bias 16, nan 0x80, infinite None;
}
