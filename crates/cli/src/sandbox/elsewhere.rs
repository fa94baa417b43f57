//! `zten sandbox`, where there is no sandbox.

use std::io;

use crate::app::App;
use crate::args::Sandbox;
use crate::mode::Mode;

/// Says so.
pub(crate) fn run(app: &mut App, _: &Sandbox, _: Mode) -> io::Result<()> {
    app.usage("there is no sandbox on this system: only Linux has what it needs")
}
