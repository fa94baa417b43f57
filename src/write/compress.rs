//! Compressed components: the encoder of `zten_zstd`, with the errors of this crate.

use zten_zstd::Failure;
use zten_zstd::encode::{self, EncodeError};

use crate::error::{Error, Misuse, OutOfMemory};

/// How hard to compress: from 1, the fastest, to 5, the smallest. By default 2.
///
/// They are not the levels of other encoders. All are much the same on weights, where a level
/// cannot save more than the frequencies of bytes allow; each looks at twice as many places as
/// the one below for what repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(encode::Level);

impl Level {
    /// The level of that number.
    pub fn new(level: u8) -> Result<Self, Error> {
        encode::Level::new(level).map(Self).ok_or(Error::misuse(Misuse::Level))
    }
}

/// The content of one component, being compressed into one frame.
pub(super) struct Encoder(encode::Encoder);

impl Encoder {
    /// An encoder of exactly `decoded` bytes. All memory that it needs is taken here.
    pub(super) fn new(level: Level, decoded: u64) -> Result<Self, Error> {
        encode::Encoder::new(level.0, decoded).map(Self).map_err(refused)
    }

    /// Takes bytes, and hands to `out` what can be written.
    pub(super) fn write<E: From<Error>>(
        &mut self,
        bytes: &[u8],
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.0.write(bytes, out).map_err(failed)
    }

    /// Hands the end of the frame to `out`.
    pub(super) fn finish<E: From<Error>>(
        self,
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.0.finish(out).map_err(failed)
    }
}

fn failed<E: From<Error>>(failure: Failure<E, EncodeError>) -> E {
    match failure {
        Failure::Callback(error) => error,
        Failure::Codec(error) => refused(error).into(),
    }
}

fn refused(error: EncodeError) -> Error {
    match error {
        EncodeError::Length => Error::misuse(Misuse::Supply),
        EncodeError::Memory => OutOfMemory.into(),
    }
}
