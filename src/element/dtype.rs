//! The type of elements as users see it: one name for storage type and logical type.

use super::{LogicalType, StorageType};
use crate::num::{enum_all, impl_display};

enum_all! {
/// The type of the elements of a tensor: v1.2 §2, v2 §4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType with
    /// Returns the storage type of the elements (`None` for [`Unknown`](Self::Unknown)), and their logical type if they have one.
    fn parts -> (Option<StorageType>, Option<LogicalType>)
{
    /// IEEE 754 double precision, 8 bytes: `f64`.
    F64 = (Some(StorageType::F64), None),
    /// IEEE 754 single precision, 4 bytes: `f32`.
    F32 = (Some(StorageType::F32), None),
    /// IEEE 754 half precision, 2 bytes: [`half::f16`].
    F16 = (Some(StorageType::F16), None),
    /// The upper half of an `f32`, 2 bytes: [`half::bf16`].
    BF16 = (Some(StorageType::Bf16), None),
    /// Two's complement, 8 bytes: `i64`.
    I64 = (Some(StorageType::I64), None),
    /// Two's complement, 4 bytes: `i32`.
    I32 = (Some(StorageType::I32), None),
    /// Two's complement, 2 bytes: `i16`.
    I16 = (Some(StorageType::I16), None),
    /// Two's complement, 1 byte: `i8`.
    I8 = (Some(StorageType::I8), None),
    /// Unsigned, 8 bytes: `u64`.
    U64 = (Some(StorageType::U64), None),
    /// Unsigned, 4 bytes: `u32`.
    U32 = (Some(StorageType::U32), None),
    /// Unsigned, 2 bytes: `u16`.
    U16 = (Some(StorageType::U16), None),
    /// Unsigned, 1 byte: `u8`.
    U8 = (Some(StorageType::U8), None),
    /// One byte: 0 or 1. In 0.1 any byte other than 0 is true: `bool`.
    Bool = (Some(StorageType::Bool), None),
    /// The 8-bit float E4M3 of OCP and NVIDIA: [`F8E4M3Fn`](crate::element::F8E4M3Fn).
    F8E4M3Fn = (Some(StorageType::U8), Some(LogicalType::F8E4M3Fn)),
    /// The 8-bit float E5M2 of OCP: [`F8E5M2`](crate::element::F8E5M2).
    F8E5M2 = (Some(StorageType::U8), Some(LogicalType::F8E5M2)),
    /// The 8-bit float E4M3 of AMD: [`F8E4M3Fnuz`](crate::element::F8E4M3Fnuz).
    F8E4M3Fnuz = (Some(StorageType::U8), Some(LogicalType::F8E4M3Fnuz)),
    /// The 8-bit float E5M2 of AMD: [`F8E5M2Fnuz`](crate::element::F8E5M2Fnuz).
    F8E5M2Fnuz = (Some(StorageType::U8), Some(LogicalType::F8E5M2Fnuz)),
    /// A power of two, 1 byte (2 only): [`F8E8M0`](crate::element::F8E8M0).
    F8E8M0 = (Some(StorageType::U8), Some(LogicalType::F8E8M0)),
    /// The 4-bit float E2M1 of OCP, two elements in a byte (2 only): [`F4E2M1`](crate::element::F4E2M1).
    F4E2M1 = (Some(StorageType::U8), Some(LogicalType::F4E2M1)),
    /// Pairs of `f32`, real and imaginary part: [`Complex<f32>`](crate::element::Complex).
    Complex64 = (Some(StorageType::F32), Some(LogicalType::Complex64)),
    /// Pairs of `f64`, real and imaginary part: [`Complex<f64>`](crate::element::Complex).
    Complex128 = (Some(StorageType::F64), Some(LogicalType::Complex128)),
    /// A type that zten does not know. [`Component::type_name`](crate::Component::type_name) returns the name of the type in the
    /// file.
    Unknown = (None, None),
}
}

impl_display! { DType: name; }

impl DType {
    /// Every dtype. [`Unknown`](Self::Unknown) is the last item.
    pub const ALL: [Self; Self::COUNT] = Self::LIST;

    /// Returns the dtype of elements that are stored as `storage` and have the logical type `logical`, or
    /// [`Unknown`](Self::Unknown) if the two do not belong together.
    pub(crate) fn of(storage: StorageType, logical: Option<LogicalType>) -> Self {
        let own = (Some(storage), logical);
        Self::LIST.into_iter().find(|dtype| dtype.parts() == own).unwrap_or(Self::Unknown)
    }

    /// Returns the name of the dtype as zTensor 1.2 and 2 spell it: `f32`, `f8_e4m3fn`, `complex64`; `unknown` for a type that is
    /// not known.
    pub fn name(self) -> &'static str {
        match self.parts() {
            (_, Some(logical)) => logical.name(),
            (Some(storage), None) => storage.name(),
            (None, None) => "unknown",
        }
    }

    /// Returns the number of bits of an element, or `None` for [`Unknown`](Self::Unknown).
    pub fn bits(self) -> Option<u32> {
        let (storage, logical) = self.parts();
        if logical == Some(LogicalType::F4E2M1) {
            return Some(4);
        }
        let ratio = logical.map_or(1, LogicalType::ratio);
        Some(u32::from(storage?.width()).wrapping_mul(ratio.into()).wrapping_mul(8))
    }

    /// Returns the storage type, and the logical type if the dtype has one. Returns `None` for [`Unknown`](Self::Unknown).
    /// Unstable.
    #[doc(hidden)]
    pub fn stored(self) -> Option<(StorageType, Option<LogicalType>)> {
        let (storage, logical) = self.parts();
        Some((storage?, logical))
    }
}

impl From<StorageType> for DType {
    fn from(storage: StorageType) -> Self {
        Self::of(storage, None)
    }
}

impl From<LogicalType> for DType {
    fn from(logical: LogicalType) -> Self {
        Self::of(logical.storage(), Some(logical))
    }
}
