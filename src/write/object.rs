//! The bytes of one object, component by component.

use core::iter::Copied;
use core::slice::Iter;

use super::blob_sink::BlobSink;
use super::component::{Stored, Stream};
use super::compress::Encoder;
use super::content::{self, Content};
use super::declare::{BlobInShard, NewComponent, NewObject};
use super::draft::Draft;
use super::entry::Written;
use super::sink::{Sink, WriteError};
use super::writer::Writer;
use crate::codec::Sum;
use crate::digest::Spelled;
use crate::error::{Error, Misuse, Place};
use crate::format::{Format, Writing};
use crate::num::{len_u32, u64_from_usize};
use crate::verify::Sparse;

impl<S: Sink> Writer<S> {
    /// Begins an object: what is said of it is validated as a reader would, before anything of it
    /// is written.
    ///
    /// # Errors
    /// Every rule on objects and components that needs no data, `duplicate-name`, and the
    /// limits; [`Misuse::Unfinished`] where an object before has not ended; [`Misuse::Order`]
    /// where canonical form asks for another order; [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn object<'a>(&mut self, object: &NewObject<'a>) -> Result<ObjectWriter<'_, 'a, S>, Error> {
        self.draft.declare(object, self.file.position())?;
        ObjectWriter::begin(&mut self.draft, &mut self.file, None, object)
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
    draft: &'w mut Draft,
    /// What its components are written to, and the name of the shard that it is.
    file: &'w mut BlobSink<S>,
    shard: Option<&'w str>,
    begin: u64,
    object: NewObject<'a>,
    sparse: Sparse<Copied<Iter<'a, u64>>>,
    content: Content<'a>,
    /// The current component; none after the last.
    stream: Option<Stream<'a>>,
    ordinal: usize,
    failed: bool,
}

/// Bytes that are hashed and written in one go.
const PIECE: usize = 256 << 10;

impl<'w, 'a, S: Sink> ObjectWriter<'w, 'a, S> {
    /// Begins an object that has been declared.
    pub(super) fn begin(
        draft: &'w mut Draft,
        file: &'w mut BlobSink<S>,
        shard: Option<&'w str>,
        object: &NewObject<'a>,
    ) -> Result<Self, Error> {
        let (object, target, begin) = (*object, *file.target(), file.position());
        let format = object.format(target.writing);
        let nnz = nnz(&object, target.writing);
        let sparse = Sparse { format, shape: object.shape.iter().copied(), nnz };
        // What indices show together is not validated where some of them do not come.
        let mut indices = object.components().iter().filter(|own| own.role != "values");
        let asked = nnz.filter(|_| indices.all(|own| own.stored.is_none()));
        let content = Content::new(&object, &target, asked, draft.limits())?;
        let (stream, ordinal, failed) = (None, 0, false);
        let mut own =
            Self { draft, file, shard, begin, object, sparse, content, stream, ordinal, failed };
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
        let all = stream.component.bytes(self.file.target().writing);
        if stream.identity.is_some()
            && stream.shared.is_none()
            && all == Some(u64_from_usize(bytes.len()))
        {
            stream.look_up(self.file, bytes);
        }
        let left = stream.left.checked_sub(u64_from_usize(bytes.len()));
        stream.left = left.ok_or(Error::misuse(Misuse::Length).at(stream.place))?;
        for piece in bytes.chunks(PIECE) {
            stream.validate(piece, &mut self.content)?;
            stream.put(self.file, piece)?;
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
        if self.shard.is_some() {
            self.draft.grown(self.file.position().saturating_sub(self.begin));
        }
        Ok(self.draft.ended()?)
    }

    fn place(&self) -> Place {
        Place::new(Some(self.draft.ordinal()), Some(len_u32(self.ordinal)))
    }

    /// Opens the next component that has bytes.
    fn open(&mut self) -> Result<(), Error> {
        while let Some(component) = self.object.components().get(self.ordinal).copied() {
            if let Some(stored) = component.stored {
                self.refer(&component, stored)?;
                continue;
            }
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

    /// Adds the entry of a component that is in a shard already.
    fn refer(
        &mut self,
        component: &NewComponent<'a>,
        stored: &BlobInShard<'a>,
    ) -> Result<(), Error> {
        let writing = self.file.target().writing;
        let BlobInShard { shard, blob } = stored;
        self.draft.component(&Written {
            role: component.role,
            element: component.element(writing),
            digest: blob.digest.and_then(|digest| Spelled::new(&digest)),
            offset: blob.offset,
            length: blob.length,
            decoded: component.bytes(writing).filter(|_| blob.compressed),
            shard: Some(shard),
        })?;
        self.ordinal = self.ordinal.saturating_add(1);
        Ok(())
    }

    /// Adds the entry of a component that is all written.
    fn note(&mut self, stream: Stream<'a>) -> Result<(), Error> {
        let writing = self.file.target().writing;
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
            shard: self.shard,
        };
        self.draft.component(&written)?;
        self.ordinal = self.ordinal.saturating_add(1);
        Ok(())
    }

    fn stream(&self, component: NewComponent<'a>) -> Result<Stream<'a>, Error> {
        let place = self.place();
        // All of this has been validated.
        let impossible = Error::misuse(Misuse::Length).at(place);
        let target = self.file.target();
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
            offset: self.file.position(),
            left,
            stored: Stored::new(target.checksum),
            decoded_sum: writing.digests_decoded,
            check,
            part: ([0; 8], 0),
            encoder: component.level(writing).map(encoder).transpose()?,
            identity: (target.sharing && left > 0).then(Sum::sha256),
            shared: component.announced.and_then(|sha256| self.file.blobs.find(sha256, left)),
            odd: logical.is_packed() && odd(),
            last: 0,
        })
    }

    /// Closes the current component and opens the next.
    fn close(&mut self) -> Result<(), WriteError<S::Error>> {
        if let Some(mut stream) = self.stream.take() {
            stream.settle(&mut self.content)?;
            stream.finish(self.file)?;
            stream.register(self.file).map_err(|error| error.at(stream.place))?;
            self.note(stream)?;
            self.file.pad()?;
        }
        Ok(self.open()?)
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
