//! An HTTP front end of the service, which receives files, has workers check them, and answers with the reports.
//!
//! This process never parses a file: bytes go from the connection to a memory file, which is sealed and passed to a worker. The
//! bytes of a file are counted as they arrive. Each wait has a time limit, and so has each connection.

mod check;
mod head;
mod health;
mod reply;
mod upload;

use std::convert::Infallible;
use std::fs::File;
use std::future::poll_fn;
use std::io::{self, Cursor};
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, join};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::answer::Want;
use crate::service::{Service, Verdict};
use head::Head;
pub use health::probe;

/// The time limit for a client to receive an answer, and again to close its side of the connection.
const FAREWELL: Duration = Duration::from_secs(2);

/// The pause after accepting a connection has failed, usually because no descriptor is free.
const PAUSE: Duration = Duration::from_millis(50);

/// The limits for the clients of a service.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    /// The largest size of a file in bytes.
    pub size: u64,
    /// The number of files that are received or checked at the same time. Each file is held in memory.
    pub files: usize,
    /// The number of requests that wait while `files` files are received or checked. Their bodies are not read meanwhile.
    pub queue: usize,
    /// The number of files that are checked at the same time, each by a worker.
    pub workers: usize,
    /// The number of open connections. Further clients wait until a connection is accepted.
    pub connections: usize,
    /// The time limit for the head of a request.
    pub head: Duration,
    /// The time limit for the body of a request.
    pub body: Duration,
    /// The time limit for waiting until a file may be received, and again until a worker is free.
    pub wait: Duration,
}

impl Default for Quota {
    /// Returns limits of 256 MiB for a file, one worker for each processor, twice as many files, 64 waiting requests, 256
    /// connections, 5 s for the head, 60 s for the body, and 10 s for each wait.
    fn default() -> Self {
        let workers = available_parallelism().map_or(1, usize::from);
        Self {
            size: 256 << 20,
            files: workers.saturating_mul(2),
            queue: 64,
            workers,
            connections: 256,
            head: Duration::from_secs(5),
            body: Duration::from_secs(60),
            wait: Duration::from_secs(10),
        }
    }
}

/// An HTTP front end of a service, with the limits for its clients.
#[derive(Debug)]
pub struct HttpFront {
    service: Service,
    quota: Quota,
    files: Arc<Semaphore>,
    queue: Arc<Semaphore>,
    workers: Arc<Semaphore>,
}

impl HttpFront {
    /// Returns a front end of `service` that has no connections.
    pub fn new(service: Service, quota: Quota) -> Self {
        let places = |number: usize| Arc::new(Semaphore::new(number.min(Semaphore::MAX_PERMITS)));
        let Quota { files, queue, workers, .. } = quota;
        let [files, queue, workers] = [files, queue, workers].map(places);
        Self { service, quota, files, queue, workers }
    }

    /// Serves until `stop` completes. Then it accepts no further connections, and returns when the open connections have been
    /// answered or have reached their time limit.
    ///
    /// # Errors
    /// The service could not start.
    pub fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        listener.set_nonblocking(true)?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            self.accept(listener, stop).await;
            Ok(())
        })
    }

    async fn accept(self, listener: tokio::net::TcpListener, stop: impl Future<Output = ()>) {
        let front = Arc::new(self);
        let mut stop = pin!(stop);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => {}
                accepted = listener.accept(), if connections.len() < front.quota.connections => {
                    match accepted {
                        Ok((stream, _)) => {
                            connections.spawn(Arc::clone(&front).converse(stream));
                        }
                        Err(_) => tokio::time::sleep(PAUSE).await,
                    }
                }
            }
        }
        drop(listener);
        while connections.join_next().await.is_some() {}
    }

    async fn converse(self: Arc<Self>, stream: TcpStream) {
        let patience = self.patience();
        // A timeout needs no answer: the client is too slow to read one.
        let _ = timeout(patience, self.answer_one(stream)).await;
    }

    /// Returns the time limit for a connection, the sum of all limits of its parts.
    fn patience(&self) -> Duration {
        let Quota { head, body, wait, .. } = self.quota;
        let parts = [head, body, wait, wait, self.service.settings().time, FAREWELL, FAREWELL];
        parts.into_iter().fold(Duration::ZERO, Duration::saturating_add)
    }

    /// Answers one request, and ends the connection. Keeping the connection would need limits for idle clients, and save
    /// little: a request starts a process, which costs far more than a connection.
    async fn answer_one(self: Arc<Self>, stream: TcpStream) {
        let time = self.quota.head;
        let (mut input, output) = stream.into_split();
        let Ok(Ok(head)) = timeout(time, Head::read(&mut input)).await else { return };
        let is_ambiguous = head.is_ambiguous();
        let service = service_fn(move |request| {
            let front = Arc::clone(&self);
            Box::pin(async move {
                Ok::<_, Infallible>(if is_ambiguous {
                    reply::failed(StatusCode::BAD_REQUEST, reply::TWO_LENGTHS)
                } else {
                    front.answer(request).await
                })
            })
        });
        let stream = join(Cursor::new(head.0).chain(input), output);
        let mut connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(time)
            .max_buf_size(head::MOST)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        let ended = poll_fn(|context| connection.poll_without_shutdown(context)).await;
        if ended.is_ok() {
            take_leave(connection.into_parts().io.into_inner()).await;
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if !head::is_decoded(request.headers()) {
            return reply::failed(StatusCode::NOT_IMPLEMENTED, reply::ENCODED);
        }
        if request.uri().query().is_some_and(|query| !query.is_empty()) {
            return reply::failed(StatusCode::BAD_REQUEST, reply::QUERY);
        }
        let (method, path) = (request.method(), request.uri().path());
        if path == "/health" {
            return match *method {
                Method::GET | Method::HEAD => self.health().await,
                _ => reply::not_allowed("GET, HEAD"),
            };
        }
        match (check::name_in(path), method) {
            (None, _) => reply::failed(StatusCode::NOT_FOUND, reply::NO_PATH),
            (Some(name), &Method::POST | &Method::PUT) => {
                let name = name.to_owned();
                self.check(&name, request.into_body()).await
            }
            _ => reply::not_allowed("POST, PUT"),
        }
    }

    /// Waits until one more file may be received. Returns `None` if too many requests are waiting, or after the time limit. The
    /// body is not read meanwhile.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is fair: `try_acquire_owned` fails while other requests are waiting.
        if let Ok(place) = Arc::clone(&self.files).try_acquire_owned() {
            return Some(place);
        }
        let _waiting = self.queue.try_acquire().ok()?;
        timeout(self.quota.wait, Arc::clone(&self.files).acquire_owned()).await.ok()?.ok()
    }

    /// Checks `file` in a worker. The permits `held` are released only after the check, even if the client has disconnected:
    /// the file and the worker exist until then.
    async fn work(&self, name: &str, file: File, held: impl Send + 'static) -> io::Result<Verdict> {
        let (service, name) = (self.service.clone(), name.to_owned());
        let work = move || {
            let verdict = service.check_named(&name, file, Want::Verdict);
            drop(held);
            verdict
        };
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
    }
}

/// Ends a connection after the client has closed its side. Closing a connection while bytes of the request arrive would reset
/// it, and the client would lose the answer.
async fn take_leave(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut rest = vec![0; 16 << 10];
    let _ = timeout(FAREWELL, async {
        stream.shutdown().await?;
        while stream.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    })
    .await;
}
