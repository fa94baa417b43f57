//! The bytes of one object, component by component.

use core::iter::Copied;
use core::slice::Iter;

use super::blob_sink::{BlobSink, NewBlob};
use super::component::Stream;
use super::declare::{BlobInShard, NewObject, Resolved, StoredBlob};
use super::draft::Draft;
use super::entry::Written;
use super::sink::{Sink, WriteError};
use super::writer::Writer;
use crate::digest::Spelled;
use crate::error::{Error, Misuse, Place};
use crate::format::{Format, Writing};
use crate::layout::BadIndex;
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
        let mut sparse = Sparse::new(format, object.shape.iter().copied(), nnz);
        // What indices show together is not validated where some of them do not come.
        let mut indices = object.components().iter().filter(|own| own.role != "values");
        if target.writing.dialect.single_cells && indices.all(|own| own.stored.is_none()) {
            let over = |over: BadIndex| Error::nowhere(over.kind).found(over.found);
            sparse.ask_for_single_cells(draft.limits()).map_err(over)?;
        }
        let (stream, ordinal, failed) = (None, 0, false);
        let mut own = Self { draft, file, shard, begin, object, sparse, stream, ordinal, failed };
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
        if stream.role != role {
            return Err(Error::misuse(Misuse::Order).at(stream.place).into());
        }
        self.file.look_up(bytes);
        let left = stream.left.checked_sub(u64_from_usize(bytes.len()));
        stream.left = left.ok_or(Error::misuse(Misuse::Length).at(stream.place))?;
        for piece in bytes.chunks(PIECE) {
            stream.validate(piece, &mut self.sparse)?;
            self.file.write_blob(piece)?;
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
        self.draft.ended()
    }

    fn place(&self) -> Place {
        Place::new(Some(self.draft.ordinal()), Some(len_u32(self.ordinal)))
    }

    /// Opens the next component that has bytes.
    fn open(&mut self) -> Result<(), Error> {
        while let Some(component) = self.object.components().get(self.ordinal) {
            let (role, stored) = (component.role, component.stored);
            let (writing, place) = (self.file.target().writing, self.place());
            // All of this has been validated.
            let impossible = Error::misuse(Misuse::Length).at(place);
            let resolved = component.resolve(writing).ok_or(impossible)?;
            if let Some(BlobInShard { shard, blob }) = stored {
                self.note(role, &resolved, blob, Some(shard))?;
                continue;
            }
            let left = resolved.bytes.ok_or(impossible)?;
            let (level, announced) = (resolved.level, component.announced);
            self.file.begin_blob(&NewBlob { bytes: left, level, announced })?;
            self.sparse.begin(role, resolved.storage)?;
            let nnz = self.sparse.nnz();
            let odd = resolved.logical.is_packed() && is_odd(&self.object, writing, nnz, role);
            let (part, last) = (([0; 8], 0), 0);
            let stream = Stream { role, resolved, place, left, part, odd, last };
            if left > 0 {
                self.stream = Some(stream);
                return Ok(());
            }
            stream.settle(&mut self.sparse)?;
            let blob = self.file.note_blob()?;
            self.note(role, &resolved, &blob, self.shard)?;
        }
        Ok(())
    }

    /// Adds the entry of a component whose bytes are there.
    fn note(
        &mut self,
        role: &str,
        resolved: &Resolved<'_>,
        blob: &StoredBlob,
        shard: Option<&str>,
    ) -> Result<(), Error> {
        self.draft.component(&Written {
            role,
            element: resolved.element,
            storage: resolved.storage,
            digest: blob.digest.and_then(|digest| Spelled::new(&digest)),
            offset: blob.offset,
            length: blob.length,
            decoded: resolved.bytes.filter(|_| blob.compressed),
            shard,
        })?;
        self.ordinal = self.ordinal.saturating_add(1);
        Ok(())
    }

    /// Closes the current component and opens the next.
    fn close(&mut self) -> Result<(), WriteError<S::Error>> {
        if let Some(stream) = &self.stream {
            stream.settle(&mut self.sparse)?;
            let blob = self.file.end_blob().map_err(|error| error.at(stream.place))?;
            let (role, resolved) = (stream.role, stream.resolved);
            self.note(role, &resolved, &blob, self.shard)?;
            self.stream = None;
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
    indices.resolve(writing)?.stored_elements()?.checked_div(each)
}

/// Whether a component of an object of `nnz` values holds an odd number of elements, two a byte.
fn is_odd(object: &NewObject<'_>, writing: &Writing, nnz: Option<u64>, role: &str) -> bool {
    let count = match (object.format(writing), role) {
        (Format::Dense | Format::Mx, "data") => {
            // An odd product has odd factors only.
            return object.shape.iter().all(|dimension| dimension & 1 == 1);
        }
        (Format::SparseCsr | Format::SparseCoo, "values") => nnz,
        _ => None,
    };
    count.is_some_and(|count| count & 1 == 1)
}
