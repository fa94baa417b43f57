//! A source of bytes that answers some requests with false bytes or errors, to test that readers do not trust it.

use core::sync::atomic::{AtomicUsize, Ordering};

use zten::{Error, ReadAt};

/// The way in which a source lies in answer to a request, which asks it either to lend bytes or to fill a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Returns bytes of another file, so that each byte is wrong.
    Other,
    /// Lends one byte fewer than requested; or fills the buffer except for its last byte, and reports success.
    Fewer,
    /// Lends one byte more than requested, all of them wrong; or leaves the buffer as it was, and reports success.
    More,
    /// Lends no bytes, as a source that cannot lend; or leaves the buffer as it was, and reports success.
    None,
    /// Lends an empty slice; or leaves the buffer as it was, and reports success.
    Empty,
    /// Lends no bytes, as a source that cannot lend; or fills the buffer with wrong bytes, and reports an error.
    Error,
}

impl Lie {
    /// All ways to lie.
    pub const ALL: [Self; 6] =
        [Self::Other, Self::Fewer, Self::More, Self::None, Self::Empty, Self::Error];
}

/// The requests that a source answers with a lie, and whether it lends bytes at all.
#[derive(Clone, Copy, Debug)]
pub enum Plan<'p> {
    /// One lie: the way in which the source lies, the number of the request that gets the lie, counted from 0, and
    /// whether the source lends bytes.
    Once(Lie, usize, bool),
    /// A lie or a true answer for each request, decoded from one byte each; after the last byte the first follows again. The
    /// lowest bit of the first byte says whether the source lends bytes. Without bytes, each request gets [`Lie::Other`], and
    /// nothing is lent.
    Often(&'p [u8]),
}

impl Plan<'_> {
    fn lends(self) -> bool {
        match self {
            Self::Once(_, _, lends) => lends,
            Self::Often(plan) => plan.first().is_some_and(|byte| byte & 1 == 1),
        }
    }

    /// Returns the lie that answers request number `time`, or `None` for an honest answer.
    fn lie(self, time: usize) -> Option<Lie> {
        match self {
            Self::Once(lie, at, _) => (time == at).then_some(lie),
            Self::Often(plan) => {
                let byte = plan.get(time % plan.len().max(1)).copied().unwrap_or_default();
                Lie::ALL.get(usize::from(byte >> 1) % 16).copied()
            }
        }
    }
}

/// A source of the bytes of a file that lies as a plan says.
pub(crate) struct Liar<'d> {
    file: &'d [u8],
    /// The bytes that [`Lie::Other`] returns: the file with each byte changed, and one byte more.
    other: &'d [u8],
    plan: Plan<'d>,
    times: AtomicUsize,
}

impl<'d> Liar<'d> {
    /// Returns the bytes that a source of `file` returns when it lies: the lowest bit of each byte is changed, so
    /// that a valid bool becomes the other bool, and one byte is appended.
    pub(crate) fn other(file: &[u8]) -> Vec<u8> {
        file.iter().map(|byte| byte ^ 1).chain([1]).collect()
    }

    pub(crate) fn new(file: &'d [u8], other: &'d [u8], plan: Plan<'d>) -> Self {
        Self { file, other, plan, times: AtomicUsize::new(0) }
    }

    /// Returns the number of requests that the source has answered so far.
    pub(crate) fn times(&self) -> usize {
        self.times.load(Ordering::Relaxed)
    }

    fn lie(&self) -> Option<Lie> {
        self.plan.lie(self.times.fetch_add(1, Ordering::Relaxed))
    }
}

/// Returns the range of `length` bytes from `offset` on of `bytes`, or `None` if it is not within `bytes`.
fn part(bytes: &[u8], offset: u64, length: usize) -> Option<&[u8]> {
    bytes.get(usize::try_from(offset).ok()?..)?.get(..length)
}

impl ReadAt for Liar<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let last = buffer.len().saturating_sub(1);
        let (source, length) = match self.lie() {
            None => (self.file, buffer.len()),
            Some(Lie::Other) => (self.other, buffer.len()),
            Some(Lie::Fewer) => (self.file, last),
            Some(Lie::More | Lie::None | Lie::Empty) => (self.file, 0),
            Some(Lie::Error) => {
                // If a caller uses the buffer in spite of the error, these bytes show up in its result.
                buffer.fill(0xa5);
                return Err(Error::reading());
            }
        };
        let bytes = part(source, offset, length).ok_or_else(Error::reading)?;
        buffer[..length].copy_from_slice(bytes);
        Ok(())
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        if !self.plan.lends() {
            return None;
        }
        match self.lie() {
            None => part(self.file, offset, length),
            Some(Lie::Other) => part(self.other, offset, length),
            Some(Lie::Fewer) => part(self.file, offset, length.saturating_sub(1)),
            Some(Lie::More) => part(self.other, offset, length + 1),
            Some(Lie::Empty) => Some(&[]),
            Some(Lie::None | Lie::Error) => None,
        }
    }
}
