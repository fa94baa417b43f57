//! Conventions by which programs store quantized tensors as several plain tensors.
//!
//! A quantized model in a safetensors file has, for each weight, a tensor of codes, a tensor of scales, and perhaps further
//! tensors. Nothing but the names, the dtypes and the shapes says that these tensors belong together.
//! [`Archive::with_conventions`](crate::Archive::with_conventions) finds such groups, and makes each group one tensor whose
//! components are the tensors of the file.

mod anchors;
#[cfg(feature = "dequantize")]
mod codes;
#[cfg(all(feature = "dequantize", feature = "write"))]
mod composite;
#[cfg(feature = "dequantize")]
mod dequantizer;
#[cfg(feature = "dequantize")]
pub(crate) mod find;
#[cfg(feature = "dequantize")]
mod groups;
#[cfg(feature = "dequantize")]
mod matrix;
#[cfg(feature = "dequantize")]
mod pieces;
#[cfg(feature = "dequantize")]
mod plan;
#[cfg(all(feature = "dequantize", feature = "write"))]
mod restored;
#[cfg(feature = "dequantize")]
mod rows;
#[cfg(feature = "dequantize")]
mod sizes;

use core::fmt;

#[cfg(all(feature = "dequantize", feature = "write"))]
pub use composite::{Composites, Original, PlainGroups};
#[cfg(feature = "dequantize")]
pub use dequantizer::Dequantizer;
#[cfg(feature = "dequantize")]
pub use groups::Groups;
#[cfg(all(feature = "dequantize", feature = "write"))]
pub use restored::Restored;

use crate::archive::Archive;
use crate::cbor::Value;
use crate::index::Layout;
use crate::manifest::Tensor;
use crate::num::enum_all;
use crate::read_at::ReadAt;

enum_all! {
/// A convention: how a quantized tensor is stored as several tensors.
///
/// In these descriptions, `X` is the name of the quantized tensor, and `P` is this name without `.weight`. Codes are the small
/// integers that are stored for the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Convention with
    /// Returns the name of the layout of a group, the name that listings show, and the document or program that defines the
    /// convention.
    fn row -> (&'static str, &'static str, &'static str)
{
    /// `X_blocks` (`u8`, `[…, groups, 16]`) and `X_scales` (`u8`, `[…, groups]`): two codes of `f4_e2m1` in each byte, the first
    /// one in the low half, and a scale of `f8_e8m0` for each 32 codes. Value = code × 2^(scale − 127).
    Mxfp4 = ("quant.mxfp4", "MXFP4", "OCP Microscaling Formats 1.0, §5.3; the checkpoints of gpt-oss"),
    /// `X` (FP8, `[rows, columns]`) and `X_scale_inv` (one float for each block of 128 × 128 elements, or of another size). Value =
    /// element × scale.
    Fp8Block = ("quant.fp8_block", "FP8 blocks", "DeepSeek-V3 Technical Report, §3.3.2; the checkpoints of DeepSeek-V3"),
    /// `X` (FP8, `[rows, columns]`) and `X_scale` or `X_scale_inv`: a float for the tensor, for each row, or for each group of
    /// columns. Value = element × scale.
    Fp8 = ("quant.fp8", "FP8 scaled", "compressed-tensors, float-quantized; ModelOpt FP8"),
    /// `X` (`i8`, `[rows, columns]`), `X_scale` as for FP8, and perhaps `X_zero_point` of the same shape. Value = (element − zero
    /// point) × scale.
    Int8 = ("quant.int8", "INT8 scaled", "compressed-tensors, int-quantized"),
    /// `X` (`u8`, `[rows, columns / 2]`), `X_scale` (`f8_e4m3fn`, one for each 16 codes) and `X_scale_2` (one `f32`); or
    /// `X_packed`, `X_scale` and `X_global_scale`. Value = code × (scale × second scale), or code × (scale / global scale).
    Nvfp4 = ("quant.nvfp4", "NVFP4", "ModelOpt NVFP4; compressed-tensors, nvfp4-pack-quantized"),
    /// `P.qweight`, `P.scales`, `P.qzeros` and perhaps `P.g_idx`: codes of 2, 3, 4 or 8 bits in `i32` words along the inputs.
    /// Value = scale × (code − (zero + 1)). The shape is `[inputs, outputs]`, as the codes are stored.
    Gptq = ("quant.gptq", "GPTQ", "AutoGPTQ, checkpoint format gptq"),
    /// `P.qweight`, `P.scales` and `P.qzeros`: codes of 4 bits in `i32` words along the outputs, in the order 0, 2, 4, 6, 1, 3,
    /// 5, 7. Value = scale × (code − zero). The shape is `[inputs, outputs]`, as the codes are stored.
    Awq = ("quant.awq", "AWQ", "AutoAWQ, version gemm"),
    /// `X_packed` (`i32` words along the columns), `X_scale`, `X_shape`, and perhaps `X_zero_point` and `X_g_idx`. Codes have 1
    /// to 8 bits. In old files no code is in two words; in newer files codes follow each other densely. Value = scale × (code −
    /// zero point), where the zero point is 2^(bits − 1) if there is none.
    Packed = ("quant.packed", "INT packed", "compressed-tensors, pack-quantized"),
    /// `X` (`u8`) holds two codes in each byte, the first code in the high half. `X.absmax` holds the scales, `X.quant_map` the
    /// table of values, and `X.quant_state.bitsandbytes__nf4` the shape. Value = (the entry of the code in `X.quant_map`) ×
    /// scale.
    Nf4 = ("quant.nf4", "NF4", "QLoRA, appendix E; bitsandbytes, Params4bit"),
    /// Stored as [`Nf4`](Self::Nf4) is, except that the table of values is that of a 4-bit float, and that the name of the tensor
    /// with the shape ends in `__fp4`.
    Fp4 = ("quant.fp4", "FP4", "bitsandbytes, Params4bit"),
    /// `P.weight` (`i8`, `[rows, columns]`) and `P.SCB` (a float for each row). Value = element × SCB / 127.
    Bnb8 = ("quant.bnb_int8", "INT8 SCB", "LLM.int8(); bitsandbytes, Int8Params"),
    /// `P.weight` (`u32` words along the columns), `P.scales` and `P.biases`: codes of 2, 3, 4, 5, 6 or 8 bits, where a code may
    /// start in one word and end in the next. Value = scale × code + bias.
    Mlx = ("quant.mlx", "MLX affine", "MLX, mlx.core.quantize"),
}
}

impl Convention {
    /// Every convention that zten knows.
    pub const ALL: [Self; Self::COUNT] = Self::LIST;

    /// Returns the name of the layout of a group of this convention: `quant.mxfp4`.
    pub fn layout(self) -> &'static str {
        self.row().0
    }

    /// Returns the name that listings show: `MXFP4`.
    pub fn title(self) -> &'static str {
        self.row().1
    }

    /// Returns the document or program that defines the convention.
    pub fn defined_by(self) -> &'static str {
        self.row().2
    }

    /// Returns the convention of `tensor`, a tensor of an archive with conventions. Returns `None` for a tensor that is no group.
    pub fn of(tensor: &Tensor<'_>) -> Option<Self> {
        let is_group = tensor.layout() == Layout::Unknown
            && tensor.components().all(|component| component.generation().is_none());
        let name = Some(tensor.layout_name()).filter(|_| is_group)?;
        Self::LIST.into_iter().find(|convention| convention.layout() == name)
    }
}

impl<S: ReadAt> Archive<S> {
    /// Returns whether any tensor has a name by which a [`Convention`] finds groups. If no tensor has such a name, the archive has
    /// no groups. Returns false for zTensor files, which have layouts of their own.
    pub fn may_have_groups(&self) -> bool {
        self.generation().is_none() && self.names().any(|name| anchors::Anchor::of(name).is_some())
    }
}

/// How a quantized tensor that is joined from several tensors is divided into codes and groups of codes with one scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuantizedForm {
    /// The convention, such as GPTQ, by which the tensors that were joined are named and encoded.
    pub convention: Convention,
    /// The number of bits of a code: 1 to 8.
    pub bits: u8,
    /// The number of columns that share a scale (of successive inputs for GPTQ and AWQ); 0 if a whole row or more shares one.
    pub group_size: u64,
}

impl QuantizedForm {
    /// Creates a form with codes of at most 8 bits.
    fn new(convention: Convention, bits: u64, group_size: u64) -> Self {
        Self { convention, bits: u8::try_from(bits).unwrap_or(8), group_size }
    }

    /// Returns the form of `tensor`, a tensor of an archive with conventions. Returns `None` for a tensor that is not joined from
    /// several tensors.
    pub fn of(tensor: &Tensor<'_>) -> Option<Self> {
        let convention = Convention::of(tensor)?;
        let bits = uint(tensor, "bits").filter(|bits| (1..=8).contains(bits))?;
        Some(Self::new(convention, bits, uint(tensor, "group_size")?))
    }
}

/// How bitsandbytes quantizes the scales of a tensor: a scale is a value from a table × the scale of its group + `offset`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NestedScales {
    /// The number of successive scales that share a scale of their own: 1 or more.
    size: u64,
    /// The number that is added to each scale.
    offset: f64,
}

impl NestedScales {
    /// Reads the attributes of `tensor`, a tensor of an archive with conventions. Returns `None` if its scales are not quantized.
    fn of(tensor: &Tensor<'_>) -> Option<Self> {
        let Value::Float(offset) = tensor.attributes().item("scale_offset")?.value() else {
            return None;
        };
        let size = uint(tensor, "scale_group_size").filter(|size| *size > 0)?;
        Some(Self { size, offset })
    }
}

/// Returns the attribute `key` of `tensor`, if its value is an unsigned integer.
fn uint(tensor: &Tensor<'_>, key: &str) -> Option<u64> {
    match tensor.attributes().item(key)?.value() {
        Value::Uint(number) => Some(number),
        _ => None,
    }
}

/// Writes the name that listings show, with the number of bits if the convention has several, and the group size in brackets:
/// `MXFP4 [32]`, `GPTQ 3 bits [128]`, `FP8 scaled`.
impl fmt::Display for QuantizedForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.convention.title())?;
        if let Convention::Gptq | Convention::Packed | Convention::Mlx = self.convention {
            write!(f, " {} bits", self.bits)?;
        }
        match self.group_size {
            0 => Ok(()),
            size => write!(f, " [{size}]"),
        }
    }
}
