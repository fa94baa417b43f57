//! Findings that do not keep a file from opening.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Error;

/// A finding about a file that did not keep the file from opening.
#[derive(Debug)]
pub struct Finding {
    pub(crate) error: Error,
    pub(crate) more: u64,
    /// The names of the modules and classes that all findings by the rule `torch-global` are about; see [`names`](Self::names).
    pub(crate) names: Vec<String>,
}

impl Finding {
    /// Returns the error of the first finding by the rule. If its [kind](Error::kind) is
    /// [`Note`](crate::ErrorKind::Note), the file is valid. A check of the file reports any other kind as an error of
    /// the file.
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// Returns the names of what the finding and all further findings by the rule are about. For the rule `torch-global`
    /// these are modules and classes, as in `omegaconf.listconfig.ListConfig`; for the note `torch-left-out`, the names of
    /// the values that are left out, each with its kind. Empty for any other rule.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of further findings by the same rule.
    pub fn more(&self) -> u64 {
        self.more
    }
}
