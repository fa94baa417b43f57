//! The error of the reader of a file format: a rule that the file breaks, or an error of the library.

use alloc::string::String;
use core::fmt::{self, Write as _};
#[cfg(feature = "std")]
use std::io;

use crate::error::Error;
use crate::error::ErrorKind;
use crate::error::OutOfMemory;
use crate::escape::{self, Short};
use crate::finding::counted;
use crate::rules::Row;

use super::rules::Rule;

/// The reason why the reader of a file format rejects a file or fails.
#[derive(Debug)]
pub(crate) enum FormatError {
    /// The file breaks a rule of its format, is unsupported, or exceeds a limit.
    Violation(Violation),
    /// An error of the library: a rejected zTensor file, a failed read, a failed allocation, or a broken invariant of
    /// the library.
    Library(Error),
}

/// The rule that a file breaks, with the place in the file and a sentence for the user.
#[derive(Debug)]
pub(crate) struct Violation {
    /// The rule that the file breaks, the limit that the file exceeds, or the feature that is not supported.
    pub(crate) row: &'static Row,
    /// The sentence that says which value is wrong. It lacks its subject unless `subject` is [`Subject::Own`].
    pub(crate) sentence: String,
    /// The subject of the sentence.
    pub(crate) subject: Subject,
    /// The name of the tensor, member or key that breaks the rule.
    pub(crate) name: Option<String>,
    /// The name of the sibling file that breaks the rule; `None` if the opened file itself does.
    pub(crate) part: Option<String>,
    /// The offset in the file at which the rule is broken; `None` if no byte is to blame.
    pub(crate) offset: Option<u64>,
    /// Advice for this cause; `None` if the general advice of the rule fits.
    pub(crate) advice: Option<&'static str>,
}

/// The grammatical subject of the sentence about a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The sentence is complete: it contains its subject.
    Own,
    /// The sentence begins with a verb and is printed after the quoted name: `"a" is encrypted`.
    Name,
    /// The sentence begins with a verb and is printed after the name of a metadata key, which is quoted only if it is not a
    /// plain word: `llama.block_count is 0`.
    Key,
    /// The sentence begins with a verb and is printed after the quoted name of the sibling file.
    Part,
}

impl Violation {
    /// Returns the complete sentence: the subject, then the predicate.
    fn statement(&self) -> impl fmt::Display + '_ {
        Statement(self)
    }

    /// Returns whether the statement begins with the name in question: the name of the tensor, member or key, or the name of
    /// the sibling file if there is no other name. Messages then do not print this name a second time.
    fn is_named(&self) -> bool {
        match self.subject {
            Subject::Own => false,
            Subject::Name | Subject::Key => self.name.is_some(),
            Subject::Part => self.name.is_none() && self.part.is_some(),
        }
    }
}

/// The sentence of a violation with its subject, for display.
struct Statement<'v>(&'v Violation);

impl fmt::Display for Statement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { sentence, subject, name, part, .. } = self.0;
        let name = if *subject == Subject::Part { part } else { name };
        match (subject, name.as_deref()) {
            (Subject::Own, _) => f.write_str(sentence),
            (Subject::Name | Subject::Part, Some(name)) => write!(f, "{} {sentence}", Short(name)),
            (Subject::Key, Some(key)) => {
                write!(f, "{} {sentence}", escape::Word(key, escape::COLUMNS))
            }
            (Subject::Part, None) => write!(f, "the file {sentence}"),
            (Subject::Name | Subject::Key, None) => write!(f, "an entry {sentence}"),
        }
    }
}

impl From<OutOfMemory> for FormatError {
    fn from(_: OutOfMemory) -> Self {
        Self::memory()
    }
}

impl FormatError {
    /// Creates the error for a violation of `rule` without an offset in the file. `sentence` contains its subject, unless
    /// [`with_subject`](Self::with_subject) sets another.
    pub(super) fn violation(rule: impl Into<&'static Row>, sentence: impl fmt::Display) -> Self {
        let row = rule.into();
        match copied(sentence) {
            Ok(sentence) => {
                let (name, part, offset, advice) = (None, None, None, None);
                let subject = Subject::Own;
                let violation = Violation { row, sentence, subject, name, part, offset, advice };
                Self::Violation(violation)
            }
            Err(error) => error,
        }
    }

    /// Creates the error for a violation of `rule` at the offset `offset` of the file. `sentence` is complete: it contains
    /// its subject.
    pub(super) fn violation_at(
        rule: impl Into<&'static Row>,
        sentence: impl fmt::Display,
        offset: u64,
    ) -> Self {
        Self::violation(rule, sentence).or_at(offset)
    }

    /// Creates the error for a violation of `rule`. `sentence` begins with a verb: the name that [`about`](Self::about)
    /// adds later is its subject.
    pub(super) fn predicate(rule: impl Into<&'static Row>, sentence: impl fmt::Display) -> Self {
        Self::violation(rule, sentence).with_subject(Subject::Name)
    }

    /// Sets the grammatical subject of the violation's sentence.
    pub(super) fn with_subject(mut self, subject: Subject) -> Self {
        if let Self::Violation(violation) = &mut self {
            violation.subject = subject;
        }
        self
    }

    /// Replaces the general advice of the rule by `advice`, which fits this cause better: one rule may be broken for several
    /// causes. Without `std`, the general advice stays.
    pub(super) fn advising(mut self, advice: &'static str) -> Self {
        if let Self::Violation(violation) = &mut self {
            violation.advice = cfg!(feature = "std").then_some(advice);
        }
        self
    }

    /// Adds `name`, the name of the tensor, member or key that breaks the rule, unless the violation has a name already.
    /// Errors other than violations stay unchanged, since no part of the file is to blame.
    pub(super) fn about(self, name: &str) -> Self {
        self.with(name, |violation| &mut violation.name)
    }

    /// Adds a `name` that need not be UTF-8, as [`about`](Self::about) does. Invalid bytes of `name` are replaced by
    /// U+FFFD.
    pub(super) fn about_bytes(self, name: &[u8]) -> Self {
        let mut text = Text(String::new());
        for chunk in name.utf8_chunks() {
            let other = if chunk.invalid().is_empty() { "" } else { "\u{fffd}" };
            if text.write_str(chunk.valid()).and_then(|()| text.write_str(other)).is_err() {
                return Self::memory();
            }
        }
        self.about(&text.0)
    }

    /// Adds `part`, the name of the sibling file in which the rule is broken. Errors that already name a file, and errors
    /// that are about no rule, stay unchanged.
    pub(super) fn in_part(self, part: &str) -> Self {
        match self {
            Self::Library(error) if error.row().is_some() && error.file().is_none() => {
                let names = (error.tensor().map(copied).transpose(), copied(part));
                match names {
                    (Ok(tensor), Ok(part)) => error.about(tensor, Some(part)).into(),
                    (Err(no_memory), _) | (_, Err(no_memory)) => no_memory,
                }
            }
            error => error.with(part, |violation| &mut violation.part),
        }
    }

    /// Sets the field of the violation that `field` selects to `text`, unless the field is set already.
    fn with(mut self, text: &str, field: fn(&mut Violation) -> &mut Option<String>) -> Self {
        if let Self::Violation(violation) = &mut self
            && let unset @ None = field(violation)
        {
            match copied(text) {
                Ok(text) => *unset = Some(text),
                Err(error) => return error,
            }
        }
        self
    }

    /// Sets the offset of the violation unless an offset is set already.
    pub(super) fn or_at(mut self, offset: u64) -> Self {
        if let Self::Violation(violation) = &mut self {
            violation.offset.get_or_insert(offset);
        }
        self
    }

    /// Creates the error for an allocation that failed.
    pub(super) fn memory() -> Self {
        Self::Library(OutOfMemory.into())
    }

    /// Creates the error for an invariant of the library that does not hold. `what` describes the invariant.
    pub(super) fn internal(what: &str) -> Self {
        Self::library(ErrorKind::Internal, format_args!("internal error: {what}"))
    }

    /// Creates an error of the library of the given kind, which breaks no rule of a file format. Without `std`, the sentence
    /// is dropped.
    pub(super) fn library(kind: ErrorKind, sentence: fmt::Arguments<'_>) -> Self {
        match copied(sentence) {
            Ok(sentence) => Self::Library(Error::of_format(kind, sentence, None)),
            Err(error) => error,
        }
    }

    /// Returns whether parsing stopped because the source does not have the bytes yet.
    /// [`Opening`](crate::open::Opening) then asks the caller for them.
    pub(super) fn is_pending(&self) -> bool {
        matches!(self, Self::Library(error) if error.bare().is_pending())
    }

    /// Returns whether this is the error for a file that breaks `rule`.
    pub(super) fn breaks(&self, rule: Rule) -> bool {
        matches!(self, Self::Violation(violation) if violation.row == rule.row())
    }

    /// Returns whether the content of the file is the cause of the error, and not a failed read or a lack of memory.
    pub(super) fn is_rejection(&self) -> bool {
        match self {
            Self::Violation(_) => true,
            Self::Library(error) => error.is_rejection(),
        }
    }
}

#[cfg(feature = "std")]
impl From<io::Error> for FormatError {
    fn from(error: io::Error) -> Self {
        Self::Library(error.into())
    }
}

impl From<Error> for FormatError {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<FormatError> for Error {
    fn from(error: FormatError) -> Self {
        match error {
            FormatError::Violation(violation) => {
                // Without `std`, the error has no sentence.
                let statement = cfg!(feature = "std").then(|| copied(violation.statement()));
                let Ok(sentence) = statement.transpose() else { return OutOfMemory.into() };
                let sentence = sentence.unwrap_or_default();
                let is_named = violation.is_named();
                let Violation { row, name, part, offset, advice, .. } = violation;
                let error = Self::of_format(row.into(), sentence, offset).about(name, part);
                let error = if is_named { error.naming_its_tensor() } else { error };
                error.advising(advice)
            }
            FormatError::Library(error) => error,
        }
    }
}

/// The sentence that unexpected bytes follow the item that should be the last of a file or member. It is displayed without
/// allocating.
pub(super) struct Follow<'l> {
    /// The number of unexpected bytes.
    pub(super) bytes: u64,
    /// The name of the item that should be the last, with its article.
    pub(super) last: &'l str,
}

impl fmt::Display for Follow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.bytes == 1 { "follows" } else { "follow" };
        write!(f, "{} {verb} {}", counted(self.bytes, "byte"), self.last)
    }
}

/// Creates the sentence that `bytes` unexpected bytes follow `last`, the name of the item that should be the last of a file
/// or member.
pub(super) fn follow(bytes: u64, last: &str) -> Follow<'_> {
    Follow { bytes, last }
}

/// Formats `text` into a new string. Returns an error instead of aborting if memory is out.
pub(super) fn copied(text: impl fmt::Display) -> Result<String, FormatError> {
    let mut copy = Text(String::new());
    write!(copy, "{text}").map_err(|_| FormatError::memory())?;
    Ok(copy.0)
}

/// A string that reports a failed allocation as an error when it is written to.
struct Text(String);

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.try_reserve(text.len()).map_err(|_| fmt::Error)?;
        self.0.push_str(text);
        Ok(())
    }
}
