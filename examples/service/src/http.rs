//! An HTTP front end of the service, which receives files, has workers check them, and answers with the reports.
//!
//! This process never parses a file: bytes go from the connection to a file without a name, which is passed to a worker. The
//! bytes of a file are counted as they arrive. Each wait has a time limit.

mod check;
mod head;
mod health;
mod log;
mod metrics;
mod reply;
mod upload;

use std::convert::Infallible;
use std::future::poll_fn;
use std::io::{self, Cursor, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, join};
use tokio::net::TcpStream;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::Service;
use head::Head;
use log::{Log, Record};
use metrics::Metrics;

/// The time limit for a client to receive an answer, and again to close its side of the connection.
const FAREWELL: Duration = Duration::from_secs(2);

/// The pause after accepting a connection has failed, usually because no descriptor is free.
const PAUSE: Duration = Duration::from_millis(50);

/// The limits for the clients of a service.
#[derive(Clone, Debug)]
pub struct Quota {
    /// The largest size of a file in bytes.
    pub size: u64,
    /// The largest number of files that are received or checked at the same time. Each occupies its size on the disk.
    pub files: usize,
    /// The largest number of requests that wait while `files` files are received or checked. Further requests are answered as busy.
    /// Their bodies are not read meanwhile.
    pub queue: usize,
    /// The largest number of open connections. Further clients wait until one of them is closed.
    pub connections: usize,
    /// The time limit for receiving the head of a request: its first line and headers.
    pub head: Duration,
    /// The time limit for the body of a request, beyond the time that the body takes at `rate`.
    pub body: Duration,
    /// The number of bytes per second that a client has to send at least, on average.
    pub rate: u64,
    /// The longest time for which a request waits until its file may be received.
    pub wait: Duration,
    /// The folder for files that are being received. The files have no names there.
    pub spool: PathBuf,
}

impl Default for Quota {
    /// Returns limits of 16 GiB for a file, twice as many files as there are processors, 64 waiting requests, 256 connections, 5 s
    /// for the head, 60 s for the body and 64 KiB per second, and 10 s for each wait. Files are received in the folder of the
    /// system for temporary files.
    fn default() -> Self {
        Self {
            size: 16 << 30,
            files: available_parallelism().map_or(1, usize::from).saturating_mul(2),
            queue: 64,
            connections: 256,
            head: Duration::from_secs(5),
            body: Duration::from_secs(60),
            rate: 64 << 10,
            wait: Duration::from_secs(10),
            spool: std::env::temp_dir(),
        }
    }
}

/// An HTTP front end of a service, with the limits for its clients.
#[derive(Debug)]
pub struct HttpFront {
    service: Service,
    quota: Quota,
    files: Arc<Semaphore>,
    queue: Semaphore,
    metrics: Metrics,
    log: Log,
}

impl HttpFront {
    /// Returns a front end of `service` that has no connections, and writes a line to `log` for each request.
    pub fn new(service: Service, quota: Quota, log: impl Write + Send + 'static) -> Self {
        let places = |number: usize| Semaphore::new(number.min(Semaphore::MAX_PERMITS));
        let (files, queue) = (Arc::new(places(quota.files)), places(quota.queue));
        Self { service, quota, files, queue, metrics: Metrics::default(), log: Log::new(log) }
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
                        Ok((stream, client)) => {
                            connections.spawn(Arc::clone(&front).answer_one(stream, client));
                        }
                        Err(_) => sleep(PAUSE).await,
                    }
                }
            }
        }
        drop(listener);
        while connections.join_next().await.is_some() {}
    }

    /// Answers one request, and ends the connection. Keeping the connection would need limits for idle clients, and save
    /// little: a request starts a process, which costs far more than a connection.
    async fn answer_one(self: Arc<Self>, stream: TcpStream, client: SocketAddr) {
        let time = self.quota.head;
        let (mut input, output) = stream.into_split();
        let Ok(Ok(head)) = timeout(time, Head::read(&mut input)).await else { return };
        let is_ambiguous = head.is_ambiguous();
        let answered = Arc::new(Notify::new());
        let is_answered = Arc::clone(&answered);
        let service = service_fn(move |request| {
            let (front, answered) = (Arc::clone(&self), Arc::clone(&answered));
            Box::pin(async move {
                let response = front.answer_and_log(request, client, is_ambiguous).await;
                answered.notify_one();
                Ok::<_, Infallible>(response)
            })
        });
        let stream = join(Cursor::new(head.0).chain(input), output);
        let mut connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(time)
            .max_buf_size(head::MOST)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        // If the client has not read its answer after `FAREWELL`, the connection is dropped.
        let farewell = async {
            is_answered.notified().await;
            sleep(FAREWELL).await;
        };
        let ended = tokio::select! {
            ended = poll_fn(|context| connection.poll_without_shutdown(context)) => ended,
            () = farewell => return,
        };
        if ended.is_ok() {
            take_leave(connection.into_parts().io.into_inner()).await;
        }
    }

    /// Answers a request, counts it, and logs it.
    async fn answer_and_log(
        &self,
        request: Request<Incoming>,
        client: SocketAddr,
        is_ambiguous: bool,
    ) -> Response<Full<Bytes>> {
        let start = Instant::now();
        let mut record = Record::new(client, &request);
        let response = if is_ambiguous {
            reply::failed(StatusCode::BAD_REQUEST, reply::TWO_LENGTHS)
        } else {
            self.answer(request, &mut record).await
        };
        record.ended(response.status(), start.elapsed());
        self.metrics.count(&record);
        self.log.write(&record);
        response
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        record: &mut Record,
    ) -> Response<Full<Bytes>> {
        if !head::is_decoded(request.headers()) {
            return reply::failed(StatusCode::NOT_IMPLEMENTED, reply::ENCODED);
        }
        if request.uri().query().is_some_and(|query| !query.is_empty()) {
            return reply::failed(StatusCode::BAD_REQUEST, reply::QUERY);
        }
        let path = request.uri().path();
        let is_get = matches!(*request.method(), Method::GET | Method::HEAD);
        match path {
            "/health" if is_get => return self.health().await,
            "/metrics" if is_get => return reply::text(self.metrics.text(self.service.load())),
            "/health" | "/metrics" => return reply::not_allowed("GET, HEAD"),
            _ => {}
        }
        match (check::name_in(path), request.method()) {
            (None, _) => reply::failed(StatusCode::NOT_FOUND, reply::NO_PATH),
            (Some(name), &Method::POST | &Method::PUT) => {
                let name = name.to_owned();
                self.check(&name, request, record).await
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
}

/// Ends a connection after the client has closed its side, or after [`FAREWELL`]. Closing a connection while bytes of the request
/// arrive would reset it, and the client would lose the answer.
async fn take_leave(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut rest = vec![0; 16 << 10];
    let _ = timeout(FAREWELL, async {
        stream.shutdown().await?;
        while stream.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    })
    .await;
}
