//! Zstandard components: the frames of `zten_zstd`, by the limits and rules of this crate.

#[cfg(feature = "zstd-ruzstd")]
mod foreign;

#[cfg(feature = "std")]
use alloc::vec::Vec;

use zten_zstd::Failure;
use zten_zstd::decode::{self, Bounds, DecodeError, Flaw};

#[cfg(feature = "zstd-ruzstd")]
use self::foreign::Decoder;
#[cfg(feature = "std")]
use super::pieces::{Piece, Wanted};
use super::{ReadAt, ReadError};
use crate::error::{Error, ErrorKind, OutOfMemory};
use crate::limits::Limits;
use crate::manifest::Extent;
use crate::rules::{Limit, Rule};
#[cfg(not(feature = "zstd-ruzstd"))]
use zten_zstd::decode::Decoder;

/// The frames of one component, being decoded.
pub(super) struct Frames(decode::Frames<Decoder>);

impl Frames {
    /// Walks the frames of a component, all of them, before any is decoded.
    pub(super) fn open<R: ReadAt>(
        source: &R,
        extent: Extent,
        expected: Option<u64>,
        limits: &Limits,
    ) -> Result<Self, ReadError<R::Error>> {
        let (window, decoded) = (limits.window(), limits.decoded());
        let bounds = Bounds { window, decoded, declared: expected };
        let mut source = |at: u64, buffer: &mut [u8]| source.read_at(at, buffer);
        let frames = decode::Frames::open(&mut source, extent.offset()..extent.end(), bounds);
        frames.map(Self).map_err(failed)
    }

    /// Whether it is one frame, and has a checksum.
    #[cfg(feature = "v2")]
    pub(super) fn is_one_with_checksum(&self) -> bool {
        self.0.is_one_with_checksum()
    }

    /// The frames, of which none has been decoded yet, where they are such as can be decoded by themselves.
    #[cfg(feature = "std")]
    pub(super) fn pieces<R: ReadAt>(&self, source: &R, wanted: &Wanted) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        let mut fits = true;
        let mut source = |at: u64, buffer: &mut [u8]| source.read_at(at, buffer);
        let walked = self.0.places(&mut source, |place, decoded| {
            let length = place.end.saturating_sub(place.start);
            let stored = Extent::part(place.start, length);
            fits = decoded.is_some_and(|decoded| {
                wanted.add(&mut pieces, Piece { stored, decoded, checksum: None })
            });
            fits
        });
        walked.ok().filter(|()| fits).map(|()| pieces)
    }

    /// How many bytes may still come.
    pub(super) fn left(&self) -> u64 {
        self.0.left()
    }

    /// Decodes into `buffer` until it is full or the component ends; how many bytes it is.
    /// `tap` sees the stored bytes, in order.
    pub(super) fn read<R: ReadAt>(
        &mut self,
        source: &R,
        buffer: &mut [u8],
        tap: &mut impl FnMut(&[u8]),
    ) -> Result<usize, ReadError<R::Error>> {
        let mut source = |at: u64, buffer: &mut [u8]| source.read_at(at, buffer);
        self.0.read(&mut source, buffer, tap).map_err(failed)
    }
}

#[cold]
fn failed<E>(failure: Failure<E, DecodeError>) -> ReadError<E> {
    match failure {
        Failure::Callback(error) => ReadError::Source(error),
        Failure::Codec(error) => ReadError::Refused(refused(error)),
    }
}

/// The rule or limit that frames break.
fn refused(error: DecodeError) -> Error {
    let kind: ErrorKind = match error.flaw() {
        Flaw::Magic => Rule::ZstdMagic.into(),
        Flaw::Truncated => Rule::ZstdTruncated.into(),
        Flaw::Skippable => Rule::ZstdSkippable.into(),
        Flaw::Dictionary => Rule::ZstdDictionary.into(),
        Flaw::Reserved => Rule::ZstdReserved.into(),
        Flaw::Block => Rule::ZstdBlock.into(),
        Flaw::ContentSize => Rule::ZstdContentSize.into(),
        Flaw::Checksum => Rule::ZstdChecksum.into(),
        Flaw::Corrupt => Rule::ZstdCorrupt.into(),
        Flaw::Declared => Rule::DecodedSize.into(),
        Flaw::Window => Limit::Window.into(),
        Flaw::Decoded => Limit::Decoded.into(),
        Flaw::Memory => return OutOfMemory.into(),
    };
    Error::new(kind, error.at()).found(error.number())
}
