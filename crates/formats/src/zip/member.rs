//! The content of a member: its first bytes, decompressed.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_HAS_MORE_INPUT, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use super::cursor::Window;
use crate::error::FormatError;
use crate::rules::Rule;
use zten::front::RawComponent;
use zten::num::u64_from_usize;
use zten::tools::StorageType;
use zten::{Encoding, Error, ErrorKind};

/// Bytes that are decompressed at first, for which memory is taken: as many as most headers have, and more.
const FIRST: usize = 256;

/// A member of an archive: where its bytes are, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// The offset of the first byte.
    pub(crate) start: u64,
    /// The number of bytes in the file.
    pub(crate) packed: u64,
    /// The number of bytes when decompressed.
    pub(crate) size: u64,
    /// The checksum of the content, if there is one.
    pub(crate) crc: Option<u32>,
    pub(crate) is_deflated: bool,
}

impl Member {
    /// The component of bytes that it is, if its first byte is at that offset.
    pub(crate) fn component(&self, offset: u64) -> RawComponent<'static> {
        RawComponent {
            decoded_length: Some(self.size),
            checksum: self.crc,
            encoding: if self.is_deflated { Encoding::Deflate } else { Encoding::Raw },
            ..RawComponent::raw(StorageType::U8, offset, self.packed)
        }
    }
}

/// The error of reading all of a member that begins at a byte of the file.
pub(crate) fn damage(error: Error, start: u64) -> FormatError {
    let rules = [Rule::ZipDeflate, Rule::ZipLength, Rule::ZipCrc];
    let broken = rules.iter().find(|rule| error.rule() == Some(rule.row().id));
    match (broken, error.kind()) {
        (Some(rule), _) => FormatError::violation_at(*rule, rule.row().broken, start),
        (None, ErrorKind::Limit(limit)) => {
            FormatError::violation_at(limit, error.sentence(), start)
        }
        (None, _) => error.into(),
    }
}

/// Reads the first bytes of a member.
pub(crate) struct Content<'m, 's> {
    member: Member,
    window: &'m mut Window<'s>,
    /// The decoder, if one is needed: one item, on the heap, for it takes 10 KiB.
    decoder: &'m mut Vec<DecompressorOxide>,
    /// The offset of the compressed bytes that come next.
    at: u64,
    has_ended: bool,
}

impl<'m, 's> Content<'m, 's> {
    /// Returns the content of a member, of which nothing is read. The decoder is that of another member, or none.
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

    /// Makes what has been read `length` bytes long, or as long as the member is.
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

    fn decompress(&mut self, read: &mut Vec<u8>, length: usize) -> Result<(), FormatError> {
        let Member { start, packed, .. } = self.member;
        let damaged = |rule: Rule| FormatError::violation_at(rule, rule.row().broken, start);
        let end = start.saturating_add(packed);
        let decoder = self.decoder.first_mut();
        let decoder =
            decoder.ok_or_else(|| FormatError::internal("nothing decompresses a member"))?;
        let mut filled = read.len();
        while filled < length && !self.has_ended {
            if filled == read.len() {
                // Memory grows as bytes come.
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
