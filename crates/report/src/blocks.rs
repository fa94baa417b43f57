//! The groups that the elements of a quantized object lie in.

use std::fmt;

use zten::{DType, Layout, Tensor};

/// Bits of each element, and how many have a scale in common.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    /// The bits; none where a block is more than the codes of its elements.
    pub bits: Option<u64>,
    /// The number of elements; 0 where all of a lane have.
    pub size: u64,
    /// The word for such a group.
    called: &'static str,
}

impl Blocks {
    /// The blocks of an object, if it has such, and says how they lie.
    pub fn of(object: &Tensor<'_>) -> Option<Self> {
        if let Ok(group) = object.quant_group() {
            let (bits, size) = (group.bits.into(), group.group_size);
            return Some(Self { bits: Some(bits), size, called: "groups" });
        }
        if let Ok(group) = object.quantization() {
            let (bits, size) = (u64::from(group.bits()), group.group_size());
            return Some(Self { bits: Some(bits), size, called: "groups" });
        }
        if let Ok(mx) = object.mx_blocks() {
            let bits = if object.dtype() == DType::F4E2M1 { 4 } else { 8 };
            return Some(Self { bits: Some(bits), size: mx.block_size(), called: "blocks" });
        }
        let blocks = object.gguf_blocks().ok()?;
        Some(Self { bits: None, size: blocks.elements_per_block, called: "blocks" })
    }
}

impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(bits) = self.bits {
            write!(f, "{bits} bits, ")?;
        }
        match self.size {
            0 => f.write_str("whole lanes"),
            size => write!(f, "{} of {size}", self.called),
        }
    }
}

/// The name in ggml of the blocks that an object of a GGUF file consists of: `Q4_K`.
pub fn block_name(object: &Tensor<'_>) -> Option<String> {
    let data = object.component("data")?;
    let is_other = object.layout() == Layout::Unknown && data.generation().is_none();
    let name = object.layout_name().strip_prefix("gguf.").filter(|_| is_other)?;
    Some(name.to_ascii_uppercase())
}
