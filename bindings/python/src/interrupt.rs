//! Long work without the interpreter's lock, which a signal ends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

/// Work on fewer bytes ends before an interrupt could.
const BRIEF: u64 = 4 << 20;

/// The longest time that a signal waits.
const PATIENCE: Duration = Duration::from_millis(50);

/// A flag that is set once work is to end. Every read of a file looks at it. Clones are one flag.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Fails once the work is to end.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.is_set() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Does work on so many bytes, without the interpreter's lock. Where they are many, signals are handled
/// meanwhile: one whose handler raises ends the work, and is what is raised.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is one of a lifetime that is not any"
)]
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    bytes: u64,
    work: impl FnOnce(&Cancel) -> T + Send,
) -> PyResult<T> {
    let cancel = Cancel::default();
    if bytes < BRIEF {
        return Ok(py.detach(|| work(&cancel)));
    }
    py.detach(|| {
        thread::scope(|scope| {
            let (done, waiting) = mpsc::channel::<()>();
            let cancel = &cancel;
            let worker = thread::Builder::new().spawn_scoped(scope, move || {
                // Dropped when the work has ended, however it does.
                let _done = done;
                work(cancel)
            })?;
            let mut signals = Ok(());
            while waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                if signals.is_ok() {
                    signals = Python::attach(|py| py.check_signals());
                    cancel.0.store(signals.is_err(), Ordering::Relaxed);
                }
            }
            match worker.join() {
                Ok(output) => signals.map(|()| output),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    })
}
