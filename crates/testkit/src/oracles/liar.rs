//! A source of bytes that lies.

use core::sync::atomic::{AtomicUsize, Ordering};

use zten::{Error, ReadAt};

/// An answer of a lying source to a request for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Gives other bytes.
    Other,
    /// Gives fewer bytes than it is asked for; or leaves the last one as it was.
    Fewer,
    /// Gives more bytes than it is asked for; or leaves all as they were.
    More,
    /// Lends no bytes; or leaves all as they were.
    None,
    /// Lends an empty slice; or leaves all as they were.
    Empty,
    /// Fails; or lends no bytes.
    Error,
}

impl Lie {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Other, Self::Fewer, Self::More, Self::None, Self::Empty, Self::Error];
}

/// The requests that a source answers with a lie, and whether it lends bytes.
#[derive(Clone, Copy, Debug)]
pub enum Plan<'p> {
    /// One lie: the request that gets it, counted from 0, and whether the source lends bytes.
    Once(Lie, usize, bool),
    /// Lies that bytes choose, one for each request, over and over. The lowest bit of the first byte is
    /// whether the source lends bytes.
    Often(&'p [u8]),
}

impl Plan<'_> {
    fn lends(self) -> bool {
        match self {
            Self::Once(_, _, lends) => lends,
            Self::Often(plan) => plan.first().is_some_and(|byte| byte & 1 == 1),
        }
    }

    /// Returns the lie that answers the request of that number, if one does.
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

/// Gives the bytes of a file, as far as its plan lets it.
pub(crate) struct Liar<'d> {
    file: &'d [u8],
    /// The file with each byte changed, and one more.
    other: &'d [u8],
    plan: Plan<'d>,
    times: AtomicUsize,
}

impl<'d> Liar<'d> {
    /// The other bytes of a file: each that is a bool stays one.
    pub(crate) fn other(file: &[u8]) -> Vec<u8> {
        file.iter().map(|byte| byte ^ 1).chain([1]).collect()
    }

    pub(crate) fn new(file: &'d [u8], other: &'d [u8], plan: Plan<'d>) -> Self {
        Self { file, other, plan, times: AtomicUsize::new(0) }
    }

    /// Returns the number of requests so far.
    pub(crate) fn times(&self) -> usize {
        self.times.load(Ordering::Relaxed)
    }

    fn lie(&self) -> Option<Lie> {
        self.plan.lie(self.times.fetch_add(1, Ordering::Relaxed))
    }
}

/// Bytes of a file, if they are there.
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
                // A caller that looks at a buffer that was not filled finds this.
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
