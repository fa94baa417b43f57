//! Decoding `zt.zstd-seekable/1`: independent zstd frames, followed by a table of their sizes. v2 §8.2.
//!
//! ```text
//! frame … | 5E 2A 4D 18 | u32 bytes that follow | entries | u32 count | descriptor | B1 EA 92 8F
//! ```
//!
//! When reading begins, the sizes in the table are compared with each other, the blob and the limits before anything is
//! decoded. The table is not kept in memory: each entry is read again when its frame begins.

use super::zstd::Frames;
use crate::error::{BareError, Error};
use crate::limits::Limits;
use crate::manifest::Extent;
use crate::num::u64_from_usize;
use crate::read_at::ReadAt;
use crate::rules::{Limit, Rule};

/// The magic at the start of the skippable zstd frame that holds the seek table.
const SKIPPABLE: [u8; 4] = [0x5e, 0x2a, 0x4d, 0x18];
/// The magic at the end of the seek table.
const SEEKABLE: [u8; 4] = [0xb1, 0xea, 0x92, 0x8f];
/// The number of bytes of the seek table before its entries: the magic of a skippable frame, and the number of bytes that follow.
const HEAD: u64 = 8;
/// The number of bytes of the seek table after its entries: the number of entries, the descriptor, and the magic.
const TAIL: u64 = 9;
/// The largest number of bytes to which one zstd frame may decode.
const FRAME_CAP: u32 = 16 << 20;

/// A component of the encoding `zt.zstd-seekable/1` that is being decoded frame by frame.
pub(super) struct Seekable {
    extent: Extent,
    /// The offset in the file of the first entry of the seek table.
    entries: u64,
    count: u32,
    checksums: bool,
    /// The index of the next frame to decode.
    next: u32,
    at: u64,
    /// The number of decoded bytes that are still to come.
    left: u64,
    frame: Option<Frames>,
    limits: Limits,
}

/// Returns the size in bytes of one entry of the seek table. `checksums` says whether entries contain a checksum.
fn width(checksums: bool) -> u8 {
    if checksums { 12 } else { 8 }
}

/// Reads `N` words of four bytes from `source` at the offset `at`.
fn read_words<const N: usize, R: ReadAt>(source: &R, at: u64) -> Result<[[u8; 4]; N], Error> {
    let mut words = [[0; 4]; N];
    source.read_at(at, words.as_flattened_mut())?;
    Ok(words)
}

/// An entry of the seek table: the sizes of a frame, and its checksum.
#[derive(Clone, Copy)]
pub(super) struct SeekEntry {
    pub(super) stored: u32,
    pub(super) decoded: u32,
    checksum: Option<[u8; 4]>,
}

impl SeekEntry {
    /// Opens the frame at the offset `at`. The entry must hold exactly one frame with a checksum, which must equal the
    /// checksum of the entry if the entry has one.
    pub(super) fn frame<R: ReadAt>(
        self,
        source: &R,
        at: u64,
        limits: &Limits,
    ) -> Result<Frames, Error> {
        let extent = Extent::part(at, self.stored.into());
        let frame = Frames::open(source, extent, Some(self.decoded.into()), limits)?;
        if !frame.is_one_with_checksum() {
            return Err(BareError::new(Rule::FrameSingle, at).into());
        }
        if let Some(checksum) = self.checksum {
            let [own] = read_words(source, extent.end().saturating_sub(4))?;
            if own != checksum {
                return Err(BareError::new(Rule::ZstdChecksum, at).into());
            }
        }
        Ok(frame)
    }
}

impl Seekable {
    /// Reads and validates the table, before anything is decoded. `declared` is the decoded size of the component.
    pub(super) fn open<R: ReadAt>(
        source: &R,
        extent: Extent,
        declared: u64,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let at = extent.offset();
        if declared > limits.decoded() {
            return Err(BareError::new(Limit::Decoded, at).found(declared).into());
        }
        let broken = BareError::new(Rule::SeekTable, at);
        let tail = extent.length().checked_sub(TAIL).ok_or(broken)?;
        let mut bytes = [0; 9];
        source.read_at(at.saturating_add(tail), &mut bytes)?;
        let [a, b, c, d, descriptor, magic @ ..] = bytes;
        // The two lowest bits are unused, and readers must ignore them.
        if magic != SEEKABLE || descriptor & 0x7c != 0 {
            return Err(broken.into());
        }
        let count = u32::from_le_bytes([a, b, c, d]);
        let checksums = descriptor & 0x80 != 0;
        let entries = u64::from(count).saturating_mul(width(checksums).into());
        let start = tail.checked_sub(entries).ok_or(broken)?;
        let head = start.checked_sub(HEAD).ok_or(broken)?;
        let [magic, follow] = read_words(source, at.saturating_add(head))?;
        let follow = u64::from(u32::from_le_bytes(follow));
        if magic != SKIPPABLE || follow != entries.saturating_add(TAIL) {
            return Err(broken.into());
        }
        let (entries, left, limits) = (at.saturating_add(start), declared, *limits);
        let table =
            Self { extent, entries, count, checksums, next: 0, at, left, frame: None, limits };
        table.validate(source)?;
        Ok(table)
    }

    /// Validates that the sizes add up, and that all frames except the last decode to the same size.
    fn validate<R: ReadAt>(&self, source: &R) -> Result<(), Error> {
        let (mut stored, mut decoded, mut first) = (0_u64, 0_u64, None);
        for index in 0..self.count {
            let entry = self.entry(source, index)?;
            stored = stored.saturating_add(entry.stored.into());
            decoded = decoded.saturating_add(entry.decoded.into());
            let last = index.saturating_add(1) == self.count;
            let wanted = *first.get_or_insert(entry.decoded);
            if entry.decoded > FRAME_CAP || !last && entry.decoded != wanted {
                let error = BareError::new(Rule::FrameSize, self.extent.offset());
                return Err(error.found(entry.decoded.into()).into());
            }
        }
        if self.extent.offset().checked_add(stored) != Some(self.end()) || decoded != self.left {
            return Err(self.sizes(decoded).into());
        }
        Ok(())
    }

    /// Returns the error that the sizes in the seek table do not add up, because they decode to `found` bytes. The error also
    /// occurs while decoding, if the source returns another table than before; `found` is then the number of bytes that were
    /// still to come.
    fn sizes(&self, found: u64) -> BareError {
        BareError::new(Rule::SeekSizes, self.extent.offset()).found(found)
    }

    /// Returns the offset in the file at which the frames end and the seek table begins.
    fn end(&self) -> u64 {
        self.entries.saturating_sub(HEAD)
    }

    fn entry<R: ReadAt>(&self, source: &R, index: u32) -> Result<SeekEntry, Error> {
        let width = width(self.checksums);
        let at = self.entries.saturating_add(u64::from(index).saturating_mul(width.into()));
        let mut words = [[0; 4]; 3];
        let bytes = words.as_flattened_mut().get_mut(..width.into()).ok_or(BareError::internal())?;
        source.read_at(at, bytes)?;
        let [stored, decoded, checksum] = words;
        let [stored, decoded] = [stored, decoded].map(u32::from_le_bytes);
        Ok(SeekEntry { stored, decoded, checksum: self.checksums.then_some(checksum) })
    }

    /// Calls `each` with the offset and the entry of each frame, until `each` returns false or an entry cannot be read.
    /// Returns the offset at which the frames end. No frame may have been decoded yet.
    pub(super) fn find_frames<R: ReadAt>(
        &self,
        source: &R,
        mut each: impl FnMut(u64, SeekEntry) -> bool,
    ) -> u64 {
        let mut at = self.at;
        for index in 0..self.count {
            let Ok(entry) = self.entry(source, index) else { break };
            if !each(at, entry) {
                break;
            }
            at = at.saturating_add(entry.stored.into());
        }
        self.end()
    }

    /// Decodes into `buffer` until it is full or the component ends, and returns the number of bytes.
    pub(super) fn read<R: ReadAt>(
        &mut self,
        source: &R,
        buffer: &mut [u8],
    ) -> Result<usize, Error> {
        let mut filled = 0_usize;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            if self.frame.is_none() && !self.begin(source)? {
                break;
            }
            filled = filled.saturating_add(self.read_frame(source, rest)?);
        }
        Ok(filled)
    }

    /// Decodes a part of the current frame into `room`, and returns the number of decoded bytes, which is 0 at the end of the
    /// frame.
    fn read_frame<R: ReadAt>(&mut self, source: &R, room: &mut [u8]) -> Result<usize, Error> {
        let Some(frame) = &mut self.frame else { return Ok(0) };
        let read = frame.read(source, room, |_| ())?;
        let left = self.left.checked_sub(u64_from_usize(read));
        self.left = left.ok_or(self.sizes(self.left))?;
        if read == 0 {
            self.frame = None;
        }
        Ok(read)
    }

    /// Skips `distance` decoded bytes. Frames that are skipped completely are not read. The rest of a frame that has
    /// been begun is decoded into `scratch`, so that its checksum is verified.
    pub(super) fn skip<R: ReadAt>(
        &mut self,
        source: &R,
        mut distance: u64,
        scratch: &mut [u8],
    ) -> Result<(), Error> {
        while distance > 0 {
            if self.frame.is_some() {
                let most = usize::try_from(distance).unwrap_or(scratch.len()).min(scratch.len());
                let scratch = scratch.get_mut(..most).ok_or(BareError::internal())?;
                let read = self.read_frame(source, scratch)?;
                distance = distance.saturating_sub(u64_from_usize(read));
                continue;
            }
            if self.next == self.count {
                return Ok(());
            }
            let entry = self.entry(source, self.next)?;
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

    /// Decodes the rest of the current frame into `scratch`, if a frame has been begun, to verify the checksum of the
    /// frame.
    pub(super) fn settle<R: ReadAt>(
        &mut self,
        source: &R,
        scratch: &mut [u8],
    ) -> Result<(), Error> {
        while self.frame.is_some() {
            self.read_frame(source, scratch)?;
        }
        Ok(())
    }

    /// Opens the next zstd frame. Returns false if there is no further frame.
    fn begin<R: ReadAt>(&mut self, source: &R) -> Result<bool, Error> {
        if self.next == self.count {
            return if self.left == 0 { Ok(false) } else { Err(self.sizes(self.left).into()) };
        }
        let entry = self.entry(source, self.next)?;
        let (start, end) = (self.at, self.at.saturating_add(entry.stored.into()));
        if entry.decoded > FRAME_CAP || end > self.end() || start == end {
            return Err(BareError::new(Rule::FrameSingle, start).into());
        }
        self.frame = Some(entry.frame(source, start, &self.limits)?);
        self.at = end;
        self.next = self.next.saturating_add(1);
        Ok(true)
    }
}
