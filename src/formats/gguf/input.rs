//! A cursor over the first bytes of a file, from which the header is parsed.

use crate::element::ByteOrder;
use crate::error::OutOfMemory;
use crate::formats::error::{FormatError, Subject};
use crate::formats::rules::Rule;
use crate::limits::Limits;
use crate::num::u64_from_usize;
use crate::rules::Limit;
use crate::rules::Row;

/// The length in bytes of the longest header that zten parses. Large vocabularies take about ten million bytes.
const HEADER: u64 = 100 << 20;

/// The reason why a header could not be parsed.
#[derive(Debug)]
pub(super) enum Stop {
    /// The header extends beyond the bytes that are in memory, so more bytes of the file have to be read.
    More,
    /// The header is invalid, unsupported or exceeds a limit.
    Failed(FormatError),
}

impl From<FormatError> for Stop {
    fn from(error: FormatError) -> Self {
        Self::Failed(error)
    }
}

impl From<OutOfMemory> for Stop {
    fn from(out: OutOfMemory) -> Self {
        Self::Failed(out.into())
    }
}

impl Stop {
    /// Creates an error for a header that breaks `rule` at the byte `offset` of the file.
    pub(super) fn at(rule: Rule, sentence: impl core::fmt::Display, offset: u64) -> Self {
        FormatError::violation_at(rule, sentence, offset).into()
    }

    /// Creates an error as [`at`](Self::at) does, about a metadata key. `sentence` begins with a verb, and
    /// [`about`](Self::about) later adds the key as the subject of the sentence.
    pub(super) fn of_key(rule: Rule, sentence: impl core::fmt::Display, offset: u64) -> Self {
        FormatError::violation_at(rule, sentence, offset).with_subject(Subject::Key).into()
    }

    /// Creates an error as [`at`](Self::at) does, about a tensor. `sentence` begins with a verb, and [`about`](Self::about)
    /// later adds the name of the tensor as the subject of the sentence.
    pub(super) fn of_tensor(rule: Rule, sentence: impl core::fmt::Display, offset: u64) -> Self {
        FormatError::predicate(rule, sentence).or_at(offset).into()
    }

    /// Adds `name`, the tensor or metadata key that breaks the rule, to the error. [`Stop::More`] is returned as it is.
    pub(super) fn about(self, name: &str) -> Self {
        match self {
            Self::More => Self::More,
            Self::Failed(error) => error.about(name).into(),
        }
    }
}

/// A position in the header of a GGUF file, at which the next value is read. Only the first bytes of the file are in
/// memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'h> {
    bytes: &'h [u8],
    /// The offset in the file of the next byte.
    at: usize,
    /// The length of the file in bytes.
    length: u64,
    /// The length in bytes of the longest header that is allowed: the smaller of the limit `manifest` and the maximum of
    /// zten.
    most: u64,
    /// The rule of the limit that `most` comes from, for the error if the header is longer.
    limit: &'static Row,
    /// The byte order in which numbers are read.
    byte_order: ByteOrder,
}

impl<'h> Input<'h> {
    /// Creates an input at the first byte of a file of `length` bytes that begins with `bytes`.
    pub(super) fn new(bytes: &'h [u8], length: u64, limits: &Limits) -> Self {
        let (most, limit) = match limits.manifest() {
            most @ ..HEADER => (most, Limit::Manifest.into()),
            _ => (HEADER, Rule::LimitHeader.into()),
        };
        Self { bytes, at: 0, length, most, limit, byte_order: ByteOrder::Little }
    }

    /// Sets the byte order in which all further numbers are read to big-endian.
    pub(super) fn set_big_endian(&mut self) {
        self.byte_order = ByteOrder::Big;
    }

    /// Returns the byte order in which numbers are read.
    pub(super) fn byte_order(&self) -> ByteOrder {
        self.byte_order
    }

    /// Returns the offset of the next byte in the file.
    pub(super) fn at(&self) -> u64 {
        u64_from_usize(self.at)
    }

    /// Returns this input with its position moved to the offset `at` of the file.
    pub(super) fn seek(self, at: u64) -> Self {
        Self { at: usize::try_from(at).unwrap_or(usize::MAX), ..self }
    }

    /// Returns the length of the file in bytes.
    #[cfg(all(feature = "std", feature = "gguf", feature = "write"))]
    pub(super) fn file_length(&self) -> u64 {
        self.length
    }

    /// Returns the largest offset in the file at which the header may end.
    pub(super) fn end(&self) -> u64 {
        self.most.min(self.length)
    }

    /// Returns the bytes of the file from the offset `start` up to the current position.
    #[cfg(all(feature = "std", feature = "gguf", feature = "write"))]
    pub(super) fn since(&self, start: u64) -> &'h [u8] {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        self.bytes.get(start..self.at).unwrap_or_default()
    }

    /// Returns the next `length` bytes, and moves past them.
    fn take(&mut self, length: u64) -> Result<&'h [u8], Stop> {
        let end = self.at().checked_add(length).filter(|end| *end <= self.end());
        let end = end.ok_or_else(|| self.truncated())?;
        let end = usize::try_from(end).map_err(|_| FormatError::memory())?;
        let taken = self.bytes.get(self.at..end).ok_or(Stop::More)?;
        self.at = end;
        Ok(taken)
    }

    /// Returns the error for a header that extends beyond the file or the largest length of a header.
    fn truncated(&self) -> FormatError {
        let (at, most) = (self.at(), self.most);
        if most >= self.length {
            let sentence = "the file ends before its header does";
            return FormatError::violation_at(Rule::GgufTruncated, sentence, at);
        }
        let sentence = format_args!("the header exceeds the maximum of {most} bytes");
        FormatError::violation_at(self.limit, sentence, at)
    }

    /// Reads the next `N` bytes as they are, in the order of the file.
    pub(super) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let taken = self.take(u64_from_usize(N))?.first_chunk();
        taken.copied().ok_or_else(|| FormatError::internal("bytes are missing").into())
    }

    /// Reads the `N` bytes of a number, and returns them in little-endian order.
    pub(super) fn number<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let mut bytes = self.bytes()?;
        if self.byte_order == ByteOrder::Big {
            bytes.reverse();
        }
        Ok(bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Stop> {
        self.number().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Stop> {
        self.number().map(u64::from_le_bytes)
    }

    /// Reads a length and a text of this length. `what` names the text in an error.
    pub(super) fn text(&mut self, what: &str) -> Result<&'h str, Stop> {
        let start = self.at();
        let text = str::from_utf8(self.text_bytes()?);
        text.map_err(|_| Stop::at(Rule::GgufUtf8, format_args!("{what} is not UTF-8"), start))
    }

    /// Reads a length and the bytes of a text of this length, without checking that they are UTF-8.
    pub(super) fn text_bytes(&mut self) -> Result<&'h [u8], Stop> {
        let length = self.u64()?;
        self.take(length)
    }
}
