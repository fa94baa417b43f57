//! The confinement that the command line asks for.

use std::io;

use zten_sandbox::Report;

use crate::app::App;

/// The confinement that the command line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Mode {
    /// No confinement (`--no-sandbox`).
    Off,
    /// As much confinement as the system supports.
    Try,
    /// Full confinement, or no file is read (`--require-sandbox`).
    Require,
}

impl Mode {
    /// Returns whether processes are to be confined. Systems other than Linux have no sandbox to try.
    pub(crate) fn confines(self) -> bool {
        match self {
            Self::Off => false,
            Self::Try => cfg!(target_os = "linux"),
            Self::Require => true,
        }
    }

    /// Returns whether the confinement in `report` is sufficient. Prints the reason if it is not.
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
