//! Long work without the interpreter's lock, which a signal ends.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
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

/// Does `work` on `bytes` bytes without the interpreter's lock, and waits for its end. If there are many, signals are handled
/// meanwhile. A signal whose handler raises cancels the work, and that exception is raised when the work has ended.
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
            let (done, waiting) = mpsc::sync_channel(1);
            let cancel = &cancel;
            let worker = thread::Builder::new().spawn_scoped(scope, move || {
                // The other end is there until this thread has ended.
                let _ = done.send(until(cancel, || work(cancel)));
            })?;
            receive(&waiting, cancel, Ending::Awaited).unwrap_or_else(|| panicked(worker.join()))
        })
    })
}

/// Does `work` as [`run`] does, but a signal whose handler raises is raised at once. Parsing a header of many MiB does not look
/// at the flag, so its thread may go on until the header ends, and its outcome is dropped.
pub(crate) fn run_or_abandon<T: Send + 'static>(
    py: Python<'_>,
    bytes: u64,
    work: impl FnOnce(&Cancel) -> T + Send + 'static,
) -> PyResult<T> {
    check_reentry()?;
    let cancel = Cancel::default();
    if bytes < BRIEF {
        return Ok(py.detach(|| work(&cancel)));
    }
    py.detach(|| {
        let (done, waiting) = mpsc::sync_channel(1);
        let own = cancel.clone();
        let worker = thread::Builder::new().spawn(move || {
            // The other end is gone if the work has been abandoned.
            let _ = done.send(until(&own, || work(&own)));
        })?;
        receive(&waiting, &cancel, Ending::Abandoned).unwrap_or_else(|| panicked(worker.join()))
    })
}

/// The end of work that has been cancelled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Awaited,
    Abandoned,
}

/// Receives the outcome of work in another thread, and handles signals meanwhile. Returns `None` if that thread has panicked.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is one of a lifetime that is not any"
)]
fn receive<T>(waiting: &Receiver<T>, cancel: &Cancel, ending: Ending) -> Option<PyResult<T>> {
    let mut signals = Ok(());
    loop {
        match waiting.recv_timeout(PATIENCE) {
            Ok(outcome) => return Some(signals.map(|()| outcome)),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if signals.is_ok()
            && let Err(raised) = Python::attach(|py| py.check_signals())
        {
            cancel.0.store(true, Ordering::Relaxed);
            if ending == Ending::Abandoned {
                return Some(Err(raised));
            }
            signals = Err(raised);
        }
    }
}

/// Goes on with the panic of a thread that has sent no outcome.
fn panicked<T>(joined: thread::Result<()>) -> PyResult<T> {
    match joined {
        Err(panic) => std::panic::resume_unwind(panic),
        Ok(()) => Err(PyRuntimeError::new_err("a thread has ended without an outcome")),
    }
}
