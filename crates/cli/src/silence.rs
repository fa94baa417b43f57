//! The time for which a confined process may do nothing, before it is ended.

use std::num::NonZeroU32;
use std::sync::OnceLock;
use std::time::Duration;

static LIMIT: OnceLock<Option<Duration>> = OnceLock::new();

/// Decides, once: so many seconds, or no limit for 0.
pub(crate) fn decide(seconds: u32) {
    // The first decision holds.
    let seconds = NonZeroU32::new(seconds);
    let _ = LIMIT.set(seconds.map(|seconds| Duration::from_secs(seconds.get().into())));
}

/// Returns the limit that was decided on.
#[cfg(target_os = "linux")]
pub(crate) fn limit() -> Option<Duration> {
    LIMIT.get().copied().flatten()
}
