//! The elements of a dense object as a tensor.

use std::io;

use candle_core::{DType, Device, Error, Result, Tensor, WithDType};
use float8::F8E4M3;
use half::{bf16, f16};
use zerocopy::{FromBytes, IntoBytes};
use zten::element::Element;
use zten::manifest::Shape;
use zten::{Component, ElementType, Encoding, Limits, LogicalType, ReadAt, ReadError, StorageType};

/// Where the bytes of a component are.
pub(crate) type Source<'s> = &'s dyn ReadAt<Error = ReadError<io::Error>>;

/// The type of candle that has just the elements of a type.
fn dtype(element: ElementType<'_>) -> Option<DType> {
    match element {
        ElementType::Plain(storage) => match storage {
            StorageType::F64 => Some(DType::F64),
            StorageType::F32 => Some(DType::F32),
            StorageType::F16 => Some(DType::F16),
            StorageType::Bf16 => Some(DType::BF16),
            StorageType::I64 => Some(DType::I64),
            StorageType::I32 => Some(DType::I32),
            StorageType::I16 => Some(DType::I16),
            StorageType::U32 => Some(DType::U32),
            StorageType::U8 => Some(DType::U8),
            _ => None,
        },
        ElementType::Logical(LogicalType::F8E4M3Fn) => Some(DType::F8E4M3),
        _ => None,
    }
}

/// A dimension.
pub(crate) fn length(dimension: u64) -> Result<usize> {
    usize::try_from(dimension).map_err(Error::wrap)
}

/// Dimensions whose product candle can count. It multiplies them one by one, from the first for the elements and from the
/// last for the strides, and a dimension of 0 that comes late does not help it.
pub(crate) fn dims(shape: Shape<'_>) -> Result<Vec<usize>> {
    let dims: Result<Vec<usize>> = shape.iter().map(length).collect();
    let dims = dims?;
    let times = |count: usize, side: &usize| count.checked_mul(*side);
    let count = dims.iter().try_fold(1, times).and(dims.iter().rev().try_fold(1, times));
    count.map(|_| dims).ok_or_else(|| Error::msg("its shape is beyond what candle can count"))
}

/// Reads, decodes and verifies a component.
pub(crate) fn tensor(
    component: &Component<'_>,
    source: Source<'_>,
    shape: Shape<'_>,
    device: &Device,
) -> Result<Tensor> {
    let element = component.element_type();
    let Some(dtype) = dtype(element) else {
        return Err(Error::msg(format!("candle has no elements of type {}", element.name())));
    };
    let shape = dims(shape)?;
    match dtype {
        DType::F64 => from_vec(read::<f64>(component, source)?, shape, device),
        DType::F32 => from_vec(read::<f32>(component, source)?, shape, device),
        DType::F16 => from_vec(read::<f16>(component, source)?, shape, device),
        DType::BF16 => from_vec(read::<bf16>(component, source)?, shape, device),
        DType::I64 => from_vec(read::<i64>(component, source)?, shape, device),
        DType::I32 => from_vec(read::<i32>(component, source)?, shape, device),
        DType::I16 => from_vec(read::<i16>(component, source)?, shape, device),
        DType::U32 => from_vec(read::<u32>(component, source)?, shape, device),
        DType::U8 => from_vec(read::<u8>(component, source)?, shape, device),
        DType::F8E4M3 => {
            let bytes = component.read_to_vec(source, &Limits::default()).map_err(Error::wrap)?;
            // In the same memory.
            let elements = bytes.into_iter().map(F8E4M3::from_bits).collect();
            from_vec::<F8E4M3>(elements, shape, device)
        }
        _ => Err(Error::UnsupportedDTypeForOp(dtype, "read").bt()),
    }
}

pub(crate) fn from_vec<T: WithDType>(
    elements: Vec<T>,
    shape: Vec<usize>,
    device: &Device,
) -> Result<Tensor> {
    Tensor::from_vec(elements, shape, device)
}

/// All elements, in memory of their own.
fn read<T>(component: &Component<'_>, source: Source<'_>) -> Result<Vec<T>>
where
    T: Element + FromBytes + IntoBytes + Default,
{
    let limits = Limits::default();
    if component.encoding() != Encoding::Raw || component.is_column_major() {
        // Memory grows as bytes are decoded, for the file may claim any number of them. Elements in column-major order
        // are held as they lie before they are put into rows.
        return component.read_elements(source, &limits).map_err(Error::wrap);
    }
    // As many bytes are in the file.
    let count = length(component.extent().length())?.checked_div(size_of::<T>()).unwrap_or(0);
    let mut elements = Vec::new();
    elements.try_reserve_exact(count).map_err(Error::wrap)?;
    elements.resize(count, T::default());
    component.read_into(source, &limits, elements.as_mut_bytes()).map_err(Error::wrap)?;
    Ok(elements)
}
