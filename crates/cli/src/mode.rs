//! The confinement of the process before it reads a file.

use std::io;

use zten_sandbox::Report;

use crate::app::App;

/// The confinement that the command line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Mode {
    /// No confinement.
    Off,
    /// The most that the system supports.
    Try,
    /// All of it; otherwise nothing is read.
    Require,
}

impl Mode {
    /// Returns whether anything is to be confined: elsewhere there is nothing to try.
    pub(crate) fn confines(self) -> bool {
        match self {
            Self::Off => false,
            Self::Try => cfg!(target_os = "linux"),
            Self::Require => true,
        }
    }

    /// Returns whether the work may begin; tells why not.
    pub(crate) fn accepts(self, app: &mut App, report: &Report) -> io::Result<bool> {
        match report.complete() {
            Err(why) if self == Self::Require => {
                app.usage(format_args!("--require-sandbox: {why}"))?;
                Ok(false)
            }
            _ => Ok(true),
        }
    }
}
