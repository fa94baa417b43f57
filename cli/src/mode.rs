//! Whether the process is confined before it reads a file.

use std::io;

use zten_sandbox::Report;

use crate::app::App;

/// Whether to confine, as the command line asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Mode {
    /// No.
    Off,
    /// As far as the system can.
    Try,
    /// Yes, or nothing is read.
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
