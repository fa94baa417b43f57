//! The names of element types in safetensors and NumPy files.

use crate::element::DType;
use crate::element::{LogicalType, StorageType};
use crate::number::NumberKind;

/// The types of safetensors in the order of the crate `safetensors`, which writes the tensors of the last type first. The order
/// is from narrow to wide, except that `F4` follows `BOOL`.
const SAFETENSORS: [(DType, &str); 20] = [
    (DType::Bool, "BOOL"),
    (DType::F4E2M1, "F4"),
    (DType::U8, "U8"),
    (DType::I8, "I8"),
    (DType::F8E5M2, "F8_E5M2"),
    (DType::F8E4M3Fn, "F8_E4M3"),
    (DType::F8E8M0, "F8_E8M0"),
    (DType::F8E4M3Fnuz, "F8_E4M3FNUZ"),
    (DType::F8E5M2Fnuz, "F8_E5M2FNUZ"),
    (DType::I16, "I16"),
    (DType::U16, "U16"),
    (DType::F16, "F16"),
    (DType::BF16, "BF16"),
    (DType::I32, "I32"),
    (DType::U32, "U32"),
    (DType::F32, "F32"),
    (DType::Complex64, "C64"),
    (DType::F64, "F64"),
    (DType::I64, "I64"),
    (DType::U64, "U64"),
];

/// An element type of safetensors. The types have the order of the crate `safetensors`: of two types of whole bytes, the wider
/// one is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dtype {
    /// The position of the type in [`SAFETENSORS`].
    rank: u8,
    /// The width in bits of one element of this type.
    bits: u64,
    name: &'static str,
}

impl Dtype {
    /// Returns the safetensors type for `dtype`, or `None` if safetensors has no such type.
    pub fn of(dtype: DType) -> Option<Self> {
        let rank = SAFETENSORS.iter().position(|(known, _)| *known == dtype)?;
        let (dtype, name) = SAFETENSORS.get(rank)?;
        Some(Self { rank: u8::try_from(rank).ok()?, bits: dtype.bits()?.into(), name })
    }

    /// Returns the name of the type in the header of a safetensors file, such as `BF16`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Returns the position of this type in [`SAFETENSORS`].
    pub(super) fn rank(self) -> u8 {
        self.rank
    }

    /// Returns the number of bits of an element of this type.
    pub(super) fn bits(self) -> u64 {
        self.bits
    }
}

/// Returns the NumPy type for `dtype`, or `None` if NumPy has no such type, as for bf16, FP8 and FP4.
pub(super) fn numpy(dtype: DType) -> Option<NumberKind> {
    match dtype.stored()? {
        (StorageType::Bf16, None) => None,
        (storage, None) => Some(NumberKind::Plain(storage)),
        (part, Some(LogicalType::Complex64 | LogicalType::Complex128)) => {
            Some(NumberKind::Complex(part))
        }
        _ => None,
    }
}
