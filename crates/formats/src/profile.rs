//! The layouts that blocks of GGUF have in generation 2.

use zten::write::Encoded;
use zten::{Error, Manifest, Object};
use zten_present::finding::{Finding, Verdict};

use super::block::Block;

/// The layout that an object of a GGUF file has in generation 2, and its attributes, for
/// [`Copier::layouts`](zten::write::Copier::layouts); none if it keeps its own.
///
/// # Errors
/// Out of memory.
pub fn profile(object: &Object<'_>) -> Result<Option<(String, Encoded)>, Error> {
    let Some(block) = Block::of(object) else { return Ok(None) };
    let attributes = Encoded::gguf(block.elements, block.bytes)?;
    Ok(Some((format!("{}/1", block.layout()?), attributes)))
}

/// Finds an object of a GGUF file for whose blocks generation 2 has no profile: readers could not tell what else they are.
pub fn find_without_profile(manifest: &Manifest<impl AsRef<[u8]>>) -> Option<Finding> {
    manifest.objects().find_map(|object| {
        let block = Block::of(&object).filter(|block| !block.has_profile())?;
        let sentence = format!(
            "it can be read, and not be written: 2 has no profile for blocks of {}",
            block.name
        );
        let mut finding = Finding::new(Verdict::Error, sentence);
        finding.object = Some(object.name().to_owned());
        Some(finding)
    })
}
