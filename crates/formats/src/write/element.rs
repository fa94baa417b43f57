//! The names of element types in the formats that are written.

use zten::DType;
use zten::tools::{LogicalType, StorageType};
use zten_report::element::Kind;

/// The types of safetensors, the narrowest first: the order of the crate `safetensors`, in which the last come first in a file.
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

/// A type of elements in safetensors. A wider type is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dtype {
    rank: u8,
    /// Bits of an element.
    bits: u64,
    name: &'static str,
}

impl Dtype {
    /// Returns the type in safetensors, if there is one.
    pub fn of(dtype: DType) -> Option<Self> {
        let rank = SAFETENSORS.iter().position(|(own, _)| *own == dtype)?;
        let (dtype, name) = SAFETENSORS.get(rank)?;
        Some(Self { rank: u8::try_from(rank).ok()?, bits: dtype.bits()?.into(), name })
    }

    /// Returns the name in the header.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Returns the place among all types, of which a wider one comes later.
    pub(super) fn rank(self) -> u8 {
        self.rank
    }

    /// Returns the number of bits of an element.
    pub(super) fn bits(self) -> u64 {
        self.bits
    }
}

/// The type in NumPy, if there is one: it has none for bf16, FP8 and FP4.
pub(super) fn numpy(dtype: DType) -> Option<Kind> {
    match dtype.stored()? {
        (StorageType::Bf16, None) => None,
        (storage, None) => Some(Kind::Plain(storage)),
        (part, Some(LogicalType::Complex64 | LogicalType::Complex128)) => Some(Kind::Complex(part)),
        _ => None,
    }
}
