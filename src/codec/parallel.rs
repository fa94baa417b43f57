//! Content whose frames are decoded on several threads.

use std::sync::Mutex;
use std::thread;

use super::{Content, ReadAt, Reading, Stored, Verified};
use crate::codec::Idle;
use crate::codec::pieces::Pieces;
use crate::codec::together::{InOrder, Queue};
use crate::element::ByteOrder;
use crate::limits::Limits;

impl<S: ReadAt + Sync + ?Sized> Content<'_, &S> {
    /// The frames, of which none has been read yet, where there are several that can be decoded by themselves.
    pub(crate) fn pieces(&self) -> Option<Pieces> {
        let component = &self.reading.component;
        let (extent, declared) = (component.extent(), component.decoded_length()?);
        match &self.reading.stored {
            _ if component.byte_order() == ByteOrder::Big => None,
            Stored::Raw(_) => None,
            Stored::Zstd(frames) => Pieces::of(frames, &self.source, extent, declared),
            Stored::Seekable(frames) => Pieces::seekable(frames, &self.source, extent, declared),
        }
    }

    /// Reads all of it into `buffer`, which is as long as that: on this thread, and on others from when they
    /// have nothing to do. None where anything is wrong, which reading it one by one says.
    pub(crate) fn read_together(
        self,
        pieces: Pieces,
        buffer: &mut [u8],
        limits: &Limits,
        idle: &Idle,
    ) -> Option<Verified> {
        let Self { source, mut reading, .. } = self;
        // A seekable component has a digest of what is decoded, another of what is stored.
        let of_stored = matches!(reading.stored, Stored::Zstd(_));
        let hasher = if of_stored { reading.hasher.take() } else { None };
        let count = pieces.all.len();
        let queue = Queue::new(pieces, buffer, hasher)?;
        let in_order = Mutex::new(InOrder::new(count, |frame| reading.take(frame))?);
        let one = || {
            let Some((index, frame)) = queue.next(source) else { return false };
            let is_valid = frame.decode(limits).is_some_and(|decoded| {
                in_order.lock().is_ok_and(|mut in_order| in_order.note(index, decoded))
            });
            if !is_valid {
                queue.stop();
            }
            is_valid
        };
        thread::scope(|scope| {
            loop {
                while idle.take() {
                    let other = || {
                        while one() {}
                        idle.add();
                    };
                    // Where no thread can be had, those that there are do the work.
                    if thread::Builder::new().spawn_scoped(scope, other).is_err() {
                        break;
                    }
                }
                if !one() {
                    break;
                }
            }
        });
        in_order.into_inner().ok().filter(InOrder::is_over)?;
        reading.hasher = reading.hasher.take().or_else(|| queue.end());
        reading.end().ok()?;
        reading.verified
    }
}

impl Reading<'_> {
    /// Hashes, where that is asked for, and validates what the next frame decodes to: whether it is valid.
    fn take(&mut self, decoded: &[u8]) -> bool {
        if let Some(hasher) = &mut self.hasher {
            hasher.update(decoded);
        }
        self.pass(decoded).is_ok()
    }
}
