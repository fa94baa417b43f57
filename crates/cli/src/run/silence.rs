//! The idle timeout of confined processes (`--idle-timeout`).

use std::num::NonZeroU32;
use std::sync::OnceLock;
use std::time::Duration;

static LIMIT: OnceLock<Option<Duration>> = OnceLock::new();

/// Sets the idle timeout to `seconds`, or to no limit for 0. Only the first call counts.
pub(crate) fn decide(seconds: u32) {
    let seconds = NonZeroU32::new(seconds);
    let _ = LIMIT.set(seconds.map(|seconds| Duration::from_secs(seconds.get().into())));
}

/// Returns the idle timeout, or `None` if there is no limit.
#[cfg(target_os = "linux")]
pub(crate) fn limit() -> Option<Duration> {
    LIMIT.get().copied().flatten()
}
