//! The worker: the confined process that runs functions on the files that its pool sends.

use std::io;
use std::process;

use crate::process::{Received, confine, receive_start, write};
use crate::protocol::{Incoming, reply};
use crate::{Function, process::Start};

/// The first command-line argument of a process that a pool starts as a worker.
pub(crate) const ARGUMENT: &str = "--zten-worker";

/// Returns whether a pool has started this process as a worker.
pub(crate) fn is_worker() -> bool {
    std::env::args_os().nth(1).is_some_and(|first| first == ARGUMENT)
}

/// Runs the jobs that the pool sends, each by calling the one of `functions` that it names, until the pool closes the socket. Then ends the
/// process.
pub(crate) fn run(functions: &[&Function]) -> ! {
    // The pool learns from the closed socket that the worker has ended. Nobody reads a message.
    process::exit(i32::from(work(functions).is_err()))
}

fn work(functions: &[&Function]) -> io::Result<()> {
    zten_sandbox::end_with_parent();
    let start: Start<()> = receive_start()?;
    if !confine(&start, || ())? {
        return Ok(());
    }
    let mut incoming = Incoming::default();
    while let Some(mut received) = Received::receive(io::stdin())? {
        let Some(arrived) = incoming.add(&mut received)? else { continue };
        let function = functions.iter().find(|function| function.name == arrived.function);
        let outcome = match function {
            Some(function) => (function.run)(arrived.work),
            None => Err(format!("no function {:?} is given to `init`", arrived.function)),
        };
        reply(arrived.number, &outcome, |packet| write(io::stdin(), packet))?;
    }
    Ok(())
}
