//! Runs closures without the interpreter's lock, in a thread of their own if they may take long, so that a signal such as Ctrl-C
//! can cancel them.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// The number of bytes to read from which a call runs in a thread of its own. Reading fewer bytes ends sooner than a user could
/// interrupt it.
const BRIEF: u64 = 4 << 20;

/// The interval at which a call that waits for another thread handles the signals of Python, such as Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(20);

/// A flag that cancels a call. Each read of a file checks the flag, and fails if it is set. Clones share one flag.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Checks that the call has not been cancelled.
    ///
    /// # Errors
    /// [`io::ErrorKind::Interrupted`] if the flag is set.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.is_set() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }

    /// Returns whether the call has been cancelled.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Checks that this thread is not inside the `seek` or `read` of a Python object from which zten reads a file. A call of zten
/// from there could wait for a lock that its own caller holds.
///
/// # Errors
/// A `ValueError` if the thread is inside the `seek` or `read` of such an object.
pub(crate) fn check_reentry() -> PyResult<()> {
    if IS_READING.get() {
        return Err(PyValueError::new_err(
            "a method of the object from which a file is read calls zten while it is read",
        ));
    }
    Ok(())
}

thread_local! {
    /// True while this thread is inside the `seek` or `read` of a Python object from which zten reads a file.
    static IS_READING: Cell<bool> = const { Cell::new(false) };
}

/// Calls `read`, which calls a Python function that returns bytes of a file, and returns its result. Until `read` has returned,
/// [`check_reentry`] fails in this thread.
pub(crate) fn reading<T>(read: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    check_reentry()?;
    IS_READING.set(true);
    let outcome = read();
    IS_READING.set(false);
    outcome
}

/// Calls `work`, and returns its result. When `cancel` is set meanwhile, the requests over the network that `work` has sent are
/// aborted.
pub(crate) fn until<T>(cancel: &Cancel, work: impl FnOnce() -> T) -> T {
    #[cfg(feature = "remote")]
    return zten_remote::until(&cancel.0, work);
    #[cfg(not(feature = "remote"))]
    {
        let _ = cancel;
        work()
    }
}

/// Calls `work` without the interpreter's lock, and returns its result. `bytes` says how long `work` takes: as long as reading
/// this number of bytes. From [`BRIEF`] bytes on, `work` runs in a thread of its own, and signals are handled meanwhile; below,
/// they are handled after it. If a signal handler raises an exception, `work` is cancelled, and the exception is raised when `work`
/// has returned.
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

/// Calls `work` as [`run`] does, but raises the exception of a signal handler at once, while `work` still runs in its thread. A
/// parser checks the flag only when it reads the file, so it may run until the end of a header of many MiB. Its result is then
/// dropped.
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

/// What a call does when a signal handler raises an exception while the call waits for another thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The call waits until the other thread has ended, and then raises the exception.
    Awaited,
    /// The call raises the exception at once, and the other thread ends later.
    Abandoned,
}

/// Waits for the result of another thread, which sends it to `waiting`, and handles signals until then. When a signal handler
/// raises an exception, sets `cancel`, and returns the exception: at once or after the result has come, as `ending` says. Returns
/// `None` if the thread panicked.
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

/// Continues the panic of a thread that ended without sending its result. `joined` is what joining the thread returned.
fn panicked<T>(joined: thread::Result<()>) -> PyResult<T> {
    match joined {
        Err(panic) => std::panic::resume_unwind(panic),
        Ok(()) => {
            Err(PyRuntimeError::new_err("internal error: a thread has ended without a result"))
        }
    }
}
