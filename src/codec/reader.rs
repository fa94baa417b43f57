//! The content of one component, chunk by chunk.

use alloc::vec::Vec;

use super::bools::validate_bools;
use super::hasher::{Hasher, Verified};
#[cfg(all(feature = "zstd", feature = "v2"))]
use super::seekable::Seekable;
#[cfg(feature = "zstd")]
use super::zstd::Frames;
use super::{ReadAt, ReadError};
use crate::element::{ByteOrder, StorageType};
use crate::error::{Error, Misuse, OutOfMemory};
use crate::format::Encoding;
use crate::limits::Limits;
use crate::manifest::{Component, Extent};
use crate::num::{Assured as _, u64_from_usize, usize_from_u32};
use crate::rules::{Rule, Unsupported};

/// Reads a component in chunks: decoded, little-endian, and verified on the way.
///
/// Reading to the end verifies size, digest, compression and bools. Memory is a chunk, and for
/// zstd two blocks and up to three times the window or the declared size, whichever is smaller.
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
/// assert_eq!(content.verified(), Some(zten::Verified::NoDigest));
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
}

/// How the stored bytes become decoded ones.
#[cfg_attr(
    all(feature = "zstd", not(feature = "v2")),
    expect(clippy::large_enum_variant, reason = "there is one for each reader, on the stack")
)]
enum Stored {
    Raw(Extent),
    #[cfg(feature = "zstd")]
    Zstd(Frames),
    #[cfg(all(feature = "zstd", feature = "v2"))]
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
        let storage = self.readable()?;
        let extent = self.extent();
        let stored = match self.encoding() {
            Encoding::Raw => Stored::Raw(extent),
            #[cfg(feature = "zstd")]
            Encoding::Zstd => {
                let expected = self.decoded_length();
                let frames = Frames::open(&source, extent, expected, limits);
                Stored::Zstd(frames.map_err(|error| error.at(self.place()))?)
            }
            #[cfg(all(feature = "zstd", feature = "v2"))]
            Encoding::ZstdSeekable => {
                let declared = self.decoded_length().assured();
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
        while let Some(chunk) = content.next_chunk()? {
            bytes.try_reserve(chunk.len()).map_err(|_| Error::from(OutOfMemory))?;
            bytes.extend_from_slice(chunk);
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
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        let chunk = self.reading.next(&self.source, &mut self.buffer);
        if let Err(error) = &chunk {
            self.failed = Some(match error {
                ReadError::Refused(error) => *error,
                ReadError::Source(_) => Error::misuse(Misuse::Aborted),
            });
        }
        chunk
    }

    /// What has been shown, once everything has been read.
    pub fn verified(&self) -> Option<Verified> {
        self.reading.verified
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
        let Some(hasher) = &mut self.hasher else {
            return Ok(None);
        };
        let place = self.component.place();
        let swapped = self.component.byte_order() == ByteOrder::Big;
        match &mut self.stored {
            Stored::Raw(extent) => {
                let left = extent.length().saturating_sub(self.position);
                let length = usize::try_from(left).unwrap_or(self.chunk).min(self.chunk);
                if length == 0 {
                    return Ok(self.end().map(|()| None)?);
                }
                let at = extent.offset().saturating_add(self.position);
                if !swapped && let Some(lent) = source.bytes_at(at, length) {
                    if lent.len() != length {
                        return Err(Error::misuse(Misuse::Supply).at(place).into());
                    }
                    hasher.update(lent);
                    self.pass(lent)?;
                    return Ok(Some(lent));
                }
                extend(buffer, length)?;
                source.read_at(at, buffer).map_err(ReadError::Source)?;
                hasher.update(buffer);
            }
            #[cfg(feature = "zstd")]
            Stored::Zstd(frames) => {
                // Room for a byte more than is to come: where there is none, nothing would be read.
                let room = usize::try_from(frames.left().saturating_add(1));
                extend(buffer, room.unwrap_or(self.chunk).min(self.chunk))?;
                let mut tap = |bytes: &[u8]| hasher.update(bytes);
                let length =
                    frames.read(source, buffer, &mut tap).map_err(|error| error.at(place))?;
                buffer.truncate(length);
                if length == 0 {
                    return Ok(self.end().map(|()| None)?);
                }
            }
            #[cfg(all(feature = "zstd", feature = "v2"))]
            Stored::Seekable(frames) => {
                // Room for a byte more than is to come, which shows that no more comes.
                let room = usize::try_from(frames.left().saturating_add(1));
                extend(buffer, room.unwrap_or(self.chunk).min(self.chunk))?;
                let length = frames.read(source, buffer).map_err(|error| error.at(place))?;
                buffer.truncate(length);
                // In 2, digests are over what is decoded.
                hasher.update(buffer);
                if length == 0 {
                    return Ok(self.end().map(|()| None)?);
                }
            }
        }
        self.pass(buffer)?;
        if swapped {
            swap(buffer, self.storage.width());
        }
        Ok(Some(buffer))
    }

    /// Validates a chunk, and goes on behind it.
    fn pass(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.validate(chunk)?;
        self.last = chunk.last().copied().unwrap_or(self.last);
        self.position = self.position.saturating_add(u64_from_usize(chunk.len()));
        Ok(())
    }

    /// Validates what only the end shows.
    fn end(&mut self) -> Result<(), Error> {
        self.whole()?;
        self.last_nibble()?;
        let outcome = self.hasher.take().and_then(Hasher::finish);
        let offset = self.component.extent().offset();
        let mismatch = || Error::new(Rule::DigestMismatch, offset).at(self.component.place());
        self.verified = Some(outcome.ok_or_else(mismatch)?);
        Ok(())
    }

    /// Components of 1.x hold whole elements, which only decoding shows where the manifest does
    /// not give their size.
    fn whole(&self) -> Result<(), Error> {
        let unit = self.component.unit().unwrap_or(1);
        let left = self.position.checked_rem(unit).assured();
        if left == 0 || !self.component.dialect().whole_elements {
            return Ok(());
        }
        let error = Error::nowhere(Rule::WholeElements).found(self.position);
        Err(error.at(self.component.place()))
    }

    /// Bools of 1.x are 0 or 1: v1.1 II.4, v1.2 §2.
    fn validate(&self, bytes: &[u8]) -> Result<(), Error> {
        if self.component.dialect().strict_bools && self.storage == StorageType::Bool {
            validate_bools(bytes, self.offset_of(self.position))
                .map_err(|error| error.at(self.component.place()))?;
        }
        Ok(())
    }

    /// The high nibble of the last byte of an odd number of `f4_e2m1` is 0: v2 appendix A.
    fn last_nibble(&self) -> Result<(), Error> {
        let odd = self.component.packed_elements().is_some_and(|count| count & 1 == 1);
        if !odd || self.last < 16 {
            return Ok(());
        }
        let offset = self.position.checked_sub(1).and_then(|last| self.offset_of(last));
        let error = match offset {
            Some(offset) => Error::new(Rule::NibbleValue, offset),
            None => Error::nowhere(Rule::NibbleValue),
        };
        Err(error.found(self.last.into()).at(self.component.place()))
    }
    /// Where in the file a decoded byte is, if it is in the file.
    fn offset_of(&self, position: u64) -> Option<u64> {
        match self.component.encoding() {
            Encoding::Raw => self.component.extent().offset().checked_add(position),
            _ => None,
        }
    }
}

/// Makes `buffer` that long; what is in it will be overwritten.
fn extend(buffer: &mut Vec<u8>, length: usize) -> Result<(), Error> {
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
