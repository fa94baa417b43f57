//! Decoding zstd components with `zten_zstd`, within the limits and by the rules of this crate.

#[cfg(feature = "zstd-ruzstd")]
mod ruzstd_decoder;

use alloc::vec::Vec;
use core::ops::Range;

use zten_zstd::CallbackFailure;
use zten_zstd::decode::{self, Bounds, DecodeError, Flaw};

#[cfg(feature = "zstd-ruzstd")]
use self::ruzstd_decoder::Decoder;
use crate::error::{BareError, Error, ErrorKind, OutOfMemory};
use crate::limits::Limits;
use crate::manifest::Extent;
use crate::read_at::ReadAt;
use crate::rules::{Limit, Rule};
#[cfg(not(feature = "zstd-ruzstd"))]
use zten_zstd::decode::Decoder;

/// The frames of a component that is being decoded. They are in a vector of one item, because they take 1 KiB, which
/// readers of uncompressed components should not take.
pub(super) struct Frames(Vec<decode::Frames<Decoder>>);

impl Frames {
    /// Walks all frames of a component before any frame is decoded. `declared` is the decoded size, if the file gives
    /// it.
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

    /// Returns whether the component is a single zstd frame that has a checksum.
    pub(super) fn is_one_with_checksum(&self) -> bool {
        self.0.first().is_some_and(decode::Frames::is_one_with_checksum)
    }

    /// Calls `each` with the range of each frame and the decoded size that its header gives, until `each` returns
    /// false. No frame may have been decoded yet.
    pub(super) fn find_frames<R: ReadAt>(
        &self,
        source: &R,
        each: impl FnMut(Range<u64>, Option<u64>) -> bool,
    ) -> Result<(), Error> {
        let frames = self.0.first().ok_or(BareError::internal())?;
        frames.find_frames(&mut |at, buffer| source.read_at(at, buffer), each).map_err(failed)
    }

    /// Decodes into `buffer` until it is full or the component ends, and returns the number of bytes. Calls `tap` with
    /// the stored bytes, in order.
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
fn failed(failure: CallbackFailure<Error, DecodeError>) -> Error {
    match failure {
        CallbackFailure::Callback(error) => error,
        CallbackFailure::Codec(error) => decode_error(error).into(),
    }
}

/// Returns the error of the rule or the limit that the frames break.
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
