//! A value that can be changed through a shared reference.

#[cfg(not(feature = "std"))]
use core::cell::Cell;
#[cfg(feature = "std")]
use std::sync::{Mutex, PoisonError};

/// A value that can be changed through a shared reference. With `std`, several threads may change the value, because
/// threads may share a source.
#[cfg(feature = "std")]
#[derive(Debug, Default)]
pub(crate) struct Lock<T>(Mutex<T>);

/// A value that can be changed through a shared reference. Without `std`, only one thread can use the value.
#[cfg(not(feature = "std"))]
#[derive(Default)]
pub(crate) struct Lock<T>(Cell<T>);

#[cfg(not(feature = "std"))]
impl<T> core::fmt::Debug for Lock<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Lock").finish_non_exhaustive()
    }
}

impl<T: Default> Lock<T> {
    /// Calls `change` with the value, which `change` may replace, and returns the result of `change`.
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(feature = "std")]
        {
            change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
        }
        #[cfg(not(feature = "std"))]
        {
            let mut value = self.0.take();
            let result = change(&mut value);
            self.0.set(value);
            result
        }
    }
}
