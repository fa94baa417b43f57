//! One component, decoded on several threads.
//!
//! Frames are read in order, each once, and decoded by themselves, each into its part of the buffer; in order, what
//! they decode to is then validated. Digests are over the one or the other. Where anything is not as it should be,
//! all of that is given up: decoding from the beginning, one frame after the other, says what is wrong.

use alloc::borrow::Cow;
use alloc::vec::{IntoIter, Vec};
use core::iter::Enumerate;
use std::sync::Mutex;

use super::ReadAt;
use super::hasher::Hasher;
use super::pieces::{Piece, Pieces};
use crate::limits::Limits;
use crate::manifest::Extent;

/// A frame that is to be decoded.
struct Job<'b> {
    piece: Piece,
    room: &'b mut [u8],
}

/// A frame that is to be decoded, and has been read.
pub(super) struct Loaded<'s, 'b> {
    job: Job<'b>,
    /// Its bytes, as they are stored.
    stored: Cow<'s, [u8]>,
}

impl<'b> Loaded<'_, 'b> {
    /// Decodes the frame; none if anything is wrong.
    pub(super) fn decode(self, limits: &Limits) -> Option<&'b [u8]> {
        let Job { piece, room } = self.job;
        let bytes: &[u8] = &self.stored;
        let mut frame = piece.frame(bytes, limits)?;
        // Only its end shows that no more comes.
        let length = frame.read(&bytes, room, &mut |_| ()).ok()?;
        let more = frame.read(&bytes, &mut [0], &mut |_| ()).ok()?;
        ((length, more) == (room.len(), 0)).then_some(room)
    }
}

/// The bytes of the file at `extent`, which are lent or read.
fn stored<S: ReadAt + ?Sized>(source: &S, extent: Extent) -> Option<Cow<'_, [u8]>> {
    let length = usize::try_from(extent.length()).ok()?;
    if let Some(lent) = source.bytes_at(extent.offset(), length) {
        return (lent.len() == length).then_some(Cow::Borrowed(lent));
    }
    let mut bytes = Vec::new();
    let end = extent.offset().checked_add(extent.length())?;
    source.append_range(extent.offset()..end, &mut bytes).ok()?;
    Some(Cow::Owned(bytes))
}

/// Frames that are still to be decoded.
///
/// None when one was not as it should be.
pub(super) struct Queue<'b>(Mutex<Option<Left<'b>>>);

/// What is left of them.
struct Left<'b> {
    jobs: Enumerate<IntoIter<Job<'b>>>,
    /// Of stored bytes, where the digest is over these.
    hasher: Option<Hasher>,
}

impl<'b> Queue<'b> {
    /// The frames, each with its part of `buffer`, which is as long as all of them. `hasher` sees their stored bytes.
    pub(super) fn new(
        pieces: Pieces,
        mut buffer: &'b mut [u8],
        hasher: Option<Hasher>,
    ) -> Option<Self> {
        let mut jobs = Vec::new();
        jobs.try_reserve_exact(pieces.all.len()).ok()?;
        for piece in pieces.all {
            let decoded = usize::try_from(piece.decoded).ok()?;
            let (room, rest) = buffer.split_at_mut_checked(decoded)?;
            jobs.push(Job { piece, room });
            buffer = rest;
        }
        let left = Left { jobs: jobs.into_iter().enumerate(), hasher };
        buffer.is_empty().then_some(Self(Mutex::new(Some(left))))
    }

    /// Reads the next frame, and says which it is; none at the end. Frames are read one after another.
    pub(super) fn next<'s, S>(&self, source: &'s S) -> Option<(usize, Loaded<'s, 'b>)>
    where
        S: ReadAt + ?Sized,
    {
        let mut left = self.0.lock().ok()?;
        let Left { jobs, hasher } = left.as_mut()?;
        let (index, job) = jobs.next()?;
        let Some(stored) = stored(source, job.piece.stored) else {
            *left = None;
            return None;
        };
        if let Some(hasher) = hasher {
            hasher.update(&stored);
        }
        Some((index, Loaded { job, stored }))
    }

    /// Hands nothing out any more.
    pub(super) fn stop(&self) {
        if let Ok(mut left) = self.0.lock() {
            *left = None;
        }
    }

    /// What has seen the stored bytes, if anything was to.
    pub(super) fn end(self) -> Option<Hasher> {
        self.0.into_inner().ok()??.hasher
    }
}

/// What has been decoded and waits for frames before it.
pub(super) struct InOrder<'b, F> {
    done: Vec<Option<&'b [u8]>>,
    next: usize,
    /// Takes them in order: whether one is as it should be.
    take: F,
}

impl<'b, F: FnMut(&[u8]) -> bool> InOrder<'b, F> {
    /// For so many frames; none where there is no memory.
    pub(super) fn new(count: usize, take: F) -> Option<Self> {
        let mut done = Vec::new();
        done.try_reserve_exact(count).ok()?;
        done.resize(count, None);
        Some(Self { done, next: 0, take })
    }

    /// Whether all have been taken.
    pub(super) fn is_over(&self) -> bool {
        self.next == self.done.len()
    }

    /// Notes the frame of that index, and takes those whose turn it is: whether all of them are as they should be.
    pub(super) fn note(&mut self, index: usize, frame: &'b [u8]) -> bool {
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
