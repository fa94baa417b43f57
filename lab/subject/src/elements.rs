//! Rust's types for the dtypes of `ztensor`.

/// Does something with the Rust type that stands for a `ztensor::DType`, of whichever version of
/// that crate the caller has.
#[macro_export]
macro_rules! by_type {
    ($dtype:expr, $element:ident => $do:block) => {{
        macro_rules! with {
            ($rust:ty) => {{
                type $element = $rust;
                $do
            }};
        }
        match $dtype {
            ztensor::DType::F64 => with!(f64),
            ztensor::DType::F32 => with!(f32),
            ztensor::DType::F16 => with!($crate::f16),
            ztensor::DType::BF16 => with!($crate::bf16),
            ztensor::DType::I64 => with!(i64),
            ztensor::DType::I32 => with!(i32),
            ztensor::DType::I16 => with!(i16),
            ztensor::DType::I8 => with!(i8),
            ztensor::DType::U64 => with!(u64),
            ztensor::DType::U32 => with!(u32),
            ztensor::DType::U16 => with!(u16),
            ztensor::DType::U8 => with!(u8),
            ztensor::DType::Bool => with!(bool),
        }
    }};
}
