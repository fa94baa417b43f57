//! Writing the bytes of an object, component by component.

use core::iter::Copied;
use core::mem::discriminant;
use core::num::NonZeroUsize;
use core::slice::Iter;

use super::blob_sink::BlobSink;
use super::declare::{Declared, DeclaredComponent, NewComponent, NewObject, StoredBlob};
use super::draft::Draft;
use super::sink::Sink;
use super::writer::Writer;
use crate::codec::validate_bools;
use crate::element::StorageType;
use crate::error::{BareError, Error, Location, Misuse, Named};
use crate::index::Layout;
use crate::layout::BadIndex;
use crate::num::{len_u32, u64_from_usize, usize_from_u32};
use crate::rules::Rule;
use crate::verify::Sparse;

impl<S: Sink> Writer<S> {
    /// Begins an object. Its declaration is validated as a reader would validate it, before any byte is written.
    ///
    /// # Errors
    /// Every rule on objects and components that needs no data, `duplicate-name`, and the limits on one object;
    /// [`Misuse::Unfinished`] if the object before has not ended; [`Misuse::Order`] if the canonical form requires
    /// another order; [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn object<'a>(&mut self, object: &NewObject<'a>) -> Result<TensorWriter<'_, 'a, S>, Error> {
        TensorWriter::begin(&mut self.draft, &mut self.file, None, object)
    }

    /// Writes an object whose bytes are in memory. `parts` holds the role and all little-endian bytes of each component
    /// that has bytes, in any order.
    ///
    /// # Errors
    /// The errors of [`object`](Self::object), [`TensorWriter::write_part`] and [`TensorWriter::finish`];
    /// [`Misuse::Parts`] if `parts` are not the components of the object.
    pub fn add_object(
        &mut self,
        object: &NewObject<'_>,
        parts: &[(&str, &[u8])],
    ) -> Result<(), Error> {
        let mut out = self.object(object)?;
        let mut left = parts.len();
        while let Some(role) = out.next_role() {
            let mut own = parts.iter().filter(|(name, _)| *name == role);
            let (Some((_, bytes)), None) = (own.next(), own.next()) else {
                return Err(out.named(BareError::misuse(Misuse::Parts).at(out.location())));
            };
            left = left.saturating_sub(1);
            out.write_part(role, bytes)?;
            if out.next_role() == Some(role) {
                return Err(out.named(BareError::misuse(Misuse::Length).at(out.location())));
            }
        }
        // Components without bytes are complete as soon as they begin, so they are not written.
        let rest = parts.iter().enumerate().filter(|(at, (role, bytes))| {
            let mut before = parts.iter().take(*at);
            bytes.is_empty() && object.has(role) && before.all(|(other, _)| other != role)
        });
        if left > rest.count() {
            return Err(out.named(BareError::misuse(Misuse::Parts).at(out.location())));
        }
        out.finish()
    }
}

/// A writer of the bytes of a tensor. It must be [finished](Self::finish): if it is dropped before, the file cannot be
/// finished. With `std` it is an [`io::Write`](std::io::Write), which takes the little-endian bytes of all components,
/// one component after another.
#[must_use]
pub struct TensorWriter<'w, 'a, S> {
    draft: &'w mut Draft,
    /// The file that the components are written to.
    file: &'w mut BlobSink<S>,
    declared: Declared<'a>,
    sparse: Indices<'a>,
    format: Layout,
    /// The progress of the current component; `None` after the last component.
    stream: Option<Stream<'a>>,
    ordinal: usize,
    /// Whether the finished blobs differ from the entry that was checked at the beginning in more than the value of a digest.
    changed: bool,
    failed: bool,
}

/// The number of bytes that are hashed and written at once.
const PIECE: usize = 256 << 10;

impl<'w, 'a, S: Sink> TensorWriter<'w, 'a, S> {
    /// Begins an object in `file`, which is a shard if a name is given.
    pub(super) fn begin(
        draft: &'w mut Draft,
        file: &'w mut BlobSink<S>,
        shard: Option<&'a str>,
        object: &NewObject<'a>,
    ) -> Result<Self, Error> {
        let begun = Self::begin_bare(draft, file, shard, object);
        begun.map_err(|error| {
            let ordinal = error.location.component().map(usize_from_u32);
            let part = ordinal.and_then(|at| object.components().get(at));
            named(object.name, part.map(NewComponent::role), error.into())
        })
    }

    fn begin_bare(
        draft: &'w mut Draft,
        file: &'w mut BlobSink<S>,
        shard: Option<&'a str>,
        object: &NewObject<'a>,
    ) -> Result<Self, BareError> {
        let declared = draft.declare(object, file.position, shard)?;
        let writing = file.target.writing;
        let (format, parts) = (object.format(writing), &declared.parts);
        let (shape, nnz) = (object.shape.iter().copied(), nnz(format, object.shape, parts));
        let mut sparse = Sparse::new(format, shape, nnz);
        // Rules on all indices together cannot be checked if some indices are stored in a shard already.
        let mut indices = parts.iter().filter(|part| part.role != "values");
        if writing.dialect.facts.single_cells && indices.all(|part| !part.is_stored) {
            sparse.ask_for_single_cells(draft.limits()).map_err(index_error)?;
        }
        let (stream, ordinal, changed, failed) = (None, 0, false, false);
        let mut own =
            Self { draft, file, declared, sparse, format, stream, ordinal, changed, failed };
        own.open()?;
        Ok(own)
    }

    /// Writes the next decoded little-endian bytes of the component `role`, in pieces of any size. Components must be
    /// written in the order in which they were declared.
    ///
    /// # Errors
    /// Any error of the sink; `bool-value`, `nibble-value`, `csr-indptr-…`, `index-range`, and in 2 also `csr-index-order`,
    /// `coo-cell-repeated` and `limit-decoded`; [`Misuse::Length`] for more bytes than were declared; [`Misuse::Order`] if
    /// another component must be written first; [`Misuse::Announced`] if the bytes do not have the declared digest;
    /// [`OutOfMemory`](crate::error::OutOfMemory).
    ///
    /// An error is final: later calls fail with [`Misuse::Aborted`], and the file cannot be finished.
    pub fn write_part(&mut self, role: &str, bytes: &[u8]) -> Result<(), Error> {
        if self.failed {
            return Err(self.named(BareError::misuse(Misuse::Aborted).at(self.location())));
        }
        let (location, written) = (self.location(), self.write_bytes(role, bytes));
        self.failed = written.is_err();
        written.map_err(|error| self.named_at(location, error))
    }

    /// Returns whether the bytes of the current component are only stored: neither hashed, compressed nor validated. A
    /// caller whose memory is shared with other threads must otherwise pass a copy, so that all steps get equal bytes.
    #[doc(hidden)]
    pub fn only_stores(&self) -> bool {
        let is_free = |stream: &Stream<'_>| stream.storage != StorageType::Bool && !stream.odd;
        self.stream.as_ref().is_some_and(is_free) && !self.sparse.asks() && self.file.only_stores()
    }

    /// Returns the role of the component that must be written next, if any bytes are left.
    fn next_role(&self) -> Option<&'a str> {
        self.stream.as_ref().map(|stream| stream.role)
    }

    /// Returns the error with the names of the tensor and the current component.
    #[cold]
    fn named(&self, error: impl Into<Error>) -> Error {
        self.named_at(self.location(), error.into())
    }

    #[cold]
    fn named_at(&self, location: Location, error: Error) -> Error {
        let ordinal = error.location().component().or(location.component());
        let part = ordinal.and_then(|at| self.declared.parts.get(usize_from_u32(at)));
        named(self.declared.name, part.map(|part| part.role), error)
    }

    fn write_bytes(&mut self, role: &str, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let location = self.location();
        let Some(stream) = &mut self.stream else {
            return Err(BareError::misuse(Misuse::Length).at(location).into());
        };
        if stream.role != role {
            return Err(BareError::misuse(Misuse::Order).at(location).into());
        }
        self.file.look_up(bytes);
        let left = stream.left.checked_sub(u64_from_usize(bytes.len()));
        stream.left = left.ok_or(BareError::misuse(Misuse::Length).at(location))?;
        // On one thread, a small piece is hashed and is then still in the processor's cache when it is written. With a
        // hashing thread, both threads read from memory at the same time, so all bytes are passed at once.
        let piece = if self.file.target.hashing_thread { bytes.len() } else { PIECE };
        for piece in bytes.chunks(piece) {
            stream.validate(piece, &mut self.sparse).map_err(|error| error.at(location))?;
            self.file.write_blob(piece)?;
        }
        if stream.left == 0 {
            stream.finish(&mut self.sparse).map_err(|error| error.at(location))?;
            let blob = self.file.end_blob().map_err(|error| error.at(location))?;
            self.stream = None;
            self.note(blob);
            self.open()?;
        }
        Ok(())
    }

    /// Ends the tensor, and adds it to the manifest.
    ///
    /// # Errors
    /// [`Misuse::Length`] if declared bytes are missing; [`Misuse::Aborted`] after an error.
    pub fn finish(self) -> Result<(), Error> {
        let misuse = match (self.failed, &self.stream) {
            (true, _) => Misuse::Aborted,
            (false, Some(_)) => Misuse::Length,
            (false, None) => {
                let name = self.declared.name;
                let ended = self.draft.end(self.declared, self.changed);
                return ended.map_err(|error| named(name, None, error.into()));
            }
        };
        Err(self.named(BareError::misuse(misuse).at(self.location())))
    }

    fn location(&self) -> Location {
        Location::new(Some(self.draft.objects), Some(len_u32(self.ordinal)))
    }

    /// Keeps `blob`, the finished blob of the current component, for the entry of the object.
    fn note(&mut self, blob: StoredBlob) {
        if let Some(part) = self.declared.parts.get_mut(self.ordinal) {
            // Digests of the same algorithm have the same length, so the entry can be changed in place.
            let algorithm = |blob: StoredBlob| blob.digest.as_ref().map(discriminant);
            self.changed |= algorithm(part.blob) != algorithm(blob);
            part.blob.digest = blob.digest;
            self.changed |= part.blob != blob;
            part.blob = blob;
        }
        self.ordinal = self.ordinal.saturating_add(1);
    }

    /// Begins the next component that has bytes. Components before it without bytes are completed, and components that are stored
    /// in a shard already are passed over.
    fn open(&mut self) -> Result<(), BareError> {
        while let Some(part) = self.declared.parts.get(self.ordinal) {
            if part.is_stored {
                self.ordinal = self.ordinal.saturating_add(1);
                continue;
            }
            let DeclaredComponent { role, storage, bytes: left, level, known_sha256, .. } = *part;
            self.file.begin_blob(left, level, known_sha256)?;
            self.sparse.begin(role, storage)?;
            let odd = part.packed && self.is_odd(role);
            let stream = Stream { role, storage, left, part: ([0; 8], 0), odd, last: 0 };
            if left > 0 {
                self.stream = Some(stream);
                return Ok(());
            }
            let location = self.location();
            stream.finish(&mut self.sparse).map_err(|error| error.at(location))?;
            let blob = self.file.note_blob()?;
            self.note(blob);
        }
        Ok(())
    }

    /// Returns whether the component holds an odd number of elements, two a byte.
    fn is_odd(&self, role: &str) -> bool {
        match (self.format, role) {
            // A product is odd only if all factors are odd.
            (Layout::Dense | Layout::Mx, "data") => {
                self.declared.shape.iter().all(|dimension| dimension & 1 == 1)
            }
            (Layout::SparseCsr | Layout::SparseCoo, "values") => {
                self.sparse.nnz().is_some_and(|nnz| nnz & 1 == 1)
            }
            _ => false,
        }
    }
}

/// Returns the error with the names of the tensor and the component that are written.
#[cold]
fn named(tensor: &str, component: Option<&str>, error: Error) -> Error {
    error.named(&Named { tensor: Some(tensor), component, ..Named::default() })
}

#[cfg(feature = "std")]
impl<S: Sink> std::io::Write for TensorWriter<'_, '_, S> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // Without a stream, all declared bytes have been written, and `write_part` rejects further bytes.
        let (role, left) = match &self.stream {
            Some(stream) => (stream.role, stream.left),
            None => ("", u64_from_usize(bytes.len())),
        };
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let (now, _) = bytes.split_at(length);
        self.write_part(role, now)?;
        Ok(length)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns the number of values of a sparse object, computed from the size of its indices. Returns `None` for other layouts, and
/// if the indices are missing.
fn nnz(format: Layout, shape: &[u64], parts: &[DeclaredComponent<'_>]) -> Option<u64> {
    let (role, each) = match format {
        Layout::SparseCsr => ("indices", 1),
        Layout::SparseCoo => ("coords", u64_from_usize(shape.len())),
        _ => return None,
    };
    let indices = parts.iter().find(|part| part.role == role)?;
    indices.bytes.checked_div(indices.storage.width().into())?.checked_div(each)
}

/// The checks of the indices of an object.
type Indices<'a> = Sparse<Copied<Iter<'a, u64>>>;

/// The progress of the component whose bytes are being written.
struct Stream<'a> {
    role: &'a str,
    storage: StorageType,
    /// The number of decoded bytes that are still to be written.
    left: u64,
    /// The first bytes of an index that is split between two calls, and the number of these bytes.
    part: ([u8; 8], usize),
    /// Whether the high nibble of the last byte must be 0.
    odd: bool,
    /// The last byte that was written.
    last: u8,
}

impl Stream<'_> {
    /// Validates `piece` as a reader would.
    fn validate(&mut self, piece: &[u8], sparse: &mut Indices<'_>) -> Result<(), BareError> {
        let rule = (self.storage == StorageType::Bool).then(|| Rule::BoolValue.into());
        validate_bools(piece, None, rule)?;
        if sparse.asks() {
            self.indices(piece, sparse)?;
        }
        self.last = piece.last().copied().unwrap_or(self.last);
        Ok(())
    }

    /// Validates indices in a piece of any number of bytes, which may begin or end within an index.
    fn indices(&mut self, mut piece: &[u8], sparse: &mut Indices<'_>) -> Result<(), BareError> {
        let storage = self.storage;
        let mut validate = |whole: &[u8]| sparse.validate(whole).map_err(index_error);
        let (bytes, held) = &mut self.part;
        let part = bytes.get_mut(..storage.width().into()).ok_or(BareError::internal())?;
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
        let (whole, rest) = whole.ok_or(BareError::internal())?;
        validate(whole)?;
        for (slot, byte) in part.iter_mut().zip(rest) {
            *slot = *byte;
        }
        *held = rest.len();
        Ok(())
    }

    /// Validates, after the last byte of the component, the rules on all of its indices together, and that an unused high nibble
    /// of the last byte is 0.
    fn finish(&self, sparse: &mut Indices<'_>) -> Result<(), BareError> {
        sparse.finish().map_err(index_error)?;
        if self.odd && self.last > 15 {
            return Err(BareError::nowhere(Rule::NibbleValue).found(self.last.into()));
        }
        Ok(())
    }
}

fn index_error(bad: BadIndex) -> BareError {
    BareError::nowhere(bad.kind).found(bad.found)
}
