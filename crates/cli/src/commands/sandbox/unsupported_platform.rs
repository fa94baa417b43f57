//! `zten sandbox` on systems without a sandbox.

use std::io;

use zten_worker::Confinement;

use crate::args::Sandbox;
use crate::output::app::App;

/// Prints that the sandbox is not available.
pub(crate) fn run(app: &mut App, _: &Sandbox, _: Confinement) -> io::Result<()> {
    app.usage("the sandbox is available on Linux only")
}
