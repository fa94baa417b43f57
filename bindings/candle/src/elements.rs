//! Loads the elements of a dense object into a tensor of candle.

use candle_core::{Device, Error, Result, Tensor, WithDType};
use float8::F8E4M3;
use half::{bf16, f16};
use zten::Encoding;
use zten::element::{Element, F8E4M3Fn};

/// Converts `dimension`, the size of one dimension of a shape or another number of a file, to `usize`.
///
/// # Errors
/// The number is larger than this machine can address.
fn length(dimension: u64) -> Result<usize> {
    usize::try_from(dimension).map_err(Error::wrap)
}

/// Converts `shape` to the dimensions of a candle tensor. Fails if candle cannot count the elements: candle multiplies the
/// dimensions one by one, from the first for the elements and from the last for the strides, so that even a shape with a
/// dimension of 0 may overflow.
pub(crate) fn dims(shape: &[u64]) -> Result<Vec<usize>> {
    let dims: Result<Vec<usize>> = shape.iter().copied().map(length).collect();
    let dims = dims?;
    let times = |count: usize, side: &usize| count.checked_mul(*side);
    let count = dims.iter().try_fold(1, times).and(dims.iter().rev().try_fold(1, times));
    count.map(|_| dims).ok_or_else(|| {
        Error::msg(
            "candle multiplies the dimensions of the shape one by one, and a product overflows",
        )
    })
}

/// Reads, decodes and verifies a dense tensor of zten, and returns it as a tensor of candle on `device`.
pub(crate) fn tensor(tensor: &zten::Tensor<'_>, device: &Device) -> Result<Tensor> {
    use zten::DType as Own;
    let layout = |_| {
        Error::msg(format!("the tensor has the layout {}, expected dense", tensor.layout_name()))
    };
    let data = tensor.dense().map_err(layout)?;
    let read: fn(&zten::Tensor<'_>, Vec<usize>, &Device) -> Result<Tensor> = match data.dtype() {
        Own::F64 => read_as::<f64>,
        Own::F32 => read_as::<f32>,
        Own::F16 => read_as::<f16>,
        Own::BF16 => read_as::<bf16>,
        Own::I64 => read_as::<i64>,
        Own::I32 => read_as::<i32>,
        Own::I16 => read_as::<i16>,
        Own::U32 => read_as::<u32>,
        Own::U8 => read_as::<u8>,
        Own::F8E4M3Fn => read_f8,
        _ => {
            let name = data.type_name();
            return Err(Error::msg(format!("candle has no dtype for elements of the type {name}")));
        }
    };
    read(tensor, dims(tensor.shape())?, device)
}

fn read_as<T: Element + WithDType + Default>(
    tensor: &zten::Tensor<'_>,
    shape: Vec<usize>,
    device: &Device,
) -> Result<Tensor> {
    Tensor::from_vec(read::<T>(tensor)?, shape, device)
}

fn read_f8(tensor: &zten::Tensor<'_>, shape: Vec<usize>, device: &Device) -> Result<Tensor> {
    // The two types have the same size, so the standard library converts the vector in place, without a copy.
    let elements =
        read::<F8E4M3Fn>(tensor)?.into_iter().map(|own| F8E4M3::from_bits(own.to_bits()));
    Tensor::from_vec(elements.collect::<Vec<_>>(), shape, device)
}

/// Reads, decodes and verifies all elements of the dense `tensor`, and returns them in row-major order.
fn read<T: Element + Default>(tensor: &zten::Tensor<'_>) -> Result<Vec<T>> {
    let data = tensor.dense().map_err(Error::wrap)?;
    if data.encoding() != Encoding::Raw || data.is_strided() {
        // Memory grows while bytes are decoded, because the file may declare any number of bytes. Strided elements are kept
        // in storage order before they are copied row by row.
        return tensor.to_vec().map_err(Error::wrap);
    }
    // The component is uncompressed, so its bytes are in the file, and the allocation is at most as large as the file.
    let count = length(data.extent().length())?.checked_div(size_of::<T>()).unwrap_or(0);
    let mut elements = Vec::new();
    elements.try_reserve_exact(count).map_err(Error::wrap)?;
    elements.resize(count, T::default());
    tensor.read_into(&mut elements).map_err(Error::wrap)?;
    Ok(elements)
}
