//! The bytes of one object, component by component.

use core::iter::Copied;
use core::mem::discriminant;
use core::num::NonZeroUsize;
use core::slice::Iter;

use super::blob_sink::BlobSink;
use super::declare::{Declared, NewObject, Part, StoredBlob};
use super::draft::Draft;
use super::sink::{Sink, WriteError};
use super::writer::Writer;
use crate::codec::validate_bools;
use crate::element::StorageType;
use crate::error::{Error, Misuse, Place};
use crate::format::Format;
use crate::layout::BadIndex;
use crate::num::{len_u32, u64_from_usize};
use crate::rules::Rule;
use crate::verify::Sparse;

impl<S: Sink> Writer<S> {
    /// Begins an object: what is said of it is validated as a reader would, before anything of it
    /// is written.
    ///
    /// # Errors
    /// Every rule on objects and components that needs no data, `duplicate-name`, and the
    /// limits on one object; [`Misuse::Unfinished`] where an object before has not ended; [`Misuse::Order`]
    /// where canonical form asks for another order; [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn object<'a>(&mut self, object: &NewObject<'a>) -> Result<ObjectWriter<'_, 'a, S>, Error> {
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
    /// The file that its components are written to.
    file: &'w mut BlobSink<S>,
    declared: Declared<'a>,
    sparse: Indices<'a>,
    format: Format,
    /// The current component; none after the last.
    stream: Option<Stream<'a>>,
    ordinal: usize,
    /// True if more than the digest of a blob is other than was expected.
    changed: bool,
    failed: bool,
}

/// Bytes that are hashed and written in one go.
const PIECE: usize = 256 << 10;

impl<'w, 'a, S: Sink> ObjectWriter<'w, 'a, S> {
    /// Begins an object in a file, which is the shard of that name if there is one.
    pub(super) fn begin(
        draft: &'w mut Draft,
        file: &'w mut BlobSink<S>,
        shard: Option<&'a str>,
        object: &NewObject<'a>,
    ) -> Result<Self, Error> {
        let declared = draft.declare(object, file.position, shard)?;
        let writing = file.target.writing;
        let (format, parts) = (object.format(writing), &declared.parts);
        let (shape, nnz) = (object.shape.iter().copied(), nnz(format, object.shape, parts));
        let mut sparse = Sparse::new(format, shape, nnz);
        // What indices show together is not validated where some of them do not come.
        let mut indices = parts.iter().filter(|part| part.role != "values");
        if writing.dialect.single_cells && indices.all(|part| !part.is_stored) {
            sparse.ask_for_single_cells(draft.limits()).map_err(bad)?;
        }
        let (stream, ordinal, changed, failed) = (None, 0, false, false);
        let mut own =
            Self { draft, file, declared, sparse, format, stream, ordinal, changed, failed };
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
        let place = self.place();
        let Some(stream) = &mut self.stream else {
            return Err(Error::misuse(Misuse::Length).at(place).into());
        };
        if stream.role != role {
            return Err(Error::misuse(Misuse::Order).at(place).into());
        }
        self.file.look_up(bytes);
        let left = stream.left.checked_sub(u64_from_usize(bytes.len()));
        stream.left = left.ok_or(Error::misuse(Misuse::Length).at(place))?;
        for piece in bytes.chunks(PIECE) {
            stream.validate(piece, &mut self.sparse).map_err(|error| error.at(place))?;
            self.file.write_blob(piece)?;
        }
        if stream.left == 0 {
            stream.finish(&mut self.sparse).map_err(|error| error.at(place))?;
            let blob = self.file.end_blob().map_err(|error| error.at(place))?;
            self.stream = None;
            self.note(blob);
            self.open()?;
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
        if self.stream.is_some() {
            return Err(Error::misuse(Misuse::Length).at(self.place()));
        }
        self.draft.end(self.declared, self.changed)
    }

    fn place(&self) -> Place {
        Place::new(Some(self.draft.objects), Some(len_u32(self.ordinal)))
    }

    /// Notes where the current component is.
    fn note(&mut self, blob: StoredBlob) {
        if let Some(part) = self.declared.parts.get_mut(self.ordinal) {
            // Digests of one algorithm have one length.
            let algorithm = |blob: StoredBlob| blob.digest.as_ref().map(discriminant);
            self.changed |= algorithm(part.blob) != algorithm(blob);
            part.blob.digest = blob.digest;
            self.changed |= part.blob != blob;
            part.blob = blob;
        }
        self.ordinal = self.ordinal.saturating_add(1);
    }

    /// Opens the next component that has bytes.
    fn open(&mut self) -> Result<(), Error> {
        while let Some(part) = self.declared.parts.get(self.ordinal) {
            if part.is_stored {
                self.ordinal = self.ordinal.saturating_add(1);
                continue;
            }
            let Part { role, storage, bytes: left, level, announced, .. } = *part;
            self.file.begin_blob(left, level, announced)?;
            self.sparse.begin(role, storage)?;
            let odd = part.packed && self.is_odd(role);
            let stream = Stream { role, storage, left, part: ([0; 8], 0), odd, last: 0 };
            if left > 0 {
                self.stream = Some(stream);
                return Ok(());
            }
            let place = self.place();
            stream.finish(&mut self.sparse).map_err(|error| error.at(place))?;
            let blob = self.file.note_blob()?;
            self.note(blob);
        }
        Ok(())
    }

    /// Returns whether a component holds an odd number of elements, two a byte.
    fn is_odd(&self, role: &str) -> bool {
        match (self.format, role) {
            // An odd product has odd factors only.
            (Format::Dense | Format::Mx, "data") => {
                self.declared.shape.iter().all(|dimension| dimension & 1 == 1)
            }
            (Format::SparseCsr | Format::SparseCoo, "values") => {
                self.sparse.nnz().is_some_and(|nnz| nnz & 1 == 1)
            }
            _ => false,
        }
    }
}

/// The number of values of a sparse object, by its indices.
fn nnz(format: Format, shape: &[u64], parts: &[Part<'_>]) -> Option<u64> {
    let (role, each) = match format {
        Format::SparseCsr => ("indices", 1),
        Format::SparseCoo => ("coords", u64_from_usize(shape.len())),
        _ => return None,
    };
    let indices = parts.iter().find(|part| part.role == role)?;
    indices.bytes.checked_div(indices.storage.width().into())?.checked_div(each)
}

/// The indices of an object.
type Indices<'a> = Sparse<Copied<Iter<'a, u64>>>;

/// The current component.
struct Stream<'a> {
    role: &'a str,
    storage: StorageType,
    /// Decoded bytes that are still to come.
    left: u64,
    /// The first bytes of an index whose others are still to come.
    part: ([u8; 8], usize),
    /// True if the last high nibble has to be 0.
    odd: bool,
    /// The last byte that came.
    last: u8,
}

impl Stream<'_> {
    /// Validates some of the bytes, as a reader will.
    fn validate(&mut self, piece: &[u8], sparse: &mut Indices<'_>) -> Result<(), Error> {
        let rule = (self.storage == StorageType::Bool).then(|| Rule::BoolValue.into());
        validate_bools(piece, None, rule)?;
        if sparse.asks() {
            self.indices(piece, sparse)?;
        }
        self.last = piece.last().copied().unwrap_or(self.last);
        Ok(())
    }

    /// Validates indices, of which any number of bytes may have come.
    fn indices(&mut self, mut piece: &[u8], sparse: &mut Indices<'_>) -> Result<(), Error> {
        let storage = self.storage;
        let mut validate = |whole: &[u8]| sparse.validate(whole).map_err(bad);
        let (bytes, held) = &mut self.part;
        let part = bytes.get_mut(..storage.width().into()).ok_or(Error::internal())?;
        if *held > 0 {
            for slot in part.iter_mut().skip(*held) {
                let Some((byte, rest)) = piece.split_first() else { return Ok(()) };
                *slot = *byte;
                *held = held.saturating_add(1);
                piece = rest;
            }
            validate(part)?;
        }
        let rest = piece.len() % NonZeroUsize::from(storage.divisor());
        let whole = piece.split_at_checked(piece.len().saturating_sub(rest));
        let (whole, rest) = whole.ok_or(Error::internal())?;
        validate(whole)?;
        for (slot, byte) in part.iter_mut().zip(rest) {
            *slot = *byte;
        }
        *held = rest.len();
        Ok(())
    }

    /// Validates what only the last byte shows.
    fn finish(&self, sparse: &mut Indices<'_>) -> Result<(), Error> {
        sparse.finish().map_err(bad)?;
        if self.odd && self.last > 15 {
            return Err(Error::nowhere(Rule::NibbleValue).found(self.last.into()));
        }
        Ok(())
    }
}

fn bad(bad: BadIndex) -> Error {
    Error::nowhere(bad.kind).found(bad.found)
}
