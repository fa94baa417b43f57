//! Conversions between elements and values of the Rust types that represent them.

use half::{bf16, f16};

/// A Rust type of elements whose values can be written as little-endian bytes.
pub(crate) trait Le: Copy {
    fn add_to(self, bytes: &mut Vec<u8>);
}

macro_rules! le {
    ($($rust:ty)+) => { $(
        impl Le for $rust {
            fn add_to(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
        }
    )+ };
}

le! { f64 f32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8 }

impl Le for bool {
    fn add_to(self, bytes: &mut Vec<u8>) {
        bytes.push(self.into());
    }
}

/// Returns the little-endian bytes of all elements.
pub(crate) fn le_bytes<T: Le>(elements: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_val(elements));
    for element in elements {
        element.add_to(&mut bytes);
    }
    bytes
}

/// Uses the Rust type that represents a storage type.
macro_rules! by_type {
    ($storage:expr, $element:ident => $do:block) => {{
        macro_rules! with {
            ($rust:ty) => {{
                type $element = $rust;
                $do
            }};
        }
        match $storage {
            zten::element::StorageType::F64 => with!(f64),
            zten::element::StorageType::F32 => with!(f32),
            zten::element::StorageType::F16 => with!(half::f16),
            zten::element::StorageType::Bf16 => with!(half::bf16),
            zten::element::StorageType::I64 => with!(i64),
            zten::element::StorageType::I32 => with!(i32),
            zten::element::StorageType::I16 => with!(i16),
            zten::element::StorageType::I8 => with!(i8),
            zten::element::StorageType::U64 => with!(u64),
            zten::element::StorageType::U32 => with!(u32),
            zten::element::StorageType::U16 => with!(u16),
            zten::element::StorageType::U8 => with!(u8),
            zten::element::StorageType::Bool => with!(bool),
        }
    }};
}

pub(crate) use by_type;
