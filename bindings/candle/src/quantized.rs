//! Blocks of GGUF, as candle's quantized tensors or dequantized.

use candle_core::quantized::ggml_file::qtensor_from_ggml;
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Error, Result, Tensor};
use zten::Component;
use zten::formats::Block;

use crate::{Weights, elements, gguf};

/// The types of GGUF that candle computes with, by their numbers and names in ggml.
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

/// An object of blocks of GGUF: of a GGUF file, or of a zTensor file of 1.2 or 2.
pub(crate) struct Blocks<'a> {
    pub(crate) block: &'static Block,
    shape: &'a [u64],
    data: Component<'a>,
}

impl<'a> Blocks<'a> {
    /// Returns the blocks of a tensor that consists of blocks, and `None` for other tensors. Opening has checked that their size
    /// matches the shape.
    pub(crate) fn of(tensor: &zten::Tensor<'a>) -> Result<Option<Self>> {
        let Some((block, data)) = Block::of_layout(tensor).zip(tensor.component("data")) else {
            return Ok(None);
        };
        // In generation 2, attributes give the size of a block, too.
        if let Ok(own) = tensor.gguf_blocks()
            && (own.elements_per_block, own.block_bytes) != (block.elements, block.bytes)
        {
            return Err(Error::msg(format!(
                "a block of {} has {} weights in {} bytes, and not {} in {}",
                block.name, block.elements, block.bytes, own.elements_per_block, own.block_bytes
            )));
        }
        Ok(Some(Self { block, shape: tensor.shape(), data }))
    }

    /// Reads, decodes and verifies them.
    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        gguf::copied(&self.data.read().map_err(Error::wrap)?)
    }

    /// The row of their type, if candle has it.
    pub(crate) fn row(&self) -> Option<&'static (u32, &'static str, GgmlDType)> {
        // `qtensor_from_ggml` does not look at how many bytes there are: as many as blocks of this size take.
        let size = [self.block.elements, self.block.bytes].map(usize::try_from);
        let is_same = |dtype: &GgmlDType| size == [dtype.block_size(), dtype.type_size()].map(Ok);
        TYPES.iter().find(|(_, own, dtype)| *own == self.block.name && is_same(dtype))
    }

    /// Reads, decodes and verifies them, and hands them to candle.
    fn quantized(&self, device: &Device) -> Result<QTensor> {
        let Some((.., dtype)) = self.row() else {
            let name = self.block.name;
            let sentence =
                format!("candle has no blocks of {name}; Weights::load dequantizes them");
            return Err(Error::msg(sentence));
        };
        let shape = elements::dims(self.shape)?;
        // Decoded bytes are aligned to 64, more than blocks need.
        let bytes = self.data.read().map_err(Error::wrap)?;
        qtensor_from_ggml(*dtype, &bytes, shape, device)
    }
}

/// Reads, decodes, verifies and dequantizes a quantized tensor, if the result has at most `most` bytes.
pub(crate) fn dequantize(tensor: &zten::Tensor<'_>, device: &Device, most: u64) -> Result<Tensor> {
    Tensor::from_vec(values(tensor, most)?, elements::dims(tensor.shape())?, device)
}

/// The same, as a list.
pub(crate) fn values(tensor: &zten::Tensor<'_>, most: u64) -> Result<Vec<f32>> {
    let count: usize = elements::dims(tensor.shape())?.into_iter().product();
    if u64::try_from(count).map_or(true, |count| count > most / 4) {
        return Err(Error::msg(format!(
            "its {count} weights take more than {most} bytes of f32: limit-decoded"
        )));
    }
    tensor.to_f32().map_err(Error::wrap)
}

impl Weights {
    /// An object of blocks of GGUF as a quantized tensor of candle, whose blocks are the bytes of the file: an object of a
    /// GGUF file, or of the zTensor file of 1.2 or 2 that it becomes.
    ///
    /// # Errors
    /// The errors of [`load`](Self::load), which also dequantizes blocks of the types that candle does not have; those and
    /// objects of another layout are an error here.
    pub fn quantized(&self, name: &str, device: &Device) -> Result<QTensor> {
        let (file, tensor) = self.find(name)?;
        let read = || {
            let other = || {
                let layout = tensor.layout_name();
                Error::msg(format!("it is {layout}, and not blocks of GGUF of a known type"))
            };
            Blocks::of(&tensor)?.ok_or_else(other)?.quantized(device)
        };
        read().map_err(|error| file.place(error, name))
    }
}
