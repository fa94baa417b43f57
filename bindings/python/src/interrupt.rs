//! Long work without the interpreter's lock, which a signal ends.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Work on fewer bytes ends before an interrupt could.
const BRIEF: u64 = 4 << 20;

/// The longest time that a signal waits.
const PATIENCE: Duration = Duration::from_millis(20);

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

/// Fails where the object that a file is read from calls this package as it is read: it would wait for itself.
pub(crate) fn check_reentry() -> PyResult<()> {
    if IS_READING.get() {
        return Err(PyValueError::new_err(
            "the object that a file is read from calls zten while it is read",
        ));
    }
    Ok(())
}

thread_local! {
    /// True while an object that a file is read from is called.
    static IS_READING: Cell<bool> = const { Cell::new(false) };
}

/// Calls the object that a file is read from.
pub(crate) fn reading<T>(read: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    check_reentry()?;
    IS_READING.set(true);
    let outcome = read();
    IS_READING.set(false);
    outcome
}

/// Does work whose waits for the network end once it is cancelled.
pub(crate) fn until<T>(cancel: &Cancel, work: impl FnOnce() -> T) -> T {
    #[cfg(feature = "remote")]
    return zten_remote::until(&cancel.0, work);
    #[cfg(not(feature = "remote"))]
    {
        let _ = cancel;
        work()
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
    check_reentry()?;
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
                until(cancel, || work(cancel))
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
