//! The layouts that blocks of GGUF have in generation 2.

use zten::write::Encoded;
use zten::{Error, Tensor};
use zten_report::finding::{Finding, Verdict};

use super::block::Block;

/// The layout that a tensor of a GGUF file has in generation 2, and its attributes, for
/// [`Copier::layouts`](zten::write::Copier::layouts); none if it keeps its own.
///
/// # Errors
/// Out of memory.
pub fn profile(tensor: &Tensor<'_>) -> Result<Option<(String, Encoded)>, Error> {
    let Some(block) = Block::of(tensor) else { return Ok(None) };
    let attributes = Encoded::gguf(block.elements, block.bytes)?;
    Ok(Some((format!("{}/1", block.layout()?), attributes)))
}

/// Finds one of the tensors of a GGUF file for whose blocks generation 2 has no profile: readers could not tell what else they are.
pub fn find_without_profile<'m>(mut tensors: impl Iterator<Item = Tensor<'m>>) -> Option<Finding> {
    tensors.find_map(|tensor| {
        let block = Block::of(&tensor).filter(|block| !block.has_profile())?;
        let sentence = format!(
            "it can be read, but not written: 2 has no profile for blocks of {}",
            block.name
        );
        let mut finding = Finding::new(Verdict::Error, sentence);
        finding.object = Some(tensor.name().to_owned());
        Some(finding)
    })
}
