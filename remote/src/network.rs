//! The thread that talks to a server, for programs that wait.

use std::future::Future;

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

    /// Waits for that.
    pub(crate) fn wait<F: Future>(&self, work: F) -> F::Output {
        self.handle.block_on(work)
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
