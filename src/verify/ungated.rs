//! Stand-ins for the types of [`crate::conventions`] that a check uses, for builds without the feature `dequantize`. Such builds
//! do not examine groups of quantized tensors.

use crate::error::{Error, OutOfMemory};
use crate::index::Finding;
use crate::manifest::{Component, ManifestRef, Tensor};

/// A set of tensors to examine, which is always empty.
#[derive(Debug, Default)]
pub(crate) struct Gate(());

/// The notes that a check makes. It holds nothing, because a check makes no notes without the feature `dequantize` of this crate.
#[derive(Debug, Default)]
pub(crate) struct Notes(());

/// The type of looks at content. It has no values, because this check looks at no tensor.
#[derive(Debug)]
pub(crate) enum Looks {}

impl Notes {
    pub(crate) fn add(&mut self, _: Error) -> Result<(), OutOfMemory> {
        Ok(())
    }

    pub(crate) fn all(&self) -> &[Finding] {
        &[]
    }
}

impl Gate {
    pub(crate) fn new(_: ManifestRef<'_>, _: &mut Notes) -> Result<Self, Error> {
        Ok(Self(()))
    }

    pub(crate) fn look(&self, _: u32) -> Result<Option<Looks>, OutOfMemory> {
        Ok(None)
    }
}

impl Looks {
    pub(crate) fn chunk(&mut self, _: &Component<'_>, _: &[u8]) -> Result<(), OutOfMemory> {
        match *self {}
    }

    pub(crate) fn finish(self, _: &Tensor<'_>, _: ManifestRef<'_>) -> Result<Option<Error>, Error> {
        match self {}
    }
}
