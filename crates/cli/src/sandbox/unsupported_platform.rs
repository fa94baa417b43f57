//! `zten sandbox` on systems without a sandbox.

use std::io;

use crate::app::App;
use crate::args::Sandbox;
use crate::mode::Mode;

/// Prints that the sandbox is not available.
pub(crate) fn run(app: &mut App, _: &Sandbox, _: Mode) -> io::Result<()> {
    app.usage("the sandbox is available on Linux only")
}
