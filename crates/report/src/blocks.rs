//! How quantized tensors group their elements, and whether zten can read an object.

use std::fmt;

use zten::conventions::{Convention, QuantizedForm};
use zten::formats::Block;
use zten::{DType, Layout, State, Tensor};

/// How a quantized tensor groups its elements: the bits of each element, and the number of elements that share a scale.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    /// The number of bits of each element; `None` if a block contains more than the codes of its elements.
    pub bits: Option<u64>,
    /// The number of elements that share a scale, or 0 if all elements of a lane (a row or column of the tensor) share a scale.
    pub size: u64,
    /// The word for the groups of elements in messages: `groups`, or `blocks` for formats that call them so.
    called: &'static str,
}

impl Blocks {
    /// Returns how the quantized tensor `object` groups its elements. Returns `None` if the tensor is not quantized, or does not
    /// state the size of its groups.
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
        if let Some(form) = QuantizedForm::of(object) {
            let (bits, size) = (form.bits.into(), form.group_size);
            return Some(Self { bits: Some(bits), size, called: "groups" });
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

/// Returns the ggml name of the block type of `object`, such as `Q4_K`, if the object is a tensor of a GGUF file that is stored in
/// blocks. Returns `None` for any other object.
pub fn block_name(object: &Tensor<'_>) -> Option<String> {
    let data = object.component("data")?;
    let is_other = object.layout() == Layout::Unknown && data.generation().is_none();
    let name = object.layout_name().strip_prefix("gguf.").filter(|_| is_other)?;
    Some(name.to_ascii_uppercase())
}

/// Returns whether `object` can be read, and whether zten interprets its elements. GGUF blocks, and groups of tensors that follow a
/// convention, are readable: the library converts them to numbers, although their layout is not one of zTensor.
pub fn state(object: &Tensor<'_>) -> State {
    match object.state() {
        State::Opaque if is_dequantized(object) => State::Readable,
        state => state,
    }
}

/// Returns whether the layout of `object`, which is not one of zTensor, is known to [`Tensor::dequantizer`]: for example, GGUF
/// blocks in a file of 1.2. This crate does not call the dequantizer, because it may be built without the feature `dequantize`.
fn is_dequantized(object: &Tensor<'_>) -> bool {
    Block::of_layout(object).is_some() || Convention::of(object).is_some()
}

/// Returns the id of the rule because of which zten does not read an object with this `state`, or `None` if the state is not
/// [`State::Unread`].
pub fn reason(state: State) -> Option<&'static str> {
    match state {
        State::Unread(kind) => kind.row().map(zten::rules::Row::id),
        _ => None,
    }
}
