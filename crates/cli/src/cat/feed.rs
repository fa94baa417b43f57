//! The bytes of a component on their way to the output: what is wanted of them, and not before
//! they have been verified, as long as they can be held.

use std::io::{self, Write};

use zten::num::u64_from_usize;
use zten::{
    Component, Encoding, Error, Generation, ReadAt as _, element::ByteOrder, shards::Located,
    tools::StorageType, verify::Verified, view::Slice,
};

use super::print::Printer;
use super::unpacked::Unpacking;
use crate::element::Kind;
pub(super) use zten_formats::write::ChunkFn;

/// Bytes that are held back until everything has been verified.
const HELD: usize = 64 << 20;
/// Bytes that are read at once.
const WINDOW: u64 = 64 << 10;

/// The reason why bytes went no further.
pub(super) enum Failure {
    /// The elements could not be read, or were rejected.
    Read(Error),
    /// The elements could not be written.
    Output(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Read(error)
    }
}

/// Reads one component, decoded and little-endian.
pub(super) struct ComponentReader<'a> {
    pub(super) component: &'a Component<'a>,
    /// The file that it is in.
    pub(super) source: &'a Located<'a>,
    /// The number of elements that share bytes, two each, and are to be one a byte.
    pub(super) packed: Option<u64>,
    /// True if each byte that is read has been fetched for that.
    pub(super) is_remote: bool,
}

/// The bytes of a component that hold a part of its elements.
pub(super) enum Parts {
    /// The bytes of the elements.
    Runs,
    /// All, which are decoded or verified.
    Whole,
    /// Frames, of which a table in the component tells.
    Frames,
}

impl ComponentReader<'_> {
    /// Hands on the bytes of all elements.
    pub(super) fn read_elements(&self, take: &mut ChunkFn<'_>) -> Result<Verified, Failure> {
        let Some(count) = self.packed else { return self.read(take) };
        let mut unpacking = Unpacking::new(count);
        self.read(&mut |chunk| unpacking.chunk(chunk, take))
    }

    /// Hands on all bytes.
    pub(super) fn read(&self, take: &mut ChunkFn<'_>) -> Result<Verified, Failure> {
        let mut reader = self.component.reader()?;
        while let Some(chunk) = reader.next_chunk()? {
            take(chunk).map_err(Failure::Output)?;
        }
        // The end was reached: what there was to verify has been.
        Ok(reader.verified().unwrap_or(Verified::NoDigest))
    }

    /// Hands on the bytes of the elements of a slice. Of a component in frames those that
    /// hold them are decoded and verified; otherwise all is read, where it has to be decoded or
    /// verified.
    pub(super) fn read_slice(
        &self,
        slice: &Slice<'_>,
        take: &mut ChunkFn<'_>,
    ) -> Result<Verified, Failure> {
        match self.parts() {
            Parts::Runs => self.read_runs(slice, take).map(|()| Verified::NoDigest),
            Parts::Frames => {
                let verified = slice.parts(|part| take(part).map_err(Failure::Output))?;
                Ok(verified.unwrap_or(Verified::NoDigest))
            }
            Parts::Whole => {
                let mut cut = slice.cut();
                self.read_elements(&mut |chunk| cut.parts(chunk).try_for_each(&mut *take))
            }
        }
    }

    /// The bytes that the elements of a slice are read from.
    pub(super) fn parts(&self) -> Parts {
        match self.component.encoding() {
            _ if self.is_bare() => Parts::Runs,
            Encoding::ZstdSeekable => Parts::Frames,
            _ => Parts::Whole,
        }
    }

    /// Returns whether any part of the component can be read without the rest: it is stored as it is
    /// handed on, and nothing has to be verified.
    fn is_bare(&self) -> bool {
        let component = self.component;
        let little = component.byte_order() == ByteOrder::Little;
        let strict = component.storage_type() == Some(StorageType::Bool)
            && component.generation() != Some(Generation::V0_1);
        let whole = little && !strict && self.packed.is_none();
        let lies_in_rows = component.encoding() == Encoding::Raw && !component.is_strided();
        let is_verified = component.digest().is_some() || component.has_checksum();
        lies_in_rows && !is_verified && whole
    }

    /// Reads no more than what lies around the parts.
    fn read_runs(&self, slice: &Slice<'_>, take: &mut ChunkFn<'_>) -> Result<(), Failure> {
        let blob = self.component.extent().range();
        let mut window = Vec::new();
        let mut start = 0_u64;
        for run in slice.file_ranges()? {
            let mut at = run.start;
            while at < run.end {
                let end = start.saturating_add(u64_from_usize(window.len()));
                if !(start..end).contains(&at) {
                    let end = if self.is_remote { run.end } else { blob.end };
                    let left = end.saturating_sub(at).min(WINDOW);
                    window.resize(usize::try_from(left).unwrap_or_default(), 0);
                    start = at;
                    self.source.read_at(at, &mut window)?;
                    if window.is_empty() {
                        // Runs lie within the component: nothing is left but to stop.
                        return Ok(());
                    }
                }
                let end = start.saturating_add(u64_from_usize(window.len())).min(run.end);
                let within =
                    |at: u64| usize::try_from(at.saturating_sub(start)).unwrap_or_default();
                let part = window.get(within(at)..within(end)).unwrap_or_default();
                take(part).map_err(Failure::Output)?;
                at = end;
            }
        }
        Ok(())
    }

    /// Counts the elements, where the manifest does not tell.
    pub(super) fn count(&self, kind: Kind) -> Result<u64, Failure> {
        if let Some(count) = self.packed {
            return Ok(count);
        }
        let mut bytes = self.component.decoded_length().unwrap_or_default();
        if self.component.decoded_length().is_none() {
            let mut reader = self.component.reader()?;
            while let Some(chunk) = reader.next_chunk()? {
                bytes = bytes.saturating_add(u64_from_usize(chunk.len()));
            }
        }
        Ok(bytes.checked_div(u64_from_usize(kind.width())).unwrap_or_default())
    }
}

/// Holds bytes back until they have been verified, or until there are too many to hold.
pub(super) struct HoldUntilVerified<'o, W> {
    printer: Printer,
    out: &'o mut W,
    held: Vec<u8>,
    released: bool,
}

impl<'o, W: Write> HoldUntilVerified<'o, W> {
    /// Returns a buffer that has released nothing.
    pub(super) fn new(printer: Printer, out: &'o mut W) -> Self {
        Self { printer, out, held: Vec::new(), released: false }
    }

    /// The next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.released {
            if self.held.len().saturating_add(bytes.len()) <= HELD {
                self.held.extend_from_slice(bytes);
                return Ok(());
            }
            self.release()?;
        }
        self.printer.bytes(self.out, bytes)
    }

    fn release(&mut self) -> io::Result<()> {
        self.released = true;
        self.printer.begin(self.out)?;
        self.printer.bytes(self.out, &std::mem::take(&mut self.held))
    }

    /// All has been verified.
    pub(super) fn end(mut self) -> io::Result<()> {
        if !self.released {
            self.release()?;
        }
        self.printer.end(self.out)
    }
}
