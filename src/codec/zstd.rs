//! Zstandard components: the frames of `zten_zstd`, by the limits and rules of this crate.

#[cfg(feature = "zstd-ruzstd")]
mod ruzstd_decoder;

use alloc::vec::Vec;
use core::ops::Range;

use zten_zstd::Failure;
use zten_zstd::decode::{self, Bounds, DecodeError, Flaw};

#[cfg(feature = "zstd-ruzstd")]
use self::ruzstd_decoder::Decoder;
use super::ReadAt;
use crate::error::{BareError, Error, ErrorKind, OutOfMemory};
use crate::limits::Limits;
use crate::manifest::Extent;
use crate::rules::{Limit, Rule};
#[cfg(not(feature = "zstd-ruzstd"))]
use zten_zstd::decode::Decoder;

/// The frames of one component, being decoded. They are one item, on the heap: they take 1 KiB, and readers of components
/// that are not compressed are not to be as large.
pub(super) struct Frames(Vec<decode::Frames<Decoder>>);

impl Frames {
    /// Walks the frames of a component, all of them, before any is decoded.
    pub(super) fn open<R: ReadAt>(
        source: &R,
        extent: Extent,
        declared: Option<u64>,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let bounds = Bounds { window: limits.window(), decoded: limits.decoded(), declared };
        let mut source = |at: u64, buffer: &mut [u8]| source.read_at(at, buffer);
        let mut all = Vec::new();
        all.try_reserve_exact(1).map_err(|_| OutOfMemory)?;
        all.push(decode::Frames::open(&mut source, extent.range(), bounds).map_err(failed)?);
        Ok(Self(all))
    }

    /// Returns whether it is one frame, and has a checksum.
    pub(super) fn is_one_with_checksum(&self) -> bool {
        self.0.first().is_some_and(decode::Frames::is_one_with_checksum)
    }

    /// Hands out where each frame stands, of which none has been decoded yet, and what it says that it decodes to,
    /// until `each` says otherwise.
    pub(super) fn places<R: ReadAt>(
        &self,
        source: &R,
        each: impl FnMut(Range<u64>, Option<u64>) -> bool,
    ) -> Result<(), Error> {
        let frames = self.0.first().ok_or(BareError::internal())?;
        frames.places(&mut |at, buffer| source.read_at(at, buffer), each).map_err(failed)
    }

    /// Decodes into `buffer` until it is full or the component ends, and returns how many bytes it is.
    /// `tap` sees the stored bytes, in order.
    pub(super) fn read<R: ReadAt>(
        &mut self,
        source: &R,
        buffer: &mut [u8],
        mut tap: impl FnMut(&[u8]),
    ) -> Result<usize, Error> {
        let frames = self.0.first_mut().ok_or(BareError::internal())?;
        let read = |at: u64, buffer: &mut [u8]| source.read_at(at, buffer);
        frames.read(&mut { read }, buffer, &mut tap).map_err(failed)
    }
}

#[cold]
fn failed(failure: Failure<Error, DecodeError>) -> Error {
    match failure {
        Failure::Callback(error) => error,
        Failure::Codec(error) => decode_error(error).into(),
    }
}

/// The rule or limit that frames break.
fn decode_error(error: DecodeError) -> BareError {
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
    BareError::new(kind, error.at()).found(error.number())
}
