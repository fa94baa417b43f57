//! Why a file could not be read.

use std::fmt;
use std::io;

use crate::escape;

/// Why a file cannot be converted.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// It could not be read, or what is needed on the way could not be written.
    Io {
        /// What the system refused, in front of its own message.
        what: &'static str,
        /// What the system says.
        error: io::Error,
    },
    /// It is damaged, or holds what cannot be kept.
    Refused {
        /// What is wrong.
        sentence: String,
        /// The byte of the file, where there is one to point at.
        offset: Option<u64>,
    },
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
    pub(super) fn refused(sentence: impl Into<String>) -> Self {
        Self::Refused { sentence: sentence.into(), offset: None }
    }

    /// The file is refused for what stands at a byte of it.
    pub(super) fn refused_at(sentence: impl Into<String>, offset: u64) -> Self {
        Self::Refused { sentence: sentence.into(), offset: Some(offset) }
    }

    /// The same, and what it is about. What the system refuses is about no part of the file.
    pub(super) fn about(self, name: &str) -> Self {
        match self {
            Self::Refused { sentence, offset } => {
                let sentence = format!("{}: {sentence}", escape::quoted(name));
                Self::Refused { sentence, offset }
            }
            io @ Self::Io { .. } => io,
        }
    }

    /// The same, at a byte of the file if it is not at one already.
    pub(super) fn or_at(self, other: u64) -> Self {
        match self {
            Self::Refused { sentence, offset } => {
                Self::Refused { sentence, offset: offset.or(Some(other)) }
            }
            io @ Self::Io { .. } => io,
        }
    }

    /// Out of memory, which is taken in proportion to the file.
    pub(super) fn memory() -> Self {
        Self::reading(io::ErrorKind::OutOfMemory.into())
    }

    /// Whether the file is to blame, and not the system.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { what: "", error } if error.kind() == io::ErrorKind::UnexpectedEof => {
                f.write_str("the file became shorter while it was read")
            }
            Self::Io { what, error } => write!(f, "{what}{error}"),
            Self::Refused { sentence, offset: None } => f.write_str(sentence),
            Self::Refused { sentence, offset: Some(offset) } => {
                write!(f, "{sentence} at byte {offset:#x}")
            }
        }
    }
}

/// Why bytes went no further.
#[derive(Debug)]
pub(crate) enum Failure<E> {
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
