//! One component, decoded on several threads.
//!
//! Each frame is read once and decoded by itself, into its part of the buffer; in order, frames are then
//! hashed and validated. Where anything is not as it should be, all of that is given up: decoding from the
//! beginning, one frame after the other, says what is wrong.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use std::sync::Mutex;

use super::ReadAt;
use super::pieces::{Piece, Pieces};
use super::zstd::Frames;
use crate::limits::Limits;
use crate::manifest::Extent;

/// A frame that is to be decoded.
pub(super) struct Job<'b> {
    piece: Piece,
    room: &'b mut [u8],
    is_seekable: bool,
}

/// A frame that has been.
pub(super) struct Done<'s, 'b> {
    /// Its bytes as they are stored, where these are hashed.
    pub(super) stored: Option<Cow<'s, [u8]>>,
    pub(super) decoded: &'b [u8],
}

/// The frames, each with its part of `buffer`, which is as long as all of them.
pub(super) fn jobs(pieces: Pieces, mut buffer: &mut [u8]) -> Option<Vec<Job<'_>>> {
    let mut jobs = Vec::new();
    jobs.try_reserve_exact(pieces.all.len()).ok()?;
    for piece in pieces.all {
        let (room, rest) = buffer.split_at_mut_checked(usize::try_from(piece.decoded).ok()?)?;
        jobs.push(Job { piece, room, is_seekable: pieces.is_seekable });
        buffer = rest;
    }
    buffer.is_empty().then_some(jobs)
}

impl<'b> Job<'b> {
    /// Decodes the frame; none if anything is wrong.
    pub(super) fn decode<'s, S>(self, source: &'s S, limits: &Limits) -> Option<Done<'s, 'b>>
    where
        S: ReadAt + ?Sized,
    {
        let Self { piece, room, is_seekable } = self;
        let stored = stored(source, piece.stored)?;
        let bytes: &[u8] = &stored;
        let extent = Extent::part(0, piece.stored.length());
        let mut frames = Frames::open(&bytes, extent, Some(piece.decoded), limits).ok()?;
        #[cfg(feature = "v2")]
        if is_seekable && !frames.is_one_with_checksum() {
            return None;
        }
        if piece.checksum.is_some_and(|checksum| bytes.last_chunk() != Some(&checksum)) {
            return None;
        }
        // Only its end shows that no more comes.
        let length = frames.read(&bytes, room, &mut |_| ()).ok()?;
        let more = frames.read(&bytes, &mut [0], &mut |_| ()).ok()?;
        let is_whole = (length, more) == (room.len(), 0);
        let stored = Some(stored).filter(|_| !is_seekable);
        is_whole.then_some(Done { stored, decoded: room })
    }
}

/// The bytes of the file at `extent`, which are lent or read.
fn stored<S: ReadAt + ?Sized>(source: &S, extent: Extent) -> Option<Cow<'_, [u8]>> {
    let length = usize::try_from(extent.length()).ok()?;
    if let Some(lent) = source.bytes_at(extent.offset(), length) {
        return (lent.len() == length).then_some(Cow::Borrowed(lent));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).ok()?;
    bytes.resize(length, 0);
    source.read_at(extent.offset(), &mut bytes).ok()?;
    Some(Cow::Owned(bytes))
}

/// Frames that are still to be decoded; none when one of them was not as it should be.
pub(super) struct Queue<'b>(Mutex<Option<core::iter::Enumerate<alloc::vec::IntoIter<Job<'b>>>>>);

impl<'b> Queue<'b> {
    pub(super) fn new(jobs: Vec<Job<'b>>) -> Self {
        Self(Mutex::new(Some(jobs.into_iter().enumerate())))
    }

    pub(super) fn next(&self) -> Option<(usize, Job<'b>)> {
        self.0.lock().ok()?.as_mut()?.next()
    }

    /// Hands nothing out any more.
    pub(super) fn stop(&self) {
        if let Ok(mut jobs) = self.0.lock() {
            *jobs = None;
        }
    }
}

/// What has been decoded and waits for frames before it.
pub(super) struct InOrder<'s, 'b, F> {
    done: Vec<Option<Done<'s, 'b>>>,
    next: usize,
    /// Takes them in order: whether one is as it should be.
    take: F,
}

impl<'s, 'b, F: FnMut(Done<'s, 'b>) -> bool> InOrder<'s, 'b, F> {
    /// For so many frames; none where there is no memory.
    pub(super) fn new(count: usize, take: F) -> Option<Self> {
        let mut done = Vec::new();
        done.try_reserve_exact(count).ok()?;
        done.resize_with(count, || None);
        Some(Self { done, next: 0, take })
    }

    /// Whether all have been taken.
    pub(super) fn is_over(&self) -> bool {
        self.next == self.done.len()
    }

    /// Notes the frame of that index, and takes those whose turn it is: whether all of them are as they should be.
    pub(super) fn note(&mut self, index: usize, frame: Done<'s, 'b>) -> bool {
        if let Some(slot) = self.done.get_mut(index) {
            *slot = Some(frame);
        }
        while let Some(frame) = self.done.get_mut(self.next).and_then(Option::take) {
            if !(self.take)(frame) {
                return false;
            }
            self.next = self.next.saturating_add(1);
        }
        true
    }
}
