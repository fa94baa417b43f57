//! How the elements of a quantized object lie in groups.

use std::fmt;

use zten::{DType, Tensor};

/// Bits of each element, and how many have a scale in common.
pub(super) struct Blocks {
    /// None where a block is more than the codes of its elements.
    pub(super) bits: Option<u64>,
    /// 0 where all of a lane have.
    pub(super) size: u64,
    /// What such a group is called.
    called: &'static str,
}

impl Blocks {
    /// Those of an object, if it has such, and says how they lie.
    pub(super) fn of(object: &Tensor<'_>) -> Option<Self> {
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
