//! Whether a tensor can be read.

use crate::error::ErrorKind;

/// Whether a tensor can be read, and whether zten interprets its elements. An archive whose other tensors can be read may
/// have opaque and unread tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// The elements can be read, and zten interprets them.
    Readable,
    /// The bytes can be read, but zten does not interpret them: text, records, dates, or an unknown logical type or layout.
    Opaque,
    /// The bytes are not handed out. The kind names the rule that says why.
    Unread(ErrorKind),
}

impl State {
    /// Returns the name of the state in JSON output: `readable`, `opaque` or `unread`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Readable => "readable",
            Self::Opaque => "opaque",
            Self::Unread(_) => "unread",
        }
    }

    /// Returns the worse of two states: unread is worse than opaque, and opaque is worse than readable. Returns `self` if both are
    /// unread.
    pub(crate) fn or_worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unread(_), _) | (_, Self::Readable) | (Self::Opaque, Self::Opaque) => self,
            (_, other) => other,
        }
    }
}
