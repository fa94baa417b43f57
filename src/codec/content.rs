//! The content of one component, chunk by chunk.

mod rules;
mod seek;
#[cfg(all(feature = "zstd", feature = "std"))]
mod together;

use alloc::vec::Vec;
use core::num::NonZeroUsize;

use super::hasher::{Hasher, Mismatch, Verified};
#[cfg(feature = "zstd")]
use super::seekable::Seekable;
#[cfg(feature = "zstd")]
use super::zstd::Frames;
use super::{ReadAt, ReadError};
use crate::element::{ByteOrder, StorageType};
use crate::error::{Error, Misuse, OutOfMemory};
use crate::format::Encoding;
use crate::limits::Limits;
use crate::manifest::{Component, Extent};
use crate::num::usize_from_u32;
use crate::rules::Unsupported;

/// Reads a component in chunks: decoded, little-endian, and verified on the way.
///
/// Reading to the end verifies size, digest, compression and bools. Memory is a chunk, and for
/// zstd two blocks and up to two and a half times the window or the declared size, whichever is
/// smaller.
///
/// ```
/// # let file = std::fs::read("corpus/accept/1.2.3/dense_all.zt").unwrap();
/// # let archive = zten::Archive::open(&file)?;
/// # let component = archive.get("t_f32").unwrap().component("data").unwrap();
/// let mut content = component.content(archive.data(), &zten::Limits::default())?;
/// let mut bytes = 0;
/// while let Some(chunk) = content.next_chunk().map_err(zten::Error::from)? {
///     bytes += chunk.len();
/// }
/// assert_eq!(content.verified(), Some(zten::verify::Verified::NoDigest));
/// # Ok::<(), zten::Error>(())
/// ```
pub struct Content<'a, R> {
    source: R,
    reading: Reading<'a>,
    buffer: Vec<u8>,
    failed: Option<Error>,
}

/// How far reading has come.
struct Reading<'a> {
    component: Component<'a>,
    storage: StorageType,
    stored: Stored,
    /// None at the end.
    hasher: Option<Hasher>,
    /// Bytes of a chunk, at most: a multiple of every element's size.
    chunk: usize,
    /// Decoded bytes that have gone by.
    position: u64,
    /// The last of them.
    last: u8,
    verified: Option<Verified>,
    mismatch: Option<Mismatch>,
}

/// How the stored bytes become decoded ones.
enum Stored {
    Raw(Extent),
    #[cfg(feature = "zstd")]
    Zstd(Frames),
    #[cfg(feature = "zstd")]
    Seekable(Seekable),
}

impl<'a> Component<'a> {
    /// Reads the content of the component from the file it is in. Compressed frames are walked
    /// before anything is decoded.
    ///
    /// # Errors
    /// `unsupported-dtype`, `unsupported-encoding` (0.1), `unsupported-feature`; the rules
    /// `zstd-…` and `limit-…` that can be validated before decoding.
    pub fn content<R: ReadAt>(
        &self,
        source: R,
        limits: &Limits,
    ) -> Result<Content<'a, R>, ReadError<R::Error>> {
        self.readable()?;
        self.any_content(source, limits)
    }

    /// As [`content`](Self::content), whatever its elements mean.
    pub(crate) fn any_content<R: ReadAt>(
        &self,
        source: R,
        limits: &Limits,
    ) -> Result<Content<'a, R>, ReadError<R::Error>> {
        let storage = self.stored()?;
        let extent = self.extent();
        let stored = match self.encoding() {
            Encoding::Raw => Stored::Raw(extent),
            #[cfg(feature = "zstd")]
            Encoding::Zstd => {
                let expected = self.decoded_length();
                let frames = Frames::open(&source, extent, expected, limits);
                Stored::Zstd(frames.map_err(|error| error.at(self.place()))?)
            }
            #[cfg(feature = "zstd")]
            Encoding::ZstdSeekable => {
                let declared = self.decoded_length().ok_or(Error::internal().at(self.place()))?;
                let frames = Seekable::open(&source, extent, declared, limits);
                Stored::Seekable(frames.map_err(|error| error.at(self.place()))?)
            }
            _ => {
                let error = Error::new(Unsupported::Feature, extent.offset());
                return Err(error.at(self.place()).into());
            }
        };
        let hasher = Some(Hasher::new(self.digest()));
        let reading = Reading {
            component: *self,
            storage,
            stored,
            hasher,
            chunk: usize_from_u32(limits.chunk()),
            position: 0,
            last: 0,
            verified: None,
            mismatch: None,
        };
        Ok(Content { source, reading, buffer: Vec::new(), failed: None })
    }

    /// All of the content, decoded, little-endian and verified. Memory follows what the
    /// manifest declares, within the limits, as the bytes come.
    ///
    /// # Errors
    /// As [`content`](Self::content) and [`Content::next_chunk`].
    pub fn read_to_vec<R: ReadAt>(
        &self,
        source: R,
        limits: &Limits,
    ) -> Result<Vec<u8>, ReadError<R::Error>> {
        let mut content = self.content(source, limits)?;
        let mut bytes = Vec::new();
        if self.encoding() == Encoding::Raw {
            // All of it lies in the file.
            let length = usize::try_from(self.extent().length()).unwrap_or(usize::MAX);
            bytes.try_reserve_exact(length).map_err(|_| Error::from(OutOfMemory))?;
        }
        loop {
            let filled = bytes.len();
            extend(&mut bytes, filled.saturating_add(content.wanted()))?;
            let room = bytes.get_mut(filled..).ok_or(Error::internal())?;
            let length = content.read_chunk(room)?;
            bytes.truncate(filled.saturating_add(length));
            if length == 0 {
                break;
            }
        }
        Ok(bytes)
    }
}

impl<R: ReadAt> Content<'_, R> {
    /// The next chunk of decoded little-endian bytes: a whole number of elements, as many as
    /// fit in [`Limits::chunk`]. None at the end, when everything has been verified.
    ///
    /// # Errors
    /// `bool-value`, `digest-mismatch`, `decoded-size`, the rules `zstd-…`, `limit-decoded`;
    /// whatever the source fails with.
    ///
    /// An error is final: every later call returns it, or [`Misuse::Aborted`] after one of the
    /// source.
    pub fn next_chunk(&mut self) -> Result<Option<&[u8]>, ReadError<R::Error>> {
        self.next_or(&mut None)
    }

    /// As [`next_chunk`](Self::next_chunk); where the digest is another, `mismatch` tells both.
    pub(crate) fn next_or(
        &mut self,
        mismatch: &mut Option<Mismatch>,
    ) -> Result<Option<&[u8]>, ReadError<R::Error>> {
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        let chunk = self.reading.next(&self.source, &mut self.buffer);
        if let Err(error) = &chunk {
            self.failed = Some(last(error));
            *mismatch = self.reading.mismatch;
        }
        chunk
    }

    /// As [`next_chunk`](Self::next_chunk), straight into `buffer`: how many bytes were written
    /// to its front, a whole number of storage elements and at most [`Limits::chunk`]; 0 at the
    /// end, when everything has been verified. `buffer` may be empty only where all has been read.
    ///
    /// # Errors
    /// As [`next_chunk`](Self::next_chunk); [`Misuse::Buffer`] where there is more to read than
    /// `buffer` has room for, and not even one element has.
    pub fn read_chunk(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError<R::Error>> {
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        let length = self.reading.read(&self.source, buffer);
        if let Err(error) = &length {
            self.failed = Some(last(error));
        }
        length
    }

    /// Bytes that the next chunk has, or some more.
    pub(crate) fn wanted(&self) -> usize {
        self.reading.wanted()
    }

    /// The digest that the manifest gives and the one that was computed, after
    /// `digest-mismatch`.
    pub fn mismatch(&self) -> Option<&Mismatch> {
        self.reading.mismatch.as_ref()
    }

    /// What has been shown, once everything has been read.
    pub fn verified(&self) -> Option<Verified> {
        self.reading.verified
    }
}

/// What every call returns after that error.
fn last<E>(error: &ReadError<E>) -> Error {
    match error {
        ReadError::Refused(error) => *error,
        ReadError::Source(_) => Error::misuse(Misuse::Aborted),
    }
}

impl Reading<'_> {
    /// Reads the next chunk, which the source lends or `buffer` holds. The source is asked for
    /// each byte once: what is returned is what has been hashed and validated.
    fn next<'c, R: ReadAt>(
        &mut self,
        source: &'c R,
        buffer: &'c mut Vec<u8>,
    ) -> Result<Option<&'c [u8]>, ReadError<R::Error>> {
        if let Some(lent) = self.lent(source)? {
            return Ok(Some(lent));
        }
        extend(buffer, self.wanted())?;
        let length = self.fill(source, buffer)?;
        buffer.truncate(length);
        Ok((length > 0).then_some(buffer))
    }

    /// Bytes of the next chunk; of compressed content one where no more is declared, which shows that
    /// no more comes. 0 at the end.
    fn wanted(&self) -> usize {
        let left = match &self.stored {
            _ if self.hasher.is_none() => 0,
            Stored::Raw(extent) => extent.length().saturating_sub(self.position),
            #[cfg(feature = "zstd")]
            Stored::Zstd(frames) => frames.left().max(1),
            #[cfg(feature = "zstd")]
            Stored::Seekable(frames) => frames.left().max(1),
        };
        usize::try_from(left).unwrap_or(self.chunk).min(self.chunk)
    }

    /// The next chunk where the source lends it as it is.
    fn lent<'c, R: ReadAt>(
        &mut self,
        source: &'c R,
    ) -> Result<Option<&'c [u8]>, ReadError<R::Error>> {
        let (Stored::Raw(extent), ByteOrder::Little) = (&self.stored, self.component.byte_order())
        else {
            return Ok(None);
        };
        let (at, length) = (extent.offset().saturating_add(self.position), self.wanted());
        let (Some(hasher), Some(lent)) = (&mut self.hasher, source.bytes_at(at, length)) else {
            return Ok(None);
        };
        if length == 0 {
            return Ok(None);
        }
        if lent.len() != length {
            return Err(Error::misuse(Misuse::Supply).at(self.component.place()).into());
        }
        hasher.update(lent);
        self.pass(lent)?;
        Ok(Some(lent))
    }

    /// Reads at most a chunk to the front of `buffer`: a whole number of elements.
    fn read<R: ReadAt>(
        &mut self,
        source: &R,
        buffer: &mut [u8],
    ) -> Result<usize, ReadError<R::Error>> {
        let most = buffer.len().min(self.chunk);
        let rest = match self.storage.divisor() {
            // All that is left has room.
            _ if self.wanted() <= most => 0,
            width => most % NonZeroUsize::from(width),
        };
        let room = buffer.get_mut(..most.saturating_sub(rest)).ok_or(Error::internal())?;
        if room.is_empty() && self.wanted() > 0 {
            // Only reading shows whether more comes.
            let mut more = Vec::new();
            return match self.next(source, &mut more)? {
                Some(_) => Err(Error::misuse(Misuse::Buffer).at(self.component.place()).into()),
                None => Ok(0),
            };
        }
        self.fill(source, room)
    }

    /// Reads decoded bytes to the front of `room`, and as many as there is room for or are left.
    fn fill<R: ReadAt>(
        &mut self,
        source: &R,
        room: &mut [u8],
    ) -> Result<usize, ReadError<R::Error>> {
        let Some(hasher) = &mut self.hasher else {
            return Ok(0);
        };
        #[cfg(feature = "zstd")]
        let place = self.component.place();
        let length = match &mut self.stored {
            Stored::Raw(extent) => {
                let left = extent.length().saturating_sub(self.position);
                let length = usize::try_from(left).unwrap_or(usize::MAX).min(room.len());
                let room = room.get_mut(..length).ok_or(Error::internal())?;
                if length > 0 {
                    let at = extent.offset().saturating_add(self.position);
                    source.read_at(at, room).map_err(ReadError::Source)?;
                    hasher.update(room);
                }
                length
            }
            #[cfg(feature = "zstd")]
            Stored::Zstd(frames) => {
                let mut tap = |bytes: &[u8]| hasher.update(bytes);
                frames.read(source, room, &mut tap).map_err(|error| error.at(place))?
            }
            #[cfg(feature = "zstd")]
            Stored::Seekable(frames) => {
                let length = frames.read(source, room).map_err(|error| error.at(place))?;
                // In 2, digests are over what is decoded.
                hasher.update(room.get(..length).ok_or(Error::internal())?);
                length
            }
        };
        if length == 0 {
            self.end()?;
            return Ok(0);
        }
        let bytes = room.get_mut(..length).ok_or(Error::internal())?;
        self.pass(bytes)?;
        if self.component.byte_order() == ByteOrder::Big {
            swap(bytes, self.storage.width());
        }
        Ok(length)
    }
}

/// Makes `buffer` that long; what is in it will be overwritten.
pub(super) fn extend(buffer: &mut Vec<u8>, length: usize) -> Result<(), Error> {
    let more = length.saturating_sub(buffer.len());
    buffer.try_reserve_exact(more).map_err(|_| Error::from(OutOfMemory))?;
    buffer.resize(length, 0);
    Ok(())
}

/// Swaps the bytes of each element.
fn swap(bytes: &mut [u8], width: u8) {
    for element in bytes.chunks_exact_mut(usize::from(width).max(1)) {
        element.reverse();
    }
}
