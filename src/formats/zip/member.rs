//! Reading and decompressing the content of a member of a zip archive: its first bytes, or all of them.

use alloc::vec::Vec;

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_HAS_MORE_INPUT, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use crate::element::StorageType;
use crate::error::{Error, ErrorKind};
use crate::formats::error::FormatError;
use crate::formats::rules::Rule;
use crate::index::Encoding;
use crate::index::RawComponent;
use crate::num::u64_from_usize;

use super::cursor::Window;

/// The size in bytes of the first buffer for decompressed data, if that many bytes are wanted. It is larger than most headers.
const FIRST: usize = 256;

/// The location and encoding of a member's content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// The offset in the file at which the member's data begins.
    pub(crate) start: u64,
    /// The length in bytes of the member's data as stored in the file, compressed or not.
    pub(crate) packed: u64,
    /// The length in bytes of the member's uncompressed content.
    pub(crate) size: u64,
    /// The CRC-32 of the uncompressed content; `None` if it is not checked.
    pub(crate) crc: Option<u32>,
    /// Whether the data is compressed with deflate.
    pub(crate) is_deflated: bool,
}

impl Member {
    /// Returns a component of bytes that is the whole content of the member. `offset` is the offset in the file at which the
    /// data begins.
    pub(crate) fn component(&self, offset: u64) -> RawComponent<'static> {
        RawComponent {
            decoded_length: Some(self.size),
            checksum: self.crc,
            encoding: if self.is_deflated { Encoding::Deflate } else { Encoding::Raw },
            ..RawComponent::raw(StorageType::U8, offset, self.packed)
        }
    }
}

/// Reads the whole content of `member`, and verifies its length, if it is compressed, and its checksum, if `member` has one.
/// Memory grows with the bytes that are read, so a false size in the directory takes no memory.
///
/// # Errors
/// `zip-deflate`, `zip-length`, `zip-crc`, at the first byte of the member's data; any error of the source; out of memory.
pub(crate) fn read_whole(member: Member, window: &mut Window<'_>) -> Result<Vec<u8>, FormatError> {
    let size = usize::try_from(member.size).map_err(|_| FormatError::memory())?;
    let (mut bytes, mut decoder) = (Vec::new(), Vec::new());
    let mut content = Content::new(member, window, &mut decoder)?;
    content.extend(&mut bytes, size)?;
    content.check_end(&mut bytes)?;
    let crc = member.crc.filter(|crc| crc32fast::hash(&bytes) != *crc);
    match crc {
        None => Ok(bytes),
        Some(_) => Err(content.damaged(Rule::ZipCrc)),
    }
}

/// Converts `error`, which occurred while a whole member was read, to the error of a reader of zip archives. Damage and
/// exceeded limits get the offset `start`, at which the data of the member begins in the file.
pub(crate) fn damage(error: Error, start: u64) -> FormatError {
    let rules = [Rule::ZipDeflate, Rule::ZipLength, Rule::ZipCrc];
    let broken = rules.iter().find(|rule| error.rule() == Some(rule.row().id()));
    match (broken, error.kind()) {
        (Some(rule), _) => FormatError::violation_at(*rule, rule.row().broken(), start),
        (None, ErrorKind::Limit(limit)) => {
            FormatError::violation_at(limit, error.sentence(), start)
        }
        (None, _) => error.into(),
    }
}

/// A reader of the content of a member, from its first byte on, which decompresses the content if necessary.
pub(crate) struct Content<'m, 's> {
    /// The member that is read.
    member: Member,
    /// The buffer through which the file is read.
    window: &'m mut Window<'s>,
    /// The decoder of a compressed member: a vector of one item, because a decoder takes 10 KiB and belongs on the heap.
    decoder: &'m mut Vec<DecompressorOxide>,
    /// The offset in the file of the next compressed byte.
    at: u64,
    /// Whether the decoder has reached the end of the compressed data.
    has_ended: bool,
}

impl<'m, 's> Content<'m, 's> {
    /// Creates a reader at the first byte of `member`. `decoder` may contain the decoder of another member, whose memory is
    /// reused.
    pub(crate) fn new(
        member: Member,
        window: &'m mut Window<'s>,
        decoder: &'m mut Vec<DecompressorOxide>,
    ) -> Result<Self, FormatError> {
        if member.is_deflated {
            decoder.clear();
            decoder.try_reserve_exact(1).map_err(|_| FormatError::memory())?;
            decoder.push(DecompressorOxide::new());
        }
        Ok(Self { member, window, decoder, at: member.start, has_ended: false })
    }

    /// Appends bytes to `read`, the content that has been read so far, until it is `length` bytes long or has the size that the
    /// directory gives the member. The errors are those of [`decompress`](Self::decompress), for compressed members, and those
    /// of the source.
    pub(crate) fn extend(&mut self, read: &mut Vec<u8>, length: usize) -> Result<(), FormatError> {
        let size = usize::try_from(self.member.size).unwrap_or(usize::MAX);
        let length = length.min(size);
        if self.member.is_deflated {
            return self.decompress(read, length);
        }
        let Member { start, packed, .. } = self.member;
        let from = start.saturating_add(u64_from_usize(read.len()));
        let to = start.saturating_add(u64_from_usize(length));
        let bytes = self.window.get(from..to, start.saturating_add(packed))?;
        read.try_reserve(bytes.len()).map_err(|_| FormatError::memory())?;
        read.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns the error for a member whose data breaks `rule`.
    fn damaged(&self, rule: Rule) -> FormatError {
        FormatError::violation_at(rule, rule.row().broken(), self.member.start)
    }

    /// Checks that a compressed member ends after `read`, which holds its whole content: the decoder returns no further byte
    /// (else `zip-length`), and has consumed all compressed bytes (else `zip-deflate`). Does nothing for a member that is not
    /// compressed. `read` may be longer afterwards if there is an error.
    fn check_end(&mut self, read: &mut Vec<u8>) -> Result<(), FormatError> {
        if !self.member.is_deflated {
            return Ok(());
        }
        let size = read.len();
        // The decoder finds the end of the data when it is asked for one byte more.
        match self.decompress(read, size.saturating_add(1)) {
            Ok(()) => return Err(self.damaged(Rule::ZipLength)),
            Err(error) if error.breaks(Rule::ZipLength) => {}
            Err(error) => return Err(error),
        }
        if self.at < self.member.start.saturating_add(self.member.packed) {
            return Err(self.damaged(Rule::ZipDeflate));
        }
        Ok(())
    }

    /// Appends decompressed bytes to `read`, the content that has been read so far, until it is `length` bytes long.
    ///
    /// # Errors
    /// `zip-deflate` if the data cannot be decompressed; `zip-length` if it ends before; any error of the source; out of
    /// memory.
    fn decompress(&mut self, read: &mut Vec<u8>, length: usize) -> Result<(), FormatError> {
        let Member { start, packed, .. } = self.member;
        let damaged = |rule: Rule| FormatError::violation_at(rule, rule.row().broken(), start);
        let end = start.saturating_add(packed);
        let decoder = self.decoder.first_mut();
        let decoder =
            decoder.ok_or_else(|| FormatError::internal("a compressed member has no decoder"))?;
        let mut filled = read.len();
        while filled < length && !self.has_ended {
            if filled == read.len() {
                // The buffer grows with the decompressed bytes, because the size that the directory gives is not trustworthy.
                let room = filled.saturating_mul(2).max(FIRST).min(length);
                read.try_reserve(room.saturating_sub(filled)).map_err(|_| FormatError::memory())?;
                read.resize(room, 0);
            }
            let input = self.window.some(self.at, end)?;
            let next = self.at.saturating_add(u64_from_usize(input.len()));
            let more = if next < end { TINFL_FLAG_HAS_MORE_INPUT } else { 0 };
            let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF | more;
            let (status, taken, written) = decompress(decoder, input, read, filled, flags);
            self.at = self.at.saturating_add(u64_from_usize(taken));
            filled = filled.saturating_add(written);
            self.has_ended = status == TINFLStatus::Done;
            match status {
                TINFLStatus::Done | TINFLStatus::HasMoreOutput => {}
                TINFLStatus::NeedsMoreInput if more > 0 && taken > 0 => {}
                _ => return Err(damaged(Rule::ZipDeflate)),
            }
        }
        read.truncate(filled);
        if filled < length {
            return Err(damaged(Rule::ZipLength));
        }
        Ok(())
    }
}
