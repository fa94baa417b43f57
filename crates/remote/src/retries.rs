//! Retries: how often a request is repeated, and after which pause.

use std::io::ErrorKind;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::RemoteError;
use crate::options::TimeLimits;

/// Bytes that have to come before failures are counted anew.
const PROGRESS: u64 = 64 << 10;

/// The time limits, and the instant at which everything ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) limits: TimeLimits,
    pub(crate) end: Instant,
}

/// The retries that are left for one range.
#[derive(Debug)]
pub(crate) struct Retries {
    times: Times,
    failures: u32,
    came: u64,
}

impl Retries {
    pub(crate) fn new(times: Times) -> Self {
        Self { times, failures: 0, came: 0 }
    }

    /// Notes that bytes have come.
    pub(crate) fn note(&mut self, bytes: u64) {
        self.came = self.came.saturating_add(bytes);
        if self.came >= PROGRESS {
            self.came = 0;
            self.failures = 0;
        }
    }

    /// Waits before the next attempt. The error comes back where there is none.
    pub(crate) async fn wait(&mut self, error: RemoteError) -> Result<(), RemoteError> {
        let Times { limits, end } = self.times;
        // Waiting for a server that does not answer has taken long; where none is there, none may come.
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
