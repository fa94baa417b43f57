//! The dense tensors of an open archive as a source of arrays.

use alloc::string::String;
use alloc::vec::Vec;

use crate::cbor::Attributes;
use crate::error::Error;
use crate::error::OutOfMemory;
use crate::layout::Normalization;
use crate::manifest::{Manifest, Tensor};
use crate::shards::Source;
use crate::verify::Verifier;

use super::array::{Array, ArrayList, ArraySource, ChunkFn, WriteFailure};

/// The tensors and attributes of an archive of any format, as a source of arrays. The tensors are in the order of the archive.
/// For a tensor that is not dense, has attributes or several components, or has an unknown type, [`array`](ArrayList::array)
/// returns an error.
#[derive(Debug)]
pub struct Tensors<'a> {
    all: Vec<Tensor<'a>>,
    attributes: Attributes<'a>,
    verifier: Verifier,
}

impl<'a> Tensors<'a> {
    /// Creates a source of the tensors of `manifest`. Their data is read from `source` and validated by `verifier`.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new<B: AsRef<[u8]>>(
        manifest: &'a Manifest<B>,
        source: &'a dyn Source,
        verifier: Verifier,
    ) -> Result<Self, Error> {
        let mut all = Vec::new();
        let tensors = manifest.tensors();
        all.try_reserve_exact(tensors.len()).map_err(|_| OutOfMemory)?;
        all.extend(tensors.map(|tensor| tensor.read_from(source)));
        Ok(Self { all, attributes: manifest.attributes(), verifier })
    }
}

impl ArrayList for Tensors<'_> {
    fn count(&self) -> usize {
        self.all.len()
    }

    fn name(&self, at: usize) -> &str {
        self.all.get(at).map_or("", |tensor| tensor.name())
    }

    fn array(&self, at: usize) -> Result<Array, String> {
        Array::of(self.all.get(at).ok_or("no such tensor")?)
    }

    fn attributes(&self) -> Attributes<'_> {
        self.attributes.clone()
    }
}

impl ArraySource for Tensors<'_> {
    type Error = Error;

    fn read(&mut self, at: usize, take: &mut ChunkFn<'_>) -> Result<(), WriteFailure<Error>> {
        let Some(tensor) = self.all.get(at) else { return Ok(()) };
        let mut stopped = None;
        let read = self.verifier.object(tensor, |component, chunk| {
            if stopped.is_none() {
                let normalized = Normalization::bools(component);
                stopped = normalized.chunk(chunk, |bytes| take(bytes)).err();
            }
        });
        match stopped {
            Some(error) => Err(WriteFailure::Output(error)),
            None => read.map_err(WriteFailure::Source),
        }
    }
}
