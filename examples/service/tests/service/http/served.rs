//! A front end of the service that runs in the test process for the duration of a test.

use std::ffi::OsString;
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use zten_service::http::{HttpFront, Quota};
use zten_service::{Service, Settings};
use zten_testkit::read;
use zten_worker::Budget;

use super::client::post;

/// A time limit for steps that should take almost no time.
pub(crate) const PLENTY: Duration = Duration::from_secs(60);

pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    pub(crate) fn new(service: Service, quota: Quota) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let front = HttpFront::new(service, quota, std::io::sink());
        let thread = std::thread::spawn(move || {
            let stop = async { stopped.await.unwrap() };
            front.serve(listener, stop).unwrap();
        });
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    /// Starts a server with honest workers.
    pub(crate) fn honest(quota: Quota) -> Self {
        Self::new(Service::start(patient()).unwrap(), quota)
    }

    /// Starts a server whose workers do what the file says.
    pub(crate) fn lying(settings: Settings, quota: Quota) -> Self {
        Self::new(lying(settings, []), quota)
    }
}

/// Starts a service whose workers do what the file says. The worker program gets `arguments`.
pub(crate) fn lying(settings: Settings, arguments: impl IntoIterator<Item = OsString>) -> Service {
    let program = env!("CARGO_BIN_EXE_zten-service-liar").into();
    let program = Some((program, arguments.into_iter().collect()));
    Service::start(Settings { program, ..settings }).unwrap()
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

/// Returns whether the server accepts a file again within [`PLENTY`].
pub(crate) fn is_free_again(served: &Served) -> bool {
    let until = Instant::now() + PLENTY;
    while Instant::now() < until {
        // The lying worker, too, gives a valid answer about a file with this content.
        if post(served.address, b"honest").status == 200 {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// Returns settings with two honest workers and generous time limits.
pub(crate) fn patient() -> Settings {
    let default = Settings::default();
    let budget = Budget { deadline: PLENTY, processor_time: PLENTY, ..default.budget };
    let program = Some((env!("CARGO_BIN_EXE_zten-service").into(), Vec::new()));
    Settings { workers: 2, wait: PLENTY, budget, program, ..default }
}

/// Returns limits that a test does not reach unless it changes them.
pub(crate) fn plenty() -> Quota {
    Quota { head: PLENTY, body: PLENTY, wait: PLENTY, files: 64, ..Quota::default() }
}

/// Returns the bytes of a valid file.
pub(crate) fn valid() -> Vec<u8> {
    read("accept/1.2.3/dense_all.zt")
}
