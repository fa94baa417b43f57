//! The exit status of the command.

/// The result of a command, in ascending order of importance. With several files, the most important result counts.
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
    /// All files are valid or tolerated, and the command has done what it was asked for.
    #[default]
    Success,
    /// A file needs an unsupported feature, and none is invalid.
    Unsupported,
    /// A file is invalid, exceeds a limit, or differs from the file or list that it is compared with.
    Invalid,
    /// The command line is wrong, or a file could not be read or written.
    Error,
}

impl Status {
    /// Returns the exit status as a number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Invalid => 1,
            Self::Error => 2,
            Self::Unsupported => 3,
        }
    }
}
