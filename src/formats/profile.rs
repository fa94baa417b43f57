//! The layouts for GGUF blocks in generation 2 of zTensor.

use alloc::format;
use alloc::string::String;

use crate::error::Error;
use crate::finding::Finding;
use crate::manifest::Tensor;
use crate::write::Encoded;

use super::block::Block;
use crate::element::OPAQUE_BLOCKS;

/// Returns the layout and attributes for a GGUF `tensor` in generation 2, for
/// [`Copier::layouts`](crate::write::Copier::layouts). Returns `None` if the tensor keeps its layout.
///
/// # Errors
/// Out of memory.
pub fn profile(tensor: &Tensor<'_>) -> Result<Option<(String, Encoded)>, Error> {
    let Some(block) = Block::of(tensor) else { return Ok(None) };
    let attributes = Encoded::gguf(block.elements, block.bytes)?;
    Ok(Some((format!("{}/1", block.layout()?), attributes)))
}

/// Finds the first of `tensors` whose GGUF blocks have no profile in generation 2. Such a tensor cannot be written, since
/// readers could not interpret its blocks.
pub fn find_without_profile<'m>(mut tensors: impl Iterator<Item = Tensor<'m>>) -> Option<Finding> {
    tensors.find_map(|tensor| {
        let sentence = match Block::of(&tensor) {
            Some(block) if block.has_profile() => return None,
            Some(Block { name, .. }) => {
                format!("generation 2 has no profile for blocks of {name}")
            }
            None if tensor.layout_name().ends_with(OPAQUE_BLOCKS) => {
                let layout = tensor.layout_name();
                format!("generation 2 has no profile for blocks of {layout}")
            }
            None => return None,
        };
        Some(Finding::unwritable(Some(tensor.name()), &sentence))
    })
}
