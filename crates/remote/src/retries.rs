//! Repetition of failed requests: how often a request is repeated, and how long the pauses between its attempts are.

use std::io::ErrorKind;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::RemoteError;
use crate::options::TimeLimits;

/// The number of received bytes after which failures are forgotten, so that a long transfer may fail more often.
const PROGRESS: u64 = 64 << 10;

/// The time limits for the requests of one file, and the instant at which the total time limit ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) limits: TimeLimits,
    pub(crate) end: Instant,
}

/// The count of failures while one range of a file is read, which limits how often requests are repeated.
#[derive(Debug)]
pub(crate) struct Retries {
    times: Times,
    failures: u32,
    /// The number of bytes that were received since the last time that the count of failures was 0.
    came: u64,
}

impl Retries {
    pub(crate) fn new(times: Times) -> Self {
        Self { times, failures: 0, came: 0 }
    }

    /// Records that `bytes` bytes were received. Enough received bytes reset the count of failures.
    pub(crate) fn note(&mut self, bytes: u64) {
        self.came = self.came.saturating_add(bytes);
        if self.came >= PROGRESS {
            self.came = 0;
            self.failures = 0;
        }
    }

    /// Sleeps before the request that failed with `error` is repeated.
    ///
    /// # Errors
    /// Returns `error` if repeating cannot help or no attempt is left, and [`RemoteError::TotalTime`] if the total time
    /// limit is over.
    pub(crate) async fn wait(&mut self, error: RemoteError) -> Result<(), RemoteError> {
        let Times { limits, end } = self.times;
        // A request that timed out has taken long already, and a server that refuses connections will probably continue to
        // do so. Both count more than other failures, so they are repeated fewer times.
        let weight = match error {
            RemoteError::RequestTime | RemoteError::Connect(ErrorKind::ConnectionRefused) => 2,
            _ => 1,
        };
        if !error.is_transient() || self.failures >= limits.repetitions {
            return Err(error);
        }
        let pause = limits.pause.saturating_mul(3_u32.saturating_pow(self.failures));
        self.failures = self.failures.saturating_add(weight);
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(RemoteError::TotalTime);
        }
        sleep(pause.min(left).min(Duration::from_secs(30))).await;
        Ok(())
    }
}
