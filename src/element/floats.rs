//! Elements for which Rust has no type: floats of less than 16 bits, v1.2 §2 and v2 appendix A, and complex numbers.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{ByteOrder, Element, LogicalType, StorageType, padded, sealed};

/// Returns the value of a finite small float, whose `bits` are a sign, an exponent with the bias `BIAS`, and `MANTISSA`
/// bits of mantissa.
#[inline]
fn widen<const MANTISSA: u32, const BIAS: u32>(bits: u8) -> f32 {
    // None of these operations can wrap: the resulting exponent field is between 127 - 16 and 127 + 16.
    let exponent_of = |power: u32| power.wrapping_sub(BIAS).wrapping_add(127).wrapping_shl(23);
    let sign = u32::from(bits & 0x80) << 24;
    let magnitude = bits & 0x7f;
    let mantissa = magnitude & 1_u8.wrapping_shl(MANTISSA).wrapping_sub(1);
    let value = if mantissa == magnitude {
        // An exponent field of zero: the value is a multiple of the smallest step. The computation has no subnormal `f32`,
        // because some machines flush those to zero.
        f32::from(mantissa) * f32::from_bits(exponent_of(1_u32.wrapping_sub(MANTISSA)))
    } else {
        let fields = u32::from(magnitude).wrapping_shl(23_u32.wrapping_sub(MANTISSA));
        f32::from_bits(fields.wrapping_add(exponent_of(0)))
    };
    f32::from_bits(value.to_bits() | sign)
}

/// Returns the value of an FP8 float. A NaN becomes the quiet `f32` NaN of the same sign. `infinite` is the pattern of
/// positive infinity, if the type has one.
#[inline]
fn fp8<const MANTISSA: u32, const BIAS: u32>(bits: u8, is_nan: bool, infinite: Option<u8>) -> f32 {
    if is_nan {
        f32::from_bits(0x7fc0_0000 | (u32::from(bits & 0x80) << 24))
    } else if infinite == Some(bits & 0x7f) {
        f32::INFINITY.copysign(if bits > 0x7f { -1.0 } else { 1.0 })
    } else {
        widen::<MANTISSA, BIAS>(bits)
    }
}

/// Declares element types of one byte, with the bit patterns that are NaN and the conversion to `f32`.
macro_rules! byte_floats {
    ($( $(#[$doc:meta])* $name:ident, nan $nan:pat, |$float:ident| $value:expr; )+) => { $(
        $(#[$doc])*
        ///
        /// Two elements are equal, and have equal hashes, if their bit patterns are equal, so a NaN equals itself. To compare
        /// numbers, use
        #[doc = concat!("[`to_f32`](", stringify!($name), "::to_f32).")]
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, Hash,
            FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
        )]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// Creates the element with the bit pattern `bits`.
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// Returns the bit pattern of the element.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// Returns whether the element is not a number.
            pub const fn is_nan(self) -> bool {
                matches!(self.0, $nan)
            }

            /// Returns the value of the element as an `f32`, which is exact.
            #[inline]
            pub fn to_f32(self) -> f32 {
                let $float = self;
                $value
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
            fn read(bytes: &[u8], _: ByteOrder) -> Option<Self> {
                bytes.first().copied().map(Self)
            }

            fn to_le(self) -> [u8; 16] {
                padded([self.0])
            }

            fn as_bytes(elements: &[Self]) -> Option<&[u8]> {
                Some(zerocopy::IntoBytes::as_bytes(elements))
            }

            fn as_mut_bytes(elements: &mut [Self]) -> Option<&mut [u8]> {
                Some(zerocopy::IntoBytes::as_mut_bytes(elements))
            }
        }
    )+ };
}

byte_floats! {
    /// `f8_e4m3fn`: 4 bits of exponent, 3 of mantissa, bias 7. It has no infinities. `0x7f` and `0xff` are NaN, and convert
    /// to the quiet NaN of the same sign. The largest value is 448.
    F8E4M3Fn, nan 0x7f | 0xff, |float| fp8::<3, 7>(float.0, float.is_nan(), None);

    /// `f8_e5m2`: 5 bits of exponent, 2 of mantissa, bias 15, with the infinities and NaNs of IEEE 754. NaNs convert to the
    /// quiet NaN of the same sign. The largest finite value is 57344.
    F8E5M2, nan 0x7d..=0x7f | 0xfd..=0xff,
    |float| fp8::<2, 15>(float.0, float.is_nan(), Some(0x7c));

    /// `f8_e4m3fnuz`: 4 bits of exponent, 3 of mantissa, bias 8. It has no infinities and no negative zero. The pattern
    /// `0x80` is the only NaN, which converts to a negative `f32` NaN. The largest value is 240.
    F8E4M3Fnuz, nan 0x80, |float| fp8::<3, 8>(float.0, float.is_nan(), None);

    /// `f8_e5m2fnuz`: 5 bits of exponent, 2 of mantissa, bias 16. It has no infinities and no negative zero. The pattern
    /// `0x80` is the only NaN, which converts to a negative `f32` NaN. The largest value is 57344.
    F8E5M2Fnuz, nan 0x80, |float| fp8::<2, 16>(float.0, float.is_nan(), None);

    /// `f8_e8m0`: 2 to the power of (the byte − 127). `0xff` is NaN. There is no zero: the byte 0 is the smallest value,
    /// 2^−127, a subnormal `f32`.
    F8E8M0, nan 0xff, |float| f32::from_bits(match float.0 {
        0 => 0x0040_0000,
        0xff => 0x7fc0_0000,
        exponent => u32::from(exponent) << 23,
    });
}

/// `f4_e2m1`: a sign, two bits of exponent, one bit of mantissa. A byte holds two elements, the first in its low nibble, so
/// elements are read by [`View::nibbles`](crate::view::View::nibbles).
///
/// Two elements are equal if their bits are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct F4E2M1(u8);

impl F4E2M1 {
    /// Creates the element whose bit pattern is the low nibble of `bits`.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 15)
    }

    /// Returns the bit pattern of the element, in the low nibble of the byte.
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// Returns the exact value of the element: one of ±0, ±0.5, ±1, ±1.5, ±2, ±3, ±4, ±6.
    pub fn to_f32(self) -> f32 {
        const VALUES: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
        let value = VALUES.get(usize::from(self.0 & 7)).copied().unwrap_or(0.0);
        if self.0 & 8 == 0 { value } else { -value }
    }
}

/// A complex number as it is stored: the real part, followed by the imaginary part.
///
/// `Complex<f32>` is the Rust type of `complex64`, and `Complex<f64>` of `complex128`.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

macro_rules! complex {
    ($($float:ty => $logical:ident;)+) => { $(
        impl sealed::Sealed for Complex<$float> {}

        impl Element for Complex<$float> {
            const DTYPE: StorageType = <$float>::DTYPE;
            const LOGICAL: Option<LogicalType> = Some(LogicalType::$logical);
            const ZERO: Self = Self { re: 0.0, im: 0.0 };

            // In either byte order, the real part comes first. The byte order is that of the bytes within each part.
            #[inline]
            fn read(bytes: &[u8], order: ByteOrder) -> Option<Self> {
                let (re, im) = bytes.split_at_checked(size_of::<$float>())?;
                Some(Self { re: <$float>::read(re, order)?, im: <$float>::read(im, order)? })
            }

            fn to_le(self) -> [u8; 16] {
                let mut all = [0; 16];
                let parts = self.re.to_le_bytes().into_iter().chain(self.im.to_le_bytes());
                all.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
                all
            }
        }
    )+ };
}

complex! { f32 => Complex64; f64 => Complex128; }

/// Returns the name of a NaN or infinity in JSON output.
pub(crate) fn name_of_not_finite(value: f64) -> &'static str {
    match value {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => "NaN",
    }
}
