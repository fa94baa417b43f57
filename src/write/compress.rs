//! Compressed components: the encoder of `zten_zstd`, with the errors of this crate.

use zten_zstd::Failure;
use zten_zstd::encode::{self, EncodeError};

use crate::error::{BareError, Error, Misuse, OutOfMemory};
use crate::index::Encoding;

/// A compression level: from 1, the fastest, to 5, the smallest. The default is 2.
///
/// They are not the levels of other encoders. All are much the same on weights, where a level
/// cannot save more than the frequencies of bytes allow; each looks at twice as many places as
/// the one below for what repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(encode::Level);

impl Level {
    /// The level of that number.
    pub fn new(level: u8) -> Result<Self, Error> {
        encode::Level::new(level).map(Self).ok_or(Misuse::Level.into())
    }
}

/// The content of one component, being compressed.
pub(super) enum Encoder {
    /// One frame.
    Frame(encode::Encoder),
    /// Frames with a table.
    Seekable(encode::Seekable),
}

impl Encoder {
    /// An encoder of exactly `decoded` bytes. All memory that it needs is taken here, but for the
    /// table of frames.
    pub(super) fn new(level: Level, decoded: u64, encoding: Encoding) -> Result<Self, BareError> {
        if encoding == Encoding::ZstdSeekable {
            return encode::Seekable::new(level.0, decoded)
                .map(Self::Seekable)
                .map_err(encode_error);
        }
        encode::Encoder::new(level.0, decoded).map(Self::Frame).map_err(encode_error)
    }

    /// Takes bytes, and hands to `out` what can be written.
    pub(super) fn write<E: From<BareError>>(
        &mut self,
        bytes: &[u8],
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Frame(encoder) => encoder.write(bytes, out),
            Self::Seekable(encoder) => encoder.write(bytes, out),
        }
        .map_err(failed)
    }

    /// Hands the end to `out`.
    pub(super) fn finish<E: From<BareError>>(
        self,
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Frame(encoder) => encoder.finish(out),
            Self::Seekable(encoder) => encoder.finish(out),
        }
        .map_err(failed)
    }
}

fn failed<E: From<BareError>>(failure: Failure<E, EncodeError>) -> E {
    match failure {
        Failure::Callback(error) => error,
        Failure::Codec(error) => encode_error(error).into(),
    }
}

fn encode_error(error: EncodeError) -> BareError {
    match error {
        EncodeError::Length => BareError::misuse(Misuse::Supply),
        EncodeError::Memory => OutOfMemory.into(),
    }
}
