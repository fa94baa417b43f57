//! The thread that talks to a server, for programs that wait.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

use crate::error::RemoteError;

/// The thread that talks to a server. Files that are found through one another share it.
#[derive(Debug)]
pub(crate) struct Network {
    handle: Handle,
    /// Always there until it is dropped.
    runtime: Option<Runtime>,
}

impl Network {
    /// Starts it.
    pub(crate) fn new() -> Result<Self, RemoteError> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| RemoteError::Runtime(error.kind()))?;
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    /// Waits for that. A panic is an error: no server may end the program.
    pub(crate) fn wait<T>(
        &self,
        work: impl Future<Output = Result<T, RemoteError>>,
    ) -> Result<T, RemoteError> {
        // What was interrupted is not waited for again, but begun anew.
        let waited = catch_unwind(AssertUnwindSafe(|| self.handle.block_on(work)));
        waited.unwrap_or(Err(RemoteError::Panic))
    }

    /// Waits for what was begun.
    pub(crate) fn wait_for<T>(
        &self,
        begun: &mut JoinHandle<Result<T, RemoteError>>,
    ) -> Result<T, RemoteError> {
        self.wait(async { begun.await.unwrap_or(Err(RemoteError::Panic)) })
    }

    /// Begins that.
    pub(crate) fn begin<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.handle.spawn(work)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // A name that is being resolved is not waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let network = Network::new().unwrap();
        let panics = || {
            std::future::poll_fn(|_| -> Poll<Result<(), RemoteError>> {
                panic!("as it is meant to")
            })
        };
        assert!(matches!(network.wait(panics()), Err(RemoteError::Panic)));
        let mut begun = network.begin(panics());
        assert!(matches!(network.wait_for(&mut begun), Err(RemoteError::Panic)));
        // It goes on.
        assert!(network.wait(async { Ok(()) }).is_ok());
        assert!(network.wait_for(&mut network.begin(async { Ok(7) })).is_ok());
    }
}
