//! The models that patches are made of and applied to.

use zten::attributes::{Attributes, Encoder};
use zten::manifest::Manifest;
use zten::num::u64_from_usize;
use zten::shards::Source;
use zten::verify::Verifier;
use zten::write::Encoded;
use zten::{Error, Tensor};

use crate::failure::no_memory;

/// The tensors of an open archive of any format and the source of their bytes.
///
/// Arrays in memory become a model without a copy if a [`ReadAt`](zten::ReadAt) returns the header of a safetensors file, followed
/// by the bytes of the arrays.
#[derive(Clone, Debug)]
pub struct Model<'a> {
    pub(crate) tensors: Vec<Tensor<'a>>,
    pub(crate) attributes: Attributes<'a>,
    pub(crate) verifier: Verifier,
    pub(crate) format: String,
}

impl<'a> Model<'a> {
    /// Creates the model of the tensors of `manifest`, whose bytes are read from `source`.
    ///
    /// # Errors
    /// [`OutOfMemory`](zten::error::OutOfMemory).
    pub fn new<B: AsRef<[u8]>>(
        manifest: &'a Manifest<B>,
        source: &'a dyn Source,
    ) -> Result<Self, Error> {
        let mut tensors = Vec::new();
        tensors.try_reserve_exact(manifest.len()).map_err(|_| no_memory())?;
        tensors.extend(manifest.tensors().map(|tensor| tensor.read_from(source)));
        let format = match manifest.generation() {
            Some(generation) => format!("{} {generation}", manifest.file_format()),
            None => manifest.file_format().to_owned(),
        };
        Ok(Self {
            tensors,
            attributes: manifest.attributes(),
            verifier: Verifier::new(manifest),
            format,
        })
    }

    /// Adds the `bytes` of all shards to the size of the file, as [`Verifier::with_shard_bytes`] does.
    #[must_use]
    pub fn with_shard_bytes(mut self, bytes: u64) -> Self {
        self.verifier = self.verifier.with_shard_bytes(bytes);
        self
    }
}

/// Returns whether two maps of attributes have the same entries, in any order.
pub(crate) fn are_equal(one: &Attributes<'_>, other: &Attributes<'_>) -> bool {
    sorted(one) == sorted(other)
}

/// Returns the keys and the CBOR of attributes, sorted.
fn sorted<'m>(attributes: &Attributes<'m>) -> Vec<(&'m str, &'m [u8])> {
    let entries = attributes.clone().map(|(key, item)| (key, item.as_bytes()));
    let mut entries: Vec<_> = entries.collect();
    entries.sort_unstable();
    entries
}

/// Returns the CBOR of `attributes`.
pub(crate) fn encoded(attributes: &Attributes<'_>) -> Result<Encoded, Error> {
    let mut out = Encoder::default();
    out.map(u64_from_usize(attributes.clone().count()))?;
    for (key, item) in attributes.clone() {
        out.text(key)?;
        out.raw(item.as_bytes())?;
    }
    Ok(Encoded::from_cbor(out.into_bytes()))
}
