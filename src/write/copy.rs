//! Writing what a file of any generation holds as 1.2.
//!
//! | in the file | written |
//! | --- | --- |
//! | 1.1 dtypes `f8_e4m3`, `f8_e5m2`, `complex64`, `complex128` | `type` on `u8`, `f32`, `f64` |
//! | index components of other integer types | `u64` |
//! | 0.1 bools other than 0 and 1 | 1 |
//! | big-endian elements (0.1) | little-endian |
//! | zstd, or not; digests | as is asked for |
//! | fields that are not known | in 0.1, attributes of the object; else left out |

use alloc::vec::Vec;
use core::fmt;

use super::compress::Level;
use super::declare::{Encoded, NewComponent, NewObject};
use super::object::ObjectWriter;
use super::settings::Settings;
use super::sink::{Sink, WriteError};
use super::writer::Writer;
use crate::cbor::Output;
use crate::codec::{ReadAt, ReadError, Single};
use crate::element::{ByteOrder, StorageType};
use crate::error::{Error, ErrorKind, OutOfMemory, Place};
use crate::format::Format;
use crate::format::v1::RootKey;
use crate::layout::Widened;
use crate::limits::Limits;
use crate::manifest::{Component, ElementType, Manifest, Object};
use crate::num::{Assured as _, u64_from_usize, usize_from_u32};
use crate::rules::{Limit, Rule};
use crate::sort::by_length;
use crate::verify::{Verifier, foreign};

/// Why an object could not be copied: it could not be read, or not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyError<R, W> {
    /// The source failed, or what is in it was refused.
    Read(ReadError<R>),
    /// The sink failed, or the call was wrong.
    Write(WriteError<W>),
    /// The source is valid, and has something that cannot be written as 1.2.
    Inexpressible(Inexpressible),
}

/// What a valid file has, and a 1.2 file, or a canonical one, cannot have. `Display` tells what it
/// is, and its place in the source in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inexpressible(Error);

impl Inexpressible {
    /// The rule that the written file would break, or the limit that it would go beyond. The place
    /// is that in the source.
    pub fn error(&self) -> Error {
        self.0
    }

    /// What it is, without the place.
    pub fn sentence(&self) -> impl fmt::Display + use<> {
        Sentence(self.0)
    }
}

impl fmt::Display for Inexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)?;
        let place = self.0.place();
        if let Some(object) = place.object() {
            write!(f, " in object {object}")?;
        }
        match place.component() {
            Some(component) => write!(f, ", component {component}"),
            None => Ok(()),
        }
    }
}

struct Sentence(Error);

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it can be read, and not be written: ")?;
        match self.0.kind() {
            ErrorKind::Malformed(Rule::LogicalTypeStorage) => {
                f.write_str("the dtype is a `type` in 1.2, and there is another `type` already")
            }
            ErrorKind::Malformed(Rule::DuplicateKey) => {
                f.write_str("an attribute with a key that stands twice has no canonical form")
            }
            ErrorKind::Malformed(Rule::QuantizedZeros) => {
                f.write_str("the object has no `zeros`, which 1.2 asks for")
            }
            ErrorKind::Limit(Limit::Depth) => {
                f.write_str("a field becomes an attribute, which would be nested too deep")
            }
            kind => {
                let id = kind.row().map_or("", |row| row.id);
                write!(f, "in 1.2, {} ({id})", self.0.sentence())
            }
        }
    }
}

impl<R, W> From<ReadError<R>> for CopyError<R, W> {
    fn from(error: ReadError<R>) -> Self {
        Self::Read(error)
    }
}

/// What the writer refuses has been accepted by the reader.
impl<R, W> From<WriteError<W>> for CopyError<R, W> {
    fn from(error: WriteError<W>) -> Self {
        match error {
            WriteError::Refused(error) if error.kind().row().is_some() => {
                Self::Inexpressible(Inexpressible(error))
            }
            other => Self::Write(other),
        }
    }
}

impl<R, W> From<Error> for CopyError<R, W> {
    fn from(error: Error) -> Self {
        Self::Read(ReadError::Refused(error))
    }
}

impl<R: fmt::Display, W: fmt::Display> fmt::Display for CopyError<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Write(error) => error.fmt(f),
            Self::Inexpressible(error) => error.fmt(f),
        }
    }
}

impl<R, W> core::error::Error for CopyError<R, W>
where
    R: core::error::Error + 'static,
    W: core::error::Error + 'static,
{
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Read(error) => error.source(),
            Self::Write(error) => error.source(),
            Self::Inexpressible(Inexpressible(error)) => Some(error),
        }
    }
}

/// Copies objects of one file, validating all that it reads as a [`Verifier`] does.
///
/// ```
/// # let file = &std::fs::read("corpus/accept/1.2.3/coo_zstd_crc.zt").unwrap()[..];
/// use zten::write::{Copier, Settings};
/// let archive = zten::Archive::open(file)?;
/// let copier = Copier::new(file.len() as u64, &zten::Limits::default());
/// let copy = copier.file(archive.manifest(), file, Vec::new(), &Settings::default().canonical());
/// let options = zten::Options::default().canonical();
/// zten::Archive::open_with(&copy.unwrap(), &options)?;
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Copier {
    verifier: Verifier,
    level: Option<Level>,
}

impl Copier {
    /// Copies from a file of `file_len` bytes, within limits.
    pub fn new(file_len: u64, limits: &Limits) -> Self {
        Self { verifier: Verifier::new(file_len, limits), level: None }
    }

    /// Compresses all components on the way.
    #[cfg(feature = "zstd")]
    #[must_use]
    pub fn compressed(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Writes all of a file: its attributes, and its objects in their order; in canonical form,
    /// in the order that this asks for.
    ///
    /// # Errors
    /// As [`object`](Self::object).
    pub fn file<R: ReadAt + ?Sized, S: Sink>(
        mut self,
        manifest: &Manifest<impl AsRef<[u8]>>,
        source: &R,
        sink: S,
        settings: &Settings,
    ) -> Result<S, CopyError<R::Error, S::Error>> {
        let manifest = manifest.parts();
        let mut writer = Writer::new(sink, settings)?;
        let fields = manifest.fields();
        if let Some(item) = fields.and_then(|fields| fields.item(RootKey::attributes.field().key()))
        {
            let attributes = Encoded::from_cbor(copied(item.as_bytes())?);
            writer.attributes(&attributes).map_err(WriteError::Refused)?;
        }
        let mut order = Vec::new();
        order
            .try_reserve_exact(usize_from_u32(manifest.len()))
            .map_err(|_| Error::from(OutOfMemory))?;
        order.extend(0..manifest.len());
        if settings.is_canonical() {
            by_length(&mut order, |ordinal| manifest.name(ordinal)).map_err(no_memory)?;
        }
        for object in order.into_iter().filter_map(|ordinal| manifest.object(ordinal)) {
            self.object(&object, source, &mut writer)?;
        }
        Ok(writer.finish()?)
    }

    /// Writes one object. What [`Verifier::object`] refuses is not copied.
    ///
    /// # Errors
    /// Any rule on content, what is unsupported, and whatever source and sink fail with; what
    /// keeps the object from being a 1.2 one.
    pub fn object<R: ReadAt + ?Sized, S: Sink>(
        &mut self,
        object: &Object<'_>,
        source: &R,
        writer: &mut Writer<S>,
    ) -> Result<(), CopyError<R::Error, S::Error>> {
        foreign(object)?;
        let sparse = self.verifier.sparse(object, Single(source))?;
        let mut parts = Vec::new();
        let count = object.components().len();
        parts.try_reserve_exact(count).map_err(|_| Error::from(OutOfMemory))?;
        parts.extend(object.components());
        if writer.target().canonical {
            by_length(&mut parts, |part: Component<'_>| part.role_bytes()).map_err(no_memory)?;
        }
        let mut components = Vec::new();
        components.try_reserve_exact(count).map_err(|_| Error::from(OutOfMemory))?;
        for part in &parts {
            components.push(self.component(object, part, source)?);
        }
        let mut shape = Vec::new();
        let rank = usize_from_u32(object.shape().rank());
        shape.try_reserve_exact(rank).map_err(|_| Error::from(OutOfMemory))?;
        for dimension in object.shape() {
            shape.push(dimension);
        }
        let attributes = attributes(object)?;
        let mut new = NewObject::custom(object.name(), &shape, object.format_name(), &components);
        if let Some(attributes) = &attributes {
            new = new.attributes(attributes);
        }
        let own = |error: Error| {
            let ordinal = error.place().component();
            let part = ordinal.and_then(|ordinal| parts.get(usize_from_u32(ordinal)));
            let place = Place::new(Some(object.ordinal()), None);
            error.at(part.map_or(place, Component::place))
        };
        let placed = |error: CopyError<R::Error, S::Error>| match error {
            CopyError::Write(WriteError::Refused(error)) => {
                CopyError::Write(WriteError::Refused(own(error)))
            }
            CopyError::Inexpressible(Inexpressible(error)) => {
                CopyError::Inexpressible(Inexpressible(own(error)))
            }
            other => other,
        };
        let refused = |error| placed(WriteError::Refused(error).into());
        let mut out = writer.object(&new).map_err(refused)?;
        for part in &parts {
            let change = Change::between(object, part);
            let take =
                |chunk: &[u8]| change.write(&mut out, part.role(), chunk).map_err(Into::into);
            self.verifier.component(part, &sparse, source, take).map_err(placed)?;
        }
        out.end().map_err(refused)
    }

    /// What a component becomes.
    fn component<'a, R: ReadAt + ?Sized, W>(
        &self,
        object: &Object<'a>,
        part: &Component<'a>,
        source: &R,
    ) -> Result<NewComponent<'a>, CopyError<R::Error, W>> {
        let storage = part.readable()?;
        if let ElementType::UnknownOnLogical(..) = part.element_type() {
            // A dtype of 1.1 that would be a `type`, where another stands already.
            let error = Error::nowhere(Rule::LogicalTypeStorage).at(part.place());
            return Err(CopyError::Inexpressible(Inexpressible(error)));
        }
        let bytes = match part.decoded_length() {
            Some(bytes) => bytes,
            None => self.verifier.measure(part, source)?,
        };
        let each = part.element_size().unwrap_or(storage.width().into());
        let elements = bytes.checked_div(each).assured();
        let element = match Change::between(object, part) {
            Change::Widen(_) => ElementType::Plain(StorageType::U64),
            _ => part.element_type(),
        };
        let component = NewComponent::new(part.role(), element, elements);
        Ok(component.at(self.level))
    }
}

/// The attributes of an object, as they are; those of a 0.1 object are its unknown fields.
fn attributes(object: &Object<'_>) -> Result<Option<Encoded>, Error> {
    let Some(fields) = object.fields() else { return Ok(None) };
    if let Some(attributes) = object.dialect().attributes {
        let item = fields.item(attributes.key());
        return item.map(|item| copied(item.as_bytes()).map(Encoded::from_cbor)).transpose();
    }
    let known = object.dialect().is_object_field;
    let unknown = || fields.clone().filter(|(name, _)| !known(name.as_bytes()));
    let count = unknown().count();
    if count == 0 {
        return Ok(None);
    }
    let mut out = Output::default();
    out.map(u64_from_usize(count))?;
    for (name, item) in unknown() {
        out.text(name)?;
        out.raw(item.as_bytes())?;
    }
    Ok(Some(Encoded::from_cbor(out.into_bytes())))
}

fn no_memory(_: OutOfMemory) -> Error {
    Error::from(OutOfMemory)
}

fn copied(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut out = Output::default();
    out.raw(bytes)?;
    Ok(out.into_bytes())
}

/// What is done to the elements of a component on the way.
#[derive(Clone, Copy)]
enum Change {
    Nothing,
    /// Indices of that type become `u64`.
    Widen(StorageType),
    /// What is not 0 becomes 1.
    Bools,
}

/// Bytes that are changed in one go.
const PIECE: usize = 4096;

impl Change {
    fn between(object: &Object<'_>, part: &Component<'_>) -> Self {
        let indices = match object.format() {
            Format::SparseCsr => matches!(part.role(), "indices" | "indptr"),
            Format::SparseCoo => part.role() == "coords",
            _ => false,
        };
        match part.storage_type() {
            Some(storage) if indices && storage != StorageType::U64 => Self::Widen(storage),
            Some(StorageType::Bool) if !part.dialect().strict_bools => Self::Bools,
            _ => Self::Nothing,
        }
    }

    fn write<S: Sink>(
        self,
        out: &mut ObjectWriter<'_, '_, S>,
        role: &str,
        chunk: &[u8],
    ) -> Result<(), WriteError<S::Error>> {
        let mut buffer = [0; PIECE];
        match self {
            Self::Nothing => out.write(role, chunk)?,
            Self::Widen(storage) => {
                let mut indices = Widened::new(chunk, storage, ByteOrder::Little);
                while indices.len() > 0 {
                    let slots = buffer.as_chunks_mut::<8>().0;
                    let filled = slots.iter_mut().zip(&mut indices).fold(0, |bytes, (slot, n)| {
                        *slot = n.to_le_bytes();
                        slot.len().saturating_add(bytes)
                    });
                    out.write(role, buffer.get(..filled).assured())?;
                }
            }
            Self::Bools => {
                for piece in chunk.chunks(PIECE) {
                    for (slot, byte) in buffer.iter_mut().zip(piece) {
                        *slot = u8::from(*byte != 0);
                    }
                    out.write(role, buffer.get(..piece.len()).assured())?;
                }
            }
        }
        Ok(())
    }
}
