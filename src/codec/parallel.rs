//! One component, decoded on several threads.
//!
//! Frames are read in order, each once, and decoded by themselves, each into its part of the buffer; in order, what
//! they decode to is then validated. Digests are over the one or the other. Where anything is not as it should be,
//! all of that is given up: decoding from the beginning, one frame after the other, says what is wrong.

use alloc::borrow::Cow;
use alloc::vec::{IntoIter, Vec};
use core::iter::Enumerate;
use core::sync::atomic::Ordering::Relaxed;
use std::sync::Mutex;
use std::thread;

use super::content::{Reader, Reading, Stored};
use super::hasher::{Hasher, Verified};
use super::seekable::Entry;
use super::zstd::Frames;
use super::{ReadAt, ThreadBudget};
use crate::element::ByteOrder;
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
struct FrameRange {
    stored: Extent,
    /// Bytes that it decodes to.
    decoded: usize,
    /// The entry of the seek table, if there is a table.
    entry: Option<Entry>,
}

impl FrameRange {
    /// Decodes the frame, whose bytes are `stored`, into `room`; none if anything is wrong.
    fn decode<'b>(
        &self,
        stored: &[u8],
        room: &'b mut [u8],
        limits: &Limits,
    ) -> Option<&'b mut [u8]> {
        let extent = Extent::part(0, self.stored.length());
        let declared = u64_from_usize(self.decoded);
        let frame = match self.entry {
            Some(entry) => entry.frame(&stored, 0, limits),
            None => Frames::open(&stored, extent, Some(declared), limits),
        };
        let mut frame = frame.ok()?;
        // Only its end shows that no more comes.
        let length = frame.read(&stored, room, |_| ()).ok()?;
        let more = frame.read(&stored, &mut [0], |_| ()).ok()?;
        ((length, more) == (room.len(), 0)).then_some(room)
    }
}

/// All frames of a component, of which there are several.
pub(crate) struct FrameList {
    all: Vec<FrameRange>,
    /// Bytes that they decode to.
    pub(crate) decoded: usize,
}

/// The work on a component: frames that are still to be decoded, and what has been decoded.
struct Work<'a, 'b> {
    left: Enumerate<IntoIter<FrameRange>>,
    /// The memory that they are decoded into.
    room: &'b mut [u8],
    /// The digest of stored bytes, where it is over these.
    hasher: Option<Hasher>,
    /// Frames that wait for those before them, and how many have been validated.
    done: Vec<Option<&'b [u8]>>,
    validated: usize,
    reading: Reading<'a>,
}

/// A frame that has been read, its place among all, and the memory that it is decoded into.
struct Job<'s, 'b> {
    place: usize,
    frame: FrameRange,
    stored: Cow<'s, [u8]>,
    room: &'b mut [u8],
}

impl<'b> Work<'_, 'b> {
    /// Validates a frame, and those that have waited for it; none if anything is wrong.
    fn note(&mut self, place: usize, decoded: &'b [u8]) -> Option<()> {
        *self.done.get_mut(place)? = Some(decoded);
        while let Some(decoded) = self.done.get_mut(self.validated).and_then(Option::take) {
            // There is one where the digest is over what is decoded.
            if let Some(hasher) = &mut self.reading.hasher {
                hasher.update(decoded);
            }
            self.reading.pass(decoded).ok()?;
            self.validated = self.validated.saturating_add(1);
        }
        Some(())
    }

    /// Reads the next frame; none at the end, or if it cannot be read.
    fn next<'s, S: ReadAt + ?Sized>(&mut self, source: &'s S) -> Option<Job<'s, 'b>> {
        let (place, frame) = self.left.next()?;
        let (room, rest) = core::mem::take(&mut self.room).split_at_mut_checked(frame.decoded)?;
        self.room = rest;
        let Some(stored) = read(source, frame.stored) else {
            // One frame will be missing.
            self.left = Vec::new().into_iter().enumerate();
            return None;
        };
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&stored);
        }
        Some(Job { place, frame, stored, room })
    }
}

/// Reads the bytes of the file at `extent`, unless they are lent.
fn read<S: ReadAt + ?Sized>(source: &S, extent: Extent) -> Option<Cow<'_, [u8]>> {
    let length = usize::try_from(extent.length()).ok()?;
    if let Some(lent) = source.bytes_at(extent.offset(), length) {
        return (lent.len() == length).then_some(Cow::Borrowed(lent));
    }
    let mut bytes = Vec::new();
    source.append_range(extent.range(), &mut bytes).ok()?;
    Some(Cow::Owned(bytes))
}

impl Reader<'_> {
    /// The frames, of which none has been read yet, where there are several that can be decoded by themselves.
    pub(crate) fn frames(&self) -> Option<FrameList> {
        let component = &self.reading.component;
        let (extent, declared) = (component.extent(), component.decoded_length()?);
        let (mut all, mut sum) = (Vec::new(), 0_u64);
        let mut add = |stored: Extent, decoded: u64, entry: Option<Entry>| {
            let length = stored.length();
            let fits = u64_from_usize(all.len()) < extent.length() / LEAST
                && length <= LARGEST
                && decoded <= length.saturating_mul(TIMES)
                && all.try_reserve(1).is_ok();
            if let (Ok(bytes), true) = (usize::try_from(decoded), fits) {
                all.push(FrameRange { stored, decoded: bytes, entry });
                sum = sum.saturating_add(decoded);
            }
            fits
        };
        let end = match &self.reading.stored {
            Stored::Zstd(frames) if component.byte_order() == ByteOrder::Little => {
                let walked = frames.places(&self.source, |place, decoded| {
                    let length = place.end.saturating_sub(place.start);
                    decoded.is_some_and(|bytes| add(Extent::part(place.start, length), bytes, None))
                });
                walked.ok().map(|()| extent.end())?
            }
            Stored::Seekable(frames) => frames.places(&self.source, |at, entry| {
                add(Extent::part(at, entry.stored.into()), entry.decoded.into(), Some(entry))
            }),
            _ => return None,
        };
        let ends = all.last().is_some_and(|last: &FrameRange| last.stored.end() == end);
        let decoded = usize::try_from(sum).ok().filter(|_| sum == declared)?;
        (ends && all.len() > 1).then_some(FrameList { all, decoded })
    }

    /// Reads all of it into `buffer`, which is as long as that: on this thread, and on others from when they
    /// have nothing to do. None where anything is wrong, which reading it one by one says.
    pub(crate) fn read_parallel(
        self,
        frames: FrameList,
        buffer: &mut [u8],
        thread_budget: &ThreadBudget,
    ) -> Option<Verified> {
        let Self { source, mut reading, .. } = self;
        let limits = reading.component.limits();
        // A seekable component has a digest of what is decoded, another of what is stored.
        let of_stored = matches!(reading.stored, Stored::Zstd(_));
        let hasher = if of_stored { reading.hasher.take() } else { None };
        let (count, mut done) = (frames.all.len(), Vec::new());
        done.try_reserve_exact(count).ok()?;
        done.resize(count, None);
        let left = frames.all.into_iter().enumerate();
        let work = Work { left, room: buffer, hasher, done, validated: 0, reading };
        // None when anything was not as it should be.
        let work = Mutex::new(Some(work));
        let one = || {
            let job = work.lock().ok()?.as_mut()?.next(&source);
            let Job { place, frame, stored, room } = job?;
            let decoded = frame.decode(&stored, room, limits);
            let mut work = work.lock().ok()?;
            let noted = decoded.and_then(|decoded| work.as_mut()?.note(place, decoded));
            if noted.is_none() {
                *work = None;
            }
            noted
        };
        let less = |left: usize| left.checked_sub(1);
        thread::scope(|scope| {
            loop {
                while thread_budget.fetch_update(Relaxed, Relaxed, less).is_ok() {
                    let other = || {
                        while one().is_some() {}
                        thread_budget.fetch_add(1, Relaxed);
                    };
                    // Where no thread can be had, those that there are do the work.
                    if thread::Builder::new().spawn_scoped(scope, other).is_err() {
                        break;
                    }
                }
                if one().is_none() {
                    break;
                }
            }
        });
        let Work { hasher, validated, mut reading, .. } = work.into_inner().ok()??;
        reading.hasher = reading.hasher.take().or(hasher);
        reading.end().ok().filter(|()| validated == count)?;
        reading.verified
    }
}
