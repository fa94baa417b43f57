//! Why something could not be copied.

use core::fmt;

use crate::codec::{Locate, ReadAt, ReadError};
use crate::error::{Error, ErrorKind};
use crate::format::Generation;
use crate::rules::{Limit, Rule, Unsupported};
use crate::write::sink::WriteError;

/// Why an object could not be copied: it could not be read, or not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyError<R, W> {
    /// The source failed, or what is in it was refused.
    Read(ReadError<R>),
    /// The sink failed, or the call was wrong.
    Write(WriteError<W>),
    /// The source is valid, and has something that cannot be written in the generation that is asked for.
    Inexpressible(Inexpressible),
}

/// What a valid file has, and a file of the generation that is asked for, or a canonical one, cannot
/// have. `Display` tells what it is, and its place in the source in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inexpressible {
    error: Error,
    generation: Generation,
}

impl Inexpressible {
    /// The rule that the written file would break, the limit that it would go beyond, or what of the
    /// source it does not have. The place is that in the source.
    pub fn error(&self) -> Error {
        self.error
    }

    /// The generation that cannot have it.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// What it is, without the place.
    pub fn sentence(&self) -> impl fmt::Display + use<> {
        Sentence(*self)
    }
}

impl fmt::Display for Inexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)?;
        let place = self.error.place();
        if let Some(object) = place.object() {
            write!(f, " in object {object}")?;
        }
        match place.component() {
            Some(component) => write!(f, ", component {component}"),
            None => Ok(()),
        }
    }
}

struct Sentence(Inexpressible);

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it can be read, and not be written: ")?;
        let Inexpressible { error, generation } = self.0;
        match error.kind() {
            ErrorKind::Malformed(Rule::LogicalTypeStorage) => {
                write!(
                    f,
                    "the dtype is a `type` in {generation}, and there is another `type` already"
                )
            }
            ErrorKind::Malformed(Rule::DuplicateKey) if generation == Generation::V1_2 => {
                f.write_str("an attribute with a key that stands twice has no canonical form")
            }
            ErrorKind::Malformed(Rule::QuantizedZeros) => {
                write!(f, "the object has no `zeros`, which {generation} asks for")
            }
            ErrorKind::Limit(Limit::Depth) if generation == Generation::V1_2 => {
                f.write_str("a field becomes an attribute, which would be nested too deep")
            }
            ErrorKind::Unsupported(Unsupported::Format) => {
                write!(f, "{generation} has no such format, or one of that name that is another")
            }
            ErrorKind::Unsupported(Unsupported::LogicalType) => {
                write!(f, "the `type` is the name of its dtype, which says nothing in {generation}")
            }
            kind => {
                let id = kind.row().map_or("", |row| row.id);
                write!(f, "in {generation}, {} ({id})", error.sentence())
            }
        }
    }
}

impl<R, W> CopyError<R, W> {
    /// The error of a copy of a generation: what its writer refuses has been accepted by the reader.
    pub(super) fn of<L>(self, generation: Generation) -> CopyError<L::Error, W>
    where
        L: Locate<Source: ReadAt<Error = R>>,
    {
        match self {
            Self::Write(WriteError::Refused(error)) if error.kind().row().is_some() => {
                CopyError::Inexpressible(Inexpressible { error, generation })
            }
            Self::Read(error) => CopyError::Read(L::flatten(error)),
            Self::Write(error) => CopyError::Write(error),
            Self::Inexpressible(error) => CopyError::Inexpressible(error),
        }
    }

    /// The same error, its refusal to write being at another place.
    pub(super) fn placed(self, own: impl Fn(Error) -> Error) -> Self {
        match self {
            Self::Write(error) => Self::Write(error.map_refused(own)),
            other => other,
        }
    }
}

impl<R, W> From<ReadError<R>> for CopyError<R, W> {
    fn from(error: ReadError<R>) -> Self {
        Self::Read(error)
    }
}

impl<R, W> From<WriteError<W>> for CopyError<R, W> {
    fn from(error: WriteError<W>) -> Self {
        Self::Write(error)
    }
}

impl<R, W> From<Error> for CopyError<R, W> {
    fn from(error: Error) -> Self {
        Self::Read(ReadError::Refused(error))
    }
}

impl<R: fmt::Display, W: fmt::Display> fmt::Display for CopyError<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Write(error) => error.fmt(f),
            Self::Inexpressible(error) => error.fmt(f),
        }
    }
}

impl<R, W> core::error::Error for CopyError<R, W>
where
    R: core::error::Error + 'static,
    W: core::error::Error + 'static,
{
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Read(error) => error.source(),
            Self::Write(error) => error.source(),
            Self::Inexpressible(Inexpressible { error, .. }) => Some(error),
        }
    }
}
