//! Why a file could not be read.

use std::error::Error;
use std::fmt;
use std::io;

use zten::{ErrorKind, ReadError};
use zten_present::escape;
use zten_present::finding::{Finding, Verdict};

use super::rules::{Blame, Rule};

/// Why a file cannot be read.
#[derive(Debug)]
pub enum Trouble {
    /// It could not be read, or what is needed on the way could not be written.
    Io {
        /// What the system refused, in front of its own message.
        what: &'static str,
        /// What the system says.
        error: io::Error,
    },
    /// It is damaged, or holds what cannot be kept.
    Refused(Box<Refusal>),
}

/// What is wrong with a file.
#[derive(Debug)]
pub struct Refusal {
    /// The rule that it breaks.
    pub blame: Blame,
    /// What is wrong, with the value.
    pub sentence: String,
    /// The tensor, member or key that it is about.
    pub name: Option<String>,
    /// The file that it is in, of those that an index names.
    pub part: Option<String>,
    /// The byte of the file, where there is one to point at.
    pub offset: Option<u64>,
}

impl Trouble {
    /// The file could not be read.
    pub(super) fn reading(error: io::Error) -> Self {
        Self::Io { what: "", error }
    }

    /// A temporary file could not be used.
    pub(super) fn temporary(error: io::Error) -> Self {
        Self::Io { what: "temporary file: ", error }
    }

    /// The file is refused as a whole, or for what has a name instead of a place.
    pub(super) fn refused(blame: impl Into<Blame>, sentence: impl Into<String>) -> Self {
        let (blame, sentence) = (blame.into(), sentence.into());
        let (name, part, offset) = (None, None, None);
        Self::Refused(Box::new(Refusal { blame, sentence, name, part, offset }))
    }

    /// The file is refused for what stands at a byte of it.
    pub(super) fn refused_at(
        blame: impl Into<Blame>,
        sentence: impl Into<String>,
        offset: u64,
    ) -> Self {
        Self::refused(blame, sentence).or_at(offset)
    }

    /// A bool that is another byte, in that tensor.
    pub fn of_bool(tensor: &str, byte: u8) -> Self {
        let sentence = format!("a bool is {byte}, and 0 or 1 is expected");
        Self::refused(Rule::TensorBoolValue, sentence).about(tensor)
    }

    /// The same, and what it is about, if that is not known already. What the system refuses is about no part of
    /// the file.
    pub(super) fn about(mut self, name: &str) -> Self {
        if let Self::Refused(refusal) = &mut self {
            refusal.name.get_or_insert_with(|| name.to_owned());
        }
        self
    }

    /// The same, in one of the files that an index names.
    pub(super) fn in_part(mut self, part: &str) -> Self {
        if let Self::Refused(refusal) = &mut self {
            refusal.part.get_or_insert_with(|| part.to_owned());
        }
        self
    }

    /// The same, at a byte of the file if it is not at one already.
    pub(super) fn or_at(mut self, other: u64) -> Self {
        if let Self::Refused(refusal) = &mut self {
            refusal.offset.get_or_insert(other);
        }
        self
    }

    /// Out of memory, which is taken in proportion to the file.
    pub(super) fn memory() -> Self {
        Self::reading(io::ErrorKind::OutOfMemory.into())
    }

    /// An error of the library: a limit, or memory. What else it refuses has been found before, so that it is this
    /// package that is at fault.
    pub(super) fn of_library(error: &zten::Error) -> Self {
        match error.kind() {
            ErrorKind::Limit(limit) => Self::refused(limit, error.sentence().to_string()),
            ErrorKind::OutOfMemory => Self::memory(),
            _ => Self::internal(&error.to_string()),
        }
    }

    /// A source that could not be read, or what the library refuses.
    pub(super) fn of_read(error: ReadError<io::Error>) -> Self {
        match error {
            ReadError::Source(error) => Self::reading(error),
            ReadError::Refused(error) => Self::of_library(&error),
        }
    }

    /// An invariant of this package does not hold.
    pub(super) fn internal(what: &str) -> Self {
        Self::reading(io::Error::other(format!("internal error: {what}")))
    }

    /// Whether the file is to blame, and not the system.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// What has been found of the file, to be reported as it is of zTensor files.
    pub fn finding(&self) -> Finding {
        match self {
            Self::Io { .. } => Finding::new(Verdict::Error, self.to_string()),
            Self::Refused(refusal) => {
                let Refusal { blame, sentence, name, part, offset } = &**refusal;
                let mut finding = Finding::new(blame.verdict(), sentence.clone());
                finding.row = Some(blame.row());
                finding.object.clone_from(name);
                finding.shard.clone_from(part);
                finding.offset = *offset;
                finding
            }
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { what: "", error } if error.kind() == io::ErrorKind::UnexpectedEof => {
                f.write_str("the file became shorter while it was read")
            }
            Self::Io { what, error } => write!(f, "{what}{error}"),
            Self::Refused(refusal) => {
                for name in refusal.part.iter().chain(&refusal.name) {
                    write!(f, "{}: ", escape::quoted(name))?;
                }
                f.write_str(&refusal.sentence)?;
                match refusal.offset {
                    None => Ok(()),
                    Some(offset) => write!(f, " at byte {offset:#x}"),
                }
            }
        }
    }
}

impl Error for Trouble {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            Self::Refused(_) => None,
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::reading(error)
    }
}

/// What is wrong with bytes that are read through a [`Read`](io::Read): an error of the file inside one of I/O.
#[derive(Debug)]
pub(super) struct Damage {
    pub(super) rule: Rule,
    pub(super) sentence: &'static str,
}

impl Damage {
    /// The error that carries it.
    pub(super) fn error(rule: Rule, sentence: &'static str) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, Self { rule, sentence })
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence)
    }
}

impl Error for Damage {}

/// Why bytes went no further.
#[derive(Debug)]
pub enum Failure<E> {
    /// They could not be read, or were refused.
    Input(Trouble),
    /// What took them did not want more.
    Taker(E),
}

impl<E> From<Trouble> for Failure<E> {
    fn from(trouble: Trouble) -> Self {
        Self::Input(trouble)
    }
}
