//! Reading of a component for the output of `zten cat`: selects the wanted bytes, and holds up to [`HELD`] bytes back until
//! the component is verified.

use std::io::{self, Write};

use zten::num::u64_from_usize;
use zten::{
    Component, Encoding, Error, Generation, ReadAt as _, element::ByteOrder, element::StorageType,
    shards::Located, verify::Verified, view::Slice,
};
use zten_report::unpacked::Unpacking;

use super::print::Printer;
pub(super) use zten::formats::write::ChunkFn;

/// The largest number of bytes that are held back until the component has been verified.
const HELD: usize = 64 << 20;
/// The number of bytes that are read at a time.
const WINDOW: u64 = 64 << 10;

/// The reason why not all elements of a component were read and written.
pub(super) enum FeedFailure {
    /// The elements could not be read, or were rejected.
    Read(Error),
    /// The elements could not be written.
    Output(io::Error),
}

impl From<Error> for FeedFailure {
    fn from(error: Error) -> Self {
        Self::Read(error)
    }
}

/// A reader of one component, whose bytes it decodes and converts to little-endian order.
pub(super) struct ComponentReader<'a> {
    pub(super) component: &'a Component<'a>,
    /// The file or shard that holds the component.
    pub(super) source: &'a Located<'a>,
    /// The number of elements if each byte holds two elements, which are to be unpacked to one byte each; `None` otherwise.
    pub(super) packed: Option<u64>,
    /// True if the file is remote, so that only the needed bytes should be read.
    pub(super) is_remote: bool,
}

/// Which bytes of a component must be read to print a slice of its elements.
pub(super) enum NeededBytes {
    /// Only the bytes of the elements.
    Runs,
    /// The whole component, because it must be decoded or verified.
    Whole,
    /// The zstd frames that hold the elements. The component's seek table tells where they are.
    Frames,
}

impl ComponentReader<'_> {
    /// Passes the bytes of all elements to `take`, unpacked to one byte each if two share a byte.
    pub(super) fn read_elements(&self, take: &mut ChunkFn<'_>) -> Result<Verified, FeedFailure> {
        let Some(count) = self.packed else { return self.read(take) };
        let mut unpacking = Unpacking::new(count);
        self.read(&mut |chunk| unpacking.chunk(chunk, take))
    }

    /// Passes all decoded bytes of the component to `take`. Returns whether they were compared with a digest; a mismatch is an
    /// error.
    pub(super) fn read(&self, take: &mut ChunkFn<'_>) -> Result<Verified, FeedFailure> {
        let mut reader = self.component.reader()?;
        while let Some(chunk) = reader.next_chunk()? {
            take(chunk).map_err(FeedFailure::Output)?;
        }
        // The reader verifies the digest, if there is one, at the end.
        Ok(reader.verified().unwrap_or(Verified::NoDigest))
    }

    /// Passes the bytes of the elements of `slice` to `take`. Reads only the parts of the component that [`parts`](Self::parts)
    /// requires: of a component in frames, only frames with these elements are decoded and verified.
    pub(super) fn read_slice(
        &self,
        slice: &Slice<'_>,
        take: &mut ChunkFn<'_>,
    ) -> Result<Verified, FeedFailure> {
        match self.parts() {
            NeededBytes::Runs => self.read_runs(slice, take).map(|()| Verified::NoDigest),
            NeededBytes::Frames => {
                let verified = slice.parts(|part| take(part).map_err(FeedFailure::Output))?;
                Ok(verified.unwrap_or(Verified::NoDigest))
            }
            NeededBytes::Whole => {
                let mut cut = slice.cut();
                self.read_elements(&mut |chunk| cut.parts(chunk).try_for_each(&mut *take))
            }
        }
    }

    /// Returns which bytes must be read for a slice.
    pub(super) fn parts(&self) -> NeededBytes {
        match self.component.encoding() {
            _ if self.is_bare() => NeededBytes::Runs,
            Encoding::ZstdSeekable => NeededBytes::Frames,
            _ => NeededBytes::Whole,
        }
    }

    /// Returns whether any range of the bytes of the component can be read alone: the component is stored uncompressed,
    /// contiguous and little-endian, its elements need no unpacking, and it has neither a digest nor bools to verify.
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

    /// Passes the bytes of the runs of `slice` to `take`. Reads windows of a local file, which may hold several runs, and only
    /// the runs of a remote file.
    fn read_runs(&self, slice: &Slice<'_>, take: &mut ChunkFn<'_>) -> Result<(), FeedFailure> {
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
                        // Runs lie within the component, so a window is never empty. This stops the loop all the same.
                        return Ok(());
                    }
                }
                let end = start.saturating_add(u64_from_usize(window.len())).min(run.end);
                let within =
                    |at: u64| usize::try_from(at.saturating_sub(start)).unwrap_or_default();
                let part = window.get(within(at)..within(end)).unwrap_or_default();
                take(part).map_err(FeedFailure::Output)?;
                at = end;
            }
        }
        Ok(())
    }

    /// Returns the number of elements of `width` bytes. Decodes the component if the manifest does not tell its length.
    pub(super) fn count(&self, width: usize) -> Result<u64, FeedFailure> {
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
        Ok(bytes.checked_div(u64_from_usize(width)).unwrap_or_default())
    }
}

/// A buffer in front of a printer. It holds bytes back until their component has been verified, or until [`HELD`] bytes are held.
pub(super) struct HoldUntilVerified<'o, W> {
    printer: Printer,
    out: &'o mut W,
    held: Vec<u8>,
    released: bool,
}

impl<'o, W: Write> HoldUntilVerified<'o, W> {
    /// Creates an empty buffer in front of `printer`.
    pub(super) fn new(printer: Printer, out: &'o mut W) -> Self {
        Self { printer, out, held: Vec::new(), released: false }
    }

    /// Adds the next bytes. If the buffer is full, prints all bytes so far, and further bytes as they arrive.
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

    /// Prints the held bytes, after the component has been verified.
    pub(super) fn end(mut self) -> io::Result<()> {
        if !self.released {
            self.release()?;
        }
        self.printer.end(self.out)
    }
}
