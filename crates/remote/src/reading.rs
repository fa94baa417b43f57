//! [`Reading`], a stream of the bytes of a range of a remote file, and the repetition of requests for the bytes that are missing.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};
use zten::num::u64_from_usize;

use crate::connector::failure;
use crate::error::RemoteError;
use crate::object::Shared;
use crate::response::{Answer, RequestedBytes};
use crate::retries::{Retries, Times};
use crate::transport::{ByteRequest, Transport};

/// The instant by which a request must end.
#[derive(Clone, Copy, Debug)]
struct Deadline {
    at: Instant,
    /// Whether the total time limit ends at this instant, so that the request must not be repeated.
    is_last: bool,
}

impl Deadline {
    fn new(Times { limits, end }: Times, bytes: u64) -> Self {
        let for_bytes = Duration::from_secs(bytes.checked_div(limits.rate).unwrap_or_default());
        let at = Instant::now().checked_add(limits.request.saturating_add(for_bytes));
        let at = at.unwrap_or(end);
        Self { at: at.min(end), is_last: end <= at }
    }

    async fn limit<T>(
        self,
        work: impl Future<Output = Result<T, RemoteError>>,
    ) -> Result<T, RemoteError> {
        let late = if self.is_last { RemoteError::TotalTime } else { RemoteError::RequestTime };
        timeout_at(self.at, work).await.unwrap_or(Err(late))
    }
}

/// The body of a response that is being received, and how many of its bytes are still missing.
#[derive(Debug)]
pub(crate) struct ResponseBody {
    body: Incoming,
    deadline: Deadline,
    /// The number of bytes that were requested, which the body has to have.
    asked: u64,
    /// The number of requested bytes that have not been received.
    left: u64,
}

impl ResponseBody {
    /// Sends the request `ask`, and checks the head of the response against the request. Returns what the head says, and the body,
    /// which is received later.
    pub(crate) async fn ask(
        transport: &Transport,
        ask: ByteRequest<'_>,
        times: Times,
    ) -> Result<(Answer, Self), RemoteError> {
        let ByteRequest { asked, known } = ask;
        let bytes = match asked {
            RequestedBytes::Last(bytes) => *bytes,
            RequestedBytes::Range(range) => range.end.saturating_sub(range.start),
        };
        let deadline = Deadline::new(times, bytes);
        let (head, body) = deadline.limit(transport.get(ask)).await?.into_parts();
        let answer = Answer::read(&head, asked, known)?;
        let asked = answer.range.end.saturating_sub(answer.range.start);
        Ok((answer, Self { body, deadline, asked, left: asked }))
    }

    /// Returns the next bytes of the body, or `None` after the last requested byte.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, RemoteError> {
        if self.left == 0 {
            return Ok(None);
        }
        let Some(bytes) = self.frame().await? else { return Err(self.fewer()) };
        let came = u64_from_usize(bytes.len());
        let Some(left) = self.left.checked_sub(came) else {
            return Err(RemoteError::More { asked: self.asked });
        };
        self.left = left;
        // After the last requested byte, further bytes are an error. An error of the connection is not: all bytes are here.
        if left == 0 && matches!(self.frame().await, Ok(Some(_))) {
            return Err(RemoteError::More { asked: self.asked });
        }
        Ok(Some(bytes))
    }

    /// Returns the next non-empty bytes of the body, or `None` at its end. If the connection is lost, the error is
    /// [`RemoteError::Fewer`].
    async fn frame(&mut self) -> Result<Option<Bytes>, RemoteError> {
        loop {
            let Self { body, deadline, .. } = self;
            let next = async { body.frame().await.transpose().map_err(|error| failure(&error)) };
            let frame = match deadline.limit(next).await {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(None),
                Err(RemoteError::Connect(_)) => return Err(self.fewer()),
                Err(error) => return Err(error),
            };
            if let Ok(bytes) = frame.into_data()
                && !bytes.is_empty()
            {
                return Ok(Some(bytes));
            }
        }
    }

    fn fewer(&self) -> RemoteError {
        RemoteError::Fewer { asked: self.asked, came: self.asked.saturating_sub(self.left) }
    }
}

/// A stream of the bytes of a range. If a connection is lost, it is made again, and the rest of the range is requested.
#[derive(Debug)]
pub struct Reading {
    shared: Arc<Shared>,
    at: u64,
    end: u64,
    coming: Option<ResponseBody>,
    retries: Retries,
}

impl Reading {
    /// Creates a stream of the bytes of `range`. The caller has checked that the range is within the file.
    pub(crate) fn new(shared: Arc<Shared>, range: Range<u64>) -> Self {
        let retries = Retries::new(shared.times);
        Self { shared, at: range.start, end: range.end, coming: None, retries }
    }

    /// Returns the next bytes of the range, at most a few hundred KiB, or `None` after the last byte.
    ///
    /// # Errors
    /// A request failed, and so did its repetitions.
    pub async fn next(&mut self) -> Result<Option<Bytes>, RemoteError> {
        // The tail of the file was fetched when the file was opened, and is not requested again.
        let fetched = self.end.min(self.shared.tail_start());
        while self.at < fetched {
            match self.fetch(fetched).await {
                Ok(bytes) => {
                    let came = u64_from_usize(bytes.len());
                    self.at = self.at.saturating_add(came);
                    self.retries.note(came);
                    return Ok(Some(bytes));
                }
                Err(error) => {
                    self.coming = None;
                    self.retries.wait(error).await?;
                }
            }
        }
        let tail = self.shared.tail(self.at..self.end);
        self.at = self.end;
        Ok((!tail.is_empty()).then_some(tail))
    }

    /// Fetches the next bytes of the range from the network, up to the offset `end` at most. Requires that some bytes
    /// before `end` are missing.
    async fn fetch(&mut self, end: u64) -> Result<Bytes, RemoteError> {
        let Shared { transport, known, times, .. } = &*self.shared;
        let mut coming = if let Some(coming) = self.coming.take() {
            coming
        } else {
            let asked = RequestedBytes::Range(self.at..end);
            let ask = ByteRequest { asked: &asked, known: Some(known) };
            ResponseBody::ask(transport, ask, *times).await?.1
        };
        let bytes = coming.next().await?.ok_or(RemoteError::OtherRange)?;
        self.coming = Some(coming);
        Ok(bytes)
    }
}
