//! The limits of a job, and how strictly its process is confined.

use std::time::Duration;

/// The limits of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of address space that the worker may use in addition to what the program takes when it starts. Beyond this limit
    /// allocations fail.
    pub memory: u64,
    /// The processor time that the job may use. The kernel counts whole seconds, so the limit is the next whole second above this time: 11 s
    /// for both 10 s and 10.5 s.
    pub processor_time: Duration,
    /// The longest time from the moment at which a worker that is ready begins to receive the job, until its answer is complete. A worker
    /// that needs longer is killed.
    pub deadline: Duration,
    /// The largest length of the answer in bytes.
    pub answer: usize,
}

impl Default for Budget {
    /// Returns limits of 512 MiB of memory, 10 s of processor time, a deadline of 10 s, and 1 MiB for the answer.
    fn default() -> Self {
        let time = Duration::from_secs(10);
        Self { memory: 512 << 20, processor_time: time, deadline: time, answer: 1 << 20 }
    }
}

impl Budget {
    /// Returns the budget with `seconds` more processor time, and a deadline that is `seconds` longer. Jobs whose time grows with the size
    /// of a file need it.
    #[must_use]
    pub fn with_more_time(mut self, seconds: u64) -> Self {
        let more = Duration::from_secs(seconds);
        self.processor_time = self.processor_time.saturating_add(more);
        self.deadline = self.deadline.saturating_add(more);
        self
    }

    /// Returns the limits of a worker process for a job with this budget. `descriptors` is the number of descriptors that the process may
    /// have open at a time.
    #[cfg(target_os = "linux")]
    pub(crate) fn limits(&self, descriptors: usize) -> zten_sandbox::Budget {
        // The limit is the next whole second, so that a job never gets less time than its budget says.
        let seconds = self.processor_time.as_secs().saturating_add(1);
        zten_sandbox::Budget {
            memory: Some(self.memory),
            seconds: Some(seconds),
            // A worker writes only to its socket, to which the limit on files does not apply.
            file: Some(0),
            descriptors: u64::try_from(descriptors).unwrap_or(u64::MAX),
        }
    }
}

/// How strictly the worker processes are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(target_os = "linux", derive(serde::Serialize, serde::Deserialize))]
pub enum Confinement {
    /// Worker processes are not confined. The pool still limits the time that a job takes and the length of its answer.
    Off,
    /// Worker processes enable every layer of the confinement that the system supports, and run jobs without the others.
    /// [`Pool::missing_layer`](crate::Pool::missing_layer) names a layer that the system lacks.
    Try,
    /// No job runs unless all layers of the confinement are enforced.
    Require,
}

impl Confinement {
    /// Returns whether worker processes try to confine themselves. Systems other than Linux have no confinement, so
    /// [`Try`](Self::Try) means the same as [`Off`](Self::Off) there.
    pub fn confines(self) -> bool {
        match self {
            Self::Off => false,
            Self::Try => cfg!(target_os = "linux"),
            Self::Require => true,
        }
    }
}
