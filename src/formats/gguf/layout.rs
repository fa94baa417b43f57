//! Checking the extents of tensor data: each tensor begins at the first aligned offset after the end of the tensor before it,
//! and padding is zero. So every byte of the file belongs to the header, a tensor or the padding.

use alloc::vec::Vec;

use crate::escape::Short;
use crate::finding::counted;
use crate::formats::error::{FormatError, follow};
use crate::formats::rules::Rule;
use crate::num::{sort_by, u64_from_usize};
use crate::read_at::ReadAt;

use super::header::{Extent, GgufHeader};

/// The number of bytes of padding that are read from the source in one call.
const PIECE: usize = 4096;

/// A GGUF file whose header has been parsed, and whose tensor data is to be checked.
pub(super) struct Layout<'l, 'h> {
    pub(super) source: &'l dyn ReadAt,
    /// The length of the file in bytes.
    pub(super) length: u64,
    /// The first bytes of the file. Padding within them is not read again.
    pub(super) start: &'l [u8],
    pub(super) header: &'l GgufHeader<'h>,
}

/// The offset of the description and the length in bytes of each tensor whose type zten does not read, sorted by this offset.
/// The data of such a tensor ends where the next tensor begins, so it includes the padding between the two.
pub(super) struct UnreadLengths(Vec<(u32, u64)>);

impl UnreadLengths {
    /// Returns the length in bytes of the tensor whose description has the given offset, or 0 if the tensor is not in the list.
    pub(super) fn of(&self, description_offset: u32) -> u64 {
        let found = self.0.binary_search_by_key(&description_offset, |(offset, _)| *offset);
        found.ok().and_then(|place| self.0.get(place)).map_or(0, |(_, length)| *length)
    }
}

impl Layout<'_, '_> {
    /// Checks that the data of all tensors, at `extents`, lies in the file without overlap, that each tensor begins at the
    /// first aligned offset after the tensor before it, with zeros as padding, and that nothing follows the last tensor and its
    /// padding. Tensors without data may have any offset. Returns the lengths of the tensors of types that zten does not read.
    ///
    /// # Errors
    /// `gguf-bounds`, `gguf-overlap`, `gguf-contiguous`, `gguf-padding`, `gguf-trailing`; the source fails; out of memory.
    pub(super) fn check(&self, mut extents: Vec<Extent>) -> Result<UnreadLengths, FormatError> {
        let name = |description_offset| self.header.name(description_offset);
        // A tensor without data occupies no bytes, so any offset is allowed.
        extents.retain(|extent| extent.bytes != Some(0));
        let place = |extent: &Extent| (extent.offset, extent.description_offset);
        sort_by(&mut extents, |one, other| place(one).cmp(&place(other)));
        let (mut end, mut before) = (self.header.end, 0);
        let mut lengths = Vec::new();
        let mut rest = extents.iter();
        while let Some(&Extent { offset, bytes, description_offset }) = rest.next() {
            // An offset that overflows saturates, and is beyond the end of the file, too.
            let start = self.header.data.saturating_add(offset);
            let bytes = if let Some(bytes) = bytes {
                bytes
            } else {
                let next = rest.as_slice().first().map(|next| next.offset);
                let end = next.map_or(self.length, |next| self.header.data.saturating_add(next));
                let bytes = end.saturating_sub(start);
                lengths.try_reserve(1).map_err(|_| FormatError::memory())?;
                lengths.push((description_offset, bytes));
                bytes
            };
            let tensor_end = start.checked_add(bytes).filter(|end| *end <= self.length);
            let Some(tensor_end) = tensor_end else {
                let bytes = counted(bytes, "byte");
                let sentence =
                    format_args!("has {bytes} at data offset {offset}, beyond the end of the file");
                let error = FormatError::predicate(Rule::GgufBounds, sentence);
                return Err(error.about(name(description_offset)?));
            };
            if start < end {
                let (name, before) = (Short(name(description_offset)?), Short(name(before)?));
                let sentence = format_args!("{name} shares data with {before}");
                return Err(FormatError::violation_at(Rule::GgufOverlap, sentence, start));
            }
            end = self.check_padding(end)?;
            if start != end {
                let expected = end.saturating_sub(self.header.data);
                let sentence = format_args!(
                    "begins at data offset {offset}, expected {expected}, after the tensor before it"
                );
                let error = FormatError::predicate(Rule::GgufContiguous, sentence);
                return Err(error.or_at(start).about(name(description_offset)?));
            }
            (end, before) = (tensor_end, description_offset);
        }
        end = self.check_padding(end)?;
        match self.length.saturating_sub(end) {
            0 => {
                sort_by(&mut lengths, Ord::cmp);
                Ok(UnreadLengths(lengths))
            }
            more => {
                let sentence = follow(more, "the last tensor");
                Err(FormatError::violation_at(Rule::GgufTrailing, sentence, end))
            }
        }
    }

    /// Checks that the bytes from offset `start` to the next multiple of the alignment, or the end of the file, are zeros, and
    /// returns the offset at which they end.
    fn check_padding(&self, start: u64) -> Result<u64, FormatError> {
        let end = start.checked_next_multiple_of(self.header.alignment).unwrap_or(u64::MAX);
        let (mut at, end) = (start, end.min(self.length));
        let mut piece = [0; PIECE];
        while at < end {
            let length = usize::try_from(end.saturating_sub(at)).unwrap_or(PIECE).min(PIECE);
            let bytes = match (self.start.bytes_at(at, length), piece.get_mut(..length)) {
                (Some(bytes), _) => bytes,
                (None, Some(piece)) => {
                    self.source.read_at(at, piece)?;
                    piece
                }
                (None, None) => {
                    return Err(FormatError::internal(
                        "a piece of padding is larger than its buffer",
                    ));
                }
            };
            if let Some(other) = bytes.iter().position(|byte| *byte != 0) {
                let at = at.saturating_add(u64_from_usize(other));
                let sentence = Rule::GgufPadding.row().broken();
                return Err(FormatError::violation_at(Rule::GgufPadding, sentence, at));
            }
            at = at.saturating_add(u64_from_usize(length));
        }
        Ok(end)
    }
}
