//! Stand-ins for compression where the feature `zstd` is not built in. None of them has a value.

use crate::error::{BareError, Error};
use crate::index::Encoding;

/// No level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {}

/// No encoder.
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
