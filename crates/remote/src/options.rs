//! Options for reading remote files.

use std::time::Duration;

use crate::error::RemoteError;
use crate::s3::S3Access;

/// Limits on the time that requests take, and on how often they are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimits {
    /// Making a connection; 10 s.
    pub connect: Duration,
    /// One request, beside the time for its bytes; 30 s.
    pub request: Duration,
    /// Bytes a second that come at least: a request of so many bytes may take a second longer; 64 KiB.
    pub rate: u64,
    /// Everything, from opening on; 6 hours.
    pub total: Duration,
    /// The pause before the first repetition of a request, 100 ms; before each further one it is three times as long.
    pub pause: Duration,
    /// The number of times that a request is repeated; 4.
    pub repetitions: u32,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            request: Duration::from_secs(30),
            rate: 64 << 10,
            total: Duration::from_secs(6 * 60 * 60),
            pause: Duration::from_millis(100),
            repetitions: 4,
        }
    }
}

/// The targets to which a server may redirect. It may do so five times at most, and never for S3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redirects {
    /// Targets of the same scheme, at a public address or at the server itself.
    #[default]
    Public,
    /// Targets of `http` and `https` at any address.
    Any,
}

/// Options for reading remote files.
#[derive(Clone, Debug, Default)]
pub struct RemoteOptions {
    pub(crate) times: TimeLimits,
    pub(crate) redirects: Redirects,
    pub(crate) s3: S3Access,
}

impl RemoteOptions {
    /// The defaults, with what the environment and the profile files of AWS say of S3.
    ///
    /// # Errors
    /// [`RemoteError::Setting`].
    pub fn from_environment() -> Result<Self, RemoteError> {
        Ok(Self { s3: S3Access::from_environment()?, ..Self::default() })
    }

    /// Sets the limits.
    #[must_use]
    pub fn times(self, times: TimeLimits) -> Self {
        Self { times, ..self }
    }

    /// Sets the redirects that are followed.
    #[must_use]
    pub fn redirects(self, redirects: Redirects) -> Self {
        Self { redirects, ..self }
    }

    /// Sets the access to S3.
    #[must_use]
    pub fn s3(self, s3: S3Access) -> Self {
        Self { s3, ..self }
    }
}
