//! The settings for reading files over the network, from the command line.

use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use zten_remote::{Redirects, RemoteError, RemoteFile, RemoteName, RemoteOptions, TimeLimits};

use super::commits;
use crate::args::RemoteSettings as Settings;

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Sets the settings for remote files for this process. Only the first call has an effect.
pub(crate) fn decide(settings: &Settings) {
    let _ = SETTINGS.set(settings.clone());
}

/// Returns the settings for remote files that [`decide`] has set for this process, or the defaults.
#[cfg(target_os = "linux")]
pub(crate) fn settings() -> Settings {
    SETTINGS.get().cloned().unwrap_or_default()
}

/// Returns the time limit in seconds for reading one remote file and its sibling files.
pub(crate) fn time_limit() -> u64 {
    let given = SETTINGS.get().and_then(|settings| settings.remote_time);
    given.map_or(TimeLimits::default().total.as_secs(), u64::from)
}

/// Opens the remote file `name` in this process.
pub(super) fn open(name: &str) -> io::Result<RemoteFile> {
    let settings = SETTINGS.get().cloned().unwrap_or_default();
    let times = TimeLimits { total: Duration::from_secs(time_limit()), ..TimeLimits::default() };
    let redirects = if settings.remote_redirects { Redirects::Any } else { Redirects::Public };
    let name = RemoteName::parse(name).map_err(RemoteError::from)?;
    let options = RemoteOptions::from_environment(&name)?.times(times).redirects(redirects);
    commits::open(&name, &options)
}
