//! Decoding a component on several threads.
//!
//! Frames are read in order, each once. Threads decode them independently, each frame into its part of the buffer.
//! Decoded frames are then validated in order. Digests are computed in order as well, of stored or of decoded bytes. If
//! anything is wrong, all results are dropped, and the caller decodes the component again from its beginning on one
//! thread, which finds the error to report.

use alloc::borrow::Cow;
use alloc::vec::{IntoIter, Vec};
use core::iter::Enumerate;
use core::sync::atomic::Ordering::Relaxed;
use std::sync::Mutex;
use std::thread;

use super::ThreadBudget;
use super::content::{Reader, Reading, Stored};
use super::seekable::SeekEntry;
use super::zstd::Frames;
use crate::digest::{Hasher, Verified};
use crate::element::ByteOrder;
use crate::limits::Limits;
use crate::manifest::Extent;
use crate::num::u64_from_usize;
use crate::read_at::ReadAt;

/// The smallest average stored size of frames, in bytes. Smaller frames are not worth a hand-over between threads.
const LEAST: u64 = 16 << 10;
/// The largest stored size of a frame, in bytes. Each thread holds the stored bytes of one frame in memory.
const LARGEST: u64 = 64 << 20;
/// The largest expansion factor that is allowed. It ties memory to the stored size, which the file cannot exaggerate.
const TIMES: u64 = 64;

/// A zstd frame of a component, which can be decoded independently of the other frames.
struct FrameRange {
    stored: Extent,
    /// The size of the decoded frame in bytes.
    decoded: usize,
    /// The frame's entry in the seek table; `None` if the component's encoding has no seek table.
    entry: Option<SeekEntry>,
}

impl FrameRange {
    /// Decodes the frame, whose stored bytes are `stored`, into `room`. Returns `None` if anything is wrong.
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
        // A second read, which must return no bytes, validates the end of the frame.
        let length = frame.read(&stored, room, |_| ()).ok()?;
        let more = frame.read(&stored, &mut [0], |_| ()).ok()?;
        ((length, more) == (room.len(), 0)).then_some(room)
    }
}

/// The zstd frames of a component that has more than one frame.
pub(crate) struct FrameList {
    all: Vec<FrameRange>,
    /// The total size of the decoded frames in bytes.
    pub(crate) decoded: usize,
}

/// The state that the threads share: the frames that are left to decode, and the decoded frames.
struct Work<'a, 'b> {
    left: Enumerate<IntoIter<FrameRange>>,
    /// The rest of the output buffer, into which the frames of `left` will be decoded.
    room: &'b mut [u8],
    /// The hasher of the component's digest, if the digest is computed over stored (compressed) bytes; `None` if it is
    /// computed over decoded bytes.
    hasher: Option<Hasher>,
    /// For each frame, its decoded bytes while they wait for an earlier frame to be validated.
    done: Vec<Option<&'b [u8]>>,
    /// The number of frames that have been validated, which are the first frames of the component.
    validated: usize,
    reading: Reading<'a>,
}

/// A frame that has been read: its index, its stored bytes, and the memory to decode it into.
struct Job<'s, 'b> {
    position: usize,
    frame: FrameRange,
    stored: Cow<'s, [u8]>,
    room: &'b mut [u8],
}

impl<'b> Work<'_, 'b> {
    /// Records that the frame with the index `position` was decoded, and validates it and those after it in order, as far as
    /// they are decoded. Returns `None` if anything is wrong.
    fn note(&mut self, position: usize, decoded: &'b [u8]) -> Option<()> {
        *self.done.get_mut(position)? = Some(decoded);
        while let Some(decoded) = self.done.get_mut(self.validated).and_then(Option::take) {
            // `reading.hasher` is missing if the digest is computed over stored bytes, which `Work::hasher` gets instead.
            if let Some(hasher) = &mut self.reading.hasher {
                hasher.update(decoded);
            }
            self.reading.pass(decoded).ok()?;
            self.validated = self.validated.saturating_add(1);
        }
        Some(())
    }

    /// Reads the next frame. Returns `None` if no frame is left, or if the frame cannot be read.
    fn next<'s, S: ReadAt + ?Sized>(&mut self, source: &'s S) -> Option<Job<'s, 'b>> {
        let (position, frame) = self.left.next()?;
        let (room, rest) = core::mem::take(&mut self.room).split_at_mut_checked(frame.decoded)?;
        self.room = rest;
        let Some(stored) = read(source, frame.stored) else {
            // Without this frame the count of validated frames stays too low, so `read_parallel` fails.
            self.left = Vec::new().into_iter().enumerate();
            return None;
        };
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&stored);
        }
        Some(Job { position, frame, stored, room })
    }
}

/// Returns the bytes of the file at `extent`: borrowed if the source lends them, and read otherwise.
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
    /// Lists the frames of a component that has several independent frames. Returns `None` for other components, for big-endian
    /// zstd, if the file does not give the decoded size, and if frames are too small, too large or expand too much. Nothing may
    /// have been read yet.
    pub(crate) fn frames(&self) -> Option<FrameList> {
        let component = &self.reading.component;
        let (extent, declared) = (component.extent(), component.decoded_length()?);
        let (mut all, mut sum) = (Vec::new(), 0_u64);
        let mut add = |stored: Extent, decoded: u64, entry: Option<SeekEntry>| {
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
                let walked = frames.find_frames(&self.source, |position, decoded| {
                    let length = position.end.saturating_sub(position.start);
                    decoded
                        .is_some_and(|bytes| add(Extent::part(position.start, length), bytes, None))
                });
                walked.ok().map(|()| extent.end())?
            }
            Stored::Seekable(frames) => frames.find_frames(&self.source, |at, entry| {
                add(Extent::part(at, entry.stored.into()), entry.decoded.into(), Some(entry))
            }),
            _ => return None,
        };
        let ends = all.last().is_some_and(|last: &FrameRange| last.stored.end() == end);
        let decoded = usize::try_from(sum).ok().filter(|_| sum == declared)?;
        (ends && all.len() > 1).then_some(FrameList { all, decoded })
    }

    /// Reads the whole component into `buffer`, which has its decoded size, on this thread and on threads that are idle
    /// or become idle. Returns `None` if anything is wrong. Reading the component again on one thread then finds the
    /// error.
    pub(crate) fn read_parallel(
        self,
        frames: FrameList,
        buffer: &mut [u8],
        thread_budget: &ThreadBudget,
    ) -> Option<Verified> {
        let Self { source, mut reading, .. } = self;
        let limits = reading.component.limits();
        // The digest of a seekable component is computed over decoded bytes, and the digest of other components over
        // stored bytes.
        let of_stored = matches!(reading.stored, Stored::Zstd(_));
        let hasher = if of_stored { reading.hasher.take() } else { None };
        let (count, mut done) = (frames.all.len(), Vec::new());
        done.try_reserve_exact(count).ok()?;
        done.resize(count, None);
        let left = frames.all.into_iter().enumerate();
        let work = Work { left, room: buffer, hasher, done, validated: 0, reading };
        // The value in the mutex is `None` after any thread has found something wrong, which ends the work of all threads.
        let work = Mutex::new(Some(work));
        let one = || {
            let job = work.lock().ok()?.as_mut()?.next(&source);
            let Job { position, frame, stored, room } = job?;
            let decoded = frame.decode(&stored, room, limits);
            let mut work = work.lock().ok()?;
            let noted = decoded.and_then(|decoded| work.as_mut()?.note(position, decoded));
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
                    // If no thread can be spawned, the threads that run do all of the work.
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
