//! The bytes of a component on their way to the output: what is wanted of them, and not before
//! they have been verified, as long as they can be held.

use std::io::{self, Write};
use std::ops::Range;

use zten::{
    ByteOrder, Component, Encoding, Generation, Limits, ReadAt, ReadError, StorageType, Verified,
};

use super::print::Printer;
use super::slice::Runs;
use crate::element::Kind;
use crate::progress::Watched;

/// Bytes that are held back until everything has been verified.
const HELD: usize = 64 << 20;
/// Bytes that are read at once.
const WINDOW: u64 = 64 << 10;

/// Why bytes went no further.
pub(super) enum Failure {
    /// They could not be read, or were refused.
    Read(ReadError<io::Error>),
    /// They could not be written.
    Output(io::Error),
}

impl From<ReadError<io::Error>> for Failure {
    fn from(error: ReadError<io::Error>) -> Self {
        Self::Read(error)
    }
}

/// Where the bytes come from.
pub(super) struct Way<'a> {
    pub(super) component: &'a Component<'a>,
    pub(super) source: &'a Watched<'a>,
    pub(super) limits: &'a Limits,
    /// Whether only a part is wanted.
    pub(super) sliced: bool,
}

impl Way<'_> {
    /// Hands on the bytes that lie in `runs`: decoded and little-endian.
    pub(super) fn feed(
        &self,
        runs: Runs,
        take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Verified, Failure> {
        if self.sliced && self.is_bare() {
            return self.feed_parts(runs, take).map(|()| Verified::NoDigest);
        }
        let mut content = self.component.content(self.source, self.limits)?;
        let mut runs = runs;
        let mut wanted = runs.next();
        let mut position = 0_u64;
        while let Some(chunk) = content.next_chunk()? {
            let end = position.saturating_add(length(chunk));
            while let Some(run) = wanted.take_if(|run| run.start < end) {
                let part = run.start.max(position)..run.end.min(end);
                take(within(chunk, position, &part)).map_err(Failure::Output)?;
                // A run goes on in the next chunk, or the next one follows in this.
                wanted = if run.end > end { Some(end..run.end) } else { runs.next() };
            }
            position = end;
        }
        // The end was reached: what there was to verify has been.
        Ok(content.verified().unwrap_or(Verified::NoDigest))
    }

    /// Whether any part of the component can be read without the rest: it is stored as it is
    /// handed on, and nothing has to be verified.
    fn is_bare(&self) -> bool {
        let component = self.component;
        let little = component.byte_order() == ByteOrder::Little;
        let storage = component.storage_type();
        let strict =
            storage == Some(StorageType::Bool) && component.generation() != Generation::V0_1;
        component.encoding() == Encoding::Raw && component.digest().is_none() && little && !strict
    }

    /// Reads no more than what lies around the runs.
    fn feed_parts(
        &self,
        runs: Runs,
        take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let extent = self.component.extent();
        let mut window = Vec::new();
        let mut start = 0_u64;
        for run in runs {
            let mut at = run.start;
            while at < run.end {
                let end = start.saturating_add(length(&window));
                if !(start..end).contains(&at) {
                    let left = extent.length().saturating_sub(at).min(WINDOW);
                    window.resize(usize::try_from(left).unwrap_or_default(), 0);
                    start = at;
                    let offset = extent.offset().saturating_add(at);
                    self.source.read_at(offset, &mut window).map_err(ReadError::Source)?;
                    if window.is_empty() {
                        // Runs lie within the component: nothing is left but to stop.
                        return Ok(());
                    }
                }
                let end = start.saturating_add(length(&window)).min(run.end);
                take(within(&window, start, &(at..end))).map_err(Failure::Output)?;
                at = end;
            }
        }
        Ok(())
    }

    /// How many elements there are, where the manifest does not tell.
    pub(super) fn count(&self, kind: Kind) -> Result<u64, Failure> {
        let mut bytes = self.component.decoded_length().unwrap_or_default();
        if self.component.decoded_length().is_none() {
            let mut content = self.component.content(self.source, self.limits)?;
            while let Some(chunk) = content.next_chunk()? {
                bytes = bytes.saturating_add(length(chunk));
            }
        }
        let width = u64::try_from(kind.width()).unwrap_or(1);
        Ok(bytes.checked_div(width).unwrap_or_default())
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// The bytes at `part`, of those that begin at `position`.
fn within<'b>(bytes: &'b [u8], position: u64, part: &Range<u64>) -> &'b [u8] {
    let index = |at: u64| usize::try_from(at.saturating_sub(position)).unwrap_or(usize::MAX);
    bytes.get(index(part.start)..index(part.end)).unwrap_or_default()
}

/// Holds bytes back until they have been verified, or until there are too many to hold.
pub(super) struct Gate<'o, W> {
    printer: Printer,
    out: &'o mut W,
    held: Vec<u8>,
    open: bool,
}

impl<'o, W: Write> Gate<'o, W> {
    /// A closed gate.
    pub(super) fn new(printer: Printer, out: &'o mut W) -> Self {
        Self { printer, out, held: Vec::new(), open: false }
    }

    /// The next bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.open {
            if self.held.len().saturating_add(bytes.len()) <= HELD {
                self.held.extend_from_slice(bytes);
                return Ok(());
            }
            self.release()?;
        }
        self.printer.bytes(self.out, bytes)
    }

    fn release(&mut self) -> io::Result<()> {
        self.open = true;
        self.printer.begin(self.out)?;
        self.printer.bytes(self.out, &std::mem::take(&mut self.held))
    }

    /// All has been verified.
    pub(super) fn end(mut self) -> io::Result<()> {
        if !self.open {
            self.release()?;
        }
        self.printer.end(self.out)
    }
}
