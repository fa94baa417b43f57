//! Waiting for the answer of a job.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::{Job, JobError};

/// A job that a pool has taken, and its outcome once it has ended.
#[derive(Debug)]
pub(crate) struct Task {
    /// The number of the job, by which its worker refers to it.
    pub(crate) number: u64,
    pub(crate) submitted: Instant,
    is_canceled: AtomicBool,
    state: Mutex<TaskState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct TaskState {
    /// The job. `None` after a worker has taken it, or the job has ended.
    job: Option<Job>,
    outcome: Option<Result<Vec<u8>, JobError>>,
    waker: Option<Waker>,
}

impl Task {
    pub(crate) fn new(number: u64, job: Job) -> Self {
        Self {
            number,
            submitted: Instant::now(),
            is_canceled: AtomicBool::new(false),
            state: Mutex::new(TaskState { job: Some(job), ..TaskState::default() }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, TaskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the job out of the task, so that only one worker does it. Returns `None` if the job was taken before, or the task has ended.
    pub(crate) fn take_job(&self) -> Option<Job> {
        self.lock().job.take()
    }

    pub(crate) fn is_canceled(&self) -> bool {
        self.is_canceled.load(Ordering::Relaxed)
    }

    /// Sets the outcome of the job, and wakes the thread or async task that waits for it. A second outcome is dropped.
    pub(crate) fn finish(&self, outcome: Result<Vec<u8>, JobError>) {
        let mut state = self.lock();
        // The files of a job that no worker took are closed now, and not when the ticket is dropped.
        state.job = None;
        state.outcome.get_or_insert(outcome);
        let waker = state.waker.take();
        drop(state);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// A handle to a submitted job, by which the caller gets the answer. An asynchronous program awaits the ticket, which is a [`Future`] for
/// any executor. Other programs call [`wait`](Self::wait).
///
/// Dropping the ticket cancels the job: a client that disconnects costs no further time of a worker.
#[derive(Debug)]
pub struct Ticket(Arc<Task>);

impl Ticket {
    pub(crate) const fn new(task: Arc<Task>) -> Self {
        Self(task)
    }

    /// Blocks this thread until the job has ended, and returns its answer.
    ///
    /// # Errors
    /// The job has no answer, for the reason in the error.
    pub fn wait(self) -> Result<Vec<u8>, JobError> {
        let mut state = self.0.lock();
        loop {
            if let Some(outcome) = state.outcome.take() {
                return outcome;
            }
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Cancels the job, which then ends with [`JobError::Canceled`] unless it has ended before. A worker that does the job is
    /// killed within a tenth of a second.
    pub fn cancel(&self) {
        self.0.is_canceled.store(true, Ordering::Relaxed);
    }
}

impl Future for Ticket {
    type Output = Result<Vec<u8>, JobError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.lock();
        if let Some(outcome) = state.outcome.take() {
            return Poll::Ready(outcome);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.cancel();
    }
}
