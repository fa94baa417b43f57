//! `zten convert`: other formats, and zTensor files of any generation, as files of 1.2 or 2; and all of them
//! as safetensors and NumPy files.

mod export;
mod in_process;
#[cfg(test)]
mod memory;
mod output;
mod plan;
mod tensors;
#[cfg(target_os = "linux")]
mod worker;

use std::io;

use crate::app::App;
use crate::args::Convert;
use crate::mode::Mode;
use plan::Plan;

/// Converts one file. What is in the way leaves no file behind, and the one that was there.
pub(crate) fn run(app: &mut App, args: &Convert, mode: Mode) -> io::Result<()> {
    let plan = match Plan::new(args) {
        Ok(plan) => plan,
        Err(usage) => return app.usage(usage),
    };
    #[cfg(target_os = "linux")]
    if mode.confines() {
        return worker::run(app, args, &plan, mode);
    }
    if mode == Mode::Require {
        return app.usage("--require-sandbox: only Linux has a sandbox");
    }
    let written = in_process::run(args, &plan);
    in_process::end(app, args, &plan, written)
}

/// The same in confinement, into a file that the process that started this one has opened, and
/// publishes.
pub(crate) fn work(app: &mut App, args: &Convert, mode: Mode) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if let Ok(plan) = Plan::new(args) {
        return worker::work(app, args, &plan, mode);
    }
    run(app, args, mode)
}
