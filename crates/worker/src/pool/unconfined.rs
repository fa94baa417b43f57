//! Runs functions in threads of the program, on systems that have no confinement.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Shared;
use crate::ticket::Task;
use crate::{Confinement, Ending, Job, JobError, StartError, Work};

/// What the confinement lacks on systems other than Linux, as a phrase for messages.
const MISSING: &str = "only Linux confines processes";

/// A thread of a pool that runs the jobs in this process. On Linux, the thread of this name keeps a confined worker process instead.
pub(super) struct Keeper<'a> {
    shared: &'a Shared,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        Self { shared }
    }

    /// Does nothing: there is no process to start ahead.
    #[expect(clippy::unused_self, reason = "the keeper of a process has a process to start")]
    pub(super) fn prepare(&mut self) {}

    /// Returns the sentence that only Linux confines processes, which the pool reports as its missing layer.
    ///
    /// # Errors
    /// The pool requires confinement.
    pub(super) fn first(&mut self) -> Result<Option<String>, StartError> {
        match self.shared.settings.confinement {
            Confinement::Require => Err(StartError::NotConfined(MISSING.to_owned())),
            Confinement::Off | Confinement::Try => Ok(Some(MISSING.to_owned())),
        }
    }

    /// Runs the function of `job` in this thread, and returns its answer. Of the budget only the length of the answer is checked: a thread
    /// cannot be killed, so the deadline and the limits on memory and processor time have no effect.
    pub(super) fn run(&mut self, task: &Task, job: Job) -> Result<Vec<u8>, JobError> {
        if self.shared.look_around() {
            return Err(JobError::Stopped);
        }
        let budget = job.budget.unwrap_or(self.shared.settings.budget);
        let Job { function, argument, files, .. } = job;
        let run = AssertUnwindSafe(|| (function.run)(Work { argument, files }));
        let answer = catch_unwind(run).map_err(|_| JobError::Ended(Ending::Panicked))?;
        let answer = answer.map_err(JobError::Failed)?;
        if task.is_canceled() {
            return Err(JobError::Canceled);
        }
        if answer.len() > budget.answer {
            return Err(JobError::Answer(format!("more than {} bytes", budget.answer)));
        }
        function.check(&answer).map_err(JobError::Answer)?;
        Ok(answer)
    }
}
