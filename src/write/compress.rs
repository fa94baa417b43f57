//! Compressed components: the encoder of `zten_zstd`, with the errors of this crate.

use zten_zstd::CallbackFailure;
use zten_zstd::encode::{self, EncodeError};

use crate::error::{BareError, Error, Misuse, OutOfMemory};
use crate::index::Encoding;

/// A compression level: from 1, the fastest, to 5, the smallest. The default is 2.
///
/// The levels are not those of other encoders. Each level looks for repetitions at twice as many positions as the level
/// below. On weights all levels give about the same size, because weights hardly repeat, and only the frequencies of bytes
/// can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(encode::Level);

impl Level {
    /// Creates the level with the number `level`.
    ///
    /// # Errors
    /// [`Misuse::Level`] if the number is not from 1 to 5.
    pub fn new(level: u8) -> Result<Self, Error> {
        encode::Level::new(level).map(Self).ok_or(Misuse::Level.into())
    }
}

/// An encoder of the content of one component.
pub(super) enum Encoder {
    /// The content becomes one zstd frame.
    Frame(encode::Encoder),
    /// The content becomes several zstd frames with a table of their sizes.
    Seekable(encode::Seekable),
}

impl Encoder {
    /// Creates an encoder of exactly `decoded` bytes. All memory except the table of frames is allocated here.
    pub(super) fn new(level: Level, decoded: u64, encoding: Encoding) -> Result<Self, BareError> {
        if encoding == Encoding::ZstdSeekable {
            return encode::Seekable::new(level.0, decoded)
                .map(Self::Seekable)
                .map_err(encode_error);
        }
        encode::Encoder::new(level.0, decoded).map(Self::Frame).map_err(encode_error)
    }

    /// Compresses `bytes`, and passes compressed bytes to `out` as far as they are complete.
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

    /// Passes the last compressed bytes to `out`.
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

fn failed<E: From<BareError>>(failure: CallbackFailure<E, EncodeError>) -> E {
    match failure {
        CallbackFailure::Callback(error) => error,
        CallbackFailure::Codec(error) => encode_error(error).into(),
    }
}

fn encode_error(error: EncodeError) -> BareError {
    match error {
        EncodeError::Length => BareError::misuse(Misuse::Supply),
        EncodeError::Memory => OutOfMemory.into(),
    }
}
