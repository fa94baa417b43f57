//! Types that replace those for compression if the feature `zstd` is not built in. They have no values, so they cannot be
//! used.

use crate::error::{BareError, Error};
use crate::index::Encoding;

/// The compression level without the feature `zstd`: a type without values, because nothing can be compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {}

/// The encoder without the feature `zstd`: a type without values, because nothing can be compressed.
pub(super) enum Encoder {}

impl Encoder {
    pub(super) fn new(level: Level, _: u64, _: Encoding) -> Result<Self, BareError> {
        match level {}
    }

    pub(super) fn write<E>(
        &mut self,
        _: &[u8],
        _: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match *self {}
    }

    pub(super) fn finish<E>(self, _: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        match self {}
    }
}
