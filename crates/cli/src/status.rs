//! The exit status of the command.

/// The result of the command. The worst wins: with several files all are looked at.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub(crate) enum Status {
    /// All files are valid.
    #[default]
    Success,
    /// A file needs what is not supported.
    Unsupported,
    /// A file is invalid or exceeds a limit, or two differ.
    Invalid,
    /// Wrong usage, or something could not be read or written.
    Error,
}

impl Status {
    /// The exit status.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Invalid => 1,
            Self::Error => 2,
            Self::Unsupported => 3,
        }
    }
}
