//! Loads blocks of GGUF as candle's quantized tensors, or dequantizes them.

use candle_core::quantized::ggml_file::qtensor_from_ggml;
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Error, Result, Tensor};
use zten::Component;
use zten::formats::Block;

use crate::{Weights, elements, gguf};

/// The block types that candle computes with: for each its number in ggml, its name in ggml, and candle's type.
const TYPES: [(u32, &str, GgmlDType); 10] = [
    (2, "Q4_0", GgmlDType::Q4_0),
    (3, "Q4_1", GgmlDType::Q4_1),
    (6, "Q5_0", GgmlDType::Q5_0),
    (7, "Q5_1", GgmlDType::Q5_1),
    (8, "Q8_0", GgmlDType::Q8_0),
    (10, "Q2_K", GgmlDType::Q2K),
    (11, "Q3_K", GgmlDType::Q3K),
    (12, "Q4_K", GgmlDType::Q4K),
    (13, "Q5_K", GgmlDType::Q5K),
    (14, "Q6_K", GgmlDType::Q6K),
];

/// An object that consists of blocks of GGUF, from a GGUF file or from a zTensor file of generation 1.2 or 2.
pub(crate) struct Blocks<'a> {
    pub(crate) block: &'static Block,
    shape: &'a [u64],
    data: Component<'a>,
}

impl<'a> Blocks<'a> {
    /// Returns the blocks of `tensor`, or `None` if the tensor does not consist of blocks of GGUF. When the file was opened, zten
    /// checked that the number of their bytes follows from the shape.
    ///
    /// # Errors
    /// The attributes of the tensor give a block another size than its type has.
    pub(crate) fn of(tensor: &zten::Tensor<'a>) -> Result<Option<Self>> {
        let Some((block, data)) = Block::of_layout(tensor).zip(tensor.component("data")) else {
            return Ok(None);
        };
        // In generation 2, attributes declare the size of a block. It has to be the size of the block's type, with which
        // candle computes.
        if let Ok(own) = tensor.gguf_blocks()
            && (own.elements_per_block, own.block_bytes) != (block.elements, block.bytes)
        {
            return Err(Error::msg(format!(
                "a block of {} has {} weights in {} bytes, but the file declares {} weights in {} bytes",
                block.name, block.elements, block.bytes, own.elements_per_block, own.block_bytes
            )));
        }
        Ok(Some(Self { block, shape: tensor.shape(), data }))
    }

    /// Reads, decodes and verifies the blocks, and returns their bytes, which are still quantized.
    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        gguf::copied(&self.data.read().map_err(Error::wrap)?)
    }

    /// Returns the row of [`TYPES`] for the type of the blocks, or `None` if candle does not support the type.
    pub(crate) fn row(&self) -> Option<&'static (u32, &'static str, GgmlDType)> {
        // `qtensor_from_ggml` does not check the number of bytes, so this code passes exactly the bytes that blocks of this
        // size occupy.
        let size = [self.block.elements, self.block.bytes].map(usize::try_from);
        let is_same = |dtype: &GgmlDType| size == [dtype.block_size(), dtype.type_size()].map(Ok);
        TYPES.iter().find(|(_, own, dtype)| *own == self.block.name && is_same(dtype))
    }

    /// Reads, decodes and verifies the blocks, and returns them as a quantized tensor of candle.
    fn quantized(&self, device: &Device) -> Result<QTensor> {
        let Some((.., dtype)) = self.row() else {
            let name = self.block.name;
            let sentence = format!(
                "candle does not support blocks of the type {name}; Weights::load dequantizes them"
            );
            return Err(Error::msg(sentence));
        };
        let shape = elements::dims(self.shape)?;
        // The buffer of the decoded bytes is aligned to 64 bytes, which is more than blocks need.
        let bytes = self.data.read().map_err(Error::wrap)?;
        qtensor_from_ggml(*dtype, &bytes, shape, device)
    }
}

/// Reads, decodes, verifies and dequantizes the quantized `tensor`, and returns it as a tensor of `f32` on `device`. Fails if the
/// result takes more than `most` bytes.
pub(crate) fn dequantize(tensor: &zten::Tensor<'_>, device: &Device, most: u64) -> Result<Tensor> {
    Tensor::from_vec(values(tensor, most)?, elements::dims(tensor.shape())?, device)
}

/// Reads, verifies and dequantizes the quantized `tensor`, and returns its elements in row-major order. Fails if they take more
/// than `most` bytes as `f32`.
pub(crate) fn values(tensor: &zten::Tensor<'_>, most: u64) -> Result<Vec<f32>> {
    let count: usize = elements::dims(tensor.shape())?.into_iter().product();
    if u64::try_from(count).map_or(true, |count| count > most / 4) {
        return Err(Error::msg(format!(
            "the {count} weights of the tensor take more than {most} bytes as f32 (limit-decoded)"
        )));
    }
    tensor.to_f32().map_err(Error::wrap)
}

impl Weights {
    /// Reads and verifies the object `name`, which consists of blocks of GGUF, and returns it on `device` as a quantized tensor
    /// of candle with the same blocks. The object can be in a GGUF file or in a zTensor file of generation 1.2 or 2.
    ///
    /// # Errors
    /// The errors of [`load`](Self::load). Candle does not support the type of the blocks, or the object has another layout:
    /// `load` loads such objects, and dequantizes the blocks.
    pub fn quantized(&self, name: &str, device: &Device) -> Result<QTensor> {
        let (file, tensor) = self.find(name)?;
        let read = || {
            let other = || {
                let layout = tensor.layout_name();
                Error::msg(format!(
                    "the tensor has the layout {layout}, expected blocks of a known GGUF type"
                ))
            };
            Blocks::of(&tensor)?.ok_or_else(other)?.quantized(device)
        };
        read().map_err(|error| file.place(error, name))
    }
}
