//! Blocks of GGUF as candle's quantized tensors.

use candle_core::quantized::ggml_file::qtensor_from_ggml;
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Error, Result};
use zten::Limits;

use crate::{Weights, elements};

/// The types of GGUF that candle computes with, as zTensor spells them: v2 §5.2.
const TYPES: [(&str, GgmlDType); 11] = [
    ("q4_0", GgmlDType::Q4_0),
    ("q4_1", GgmlDType::Q4_1),
    ("q5_0", GgmlDType::Q5_0),
    ("q5_1", GgmlDType::Q5_1),
    ("q8_0", GgmlDType::Q8_0),
    ("q2_k", GgmlDType::Q2K),
    ("q3_k", GgmlDType::Q3K),
    ("q4_k", GgmlDType::Q4K),
    ("q5_k", GgmlDType::Q5K),
    ("q6_k", GgmlDType::Q6K),
    ("q8_k", GgmlDType::Q8K),
];

impl Weights {
    /// A `gguf.NAME/1` object of generation 2 as a quantized tensor of candle, whose blocks are the bytes of
    /// the file. v2 §5.2.
    ///
    /// # Errors
    /// As [`load`](Self::load); an object of another format; a type of blocks that candle has not.
    pub fn quantized(&self, name: &str, device: &Device) -> Result<QTensor> {
        let (file, object) = self.find(name)?;
        let read = || {
            let blocks = object.gguf_blocks().map_err(Error::wrap)?;
            let format = object.format_name();
            let short = format.strip_prefix("gguf.").and_then(|name| name.strip_suffix("/1"));
            let found = TYPES.iter().find(|(name, _)| Some(*name) == short);
            let Some((_, dtype)) = found else {
                return Err(Error::msg(format!("candle has no blocks of {format}")));
            };
            let sizes = [blocks.elements_per_block, blocks.block_bytes];
            if !(sizes.iter().copied().map(usize::try_from)).eq([
                dtype.block_size(),
                dtype.type_size(),
            ]
            .map(Ok))
            {
                let [elements, bytes] = sizes;
                let other =
                    format!("candle has no {format} of {elements} weights in {bytes} bytes");
                return Err(Error::msg(other));
            }
            let shape = elements::dims(object.shape())?;
            // The blocks are as many as the shape asks for, which `qtensor_from_ggml` does not look at: the
            // profile is validated when the file is opened. They are aligned to 64 bytes, more than they need.
            let bytes = file.read(blocks.data, |component, source| {
                component.decode(source, &Limits::default()).map_err(Error::wrap)
            })?;
            qtensor_from_ggml(*dtype, &bytes, shape, device)
        };
        read().map_err(|error| file.place(error, name))
    }
}
