//! Frames of a component that can be decoded by themselves.

use alloc::vec::Vec;

use super::ReadAt;
use super::seekable::{Entry, Seekable};
use super::zstd::Frames;
use crate::limits::Limits;
use crate::manifest::Extent;
use crate::num::u64_from_usize;

/// Stored bytes of a frame, at least, on average: fewer are not worth the while.
const LEAST: u64 = 16 << 10;
/// Stored bytes of a frame, at most: a thread has those of one in memory.
const LARGEST: u64 = 64 << 20;
/// Decoded bytes of one that is stored, at most, so that memory follows what is stored and not what is claimed.
const TIMES: u64 = 64;

/// A frame that can be decoded by itself.
pub(super) struct Piece {
    pub(super) stored: Extent,
    /// Bytes that it decodes to.
    pub(super) decoded: u64,
    /// What a table says of it.
    entry: Option<Entry>,
}

impl Piece {
    /// The frame, whose bytes are `stored`; none if it is not as it should be.
    pub(super) fn frame(&self, stored: &[u8], limits: &Limits) -> Option<Frames> {
        if let Some(entry) = self.entry {
            return entry.frame(&stored, 0, limits).ok();
        }
        let extent = Extent::part(0, self.stored.length());
        Frames::open(&stored, extent, Some(self.decoded), limits).ok()
    }
}

/// All frames of a component, of which there are several.
pub(crate) struct Pieces {
    pub(super) all: Vec<Piece>,
    decoded: usize,
}

impl Pieces {
    /// The frames that stand in `extent`; none where they are not as wanted.
    pub(super) fn of<R: ReadAt>(
        frames: &Frames,
        source: &R,
        extent: Extent,
        declared: u64,
    ) -> Option<Self> {
        let mut pieces = Vec::new();
        let walked = frames.places(source, |place, decoded| {
            let length = place.end.saturating_sub(place.start);
            let stored = Extent::part(place.start, length);
            decoded.is_some_and(|decoded| {
                let piece = Piece { stored, decoded, entry: None };
                add(&mut pieces, piece, extent)
            })
        });
        walked.ok()?;
        Self::all(pieces, extent.end(), declared)
    }

    /// The same, of frames with a table.
    pub(super) fn seekable<R: ReadAt>(
        frames: &Seekable,
        source: &R,
        extent: Extent,
        declared: u64,
    ) -> Option<Self> {
        let mut pieces = Vec::new();
        frames.places(source, |at, entry| {
            let stored = Extent::part(at, entry.stored.into());
            let piece = Piece { stored, decoded: entry.decoded.into(), entry: Some(entry) };
            add(&mut pieces, piece, extent)
        });
        Self::all(pieces, frames.end(), declared)
    }

    /// Several frames of which the last ends at `end`, and that decode to what is declared.
    fn all(all: Vec<Piece>, end: u64, declared: u64) -> Option<Self> {
        let ends = all.last().is_some_and(|last| last.stored.end() == end);
        let decoded = all.iter().try_fold(0_u64, |sum, piece| sum.checked_add(piece.decoded))?;
        let decoded = usize::try_from(decoded).ok().filter(|_| decoded == declared)?;
        (ends && all.len() > 1).then_some(Self { all, decoded })
    }

    /// Bytes that they decode to.
    pub(crate) fn decoded(&self) -> usize {
        self.decoded
    }
}

/// Adds a frame to those before it, if it is as wanted in a component of that extent.
fn add(pieces: &mut Vec<Piece>, piece: Piece, extent: Extent) -> bool {
    let length = piece.stored.length();
    let fits = u64_from_usize(pieces.len()) < extent.length() / LEAST
        && length <= LARGEST
        && piece.decoded <= length.saturating_mul(TIMES)
        && pieces.try_reserve(1).is_ok();
    if fits {
        pieces.push(piece);
    }
    fits
}
