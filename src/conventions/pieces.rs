//! Components that are read in pieces of any length.

use alloc::vec::Vec;
use core::ops::Range;

use crate::codec::Reader;
use crate::digest::Verified;
use crate::error::{BareError, Error, Misuse, OutOfMemory};
use crate::manifest::Component;
use crate::num::{u64_from_usize, usize_from_u32};

/// The combined outcome of comparing the digests of several components.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Digests<'a> {
    /// [`Verified::Digest`] if all components have a digest that matches; `None` until a component has been read to
    /// its end.
    pub(super) verified: Option<Verified>,
    /// A component whose digest zten cannot compare.
    pub(super) unverifiable: Option<Component<'a>>,
}

impl<'a> Digests<'a> {
    /// Adds `verified`, the outcome of comparing the digest of `component`.
    pub(super) fn note(&mut self, component: &Component<'a>, verified: Option<Verified>) {
        if verified == Some(Verified::Unverifiable) {
            self.unverifiable = self.unverifiable.or(Some(*component));
        }
        self.verified = match (self.verified, verified) {
            (None, one) | (one, None) => one,
            (Some(Verified::Digest), Some(Verified::Digest)) => Some(Verified::Digest),
            (Some(Verified::Unverifiable), _) | (_, Some(Verified::Unverifiable)) => {
                Some(Verified::Unverifiable)
            }
            _ => Some(Verified::NoDigest),
        };
    }
}

/// A reader of a component, or of the bytes of a component that a part of a tensor needs. Offsets count decoded bytes.
#[derive(Debug)]
pub(super) struct Pieces<'a> {
    component: Component<'a>,
    reader: Reader<'a>,
    /// Whether the whole component is read, so that its digest is compared.
    is_whole: bool,
    /// Whether `reader` can jump to an offset. Other readers, such as that of a zstd stream, must decode all bytes before the
    /// offset.
    seeks: bool,
    /// The offset of the next byte that `reader` returns.
    position: u64,
    /// The offsets of the bytes that are still to be appended to `held`.
    needed: Range<u64>,
    /// Bytes that have been read. The last one comes right before `needed`.
    held: Vec<u8>,
    /// The number of bytes of `held` that have been returned.
    used: usize,
}

impl<'a> Pieces<'a> {
    /// Creates a reader of the whole `component`, which verifies it.
    pub(super) fn whole(component: &Component<'a>) -> Result<Self, Error> {
        Ok(Self::new(*component, component.reader()?, true))
    }

    /// Creates a reader of the bytes at `needed`. If the component is raw, no other bytes are read.
    pub(super) fn part(component: &Component<'a>, needed: Range<u64>) -> Result<Self, Error> {
        let mut pieces = Self::new(*component, component.part_reader()?, false);
        pieces.seeks = pieces.reader.seeks();
        pieces.needed = needed;
        Ok(pieces)
    }

    fn new(component: Component<'a>, reader: Reader<'a>, is_whole: bool) -> Self {
        let (held, needed) = (Vec::new(), 0..u64::MAX);
        Self { component, reader, is_whole, seeks: false, position: 0, needed, held, used: 0 }
    }

    /// Returns whether the whole component is read.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Moves to the bytes at `needed`, none of which come before the next byte.
    pub(super) fn seek(&mut self, needed: Range<u64>) {
        let before = needed.start.saturating_sub(self.needed.start);
        if before == 0 {
            let behind = self.needed.start.saturating_sub(needed.start);
            let behind = usize::try_from(behind).unwrap_or(usize::MAX);
            self.used = self.held.len().saturating_sub(behind).max(self.used);
            self.needed.end = needed.end;
            return;
        }
        self.held.clear();
        (self.used, self.needed) = (0, needed);
    }

    /// Returns the next `length` bytes. Fails with [`Misuse::Quantization`] if there are fewer.
    pub(super) fn take(&mut self, length: usize) -> Result<&[u8], Error> {
        self.hold(length)?;
        let start = self.used;
        self.used = self.used.saturating_add(length);
        self.held.get(start..self.used).ok_or_else(|| BareError::internal().into())
    }

    /// Returns the next `length` bytes without consuming them: the next call returns them again. Fails as [`take`](Self::take)
    /// does.
    pub(super) fn peek(&mut self, length: usize) -> Result<&[u8], Error> {
        self.hold(length)?;
        let end = self.used.saturating_add(length);
        self.held.get(self.used..end).ok_or_else(|| BareError::internal().into())
    }

    /// Reads the next chunk of the component, of whatever length its reader returns, and returns the needed bytes of it: at least
    /// one. Returns `None` once all needed bytes have been returned.
    pub(super) fn chunk(&mut self) -> Result<Option<&[u8]>, Error> {
        self.held.clear();
        self.used = 0;
        while self.held.is_empty() {
            if !self.read_chunk()? {
                return Ok(None);
            }
        }
        self.used = self.held.len();
        Ok(Some(&self.held))
    }

    /// Returns all needed bytes.
    pub(super) fn collect(mut self) -> Result<Vec<u8>, Error> {
        while self.read_chunk()? {}
        self.finish()?;
        Ok(self.held)
    }

    /// Reads until `length` bytes are held that have not been returned.
    fn hold(&mut self, length: usize) -> Result<(), Error> {
        if self.held.len().saturating_sub(self.used) >= length {
            return Ok(());
        }
        self.held.drain(..self.used);
        self.used = 0;
        while self.held.len() < length {
            // The sizes of components have been compared with the shape, if the file gives them. The size of a compressed
            // component of a zTensor file is known only at its end.
            if !self.read_chunk()? {
                return Err(self.misfit());
            }
        }
        Ok(())
    }

    /// Appends the next chunk of the component to `held`. Returns `false` after the last needed byte.
    fn read_chunk(&mut self) -> Result<bool, Error> {
        let Self { component, reader, position, needed, held, .. } = self;
        if needed.is_empty() {
            return Ok(false);
        }
        if self.seeks {
            let most = usize_from_u32(component.limits().chunk());
            let left = needed.end.saturating_sub(needed.start);
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(most);
            reader.seek(needed, most)?;
            *position = needed.start;
        }
        let Some(chunk) = reader.next_chunk()? else { return Ok(false) };
        let skipped = needed.start.saturating_sub(*position);
        *position = position.saturating_add(u64_from_usize(chunk.len()));
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX).min(chunk.len());
        let (_, chunk) = chunk.split_at(skipped);
        held.try_reserve(chunk.len()).map_err(|_| OutOfMemory)?;
        held.extend_from_slice(chunk);
        needed.start = needed.start.max(*position);
        Ok(true)
    }

    /// Finishes reading. A component that is read or decoded from its beginning is read to its end, because its digest is
    /// compared only there.
    ///
    /// # Errors
    /// A component that is read whole has more bytes than have been taken; the errors of reading the rest.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        if self.seeks {
            return self.reader.settle(usize_from_u32(self.component.limits().chunk()));
        }
        let mut has_more = self.used < self.held.len();
        while let Some(chunk) = self.reader.next_chunk()? {
            has_more |= !chunk.is_empty();
        }
        if self.is_whole && has_more { Err(self.misfit()) } else { Ok(()) }
    }

    /// Adds to `digests` the outcome of comparing the digest of the component. Adds nothing before the component has been read to
    /// its end.
    pub(super) fn note(&self, digests: &mut Digests<'a>) {
        digests.note(&self.component, self.reader.verified());
    }

    /// Returns the number of bytes that have been decoded or skipped, if the component is compressed, and 0 otherwise.
    pub(super) fn decoded(&self) -> u64 {
        if self.component.encoding().is_compressed() { self.position } else { 0 }
    }

    /// Returns the error of a component whose size does not fit the shape of its tensor.
    #[cold]
    fn misfit(&self) -> Error {
        BareError::misuse(Misuse::Quantization).at(self.component.location()).into()
    }
}
