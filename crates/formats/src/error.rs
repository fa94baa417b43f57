//! The error for a file that cannot be read.

use std::error::Error;
use std::fmt::{self, Write as _};
use std::io;

use zten::ErrorKind;
use zten::error::OutOfMemory;
use zten_report::escape::{self, Short};
use zten_report::finding::{Finding, Verdict, counted};

use super::rules::{Blame, Rule};

/// The reason why a file cannot be read.
#[derive(Debug)]
pub enum FormatError {
    /// The file could not be read, memory is short, or an invariant of this package does not hold.
    Io(io::Error),
    /// The file is damaged, or holds what cannot be kept.
    Violation(Violation),
    /// The library rejects the file, which is a zTensor file.
    Library(zten::Error),
}

/// The rule that a file breaks, and the place.
#[derive(Debug)]
pub struct Violation {
    /// The rule that it breaks.
    pub blame: Blame,
    /// The sentence that tells what is wrong, with the value.
    pub sentence: String,
    /// How the sentence refers to the name.
    pub subject: Subject,
    /// The tensor, member or key that it is about.
    pub name: Option<String>,
    /// The file that it is in, of those that an index names.
    pub part: Option<String>,
    /// The byte of the file, where there is one to point at.
    pub offset: Option<u64>,
    /// Advice for this cause, where that of the rule fits another one.
    pub advice: Option<&'static str>,
}

/// The grammatical subject of the sentence about a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The sentence has a subject of its own.
    Own,
    /// The sentence begins with a verb, and the quoted name stands before it: `"a" is encrypted`.
    Name,
    /// The same, but a plain name has no quotes, as a metadata key: `llama.block_count is 0`.
    Key,
    /// The sentence begins with a verb, and the name of the other file stands before it.
    Part,
}

impl Violation {
    /// The sentence with its subject.
    fn statement(&self) -> impl fmt::Display + '_ {
        Statement(self)
    }

    /// Returns whether the statement begins with the name, or with that of the other file if there is no name.
    fn is_named(&self) -> bool {
        match self.subject {
            Subject::Own => false,
            Subject::Name | Subject::Key => self.name.is_some(),
            Subject::Part => self.name.is_none() && self.part.is_some(),
        }
    }
}

struct Statement<'v>(&'v Violation);

impl fmt::Display for Statement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { sentence, subject, name, part, .. } = self.0;
        let name = if *subject == Subject::Part { part } else { name };
        match (subject, name.as_deref()) {
            (Subject::Own, _) => f.write_str(sentence),
            (Subject::Name | Subject::Part, Some(name)) => write!(f, "{} {sentence}", Short(name)),
            (Subject::Key, Some(key)) => {
                write!(f, "{} {sentence}", escape::word(key, escape::COLUMNS))
            }
            (_, None) => write!(f, "it {sentence}"),
        }
    }
}

impl From<OutOfMemory> for FormatError {
    fn from(_: OutOfMemory) -> Self {
        Self::memory()
    }
}

impl FormatError {
    /// The file is rejected as a whole, or for what has a name instead of a place.
    pub(super) fn violation(blame: impl Into<Blame>, sentence: impl fmt::Display) -> Self {
        let blame = blame.into();
        match copied(sentence) {
            Ok(sentence) => {
                let (name, part, offset, advice) = (None, None, None, None);
                let subject = Subject::Own;
                let violation = Violation { blame, sentence, subject, name, part, offset, advice };
                Self::Violation(violation)
            }
            Err(error) => error,
        }
    }

    /// The file is rejected for what stands at a byte of it.
    pub(super) fn violation_at(
        blame: impl Into<Blame>,
        sentence: impl fmt::Display,
        offset: u64,
    ) -> Self {
        Self::violation(blame, sentence).or_at(offset)
    }

    /// The file is rejected for what has a name, which [`about`](Self::about) adds: the sentence begins with a verb, and the
    /// name becomes its subject.
    pub(super) fn predicate(blame: impl Into<Blame>, sentence: impl fmt::Display) -> Self {
        Self::violation(blame, sentence).with_subject(Subject::Name)
    }

    /// Makes the name the subject of the sentence.
    pub(super) fn with_subject(mut self, subject: Subject) -> Self {
        if let Self::Violation(violation) = &mut self {
            violation.subject = subject;
        }
        self
    }

    /// Gives advice that fits the cause better than that of the rule, which may be broken for several.
    pub(super) fn advising(mut self, advice: &'static str) -> Self {
        if let Self::Violation(violation) = &mut self {
            violation.advice = Some(advice);
        }
        self
    }

    /// The same, and what it is about, if that is not known already. What the system rejects is about no part of
    /// the file.
    pub(super) fn about(self, name: &str) -> Self {
        self.with(name, |violation| &mut violation.name)
    }

    /// The same, about what has a name that may be no text.
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

    /// The same, in one of the files that an index names.
    pub(super) fn in_part(self, part: &str) -> Self {
        self.with(part, |violation| &mut violation.part)
    }

    /// The same, with a text that it has not.
    fn with(mut self, text: &str, of: fn(&mut Violation) -> &mut Option<String>) -> Self {
        if let Self::Violation(violation) = &mut self
            && let none @ None = of(violation)
        {
            match copied(text) {
                Ok(text) => *none = Some(text),
                Err(error) => return error,
            }
        }
        self
    }

    /// The same, at a byte of the file if it is not at one already.
    pub(super) fn or_at(mut self, other: u64) -> Self {
        if let Self::Violation(violation) = &mut self {
            violation.offset.get_or_insert(other);
        }
        self
    }

    /// Out of memory, which is taken in proportion to the file.
    pub(super) fn memory() -> Self {
        Self::Io(io::ErrorKind::OutOfMemory.into())
    }

    /// An invariant of this package does not hold.
    pub(super) fn internal(what: &str) -> Self {
        Self::Io(io::Error::other(format!("internal error: {what}")))
    }

    /// Returns whether bytes are missing that are to be read first.
    pub(super) fn is_pending(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Returns whether the file is rejected for breaking that rule.
    pub(super) fn breaks(&self, rule: Rule) -> bool {
        matches!(self, Self::Violation(violation) if violation.blame == rule.into())
    }

    /// Returns whether the file is to blame, and not the system.
    pub fn is_rejection(&self) -> bool {
        match self {
            Self::Io(_) => false,
            Self::Violation(_) => true,
            Self::Library(error) => error.kind().row().is_some(),
        }
    }

    /// Returns the finding, to be reported as those of zTensor files are.
    pub fn finding(&self) -> Finding {
        match self {
            Self::Io(_) => Finding::new(Verdict::Error, self.to_string()),
            Self::Violation(violation) => {
                let Violation { blame, name, part, offset, advice, .. } = violation;
                let mut finding = Finding::new(blame.verdict(), violation.statement().to_string());
                finding.row = Some(blame.row());
                finding.object.clone_from(name);
                finding.is_named = violation.is_named();
                finding.shard.clone_from(part);
                finding.offset = *offset;
                finding.advice = *advice;
                finding
            }
            Self::Library(error) => Finding::from_error(error),
        }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                f.write_str("the file became shorter while it was read")
            }
            Self::Io(error) => error.fmt(f),
            Self::Violation(violation) => {
                let Violation { part, name, subject, .. } = violation;
                let part = part.as_ref().filter(|_| *subject != Subject::Part);
                let name = name.as_ref().filter(|_| !violation.is_named());
                for name in part.into_iter().chain(name) {
                    write!(f, "{}: ", escape::quoted(name))?;
                }
                violation.statement().fmt(f)?;
                match violation.offset {
                    None => Ok(()),
                    Some(offset) => write!(f, " at byte {offset:#x}"),
                }
            }
            Self::Library(error) => error.fmt(f),
        }
    }
}

impl Error for FormatError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Library(error) => Some(error),
            Self::Violation(_) => None,
        }
    }
}

impl From<io::Error> for FormatError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<zten::Error> for FormatError {
    fn from(error: zten::Error) -> Self {
        match error.kind() {
            ErrorKind::Read | ErrorKind::OutOfMemory => Self::Io(error.into()),
            _ => Self::Library(error),
        }
    }
}

impl From<FormatError> for zten::Error {
    fn from(error: FormatError) -> Self {
        match error {
            FormatError::Io(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                OutOfMemory.into()
            }
            FormatError::Io(error) => error.into(),
            FormatError::Violation(violation) => {
                let Ok(sentence) = copied(violation.statement()) else { return OutOfMemory.into() };
                let is_named = violation.is_named();
                let Violation { blame, name, part, offset, advice, .. } = violation;
                let kind = match (blame, blame.verdict()) {
                    (Blame::Limit(limit), _) => limit.into(),
                    (_, Verdict::Unsupported) => ErrorKind::UnsupportedFormat(blame.row()),
                    (_, Verdict::Valid) => ErrorKind::Note(blame.row()),
                    (_, Verdict::Limit) => ErrorKind::LimitFormat(blame.row()),
                    _ => ErrorKind::Format(blame.row()),
                };
                let error = Self::of_format(kind, sentence, offset).about(name, part);
                let error = if is_named { error.naming_its_tensor() } else { error };
                error.advising(advice)
            }
            FormatError::Library(error) => error,
        }
    }
}

/// The sentence that `bytes` bytes follow `last`, which should be the last thing in a file or member. It is written without
/// taking memory.
pub(super) struct Follow<'l> {
    pub(super) bytes: u64,
    pub(super) last: &'l str,
}

impl fmt::Display for Follow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.bytes == 1 { "follows" } else { "follow" };
        write!(f, "{} {verb} {}", counted(self.bytes, "byte"), self.last)
    }
}

/// Returns the [`Follow`] of `bytes` and `last`.
pub(super) fn follow(bytes: u64, last: &str) -> Follow<'_> {
    Follow { bytes, last }
}

/// A text in memory of its own.
pub(super) fn copied(text: impl fmt::Display) -> Result<String, FormatError> {
    let mut copy = Text(String::new());
    write!(copy, "{text}").map_err(|_| FormatError::memory())?;
    Ok(copy.0)
}

/// A text that is written as far as there is memory.
struct Text(String);

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.try_reserve(text.len()).map_err(|_| fmt::Error)?;
        self.0.push_str(text);
        Ok(())
    }
}
