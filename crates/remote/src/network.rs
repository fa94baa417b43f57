//! The network thread, which sends the requests of programs that block until bytes arrive.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;
use tokio::time::interval;

use crate::error::RemoteError;

/// The interval at which a thread that waits for a server checks the flag of [`until`].
const TICK: Duration = Duration::from_millis(10);

thread_local! {
    /// The flag that [`until`] was called with on this thread. `None` outside of [`until`].
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Calls `work` on this thread, and returns its result. Another thread can interrupt `work` by setting the flag `stop`: a call
/// inside of `work` that waits for a server then ends within 10 ms with [`RemoteError::Interrupted`].
pub fn until<T>(stop: &Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    /// Holds the previous flag of this thread, and restores it when this value is dropped, also after a panic.
    struct Before(Option<Arc<AtomicBool>>);
    impl Drop for Before {
        fn drop(&mut self) {
            STOP.set(self.0.take());
        }
    }
    let _before = Before(STOP.replace(Some(Arc::clone(stop))));
    work()
}

/// Waits for `work`, and returns its result. If the flag that this thread passed to [`until`] is set before, returns
/// [`RemoteError::Interrupted`].
async fn interruptible<T>(
    work: impl Future<Output = Result<T, RemoteError>>,
) -> Result<T, RemoteError> {
    let Some(stop) = STOP.with_borrow(Clone::clone) else { return work.await };
    let (mut work, mut tick) = (pin!(work), interval(TICK));
    poll_fn(|context| {
        if let Poll::Ready(output) = work.as_mut().poll(context) {
            return Poll::Ready(output);
        }
        while tick.poll_tick(context).is_ready() {
            if stop.load(Ordering::Relaxed) {
                return Poll::Ready(Err(RemoteError::Interrupted));
            }
        }
        Poll::Pending
    })
    .await
}

/// The thread that does all network requests. A remote file and its sibling files share it.
#[derive(Debug)]
pub(crate) struct Network {
    handle: Handle,
    /// The runtime of the thread. `None` only while this value is being dropped.
    runtime: Option<Runtime>,
}

impl Network {
    /// Starts the network thread. Fails if the system cannot start a thread, or has no descriptors for its events.
    pub(crate) fn new() -> Result<Self, RemoteError> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| RemoteError::Runtime(error.kind()))?;
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    /// Blocks this thread until `work` is done, or the flag of [`until`] interrupts it. A panic in `work` becomes
    /// [`RemoteError::Panic`], so that a server cannot crash the program.
    pub(crate) fn wait<T>(
        &self,
        work: impl Future<Output = Result<T, RemoteError>>,
    ) -> Result<T, RemoteError> {
        // Interrupted work is dropped. The caller starts it again if its result is needed later.
        let waited = catch_unwind(AssertUnwindSafe(|| self.handle.block_on(interruptible(work))));
        waited.unwrap_or(Err(RemoteError::Panic))
    }

    /// Blocks this thread until the task `begun` is done, as [`wait`](Self::wait) does.
    pub(crate) fn wait_for<T>(
        &self,
        begun: &mut JoinHandle<Result<T, RemoteError>>,
    ) -> Result<T, RemoteError> {
        self.wait(async { begun.await.unwrap_or(Err(RemoteError::Panic)) })
    }

    /// Starts `work` on the network thread, and returns a handle to its result without waiting.
    pub(crate) fn begin<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.handle.spawn(work)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // A plain drop would block until all pending host names are resolved, which can take the system's time limit for
        // DNS.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_flag_ends_waits() {
        let (network, stop) = (Network::new().unwrap(), Arc::new(AtomicBool::new(false)));
        let other = Arc::clone(&stop);
        let setter = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(30));
            other.store(true, Ordering::Relaxed);
        });
        let begun = Instant::now();
        let ended = until(&stop, || network.wait(pending::<Result<(), RemoteError>>()));
        assert!(matches!(ended, Err(RemoteError::Interrupted)));
        assert!(begun.elapsed() < Duration::from_secs(5));
        setter.join().unwrap();
        // After `until` the flag is not checked any more.
        assert!(network.wait(async { Ok(()) }).is_ok());
        assert!(STOP.with_borrow(Option::is_none));
    }

    #[test]
    fn a_panic_is_an_error() {
        let network = Network::new().unwrap();
        let panics =
            || poll_fn(|_| -> Poll<Result<(), RemoteError>> { panic!("as it is meant to") });
        assert!(matches!(network.wait(panics()), Err(RemoteError::Panic)));
        let mut begun = network.begin(panics());
        assert!(matches!(network.wait_for(&mut begun), Err(RemoteError::Panic)));
        // The thread continues to work after a panic.
        assert!(network.wait(async { Ok(()) }).is_ok());
        assert!(network.wait_for(&mut network.begin(async { Ok(7) })).is_ok());
    }
}
