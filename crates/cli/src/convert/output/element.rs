//! The names of element types in the formats that are written.

use ::safetensors::tensor::Dtype;
use zten::DType;
use zten::tools::{LogicalType, StorageType};

use crate::element::Kind;

/// The type in safetensors, if there is one.
pub(crate) fn safetensors(dtype: DType) -> Option<Dtype> {
    Some(match dtype {
        DType::F64 => Dtype::F64,
        DType::F32 => Dtype::F32,
        DType::F16 => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::I64 => Dtype::I64,
        DType::I32 => Dtype::I32,
        DType::I16 => Dtype::I16,
        DType::I8 => Dtype::I8,
        DType::U64 => Dtype::U64,
        DType::U32 => Dtype::U32,
        DType::U16 => Dtype::U16,
        DType::U8 => Dtype::U8,
        DType::Bool => Dtype::BOOL,
        DType::F8E4M3Fn => Dtype::F8_E4M3,
        DType::F8E5M2 => Dtype::F8_E5M2,
        DType::F8E4M3Fnuz => Dtype::F8_E4M3FNUZ,
        DType::F8E5M2Fnuz => Dtype::F8_E5M2FNUZ,
        DType::F8E8M0 => Dtype::F8_E8M0,
        DType::F4E2M1 => Dtype::F4,
        DType::Complex64 => Dtype::C64,
        _ => return None,
    })
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
