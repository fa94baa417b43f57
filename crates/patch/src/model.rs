//! The models that patches are made of and applied to.

use std::collections::HashMap;

use zten::attributes::{Attributes, Encoder};
use zten::formats::write::DeclaredArrays;
use zten::manifest::Manifest;
use zten::num::u64_from_usize;
use zten::shards::Source;
use zten::verify::Verifier;
use zten::write::Encoded;
use zten::{Archive, Error, Tensor};

use crate::arrays::{ArrayFile, ReadArray};
use crate::failure::no_memory;

/// A model from which a patch is made or to which it is applied: the tensors of an open archive of any format, and the source of their
/// bytes.
///
/// [`of_arrays`](Self::of_arrays) makes a model of arrays in memory without copying them.
#[derive(Clone, Debug)]
pub struct Model<'a> {
    pub(crate) tensors: Vec<Tensor<'a>>,
    pub(crate) attributes: Attributes<'a>,
    pub(crate) verifier: Verifier,
    pub(crate) format: String,
}

impl<'a> Model<'a> {
    /// Creates the model of the tensors that `manifest` lists. Their bytes are read from `source` when they are needed.
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

    /// Creates the model of the arrays in `list`. `file` is the file that [`ArrayFile::open`] made of the same list. The tensors of the
    /// model have the order of the list. (The file has another order, because it sorts the tensors by name.)
    ///
    /// # Errors
    /// [`OutOfMemory`](zten::error::OutOfMemory).
    pub fn of_arrays<R: ReadArray>(
        list: &DeclaredArrays,
        file: &'a Archive<ArrayFile<R>>,
    ) -> Result<Self, Error> {
        let mut places = HashMap::new();
        places.try_reserve(list.arrays.len()).map_err(|_| no_memory())?;
        places.extend(list.arrays.iter().enumerate().map(|(at, (name, _))| (name.as_str(), at)));
        let mut model = Self::new(file.manifest(), file)?;
        model.tensors.sort_unstable_by_key(|tensor| places.get(tensor.name()));
        Ok(model)
    }

    /// Adds `bytes`, the size of all shards of the model, to the size of its file, on which the limit `decoded-total` depends.
    #[must_use]
    pub fn with_shard_bytes(mut self, bytes: u64) -> Self {
        self.verifier = self.verifier.with_shard_bytes(bytes);
        self
    }

    /// Returns this model with the attributes and the format of `other`. Arrays in memory have neither, so a patch from a file to arrays
    /// would otherwise remove the attributes of the file.
    #[must_use]
    pub fn like(mut self, other: &Self) -> Self {
        self.attributes = other.attributes.clone();
        self.format.clone_from(&other.format);
        self
    }
}

/// Returns whether the attributes `one` and `other` have the same keys with the same CBOR bytes, in any order.
pub(crate) fn are_equal(one: &Attributes<'_>, other: &Attributes<'_>) -> bool {
    sorted(one) == sorted(other)
}

/// Returns the keys of `attributes`, each with the CBOR bytes of its value, sorted.
fn sorted<'m>(attributes: &Attributes<'m>) -> Vec<(&'m str, &'m [u8])> {
    let entries = attributes.clone().map(|(key, item)| (key, item.as_bytes()));
    let mut entries: Vec<_> = entries.collect();
    entries.sort_unstable();
    entries
}

/// Returns `attributes` as the CBOR map that a writer of zTensor files takes.
pub(crate) fn encoded(attributes: &Attributes<'_>) -> Result<Encoded, Error> {
    let mut out = Encoder::default();
    out.map(u64_from_usize(attributes.clone().count()))?;
    for (key, item) in attributes.clone() {
        out.text(key)?;
        out.raw(item.as_bytes())?;
    }
    Ok(Encoded::from_cbor(out.into_bytes()))
}
