//! The error for a file that cannot be read.

use std::error::Error;
use std::fmt::{self, Write as _};
use std::io;

use zten::ErrorKind;
use zten::error::OutOfMemory;
use zten_report::escape;
use zten_report::finding::{Finding, Verdict};

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
    /// The tensor, member or key that it is about.
    pub name: Option<String>,
    /// The file that it is in, of those that an index names.
    pub part: Option<String>,
    /// The byte of the file, where there is one to point at.
    pub offset: Option<u64>,
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
                let (name, part, offset) = (None, None, None);
                Self::Violation(Violation { blame, sentence, name, part, offset })
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
                let Violation { blame, sentence, name, part, offset } = violation;
                let mut finding = Finding::new(blame.verdict(), sentence.clone());
                finding.row = Some(blame.row());
                finding.object.clone_from(name);
                finding.shard.clone_from(part);
                finding.offset = *offset;
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
                for name in violation.part.iter().chain(&violation.name) {
                    write!(f, "{}: ", escape::quoted(name))?;
                }
                f.write_str(&violation.sentence)?;
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
            FormatError::Violation(Violation { blame, sentence, name, part, offset }) => {
                let kind = match (blame, blame.verdict()) {
                    (Blame::Limit(limit), _) => limit.into(),
                    (_, Verdict::Unsupported) => ErrorKind::UnsupportedFormat(blame.row()),
                    (_, Verdict::Valid) => ErrorKind::Note(blame.row()),
                    (_, Verdict::Limit) => ErrorKind::LimitFormat(blame.row()),
                    _ => ErrorKind::Format(blame.row()),
                };
                Self::of_format(kind, sentence, offset).about(name, part)
            }
            FormatError::Library(error) => error,
        }
    }
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
