//! Writing and reading with the reference implementation.

mod read;
mod write;

pub(crate) use read::{compare, rejects};
pub(crate) use write::{append, create};

use zten::element::StorageType;
use ztensor::DType;

/// Returns the dtype of `ztensor` for a storage type.
fn dtype(storage: StorageType) -> DType {
    match storage {
        StorageType::F64 => DType::F64,
        StorageType::F32 => DType::F32,
        StorageType::F16 => DType::F16,
        StorageType::Bf16 => DType::BF16,
        StorageType::I64 => DType::I64,
        StorageType::I32 => DType::I32,
        StorageType::I16 => DType::I16,
        StorageType::I8 => DType::I8,
        StorageType::U64 => DType::U64,
        StorageType::U32 => DType::U32,
        StorageType::U16 => DType::U16,
        StorageType::U8 => DType::U8,
        StorageType::Bool => DType::Bool,
    }
}
