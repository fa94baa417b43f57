//! The bytes of one object, component by component.

use core::iter::Copied;
use core::slice::Iter;

use super::compress::Encoder;
use super::content::{self, Content};
use super::declare::{NewComponent, NewObject};
use super::entry::Written;
use super::settings::Checksum;
use super::shared::Shared;
use super::sink::{Sink, WriteError};
use super::writer::Writer;
use crate::codec::Sum;
use crate::codec::validate_bools;
use crate::digest::{Digest, Spelled};
use crate::element::StorageType;
use crate::error::{Error, Misuse, Place};
use crate::format::{Format, Writing};
use crate::layout::BadIndex;
use crate::num::{Assured as _, impossible, len_u32, u64_from_usize};
use crate::rules::Rule;
use crate::verify::{Check, Sparse};

impl<S: Sink> Writer<S> {
    /// Begins an object: what is said of it is validated as a reader would, before anything of it
    /// is written.
    ///
    /// # Errors
    /// Every rule on objects and components that needs no data, `duplicate-name`, and the
    /// limits; [`Misuse::Unfinished`] where an object before has not ended; [`Misuse::Order`]
    /// where canonical form asks for another order; [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn object<'a>(&mut self, object: &NewObject<'a>) -> Result<ObjectWriter<'_, 'a, S>, Error> {
        self.declare(object)?;
        ObjectWriter::begin(self, object)
    }

    /// Writes an object whose bytes are in memory: for each of its components that has bytes,
    /// in their order, its role and all of them, little-endian.
    ///
    /// # Errors
    /// As [`object`](Self::object), [`ObjectWriter::write`] and [`ObjectWriter::end`].
    pub fn add(
        &mut self,
        object: &NewObject<'_>,
        parts: &[(&str, &[u8])],
    ) -> Result<(), WriteError<S::Error>> {
        let mut out = self.object(object)?;
        for (role, bytes) in parts {
            out.write(role, bytes)?;
        }
        Ok(out.end()?)
    }
}

/// Takes the bytes of one object. It must be [ended](Self::end): dropped before, it leaves a
/// file that cannot be finished.
#[must_use]
pub struct ObjectWriter<'w, 'a, S> {
    writer: &'w mut Writer<S>,
    object: NewObject<'a>,
    sparse: Sparse<Copied<Iter<'a, u64>>>,
    content: Content<'a>,
    /// The component at hand; none after the last.
    stream: Option<Stream<'a>>,
    ordinal: usize,
    failed: bool,
}

/// The component at hand.
struct Stream<'a> {
    component: NewComponent<'a>,
    storage: StorageType,
    place: Place,
    offset: u64,
    /// Decoded bytes that are still to come.
    left: u64,
    stored: Stored,
    /// Whether its digest is that of the decoded bytes.
    decoded_sum: bool,
    check: Check<Copied<Iter<'a, u64>>>,
    /// The first bytes of an index whose others are still to come.
    part: ([u8; 8], usize),
    encoder: Option<Encoder>,
    /// The sha256 of what has come, where components share blobs, and the blob that has it all.
    identity: Option<Sum>,
    shared: Option<Shared>,
    /// Whether the last high nibble has to be 0, and the last byte that came.
    odd: bool,
    last: u8,
}

/// Bytes that are hashed and written in one go.
const PIECE: usize = 256 << 10;

impl<'w, 'a, S: Sink> ObjectWriter<'w, 'a, S> {
    fn begin(writer: &'w mut Writer<S>, object: &NewObject<'a>) -> Result<Self, Error> {
        let object = *object;
        let target = writer.target();
        let format = object.format(target.writing);
        let nnz = nnz(&object, target.writing);
        let sparse = Sparse { format, shape: object.shape.iter().copied(), nnz };
        let content = Content::new(&object, target, nnz, writer.draft.limits())?;
        let mut own =
            Self { writer, object, sparse, content, stream: None, ordinal: 0, failed: false };
        own.open()?;
        Ok(own)
    }

    /// Writes some of the decoded little-endian bytes of a component, as many as there are.
    /// Components come in the order in which they were declared.
    ///
    /// # Errors
    /// Whatever the sink fails with. `bool-value`, `csr-indptr-…`, `index-range`.
    /// [`Misuse::Length`] for more bytes than were declared; [`Misuse::Order`] where another
    /// component is to come.
    ///
    /// An error is final, [`Misuse::Aborted`] after it: the file cannot be finished.
    pub fn write(&mut self, role: &str, bytes: &[u8]) -> Result<(), WriteError<S::Error>> {
        if self.failed {
            return Err(Error::misuse(Misuse::Aborted).at(self.place()).into());
        }
        let written = self.write_part(role, bytes);
        self.failed = written.is_err();
        written
    }

    fn write_part(&mut self, role: &str, bytes: &[u8]) -> Result<(), WriteError<S::Error>> {
        if bytes.is_empty() {
            return Ok(());
        }
        let Some(stream) = &mut self.stream else {
            return Err(Error::misuse(Misuse::Length).at(self.place()).into());
        };
        if stream.component.role != role {
            return Err(Error::misuse(Misuse::Order).at(stream.place).into());
        }
        let all = stream.component.bytes(self.writer.target().writing);
        if stream.identity.is_some()
            && stream.shared.is_none()
            && all == Some(u64_from_usize(bytes.len()))
        {
            stream.look_up(self.writer, bytes);
        }
        let left = stream.left.checked_sub(u64_from_usize(bytes.len()));
        stream.left = left.ok_or(Error::misuse(Misuse::Length).at(stream.place))?;
        for piece in bytes.chunks(PIECE) {
            stream.validate(piece, &mut self.content)?;
            stream.put(self.writer, piece)?;
        }
        if stream.left == 0 {
            self.close()?;
        }
        Ok(())
    }

    /// Ends the object.
    ///
    /// # Errors
    /// [`Misuse::Length`] where not all bytes that were declared have come; [`Misuse::Aborted`]
    /// after an error.
    pub fn end(self) -> Result<(), Error> {
        if self.failed {
            return Err(Error::misuse(Misuse::Aborted).at(self.place()));
        }
        if let Some(stream) = &self.stream {
            return Err(Error::misuse(Misuse::Length).at(stream.place));
        }
        self.writer.ended()
    }

    fn place(&self) -> Place {
        Place::new(Some(self.writer.draft.ordinal()), Some(len_u32(self.ordinal)))
    }

    /// Opens the next component that has bytes.
    fn open(&mut self) -> Result<(), Error> {
        while let Some(component) = self.object.components().get(self.ordinal).copied() {
            let stream = self.stream(component)?;
            if stream.left > 0 {
                self.stream = Some(stream);
                return Ok(());
            }
            stream.settle(&mut self.content)?;
            self.note(stream)?;
        }
        Ok(())
    }

    /// Adds the entry of a component that is all written.
    fn note(&mut self, stream: Stream<'a>) -> Result<(), Error> {
        let writing = self.writer.target().writing;
        let decoded = stream.component.bytes(writing);
        let own = stream.component.level(writing).is_some();
        let compressed = stream.shared.map_or(own, |blob| blob.compressed);
        let written = Written {
            role: stream.component.role,
            element: stream.component.element(writing),
            digest: stream.stored.sum.and_then(|sum| Spelled::new(&sum.finish())),
            offset: stream.shared.map_or(stream.offset, |blob| blob.offset),
            length: stream.shared.map_or(stream.stored.length, |blob| blob.length),
            decoded: decoded.filter(|_| compressed),
        };
        self.writer.draft.component(&written)?;
        self.ordinal = self.ordinal.saturating_add(1);
        Ok(())
    }

    fn stream(&self, component: NewComponent<'a>) -> Result<Stream<'a>, Error> {
        let place = self.place();
        // All of this has been validated.
        let impossible = Error::misuse(Misuse::Length).at(place);
        let target = self.writer.target();
        let writing = target.writing;
        let (storage, logical) = component.types(writing).ok_or(impossible)?;
        let left = component.bytes(writing).ok_or(impossible)?;
        let encoder = |level| Encoder::new(level, left, writing.compression);
        let odd = || content::is_odd(&self.object, target, self.sparse.nnz, component.role);
        let check = self.sparse.check(component.role, storage);
        Ok(Stream {
            component,
            storage,
            place,
            offset: self.writer.position(),
            left,
            stored: Stored { length: 0, sum: sum(target.checksum) },
            decoded_sum: writing.digests_decoded,
            check,
            part: ([0; 8], 0),
            encoder: component.level(writing).map(encoder).transpose()?,
            identity: (target.sharing && left > 0).then(Sum::sha256),
            shared: component.announced.and_then(|sha256| self.writer.blobs.find(sha256, left)),
            odd: logical.is_packed() && odd(),
            last: 0,
        })
    }

    /// Closes the component at hand and opens the next.
    fn close(&mut self) -> Result<(), WriteError<S::Error>> {
        if let Some(mut stream) = self.stream.take() {
            stream.settle(&mut self.content)?;
            stream.finish(self.writer)?;
            stream.register(self.writer).map_err(|error| error.at(stream.place))?;
            self.note(stream)?;
            self.writer.pad()?;
        }
        Ok(self.open()?)
    }
}

impl Stream<'_> {
    /// Validates some of the bytes, as a reader will.
    fn validate(&mut self, piece: &[u8], content: &mut Content<'_>) -> Result<(), Error> {
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
    fn settle(&self, content: &mut Content<'_>) -> Result<(), Error> {
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
    fn put<S: Sink>(
        &mut self,
        writer: &mut Writer<S>,
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
        let Some(encoder) = &mut self.encoder else { return stored.write(writer, piece) };
        if !self.decoded_sum {
            return encoder.write(piece, &mut |bytes: &[u8]| stored.write(writer, bytes));
        }
        stored.hash(piece);
        encoder.write(piece, &mut |bytes: &[u8]| stored.put(writer, bytes))
    }

    /// Looks for a blob that holds just those bytes, which are all that are to come.
    fn look_up<S>(&mut self, writer: &Writer<S>, bytes: &[u8]) {
        let mut sum = Sum::sha256();
        sum.update(bytes);
        if let Digest::Sha256(identity) = sum.finish() {
            self.shared = writer.blobs.find(&identity, self.left);
        }
    }

    /// Holds what has come against what was announced, and remembers the blob.
    fn register<S: Sink>(&mut self, writer: &mut Writer<S>) -> Result<(), Error> {
        let Some(Digest::Sha256(identity)) = self.identity.take().map(Sum::finish) else {
            return Ok(());
        };
        if self.component.announced.is_some_and(|announced| *announced != identity) {
            return Err(Error::misuse(Misuse::Announced));
        }
        if self.shared.is_some() {
            return Ok(());
        }
        let target = writer.target();
        let decoded = self.component.bytes(target.writing).unwrap_or_default();
        if writer.blobs.find(&identity, decoded).is_some() {
            // It has been written a second time, which canonical form does not allow.
            return if target.canonical { Err(Error::misuse(Misuse::Announced)) } else { Ok(()) };
        }
        let compressed = self.component.level(target.writing).is_some();
        let (offset, length) = (self.offset, self.stored.length);
        Ok(writer.blobs.add(Shared { identity, offset, length, decoded, compressed })?)
    }

    /// Stores what is held back.
    fn finish<S: Sink>(&mut self, writer: &mut Writer<S>) -> Result<(), WriteError<S::Error>> {
        if self.shared.is_some() {
            return Ok(());
        }
        if let Some(encoder) = self.encoder.take() {
            let (stored, decoded_sum) = (&mut self.stored, self.decoded_sum);
            return encoder.finish(&mut |bytes: &[u8]| {
                if decoded_sum { stored.put(writer, bytes) } else { stored.write(writer, bytes) }
            });
        }
        Ok(())
    }
}

/// The stored bytes of a component: how many, and the digest of them or of what they decode to.
struct Stored {
    length: u64,
    sum: Option<Sum>,
}

/// The digest of that kind, of nothing so far.
fn sum(checksum: Checksum) -> Option<Sum> {
    match checksum {
        Checksum::None => None,
        Checksum::Crc32c => Some(Sum::crc32c()),
        Checksum::Sha256 => Some(Sum::sha256()),
        #[cfg(feature = "v2")]
        Checksum::Xxh3 => Some(Sum::xxh3()),
    }
}

impl Stored {
    fn hash(&mut self, bytes: &[u8]) {
        if let Some(sum) = &mut self.sum {
            sum.update(bytes);
        }
    }

    fn put<S: Sink>(
        &mut self,
        writer: &mut Writer<S>,
        bytes: &[u8],
    ) -> Result<(), WriteError<S::Error>> {
        self.length = self.length.saturating_add(u64_from_usize(bytes.len()));
        writer.put(bytes)
    }

    /// Stores bytes whose digest it is.
    fn write<S: Sink>(
        &mut self,
        writer: &mut Writer<S>,
        bytes: &[u8],
    ) -> Result<(), WriteError<S::Error>> {
        self.hash(bytes);
        self.put(writer, bytes)
    }
}

/// How many values a sparse object has, by its indices.
fn nnz(object: &NewObject<'_>, writing: &Writing) -> Option<u64> {
    let (role, each) = match object.format(writing) {
        Format::SparseCsr => ("indices", 1),
        Format::SparseCoo => ("coords", u64_from_usize(object.shape.len())),
        _ => return None,
    };
    let indices = object.components().iter().find(|component| component.role == role)?;
    indices.stored_elements(writing)?.checked_div(each)
}
