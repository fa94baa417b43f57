//! What elements are called in the formats that are written.

use ::safetensors::tensor::Dtype;
use zten::{ElementType, LogicalType, StorageType};

use crate::element::Kind;

/// What the elements of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// What their storage type says.
    Plain(StorageType),
    /// What their logical type says.
    Logical(LogicalType),
}

impl Element {
    /// What a type of elements is; none where it is not known.
    pub(crate) fn known(element: ElementType<'_>) -> Option<Self> {
        match element {
            ElementType::Plain(storage) => Some(Self::Plain(storage)),
            ElementType::Logical(logical) => Some(Self::Logical(logical)),
            _ => None,
        }
    }

    /// Its name in zTensor.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plain(storage) => storage.name(),
            Self::Logical(logical) => logical.name(),
        }
    }

    /// The type in safetensors, if there is one.
    pub(super) fn safetensors(self) -> Option<Dtype> {
        Some(match self {
            Self::Plain(storage) => match storage {
                StorageType::F64 => Dtype::F64,
                StorageType::F32 => Dtype::F32,
                StorageType::F16 => Dtype::F16,
                StorageType::Bf16 => Dtype::BF16,
                StorageType::I64 => Dtype::I64,
                StorageType::I32 => Dtype::I32,
                StorageType::I16 => Dtype::I16,
                StorageType::I8 => Dtype::I8,
                StorageType::U64 => Dtype::U64,
                StorageType::U32 => Dtype::U32,
                StorageType::U16 => Dtype::U16,
                StorageType::U8 => Dtype::U8,
                StorageType::Bool => Dtype::BOOL,
            },
            Self::Logical(logical) => match logical {
                LogicalType::F8E4M3Fn => Dtype::F8_E4M3,
                LogicalType::F8E5M2 => Dtype::F8_E5M2,
                LogicalType::F8E4M3Fnuz => Dtype::F8_E4M3FNUZ,
                LogicalType::F8E5M2Fnuz => Dtype::F8_E5M2FNUZ,
                LogicalType::F8E8M0 => Dtype::F8_E8M0,
                LogicalType::F4E2M1 => Dtype::F4,
                LogicalType::Complex64 => Dtype::C64,
                _ => return None,
            },
        })
    }

    /// The type in NumPy, if there is one: it has none for bf16, FP8 and FP4.
    pub(super) fn numpy(self) -> Option<Kind> {
        match self {
            Self::Plain(StorageType::Bf16) => None,
            Self::Plain(storage) => Some(Kind::Plain(storage)),
            Self::Logical(LogicalType::Complex64) => Some(Kind::Complex(StorageType::F32)),
            Self::Logical(LogicalType::Complex128) => Some(Kind::Complex(StorageType::F64)),
            Self::Logical(_) => None,
        }
    }
}
