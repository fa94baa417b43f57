//! [`RemoteObject`], a remote file for asynchronous programs.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::time::Instant;
use zten::num::u64_from_usize;
use zten::open::{FileName, Opening, Step};
use zten::{Archive, InMemory, OpenOptions};

use crate::error::RemoteError;
use crate::name::RemoteName;
use crate::options::RemoteOptions;
use crate::reading::{Reading, ResponseBody};
use crate::response::{KnownFile, RequestedBytes};
use crate::retries::{Retries, Times};
use crate::transport::{ByteRequest, Transport};

/// The number of bytes at the end of a file that are fetched when the file is opened. Most manifests of zTensor files, which are at
/// the end, are shorter.
pub(crate) const TAIL: u64 = 64 << 10;

/// What all readers of one remote file share: the connection, the version and length of the file, the time limits, and the bytes at
/// the end of the file that were fetched when it was opened.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) transport: Transport,
    pub(crate) known: KnownFile,
    pub(crate) times: Times,
    tail: Bytes,
}

impl Shared {
    /// Returns the offset in the file of the first byte of the tail, which was fetched when the file was opened.
    pub(crate) fn tail_start(&self) -> u64 {
        self.known.length.saturating_sub(u64_from_usize(self.tail.len()))
    }

    /// Returns those bytes of `range`, a range of offsets in the file, that lie within the tail. The tail was fetched when the
    /// file was opened. Returns no bytes if the range ends before the tail.
    pub(crate) fn tail(&self, range: Range<u64>) -> Bytes {
        let within = |at: u64| {
            usize::try_from(at.saturating_sub(self.tail_start()))
                .unwrap_or(usize::MAX)
                .min(self.tail.len())
        };
        let (start, end) = (within(range.start), within(range.end));
        if start < end { self.tail.slice(start..end) } else { Bytes::new() }
    }
}

/// An open remote file, which is read within a `tokio` runtime. All reads are of the version of the file that was opened.
/// Clones share the connections.
#[derive(Clone, Debug)]
pub struct RemoteObject(pub(crate) Arc<Shared>);

impl RemoteObject {
    /// Opens the file `name`: fetches its last 64 KiB, and learns its length and version from the response.
    ///
    /// # Errors
    /// The file does not exist, or the request fails.
    pub async fn open(name: &RemoteName, options: &RemoteOptions) -> Result<Self, RemoteError> {
        let limits = options.times;
        let now = Instant::now();
        let end = now.checked_add(limits.total).ok_or(RemoteError::TotalTime)?;
        Self::find_with(Transport::new(name.clone(), options)?, Times { limits, end }).await
    }

    /// Opens the file that `transport` requests, over its connections and within the time limits of `times`.
    pub(crate) async fn find_with(transport: Transport, times: Times) -> Result<Self, RemoteError> {
        let mut retries = Retries::new(times);
        loop {
            match last(&transport, times).await {
                Ok((known, tail)) => {
                    return Ok(Self(Arc::new(Shared { transport, known, times, tail })));
                }
                Err(error) => retries.wait(error).await?,
            }
        }
    }

    /// Returns the length of the file in bytes.
    pub fn length(&self) -> u64 {
        self.0.known.length
    }

    /// Returns the commit to which all requests are pinned (40 hexadecimal digits), or `None` if the file is not on the
    /// hub.
    pub fn commit(&self) -> Option<&str> {
        self.0.transport.commit()
    }

    /// Creates a stream of the bytes of `range`. The first request is sent when the caller asks the stream for bytes.
    ///
    /// # Errors
    /// [`RemoteError::BeyondEnd`] if the range ends after the end of the file, or before it begins.
    pub fn reading(&self, range: Range<u64>) -> Result<Reading, RemoteError> {
        if range.start > range.end || range.end > self.length() {
            return Err(RemoteError::BeyondEnd { length: self.length() });
        }
        Ok(Reading::new(Arc::clone(&self.0), range))
    }

    /// Reads `range` into memory. The buffer grows as bytes arrive, because the length of the file is only a claim of the
    /// server.
    ///
    /// # Errors
    /// [`RemoteError::BeyondEnd`] if the range exceeds the file, [`RemoteError::OutOfMemory`], or an error of a request.
    pub async fn read(&self, range: Range<u64>) -> Result<Vec<u8>, RemoteError> {
        let mut reading = self.reading(range)?;
        let mut bytes = Vec::new();
        while let Some(chunk) = reading.next().await? {
            bytes.try_reserve(chunk.len()).map_err(|_| RemoteError::OutOfMemory)?;
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    /// Reads and validates the header of a file of any format. For a zTensor file this takes at most two requests. The
    /// returned archive holds no bytes of tensors: to read a tensor, pass this object to
    /// [`Tensor::read_from`](zten::Tensor::read_from).
    ///
    /// # Errors
    /// The header breaks a rule, a request fails, or the file is an index (`*.index.json`) or the first file of a split model,
    /// whose other files are not opened. Shards of a zTensor file are not opened either, but are no error.
    pub async fn header(
        &self,
        options: &OpenOptions,
    ) -> Result<Archive<InMemory<[u8; 0]>>, zten::Error> {
        let mut opening = Opening::new(FileName::default(), self.length(), options);
        loop {
            match opening.step()? {
                Step::Read(wanted) => {
                    for wanted in wanted {
                        let bytes = self.read(wanted.range.clone()).await?;
                        opening.supply(&wanted, bytes)?;
                    }
                }
                Step::Open(names) => names.into_iter().for_each(|name| opening.opened(name, None)),
                Step::Done(header) => return Ok(*header),
            }
        }
    }
}

/// Fetches the last bytes of the file that `transport` requests, at most [`TAIL`]. Returns the length and version of the
/// file, and the bytes.
async fn last(transport: &Transport, times: Times) -> Result<(KnownFile, Bytes), RemoteError> {
    let ask = ByteRequest { asked: &RequestedBytes::Last(TAIL), known: None };
    let (answer, mut coming) = ResponseBody::ask(transport, ask, times).await?;
    let mut tail = BytesMut::new();
    while let Some(bytes) = coming.next().await? {
        tail.extend_from_slice(&bytes);
    }
    Ok((answer.known, tail.freeze()))
}
