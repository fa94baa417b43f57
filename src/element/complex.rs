//! Complex numbers: pairs of floats, v1.2 §2.

use zerocopy::{FromBytes, Immutable, KnownLayout};

use super::{ByteOrder, Element, LogicalType, StorageType, sealed};

/// A complex number as it is stored: the real part, then the imaginary one.
///
/// `Complex<f32>` stands for `complex64`, `Complex<f64>` for `complex128`.
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

            #[inline]
            fn native(bytes: &[u8]) -> Option<&[Self]> {
                <[Self]>::ref_from_bytes(bytes).ok()
            }

            // Each part by itself is in the byte order of its storage type.
            #[inline]
            fn read(bytes: &[u8], order: ByteOrder) -> Option<Self> {
                let (re, im) = bytes.split_at_checked(size_of::<$float>())?;
                Some(Self { re: <$float>::read(re, order)?, im: <$float>::read(im, order)? })
            }
        }
    )+ };
}

complex! { f32 => Complex64; f64 => Complex128; }
