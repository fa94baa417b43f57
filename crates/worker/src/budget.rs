//! The limits of a job, and how strictly its process is confined.

use std::time::Duration;

/// The limits of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of address space that the worker may use in addition to what the program takes when it starts. Beyond this limit
    /// allocations fail.
    pub memory: u64,
    /// Processor time. The kernel counts whole seconds, so the limit is rounded up, and one second is added.
    pub processor_time: Duration,
    /// The longest time from the moment at which a worker takes the job until its answer is complete. A later worker is killed.
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
    /// Returns the budget with `seconds` more processor time, and with the deadline moved by the same `seconds`. For work that
    /// grows with the size of a file.
    #[must_use]
    pub fn with_more_time(mut self, seconds: u64) -> Self {
        let more = Duration::from_secs(seconds);
        self.processor_time = self.processor_time.saturating_add(more);
        self.deadline = self.deadline.saturating_add(more);
        self
    }

    /// Returns the limits of a process that does this job, in which it may have `descriptors` descriptors open.
    #[cfg(target_os = "linux")]
    pub(crate) fn limits(&self, descriptors: usize) -> zten_sandbox::Budget {
        // Rounds a part of a second up.
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
    /// Processes are not confined. The pool still limits the time and the answers of jobs.
    Off,
    /// Processes enable every layer that the system supports. [`Pool::missing_layer`](crate::Pool::missing_layer) names what
    /// the system lacks.
    Try,
    /// No job runs unless all layers are enforced.
    Require,
}

impl Confinement {
    /// Returns whether processes try to confine themselves. Systems other than Linux have no confinement to try.
    pub fn confines(self) -> bool {
        match self {
            Self::Off => false,
            Self::Try => cfg!(target_os = "linux"),
            Self::Require => true,
        }
    }
}
