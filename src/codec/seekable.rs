//! `zt.zstd-seekable/1`: independent zstd frames, and behind them a table of their sizes. v2 §8.2.
//!
//! ```text
//! frame … | 5E 2A 4D 18 | u32 bytes that follow | entries | u32 count | descriptor | B1 EA 92 8F
//! ```
//!
//! The table is walked when reading begins, and its claims are held against each other and the
//! limits before anything is decoded. It is never held in memory.

use super::zstd::Frames;
use super::{ReadAt, ReadError};
use crate::error::Error;
use crate::limits::Limits;
use crate::manifest::Extent;
use crate::num::u64_from_usize;
use crate::rules::{Limit, Rule};

/// The magic of the skippable frame that the table is, and that at its end.
const SKIPPABLE: [u8; 4] = [0x5e, 0x2a, 0x4d, 0x18];
const SEEKABLE: [u8; 4] = [0xb1, 0xea, 0x92, 0x8f];
/// Bytes before the entries, and behind them.
const HEAD: u64 = 8;
const TAIL: u64 = 9;
/// Bytes that a frame decodes to, at most.
const FRAME_CAP: u32 = 16 << 20;

/// The frames of one component, being decoded.
pub(super) struct Seekable {
    extent: Extent,
    table: Table,
    /// The entry that comes next, and where its frame begins.
    next: u32,
    at: u64,
    /// Decoded bytes that are to come.
    left: u64,
    frame: Option<Frames>,
    /// Decoded bytes of it that are to come.
    of_frame: u64,
    window: Limits,
}

/// Where the entries are.
#[derive(Clone, Copy)]
struct Table {
    start: u64,
    count: u32,
    /// True if each has a checksum.
    checksums: bool,
}

/// Bytes of an entry.
fn width(checksums: bool) -> u64 {
    if checksums { 12 } else { 8 }
}

/// Reads so many words of four bytes.
fn words<const N: usize, R: ReadAt>(
    source: &R,
    at: u64,
) -> Result<[[u8; 4]; N], ReadError<R::Error>> {
    let mut words = [[0; 4]; N];
    source.read_at(at, words.as_flattened_mut()).map_err(ReadError::Source)?;
    Ok(words)
}

/// What an entry says of its frame.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) stored: u32,
    pub(super) decoded: u32,
    checksum: Option<[u8; 4]>,
}

impl Entry {
    /// The frame at `at`, which is a single one and has a checksum: that of the entry, if there is one.
    pub(super) fn frame<R: ReadAt>(
        self,
        source: &R,
        at: u64,
        limits: &Limits,
    ) -> Result<Frames, ReadError<R::Error>> {
        let extent = Extent::part(at, self.stored.into());
        let frame = Frames::open(source, extent, Some(self.decoded.into()), limits)?;
        if !frame.is_one_with_checksum() {
            return Err(Error::new(Rule::FrameSingle, at).into());
        }
        if let Some(checksum) = self.checksum {
            let mut own = [0; 4];
            let end = extent.end().saturating_sub(4);
            source.read_at(end, &mut own).map_err(ReadError::Source)?;
            if own != checksum {
                return Err(Error::new(Rule::ZstdChecksum, at).into());
            }
        }
        Ok(frame)
    }
}

impl Table {
    /// Reads what stands around the entries.
    fn read<R: ReadAt>(source: &R, extent: Extent) -> Result<Self, ReadError<R::Error>> {
        let broken = || Error::new(Rule::SeekTable, extent.offset());
        let tail = extent.length().checked_sub(TAIL).ok_or_else(broken)?;
        let mut bytes = [0; 9];
        let at = extent.offset().saturating_add(tail);
        source.read_at(at, &mut bytes).map_err(ReadError::Source)?;
        let [a, b, c, d, descriptor, magic @ ..] = bytes;
        // The lowest two bits are not used, and readers are to ignore them.
        if magic != SEEKABLE || descriptor & 0x7c != 0 {
            return Err(broken().into());
        }
        let count = u32::from_le_bytes([a, b, c, d]);
        let checksums = descriptor & 0x80 != 0;
        let entries = u64::from(count).saturating_mul(width(checksums));
        let start = tail.checked_sub(entries).ok_or_else(broken)?;
        let head = start.checked_sub(HEAD).ok_or_else(broken)?;
        let [magic, follow] = words(source, extent.offset().saturating_add(head))?;
        let follow = u64::from(u32::from_le_bytes(follow));
        if magic != SKIPPABLE || follow != entries.saturating_add(TAIL) {
            return Err(broken().into());
        }
        Ok(Self { start: extent.offset().saturating_add(start), count, checksums })
    }

    /// Where the skippable frame begins.
    fn head(&self) -> u64 {
        self.start.saturating_sub(HEAD)
    }

    fn entry<R: ReadAt>(&self, source: &R, index: u32) -> Result<Entry, ReadError<R::Error>> {
        let within = u64::from(index).saturating_mul(width(self.checksums));
        let at = self.start.saturating_add(within);
        let (stored, decoded, checksum) = if self.checksums {
            let [stored, decoded, checksum] = words(source, at)?;
            (stored, decoded, Some(checksum))
        } else {
            let [stored, decoded] = words(source, at)?;
            (stored, decoded, None)
        };
        let (stored, decoded) = (u32::from_le_bytes(stored), u32::from_le_bytes(decoded));
        Ok(Entry { stored, decoded, checksum })
    }

    /// Validates that sizes add up, and that all frames but the last are of one size.
    fn validate<R: ReadAt>(
        &self,
        source: &R,
        extent: Extent,
        declared: u64,
    ) -> Result<(), ReadError<R::Error>> {
        let (mut stored, mut decoded, mut first) = (0_u64, 0_u64, None);
        for index in 0..self.count {
            let entry = self.entry(source, index)?;
            stored = stored.saturating_add(entry.stored.into());
            decoded = decoded.saturating_add(entry.decoded.into());
            let last = index.saturating_add(1) == self.count;
            let wanted = *first.get_or_insert(entry.decoded);
            if entry.decoded > FRAME_CAP || !last && entry.decoded != wanted {
                let error = Error::new(Rule::FrameSize, extent.offset());
                return Err(error.found(entry.decoded.into()).into());
            }
        }
        if extent.offset().checked_add(stored) != Some(self.head()) || decoded != declared {
            return Err(Error::new(Rule::SeekSizes, extent.offset()).found(decoded).into());
        }
        Ok(())
    }
}

impl Seekable {
    /// Reads and validates the table, which stands before anything is decoded.
    pub(super) fn open<R: ReadAt>(
        source: &R,
        extent: Extent,
        declared: u64,
        limits: &Limits,
    ) -> Result<Self, ReadError<R::Error>> {
        if declared > limits.decoded() {
            return Err(Error::new(Limit::Decoded, extent.offset()).found(declared).into());
        }
        let table = Table::read(source, extent)?;
        table.validate(source, extent, declared)?;
        Ok(Self {
            extent,
            table,
            next: 0,
            at: extent.offset(),
            left: declared,
            frame: None,
            of_frame: 0,
            window: *limits,
        })
    }

    /// Hands out where each frame stands, of which none has been decoded yet, and its entry, until `each` says
    /// otherwise or an entry cannot be read.
    #[cfg(feature = "std")]
    pub(super) fn places<R: ReadAt>(&self, source: &R, mut each: impl FnMut(u64, Entry) -> bool) {
        let mut at = self.at;
        for index in 0..self.table.count {
            let Ok(entry) = self.table.entry(source, index) else { return };
            if !each(at, entry) {
                return;
            }
            at = at.saturating_add(entry.stored.into());
        }
    }

    /// Where the frames end.
    #[cfg(feature = "std")]
    pub(super) fn end(&self) -> u64 {
        self.table.head()
    }

    /// How many bytes are to come.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Decodes into `buffer` until it is full or the component ends; how many bytes it is.
    pub(super) fn read<R: ReadAt>(
        &mut self,
        source: &R,
        buffer: &mut [u8],
    ) -> Result<usize, ReadError<R::Error>> {
        let mut filled = 0_usize;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let Some(frame) = &mut self.frame else {
                if self.begin(source)? {
                    continue;
                }
                break;
            };
            let read = frame.read(source, rest, &mut |_| ())?;
            filled = filled.saturating_add(read);
            // A source that gives another table than before gives other sizes.
            let sizes = Error::new(Rule::SeekSizes, self.extent.offset());
            let left = self.left.checked_sub(u64_from_usize(read));
            self.left = left.ok_or(sizes.found(self.left))?;
            self.of_frame = self.of_frame.saturating_sub(u64_from_usize(read));
            if read == 0 {
                self.frame = None;
            }
        }
        Ok(filled)
    }

    /// Passes over `distance` decoded bytes. Frames of which nothing is wanted are not read; the
    /// rest of one that has been begun is decoded into `scratch`, so that it is validated.
    pub(super) fn skip<R: ReadAt>(
        &mut self,
        source: &R,
        mut distance: u64,
        scratch: &mut [u8],
    ) -> Result<(), ReadError<R::Error>> {
        while distance > 0 {
            if self.frame.is_some() {
                if self.of_frame <= distance {
                    distance = distance.saturating_sub(self.of_frame);
                    self.settle(source, scratch)?;
                    continue;
                }
                let most = usize::try_from(distance).unwrap_or(scratch.len()).min(scratch.len());
                let scratch = scratch.get_mut(..most).ok_or(Error::internal())?;
                let read = self.read(source, scratch)?;
                if read == 0 {
                    return Ok(());
                }
                distance = distance.saturating_sub(u64_from_usize(read));
                continue;
            }
            if self.next == self.table.count {
                return Ok(());
            }
            let entry = self.table.entry(source, self.next)?;
            if u64::from(entry.decoded) > distance {
                self.begin(source)?;
                continue;
            }
            distance = distance.saturating_sub(entry.decoded.into());
            self.left = self.left.saturating_sub(entry.decoded.into());
            self.at = self.at.saturating_add(entry.stored.into());
            self.next = self.next.saturating_add(1);
        }
        Ok(())
    }

    /// Decodes the rest of the frame that has been begun, if there is one.
    pub(super) fn settle<R: ReadAt>(
        &mut self,
        source: &R,
        scratch: &mut [u8],
    ) -> Result<(), ReadError<R::Error>> {
        while let Some(frame) = &mut self.frame {
            let read = frame.read(source, scratch, &mut |_| ())?;
            self.left = self.left.saturating_sub(u64_from_usize(read));
            self.of_frame = self.of_frame.saturating_sub(u64_from_usize(read));
            if read == 0 {
                self.frame = None;
            }
        }
        Ok(())
    }

    /// Begins the next frame, if there is one.
    fn begin<R: ReadAt>(&mut self, source: &R) -> Result<bool, ReadError<R::Error>> {
        if self.next == self.table.count {
            let error = Error::new(Rule::SeekSizes, self.extent.offset()).found(self.left);
            return if self.left == 0 { Ok(false) } else { Err(error.into()) };
        }
        let entry = self.table.entry(source, self.next)?;
        let (start, end) = (self.at, self.at.saturating_add(entry.stored.into()));
        if entry.decoded > FRAME_CAP || end > self.table.head() || start == end {
            return Err(Error::new(Rule::FrameSingle, start).into());
        }
        let frame = entry.frame(source, start, &self.window)?;
        (self.frame, self.at, self.of_frame) = (Some(frame), end, entry.decoded.into());
        self.next = self.next.saturating_add(1);
        Ok(true)
    }
}
