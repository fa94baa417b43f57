//! Runs long work without the interpreter's lock, so that a signal can cancel it.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// The number of bytes from which work gets a thread of its own. Work on fewer bytes ends sooner than a user could interrupt
/// it.
const BRIEF: u64 = 4 << 20;

/// The interval at which a call that waits for long work handles the signals of Python, such as Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(20);

/// A flag that cancels work. Each read of a file checks the flag. Clones share one flag.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Checks that the work has not been cancelled.
    ///
    /// # Errors
    /// [`io::ErrorKind::Interrupted`] if the work has been cancelled.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.is_set() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }

    /// Returns whether the work has been cancelled.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Checks that this call does not come from the `seek` or `read` of a Python object that zten is reading: the call would wait
/// for a lock that its own caller holds.
///
/// # Errors
/// A `ValueError` if it does.
pub(crate) fn check_reentry() -> PyResult<()> {
    if IS_READING.get() {
        return Err(PyValueError::new_err(
            "the object that a file is read from calls zten while it is read",
        ));
    }
    Ok(())
}

thread_local! {
    /// True while this thread calls the `seek` or `read` of a Python object.
    static IS_READING: Cell<bool> = const { Cell::new(false) };
}

/// Calls `read`, which calls the `seek` or `read` of a Python object, and marks the thread meanwhile for [`check_reentry`].
pub(crate) fn reading<T>(read: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    check_reentry()?;
    IS_READING.set(true);
    let outcome = read();
    IS_READING.set(false);
    outcome
}

/// Does `work`, whose requests over the network are aborted when `cancel` is set.
pub(crate) fn until<T>(cancel: &Cancel, work: impl FnOnce() -> T) -> T {
    #[cfg(feature = "remote")]
    return zten_remote::until(&cancel.0, work);
    #[cfg(not(feature = "remote"))]
    {
        let _ = cancel;
        work()
    }
}

/// Does `work`, which takes as long as reading `bytes` bytes, without the interpreter's lock, and waits for its end. Signals
/// are handled during long work. A signal handler that raises cancels the work, and its exception is raised when the work has
/// ended.
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
                // `send` cannot fail: the scope keeps the receiver until this thread has ended.
                let _ = done.send(until(cancel, || work(cancel)));
            })?;
            receive(&waiting, cancel, Ending::Awaited).unwrap_or_else(|| panicked(worker.join()))
        })
    })
}

/// Does `work` as [`run`] does, but raises the exception of a signal handler at once, without waiting for the end of the work.
/// A parser does not check the flag between two reads, so its thread may go on until the end of a header of many MiB. The
/// outcome is then dropped.
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
            // `send` fails if the work was abandoned: the receiver is gone, and the outcome is dropped.
            let _ = done.send(until(&own, || work(&own)));
        })?;
        receive(&waiting, &cancel, Ending::Abandoned).unwrap_or_else(|| panicked(worker.join()))
    })
}

/// What a call does when a signal handler raises an exception while work in another thread is running.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The call waits until the work has ended, and then raises the exception.
    Awaited,
    /// The call raises the exception at once, and the work ends later.
    Abandoned,
}

/// Receives the outcome of the work in another thread from `waiting`, and handles signals until the outcome comes. Sets
/// `cancel` when a signal handler raises; `ending` says whether its exception is returned at once. Returns `None` if the thread
/// panicked.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a path to the method does not have the lifetime that `attach` needs"
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

/// Resumes the panic of a thread that ended without sending an outcome.
fn panicked<T>(joined: thread::Result<()>) -> PyResult<T> {
    match joined {
        Err(panic) => std::panic::resume_unwind(panic),
        Ok(()) => Err(PyRuntimeError::new_err("a thread has ended without an outcome")),
    }
}
