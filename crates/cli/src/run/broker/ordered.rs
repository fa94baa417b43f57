//! The results of jobs, put back into the order of the jobs.

use std::collections::VecDeque;
use std::path::PathBuf;

use crate::commands::check::RenderedOutcome;

/// The number of jobs that may run ahead of the first job without a result.
const WINDOW: u64 = 1024;

/// What is left to print of a job that has ended: the record of a checked file, or nothing.
#[derive(Debug)]
pub(super) enum JobResult {
    /// The record of a checked file, which is printed when its turn comes.
    Record(PathBuf, RenderedOutcome),
    /// The output of the job has been printed already.
    Printed,
}

/// The results of jobs that wait for the result of an earlier job.
///
/// Every command puts the result of each job here, even a result that was printed as it arrived: the window of jobs moves with
/// the results, and a job outside the window is not handed out.
#[derive(Debug, Default)]
pub(super) struct Ordered {
    /// The number of the first job whose result has not been taken.
    first: u64,
    /// The results of the jobs from `first` on. A job that is not done yet has `None`.
    waiting: VecDeque<Option<JobResult>>,
}

impl Ordered {
    /// Returns whether job `number` may be handed out already.
    pub(super) fn has_room(&self, number: u64) -> bool {
        number < self.first.saturating_add(WINDOW)
    }

    /// Keeps the result of job `number`. Returns false if the job has a result already.
    #[must_use]
    pub(super) fn put(&mut self, number: u64, result: JobResult) -> bool {
        let Some(index) = number.checked_sub(self.first) else { return false };
        let Ok(index) = usize::try_from(index) else { return false };
        while self.waiting.len() <= index {
            self.waiting.push_back(None);
        }
        match self.waiting.get_mut(index) {
            Some(slot @ None) => {
                *slot = Some(result);
                true
            }
            _ => false,
        }
    }

    /// Takes the result of the next job in order, or returns `None` if that job has no result yet.
    pub(super) fn next(&mut self) -> Option<JobResult> {
        let result = self.waiting.front_mut()?.take()?;
        self.waiting.pop_front();
        self.first = self.first.saturating_add(1);
        Some(result)
    }

    /// Returns the number of jobs whose results have been taken.
    pub(super) fn taken(&self) -> u64 {
        self.first
    }
}
