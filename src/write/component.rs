//! The bytes of one component: validated, hashed, compressed, stored.

use core::iter::Copied;
use core::slice::Iter;

use super::blob_sink::BlobSink;
use super::compress::Encoder;
use super::content::Content;
use super::declare::NewComponent;
use super::settings::Checksum;
use super::shared::Shared;
use super::sink::{Sink, WriteError};
use crate::codec::{Sum, validate_bools};
use crate::digest::Digest;
use crate::element::StorageType;
use crate::error::{Error, Misuse, Place};
use crate::layout::BadIndex;
use crate::num::{Assured as _, impossible, u64_from_usize};
use crate::rules::Rule;
use crate::verify::Check;

/// The current component.
pub(super) struct Stream<'a> {
    pub(super) component: NewComponent<'a>,
    pub(super) storage: StorageType,
    pub(super) place: Place,
    pub(super) offset: u64,
    /// Decoded bytes that are still to come.
    pub(super) left: u64,
    pub(super) stored: Stored,
    /// Whether its digest is that of the decoded bytes.
    pub(super) decoded_sum: bool,
    pub(super) check: Check<Copied<Iter<'a, u64>>>,
    /// The first bytes of an index whose others are still to come.
    pub(super) part: ([u8; 8], usize),
    pub(super) encoder: Option<Encoder>,
    /// The sha256 of what has come, where components share blobs, and the blob that has it all.
    pub(super) identity: Option<Sum>,
    pub(super) shared: Option<Shared>,
    /// Whether the last high nibble has to be 0, and the last byte that came.
    pub(super) odd: bool,
    pub(super) last: u8,
}

impl Stream<'_> {
    /// Validates some of the bytes, as a reader will.
    pub(super) fn validate(
        &mut self,
        piece: &[u8],
        content: &mut Content<'_>,
    ) -> Result<(), Error> {
        if self.storage == StorageType::Bool {
            validate_bools(piece, None).map_err(|error| error.at(self.place))?;
        }
        if self.check.asks() {
            self.indices(piece, content)?;
        }
        self.last = piece.last().copied().unwrap_or(self.last);
        Ok(())
    }

    /// Validates indices, of which any number of bytes may have come.
    fn indices(&mut self, mut piece: &[u8], content: &mut Content<'_>) -> Result<(), Error> {
        let (place, role, storage) = (self.place, self.component.role, self.storage);
        let check = &mut self.check;
        let mut validate = |whole: &[u8]| {
            let bad = |bad: BadIndex| Error::nowhere(bad.rule).found(bad.found);
            let checked = check.validate(whole).map_err(bad);
            checked
                .and_then(|()| content.add(role, storage, whole))
                .map_err(|error| error.at(place))
        };
        let width = usize::from(storage.width());
        let (part, held) = &mut self.part;
        while *held > 0 && *held < width {
            let Some((byte, rest)) = piece.split_first() else { return Ok(()) };
            if let Some(slot) = part.get_mut(*held) {
                *slot = *byte;
            } else {
                impossible();
            }
            *held = held.saturating_add(1);
            piece = rest;
        }
        if *held > 0 {
            validate(part.get(..width).assured())?;
            *held = 0;
        }
        let whole = piece.len().saturating_sub(piece.len().checked_rem(width).assured());
        let (whole, rest) = piece.split_at_checked(whole).assured();
        validate(whole)?;
        for (slot, byte) in part.iter_mut().zip(rest) {
            *slot = *byte;
        }
        *held = rest.len();
        Ok(())
    }

    /// Validates what only the last byte shows.
    pub(super) fn settle(&self, content: &mut Content<'_>) -> Result<(), Error> {
        let bad = |bad: BadIndex| Error::nowhere(bad.rule).found(bad.found);
        let checked = self.check.finish().map_err(bad);
        let checked = checked.and_then(|()| content.finish(self.component.role));
        checked.map_err(|error| error.at(self.place))?;
        if self.odd && self.last > 15 {
            let error = Error::nowhere(Rule::NibbleValue).found(self.last.into());
            return Err(error.at(self.place));
        }
        Ok(())
    }

    /// Stores some of the bytes, as they are or compressed.
    pub(super) fn put<S: Sink>(
        &mut self,
        file: &mut BlobSink<S>,
        piece: &[u8],
    ) -> Result<(), WriteError<S::Error>> {
        if let Some(identity) = &mut self.identity {
            identity.update(piece);
        }
        let stored = &mut self.stored;
        if self.shared.is_some() {
            // What there is in the file already. Its digest is that of decoded bytes.
            stored.hash(piece);
            return Ok(());
        }
        let Some(encoder) = &mut self.encoder else { return stored.write(file, piece) };
        if !self.decoded_sum {
            return encoder.write(piece, &mut |bytes: &[u8]| stored.write(file, bytes));
        }
        stored.hash(piece);
        encoder.write(piece, &mut |bytes: &[u8]| stored.put(file, bytes))
    }

    /// Looks for a blob that holds just those bytes, which are all that are to come.
    pub(super) fn look_up<S>(&mut self, file: &BlobSink<S>, bytes: &[u8]) {
        let mut sum = Sum::sha256();
        sum.update(bytes);
        if let Digest::Sha256(identity) = sum.finish() {
            self.shared = file.blobs.find(&identity, self.left);
        }
    }

    /// Holds what has come against what was announced, and remembers the blob.
    pub(super) fn register<S: Sink>(&mut self, file: &mut BlobSink<S>) -> Result<(), Error> {
        let Some(Digest::Sha256(identity)) = self.identity.take().map(Sum::finish) else {
            return Ok(());
        };
        if self.component.announced.is_some_and(|announced| *announced != identity) {
            return Err(Error::misuse(Misuse::Announced));
        }
        if self.shared.is_some() {
            return Ok(());
        }
        let target = *file.target();
        let decoded = self.component.bytes(target.writing).unwrap_or_default();
        if file.blobs.find(&identity, decoded).is_some() {
            // It has been written a second time, which canonical form does not allow.
            return if target.canonical { Err(Error::misuse(Misuse::Announced)) } else { Ok(()) };
        }
        let compressed = self.component.level(target.writing).is_some();
        let (offset, length) = (self.offset, self.stored.length);
        Ok(file.blobs.add(Shared { identity, offset, length, decoded, compressed })?)
    }

    /// Stores what is held back.
    pub(super) fn finish<S: Sink>(
        &mut self,
        file: &mut BlobSink<S>,
    ) -> Result<(), WriteError<S::Error>> {
        if self.shared.is_some() {
            return Ok(());
        }
        if let Some(encoder) = self.encoder.take() {
            let (stored, decoded_sum) = (&mut self.stored, self.decoded_sum);
            return encoder.finish(&mut |bytes: &[u8]| {
                if decoded_sum { stored.put(file, bytes) } else { stored.write(file, bytes) }
            });
        }
        Ok(())
    }
}

/// The stored bytes of a component: how many, and the digest of them or of what they decode to.
pub(super) struct Stored {
    pub(super) length: u64,
    pub(super) sum: Option<Sum>,
}

/// The digest of that kind, of nothing so far.
pub(super) fn sum(checksum: Checksum) -> Option<Sum> {
    match checksum {
        Checksum::None => None,
        Checksum::Crc32c => Some(Sum::crc32c()),
        Checksum::Sha256 => Some(Sum::sha256()),
        #[cfg(feature = "v2")]
        Checksum::Xxh3 => Some(Sum::xxh3()),
    }
}

impl core::fmt::Debug for Stored {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Stored").field("length", &self.length).finish_non_exhaustive()
    }
}

impl Stored {
    pub(super) fn new(checksum: Checksum) -> Self {
        Self { length: 0, sum: sum(checksum) }
    }

    fn hash(&mut self, bytes: &[u8]) {
        if let Some(sum) = &mut self.sum {
            sum.update(bytes);
        }
    }

    pub(super) fn put<S: Sink>(
        &mut self,
        file: &mut BlobSink<S>,
        bytes: &[u8],
    ) -> Result<(), WriteError<S::Error>> {
        self.length = self.length.saturating_add(u64_from_usize(bytes.len()));
        file.put(bytes)
    }

    /// Stores bytes whose digest it is.
    pub(super) fn write<S: Sink>(
        &mut self,
        file: &mut BlobSink<S>,
        bytes: &[u8],
    ) -> Result<(), WriteError<S::Error>> {
        self.hash(bytes);
        self.put(file, bytes)
    }
}
