//! Options for reading remote files: time limits, redirects, and the access to S3 and to the hub.

use std::time::Duration;

use crate::error::RemoteError;
use crate::hub::HubAccess;
use crate::name::{Location, RemoteName};
use crate::s3::S3Access;

/// Time limits of requests, and the number of times that a request is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimits {
    /// The time limit for making a TCP connection. The default is 10 s.
    pub connect: Duration,
    /// The time limit of one request, to which `rate` adds time for its bytes. The default is 30 s.
    pub request: Duration,
    /// The lowest acceptable transfer rate in bytes a second. A request may take one second longer for each `rate` bytes
    /// that it asks for. Default: 64 KiB.
    pub rate: u64,
    /// The time limit of all requests for a file together, counted from its opening. The default is 6 hours.
    pub total: Duration,
    /// The pause before a request is repeated for the first time. Each further pause is three times as long, or nine times after a
    /// request that timed out or a connection that was refused, but no pause is longer than 30 s. Default: 100 ms.
    pub pause: Duration,
    /// The largest number of times that a failed request is repeated. A request that timed out and a connection that was refused
    /// count twice. The count starts again after 64 KiB were received. The default is 4.
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

/// The targets to which a server may redirect. At most five redirects are followed, and none for S3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redirects {
    /// Redirect targets with the same scheme as the URL of the file, either at a public address or on the server of the file
    /// itself.
    #[default]
    Public,
    /// Redirect targets with the scheme `http` or `https`, at any address, also a private one.
    Any,
}

/// The options with which remote files are opened and read: time limits, redirects, and the access to S3 and to the hub.
#[derive(Clone, Debug, Default)]
pub struct RemoteOptions {
    pub(crate) times: TimeLimits,
    pub(crate) redirects: Redirects,
    pub(crate) s3: S3Access,
    pub(crate) hub: HubAccess,
}

impl RemoteOptions {
    /// Returns the default options for the file `name`. For a file in S3 or on the hub they have the access that the
    /// environment and the files of credentials define. Credentials that the file does not need are not read.
    ///
    /// # Errors
    /// [`RemoteError::Setting`] if a setting is invalid.
    pub fn from_environment(name: &RemoteName) -> Result<Self, RemoteError> {
        let options = Self::default();
        Ok(match name.0 {
            Location::Http(_) => options,
            Location::S3 { .. } => options.s3(S3Access::from_environment()?),
            Location::Hub(_) => options.hub(HubAccess::from_environment()?),
        })
    }

    /// Sets the time limits of requests, and how often they are repeated.
    #[must_use]
    pub fn times(self, times: TimeLimits) -> Self {
        Self { times, ..self }
    }

    /// Sets to which targets a server may redirect requests.
    #[must_use]
    pub fn redirects(self, redirects: Redirects) -> Self {
        Self { redirects, ..self }
    }

    /// Sets the endpoint, region and credentials for `s3://` names.
    #[must_use]
    pub fn s3(self, s3: S3Access) -> Self {
        Self { s3, ..self }
    }

    /// Sets the endpoint and token for `hf://` names.
    #[must_use]
    pub fn hub(self, hub: HubAccess) -> Self {
        Self { hub, ..self }
    }
}
