//! The layouts for GGUF blocks in zTensor files of generation 2, which the specification calls profiles.

use alloc::format;
use alloc::string::String;

use crate::error::Error;
use crate::finding::Finding;
use crate::manifest::Tensor;
use crate::write::Encoded;

use super::block::Block;
use crate::element::OPAQUE_BLOCKS;

/// Returns the name of the layout and the attributes with which a GGUF `tensor` is written to a zTensor file of generation
/// 2, for [`Copier::layouts`](crate::write::Copier::layouts). Returns `None` if the tensor does not consist of GGUF blocks,
/// so that its layout stays unchanged.
///
/// # Errors
/// Out of memory.
pub fn profile(tensor: &Tensor<'_>) -> Result<Option<(String, Encoded)>, Error> {
    let Some(block) = Block::of(tensor) else { return Ok(None) };
    let attributes = Encoded::gguf(block.elements, block.bytes)?;
    Ok(Some((format!("{}/1", block.layout()?), attributes)))
}

/// Finds the first of `tensors` that consists of blocks for which generation 2 of zTensor defines no layout, and returns the
/// reason why this tensor cannot be written: readers could not interpret its blocks. Returns `None` if there is no such tensor.
pub fn find_without_profile<'m>(mut tensors: impl Iterator<Item = Tensor<'m>>) -> Option<Finding> {
    tensors.find_map(|tensor| {
        let sentence = match Block::of(&tensor) {
            Some(block) if block.has_profile() => return None,
            Some(Block { name, .. }) => {
                format!("generation 2 of zTensor has no layout for GGUF blocks of {name}")
            }
            None if tensor.layout_name().ends_with(OPAQUE_BLOCKS) => {
                let layout = tensor.layout_name();
                format!("generation 2 of zTensor has no layout for blocks of {layout}")
            }
            None => return None,
        };
        Some(Finding::unwritable(Some(tensor.name()), &sentence))
    })
}
