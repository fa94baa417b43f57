//! Receives an uploaded file into a file without a name.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use hyper::Request;
use hyper::body::{Body as _, Incoming};
use hyper::header::CONTENT_TYPE;
use multer::{Constraints, Multipart, SizeLimit};
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use super::log::Record;
use super::{Quota, check, reply};

/// The number of bytes by which a form may be longer than the largest file.
const FORM: u64 = 64 << 10;

/// The reason why an upload failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The file exceeds the largest size of a file, or the form exceeds this size and the [`FORM`] bytes.
    TooLarge,
    /// The client sends more slowly than the [`Quota`] allows.
    Slow,
    /// The body is incomplete, or invalid HTTP.
    Broken,
    /// The form is invalid, for the reason in the sentence.
    Form(String),
    /// The file cannot be written: most often the disk is full.
    Disk(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

impl From<hyper::Error> for Failure {
    fn from(_: hyper::Error) -> Self {
        Self::Broken
    }
}

impl From<multer::Error> for Failure {
    fn from(error: multer::Error) -> Self {
        match error {
            multer::Error::FieldSizeExceeded { .. } | multer::Error::StreamSizeExceeded { .. } => {
                Self::TooLarge
            }
            multer::Error::StreamReadFailed(_)
            | multer::Error::IncompleteStream
            | multer::Error::IncompleteFieldData { .. } => Self::Broken,
            error => Self::Form(format!("invalid form: {error}")),
        }
    }
}

/// Returns the boundary between the parts of an upload form, or `None` if the body is the file itself.
fn boundary(request: &Request<Incoming>) -> Option<String> {
    let kind = request.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    multer::parse_boundary(kind).ok()
}

/// Returns whether the client announces a body that is too large: more than `most` bytes, or for a form more than `most` bytes and
/// the [`FORM`] bytes that may surround its file. A smaller announced length is not trusted: the bytes are counted as they arrive.
pub(super) fn is_too_large(request: &Request<Incoming>, most: u64) -> bool {
    let form = if boundary(request).is_some() { FORM } else { 0 };
    request.body().size_hint().lower() > most.saturating_add(form)
}

/// Receives a file, as the body or as the only file of a form. Returns it open for reading only, with the name that a form gives
/// it, which is empty for a file that is the body. Notes in `record` how many bytes arrived, also if receiving fails.
pub(super) async fn receive(
    request: Request<Incoming>,
    quota: &Quota,
    record: &mut Record,
) -> Result<(File, String), Failure> {
    let mut spool = Spool::new(quota)?;
    let boundary = boundary(&request);
    let mut body = request.into_body();
    let received = match boundary {
        None => {
            let mut received = Ok(String::new());
            while let Some(frame) = in_time(spool.left(), body.frame()).await.transpose() {
                let added = match frame {
                    Ok(frame) => spool.add_frame(frame).await,
                    Err(failure) => Err(failure),
                };
                if let Err(failure) = added {
                    received = Err(failure);
                    break;
                }
            }
            received
        }
        Some(boundary) => spool.add_form(body, &boundary).await,
    };
    record.bytes = spool.bytes;
    let name = received?;
    Ok((spool.finish().await?, name))
}

/// Waits for the next item of a stream. Fails with [`Failure::Slow`] if it does not arrive within `time`.
async fn in_time<T, E: Into<Failure>>(
    time: Duration,
    next: impl Future<Output = Option<Result<T, E>>>,
) -> Result<Option<T>, Failure> {
    let next = timeout(time, next).await.map_err(|_| Failure::Slow)?;
    next.transpose().map_err(Into::into)
}

/// An upload in progress: the file without a name in the spool folder to which it is written, and its limits.
struct Spool<'q> {
    file: tokio::fs::File,
    bytes: u64,
    start: Instant,
    quota: &'q Quota,
}

impl<'q> Spool<'q> {
    fn new(quota: &'q Quota) -> io::Result<Self> {
        let file = tokio::fs::File::from_std(tempfile::tempfile_in(&quota.spool)?);
        Ok(Self { file, bytes: 0, start: Instant::now(), quota })
    }

    /// Returns the time until the next bytes have to arrive: the longer the body, the more time it has.
    fn left(&self) -> Duration {
        let own = self.bytes.checked_div(self.quota.rate).unwrap_or_default();
        let limit = self.quota.body.saturating_add(Duration::from_secs(own));
        limit.saturating_sub(self.start.elapsed())
    }

    async fn add_frame(
        &mut self,
        frame: hyper::body::Frame<hyper::body::Bytes>,
    ) -> Result<(), Failure> {
        match frame.data_ref() {
            Some(bytes) => self.add(bytes).await,
            // Trailers are ignored.
            None => Ok(()),
        }
    }

    async fn add(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let more = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(more);
        if self.bytes > self.quota.size {
            return Err(Failure::TooLarge);
        }
        Ok(self.file.write_all(bytes).await?)
    }

    /// Receives the file of a form, and returns its name. Fields of the form that are not files are dropped. Fails if the form has
    /// no file or several, or the name is not valid.
    async fn add_form(&mut self, body: Incoming, boundary: &str) -> Result<String, Failure> {
        let most = self.quota.size.saturating_add(FORM);
        let limits = Constraints::new().size_limit(SizeLimit::new().whole_stream(most));
        let body = body.into_data_stream();
        let mut form = Multipart::with_constraints(body, boundary, limits);
        let mut name = None;
        loop {
            let left = self.left();
            let field = async { form.next_field().await.transpose() };
            let Some(mut field) = in_time(left, field).await? else { break };
            let Some(own) = field.file_name().map(str::to_owned) else { continue };
            if name.is_some() {
                return Err(Failure::Form(
                    "the form has several files; send each alone".to_owned(),
                ));
            }
            if !check::is_name(&own) {
                return Err(Failure::Form(reply::NAME.to_owned()));
            }
            name = Some(own);
            loop {
                let left = self.left();
                let chunk = async { field.chunk().await.transpose() };
                let Some(chunk) = in_time(left, chunk).await? else { break };
                self.add(&chunk).await?;
            }
        }
        name.ok_or_else(|| Failure::Form("the form has no file".to_owned()))
    }

    /// Returns the file, open for reading only, from its beginning. A worker that was taken over cannot change it.
    async fn finish(mut self) -> io::Result<File> {
        self.file.flush().await?;
        let file = self.file.into_std().await;
        File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }
}

/// Creates an empty file in `folder` for checking the health of a worker, which must reject it.
pub(super) fn nothing(folder: &Path) -> io::Result<File> {
    tempfile::tempfile_in(folder)
}
