//! The first bytes of a file, as many as have been read, from which its header is parsed.

use zten::Limits;
use zten::error::OutOfMemory;
use zten::num::u64_from_usize;
use zten::rules::Limit;

use crate::error::{FormatError, Subject};
use crate::rules::{Blame, Rule};

/// The longest header that is read. Large vocabularies take some ten million bytes.
const HEADER: u64 = 100 << 20;

/// The reason why no header has been parsed.
#[derive(Debug)]
pub(super) enum Stop {
    /// The header goes on behind the bytes that have been read.
    More,
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
    /// The same of a header that breaks a rule at a byte of the file.
    pub(super) fn at(rule: Rule, sentence: impl std::fmt::Display, offset: u64) -> Self {
        FormatError::violation_at(rule, sentence, offset).into()
    }

    /// The same of a key of the metadata, which [`about`](Self::about) puts in front of the sentence.
    pub(super) fn of_key(rule: Rule, sentence: impl std::fmt::Display, offset: u64) -> Self {
        FormatError::violation_at(rule, sentence, offset).with_subject(Subject::Key).into()
    }

    /// The same of a tensor, which [`about`](Self::about) puts in front of the sentence.
    pub(super) fn of_tensor(rule: Rule, sentence: impl std::fmt::Display, offset: u64) -> Self {
        FormatError::predicate(rule, sentence).or_at(offset).into()
    }

    /// The same, and the tensor or key that it is about.
    pub(super) fn about(self, name: &str) -> Self {
        match self {
            Self::More => Self::More,
            Self::Failed(error) => error.about(name).into(),
        }
    }
}

/// A place in the first bytes of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'h> {
    bytes: &'h [u8],
    at: usize,
    /// The length of the file.
    length: u64,
    /// Bytes that a header may take, and the limit that a longer one exceeds.
    most: u64,
    limit: Blame,
}

impl<'h> Input<'h> {
    /// The first of the bytes of a file of `length` bytes.
    pub(super) fn new(bytes: &'h [u8], length: u64, limits: &Limits) -> Self {
        let (most, limit) = match limits.manifest() {
            most @ ..HEADER => (most, Limit::Manifest.into()),
            _ => (HEADER, Rule::LimitHeader.into()),
        };
        Self { bytes, at: 0, length, most, limit }
    }

    /// The next byte.
    pub(super) fn at(&self) -> u64 {
        u64_from_usize(self.at)
    }

    /// The same bytes, from that one on.
    pub(super) fn seek(self, at: u64) -> Self {
        Self { at: usize::try_from(at).unwrap_or(usize::MAX), ..self }
    }

    /// The byte of the file at which its header ends at the latest.
    pub(super) fn end(&self) -> u64 {
        self.most.min(self.length)
    }

    fn take(&mut self, length: u64) -> Result<&'h [u8], Stop> {
        let end = self.at().checked_add(length).filter(|end| *end <= self.end());
        let end = end.ok_or_else(|| self.truncated())?;
        let end = usize::try_from(end).map_err(|_| FormatError::memory())?;
        let taken = self.bytes.get(self.at..end).ok_or(Stop::More)?;
        self.at = end;
        Ok(taken)
    }

    /// The error for a header that claims to have more bytes than there can be.
    fn truncated(&self) -> FormatError {
        let (at, most) = (self.at(), self.most);
        if most >= self.length {
            let sentence = "the file ends before its header does";
            return FormatError::violation_at(Rule::GgufTruncated, sentence, at);
        }
        let sentence = format_args!("header exceeds the maximum of {most} bytes");
        FormatError::violation_at(self.limit, sentence, at)
    }

    /// Reads so many bytes.
    pub(super) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let taken = self.take(u64_from_usize(N))?.first_chunk();
        taken.copied().ok_or_else(|| FormatError::internal("bytes are missing").into())
    }

    pub(super) fn u32(&mut self) -> Result<u32, Stop> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Stop> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// Reads a length and a text of that length.
    pub(super) fn text(&mut self, what: &str) -> Result<&'h str, Stop> {
        let start = self.at();
        let text = str::from_utf8(self.text_bytes()?);
        text.map_err(|_| Stop::at(Rule::GgufUtf8, format_args!("{what} is not UTF-8"), start))
    }
    /// Reads a length and the bytes of a text of that length.
    pub(super) fn text_bytes(&mut self) -> Result<&'h [u8], Stop> {
        let length = self.u64()?;
        self.take(length)
    }
}
