//! A pool of confined processes, for services that read files which they cannot trust.
//!
//! A parser of untrusted files may have a fault, and a file may exploit the fault. This crate makes such a file harmless: it
//! starts the program a second time as a *worker*, a process that can open no file, connect to nothing and start nothing, and
//! runs the parser there. The program opens the files and sends the worker their descriptors. What comes back is a bounded
//! number of bytes, or an error that says how the worker ended.
//!
//! ```no_run
//! use std::fs::File;
//! use zten_worker::{Budget, Confinement, Function, Job, Pool, Work};
//!
//! /// Counts the zeros of a file. Runs in a worker.
//! static ZEROS: Function = Function::new("zeros", |work: Work| {
//!     let file = work.files.into_iter().next().ok_or("no file")?;
//!     let bytes = std::io::Read::bytes(file.file).take(1 << 20);
//!     let zeros = bytes.filter(|byte| matches!(byte, Ok(0))).count();
//!     Ok(zeros.to_string().into_bytes())
//! });
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // First of all: in a worker this call never returns.
//!     zten_worker::init(&[&ZEROS]);
//!     let pool = Pool::builder(Confinement::Require).start()?;
//!     let job = Job::new(&ZEROS).file(File::open("model.bin")?, "model.bin")?;
//!     println!("{} zeros", String::from_utf8(pool.run(job)?)?);
//!     Ok(())
//! }
//! ```
//!
//! # Rules
//!
//! - [`init`] comes first in `main`, before threads are started and before files or connections are opened: workers run the
//!   same program.
//! - Do not read a file before a worker does. Opening it is harmless.
//! - An answer is as untrusted as the file, because the file may have taken the worker over. [`Function::checked_by`] names
//!   the check that each answer passes before the pool hands it out. Parse answers strictly, and do not use text of an answer
//!   as a path, a query or markup.
//!
//! # Confinement
//!
//! On Linux a worker enables four layers before it receives a file: no capabilities, Landlock, a seccomp filter, and limits on
//! address space, processor time, output and descriptors (see [`zten_sandbox`]). It inherits no environment variables and
//! none of the standard streams. On other systems there are no workers: functions run in threads of the program, and
//! [`Pool::missing_layer`] says so. With [`Confinement::Require`] the pool does not start there.
//!
//! A worker does one job by default and is ended afterwards, so a file that takes its worker over learns nothing about other
//! files. The pool starts the next worker ahead, while no job waits for it.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(target_os = "linux"),
    expect(
        dead_code,
        reason = "only Linux has worker processes, which can be replaced and killed"
    )
)]
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::expect_used,
        clippy::get_unwrap,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

mod budget;
mod error;
mod function;
mod job;
mod pool;
#[cfg(target_os = "linux")]
pub mod process;
#[cfg(target_os = "linux")]
#[doc(hidden)]
pub mod protocol;
mod ticket;
#[cfg(target_os = "linux")]
mod worker;

pub use budget::{Budget, Confinement};
pub use error::{Ending, JobError, StartError};
pub use function::{Function, Work, WorkFile};
pub use job::Job;
pub use pool::{Builder, Load, Pool};
pub use ticket::Ticket;
pub use zten_sandbox as sandbox;

/// Runs this process as a worker if a [`Pool`] has started it, and ends the process afterwards. Returns at once in any
/// other process.
///
/// Call this function first in `main`, with every function that jobs name: a worker runs no others.
pub fn init(functions: &[&Function]) {
    #[cfg(target_os = "linux")]
    if worker::is_worker() {
        worker::run(functions);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = functions;
}
