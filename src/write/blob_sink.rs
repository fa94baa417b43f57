//! A file that blobs go to, one after another.

use super::settings::Target;
use super::shared::Blobs;
use super::sink::{Sink, WriteError};
use crate::codec::Sum;
use crate::error::{Error, Misuse};
use crate::num::{Assured as _, u64_from_usize};

/// A file that is being written, up to what comes behind its blobs.
pub(super) struct BlobSink<S> {
    sink: S,
    /// Where the next byte goes.
    position: u64,
    target: Target,
    /// The digest of all that is written, where it is asked for.
    sum: Option<Sum>,
    /// What components share, where they do.
    pub(super) blobs: Blobs,
}

impl<S: core::fmt::Debug> core::fmt::Debug for BlobSink<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut file = f.debug_struct("BlobSink");
        file.field("sink", &self.sink).field("position", &self.position).finish_non_exhaustive()
    }
}

impl<S: Sink> BlobSink<S> {
    /// A new file.
    pub(super) fn new(
        sink: S,
        target: Target,
        sum: Option<Sum>,
    ) -> Result<Self, WriteError<S::Error>> {
        let mut file = Self { sum, ..Self::at(sink, target, 0) };
        file.put(&target.container().header())?;
        file.pad()?;
        Ok(file)
    }

    /// A file of which the bytes before `position` are there.
    pub(super) fn at(sink: S, target: Target, position: u64) -> Self {
        Self { sink, position, target, sum: None, blobs: Blobs::default() }
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), WriteError<S::Error>> {
        let position = self.position.checked_add(u64_from_usize(bytes.len()));
        self.position = position.ok_or(Error::misuse(Misuse::Length))?;
        if let Some(sum) = &mut self.sum {
            sum.update(bytes);
        }
        self.sink.write(bytes).map_err(WriteError::Sink)
    }

    /// Fills up to the next place for a blob with zeros.
    pub(super) fn pad(&mut self) -> Result<(), WriteError<S::Error>> {
        const ZEROS: [u8; 4096] = [0; 4096];
        let next = self.target.aligned(self.position).ok_or(Error::misuse(Misuse::Length))?;
        while self.position < next {
            let left = next.saturating_sub(self.position);
            let length = usize::try_from(left).unwrap_or(ZEROS.len()).min(ZEROS.len());
            self.put(ZEROS.get(..length).assured())?;
        }
        Ok(())
    }

    /// The sink, which has been flushed, and the digest of all that it was given.
    pub(super) fn end(mut self) -> Result<(S, Option<Sum>), WriteError<S::Error>> {
        self.sink.flush().map_err(WriteError::Sink)?;
        Ok((self.sink, self.sum))
    }
}

impl<S> BlobSink<S> {
    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }
}
