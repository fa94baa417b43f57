//! A store that counts the bytes and requests, and can be told to answer wrongly.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// The way in which the answers of an [`Odd`] store are wrong or unusual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    #[default]
    None,
    /// Each answer has one byte more than requested.
    Longer,
    /// Each answer has one byte less than requested.
    Shorter,
    /// Each answer has no bytes.
    Empty,
    /// Each answer declares the range that begins one byte later than the requested one.
    OtherRange,
    /// Each answer is right, and comes in pieces of a thousand bytes.
    Pieces,
    /// Right answers, but a request for an object that does not exist is denied, as by S3 if the credentials may not list the
    /// bucket.
    DeniedIfMissing,
    /// Right answers with a weak entity tag, as of a server that compresses. It fits no condition.
    WeakTag,
    /// Right answers with a weak entity tag and without the time of the last change, so that no condition fits.
    WeakTagAlone,
}

/// A store in memory that counts requests and bytes, and whose answers can be made wrong.
#[derive(Debug, Default)]
pub(crate) struct Odd {
    inner: InMemory,
    fault: Mutex<Fault>,
    /// The number of bytes that all of these requests together have asked for.
    pub(crate) fetched: AtomicU64,
    /// The number of requests for bytes of objects that were answered without an error. Requests for the head of an object do not
    /// count.
    pub(crate) requests: AtomicU64,
}

impl Odd {
    /// Makes all further answers wrong or unusual in the way that `fault` describes.
    pub(crate) fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }
}

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("odd")
    }
}

#[async_trait]
impl ObjectStore for Odd {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let is_head = options.head;
        if options.if_match.as_ref().is_some_and(|tag| tag.starts_with("W/")) {
            let source = "a weak tag".into();
            return Err(Error::Precondition { path: location.to_string(), source });
        }
        let fault = *self.fault.lock().unwrap();
        let answer = self.inner.get_opts(location, options).await;
        let mut answer = answer.map_err(|error| match error {
            Error::NotFound { path, source } if fault == Fault::DeniedIfMissing => {
                Error::PermissionDenied { path, source }
            }
            error => error,
        })?;
        if matches!(fault, Fault::WeakTag | Fault::WeakTagAlone) {
            answer.meta.e_tag = answer.meta.e_tag.map(|tag| format!("W/\"{tag}\""));
        }
        if fault == Fault::WeakTagAlone {
            std::mem::take(&mut answer.meta.last_modified);
        }
        if is_head {
            return Ok(answer);
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.fetched.fetch_add(answer.range.end - answer.range.start, Ordering::Relaxed);
        if fault == Fault::OtherRange {
            answer.range = answer.range.start + 1..answer.range.end + 1;
        }
        let (meta, range, attributes, extensions) = (
            answer.meta.clone(),
            answer.range.clone(),
            answer.attributes.clone(),
            answer.extensions.clone(),
        );
        let bytes = answer.bytes().await?;
        let pieces = match fault {
            Fault::None
            | Fault::OtherRange
            | Fault::DeniedIfMissing
            | Fault::WeakTag
            | Fault::WeakTagAlone => vec![bytes],
            Fault::Longer => vec![bytes, "x".into()],
            Fault::Shorter => vec![bytes.slice(1..)],
            Fault::Empty => Vec::new(),
            Fault::Pieces => bytes.chunks(1000).map(|piece| bytes.slice_ref(piece)).collect(),
        };
        let payload = GetResultPayload::Stream(stream::iter(pieces).map(Ok).boxed());
        Ok(GetResult { payload, meta, range, attributes, extensions })
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
