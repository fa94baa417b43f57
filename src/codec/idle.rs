//! Threads that have nothing to do.

use core::sync::atomic::{AtomicUsize, Ordering};

/// How many threads have nothing to do, of those that the caller may have.
#[derive(Debug, Default)]
pub(crate) struct Idle(AtomicUsize);

impl Idle {
    /// One more has nothing to do.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes one, if there is one.
    #[cfg(feature = "zstd")]
    pub(super) fn take(&self) -> bool {
        let less = |idle: usize| idle.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}
