//! Writing what a file of any generation holds, in the generation that the settings ask for.
//!
//! | in the file | written in 1.2 | written in 2 |
//! | --- | --- | --- |
//! | 1.1 dtypes `f8_e4m3`, `f8_e5m2`, `complex64`, `complex128` | `type` on `u8`, `f32`, `f64` | the same |
//! | bools | `bool` | `type` on `u8` |
//! | types that 1.2 does not have | `type` that is not known there | as they are |
//! | a `type` that is not known, and is in what is written | refused | refused, but for the types that 1.2 does not have |
//! | `sparse_csr`, `zt.sparse_csr/1`, and the like | the one name | the other |
//! | index components of other integer types | `u64` | `u64`, if not all are `u32` |
//! | 0.1 bools other than 0 and 1 | 1 | 1 |
//! | big-endian elements (0.1) | little-endian | little-endian |
//! | zstd, or not; digests | as is asked for | as is asked for |
//! | blobs in shards | in the one file | in the one file |
//! | fields that are not known | in 0.1, attributes of the object; else left out | the same |

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU64;

use super::collect;
use super::compress::Level;
use super::declare::{Identity, NewComponent, NewObject};
use super::encoded::Encoded;
use super::settings::{Settings, Target};
use super::shard::ShardWriter;
use super::sink::{Sink, WriteError};
use super::writer::Writer;
use crate::cbor::Encoder;
use crate::codec::{Locate, ReadAt, ReadError};
use crate::element::{LogicalType, StorageType};
use crate::error::{Error, ErrorKind, OutOfMemory, Place};
use crate::format::{Format, Generation, IndexTypes, v1};
use crate::layout::Normalization;
use crate::limits::Limits;
use crate::manifest::{Component, ElementType, Manifest, Object};
use crate::num::{len_u32, u64_from_usize, usize_from_u32};
use crate::rules::{Limit, Rule, Unsupported};
use crate::verify::{Order, Verifier, sha256};

/// A component, and the sha256 of its bytes.
type NewWithDigest<'a> = (NewComponent<'a>, Option<Identity>);

/// What a source fails with.
type SourceError<L> = <<L as Locate>::Source as ReadAt>::Error;

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
    limits: Limits,
    level: Option<Level>,
    layouts: Option<Layouts>,
}

/// Returns the layout that an object of another format is to have, and the attributes that belong to that layout; none
/// if it keeps its own.
pub type Layouts = fn(&Object<'_>) -> Result<Option<(String, Encoded)>, Error>;

impl Copier {
    /// Copies from a file of `file_len` bytes, within limits.
    pub fn new(file_len: u64, limits: &Limits) -> Self {
        let verifier = Verifier::new(file_len, limits);
        Self { verifier, limits: *limits, level: None, layouts: None }
    }

    /// Gives objects other layouts, whose components are the same.
    #[must_use]
    pub fn layouts(mut self, layouts: Layouts) -> Self {
        self.layouts = Some(layouts);
        self
    }

    /// Compresses all components on the way.
    #[cfg(feature = "zstd")]
    #[must_use]
    pub fn compressed(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Writes all of a file: its attributes, and its objects in their order; in canonical form,
    /// in the order that this asks for. It becomes a file of the generation of the settings.
    ///
    /// Components that are in shards, where `files` is [`Files`](crate::shards::Files), become components of the one
    /// file. Who [verifies](crate::shards::Shards::verify) the shards before has no other bytes written than were
    /// verified.
    ///
    /// # Errors
    /// Those of [`object`](Self::object) and of [`Locate::locate`].
    pub fn file<L: Locate, S: Sink>(
        mut self,
        manifest: &Manifest<impl AsRef<[u8]>>,
        files: L,
        sink: S,
        settings: &Settings,
    ) -> Result<S, CopyError<L::Error, S::Error>> {
        let target = settings.target().map_err(WriteError::Refused)?;
        let failed = |error: WriteError<S::Error>| {
            CopyError::Write(error).of::<L>(target.writing.generation)
        };
        let manifest = manifest.parts();
        let mut writer = Writer::new(sink, settings).map_err(failed)?;
        if let Some(attributes) = manifest.encoded_attributes() {
            let attributes = Encoded::copied(attributes)?;
            writer.attributes(&attributes).map_err(|error| failed(error.into()))?;
        }
        let mut order = collect((0..usize_from_u32(manifest.len())).map(len_u32))?;
        if target.canonical {
            order.sort_unstable_by(|a, b| target.order(manifest.name(*a), manifest.name(*b)));
        }
        for object in order.into_iter().filter_map(|ordinal| manifest.object(ordinal)) {
            self.object(&object, files, &mut writer, None)?;
        }
        writer.finish().map_err(failed)
    }

    /// Writes one object, into a shard if one is given, with its name. What [`Verifier::object`] refuses is not
    /// copied, but that objects of a layout of 2 that is not known are, and components of a type that is not.
    ///
    /// # Errors
    /// Any rule on content, what is unsupported, and whatever source and sink fail with; what
    /// keeps the object from being one of the generation that is written.
    pub fn object<L: Locate, S: Sink>(
        &mut self,
        object: &Object<'_>,
        files: L,
        writer: &mut Writer<S>,
        shard: Option<(&str, &mut ShardWriter<S>)>,
    ) -> Result<(), CopyError<L::Error, S::Error>> {
        let generation = writer.file.target.writing.generation;
        self.one(object, files, writer, shard).map_err(|error| error.of::<L>(generation))
    }

    fn one<L: Locate, S: Sink>(
        &mut self,
        object: &Object<'_>,
        files: L,
        writer: &mut Writer<S>,
        shard: Option<(&str, &mut ShardWriter<S>)>,
    ) -> Result<(), CopyError<SourceError<L>, S::Error>> {
        let target = writer.file.target;
        if object.dialect().writing.is_none() {
            object.unknown_layout().map_or(Ok(()), Err)?;
        }
        if object.dialect().single_cells
            && matches!(object.format(), Format::SparseCsr | Format::SparseCoo)
        {
            // What its indices show only together is found before any of it is written. Values of a
            // type that is not known are copied all the same.
            match self.verifier.clone().located(object, files, Order::Stored, |_, _| ()) {
                Err(ReadError::Refused(error))
                    if error.kind() == Unsupported::LogicalType.into() => {}
                read => read?,
            }
        }
        let mut sparse = self.verifier.sparse(object, files)?;
        let mut parts = collect(object.components())?;
        if target.canonical {
            parts.sort_unstable_by(|a, b| target.order(a.role_bytes(), b.role_bytes()));
        }
        let mut new = Vec::new();
        new.try_reserve_exact(parts.len()).map_err(|_| Error::from(OutOfMemory))?;
        for part in &parts {
            new.push(self.component(part, files, &target)?);
        }
        let components = collect(new.iter().map(|(new, sha256)| match sha256 {
            Some(sha256) => new.announced(sha256),
            None => *new,
        }))?;
        let shape = collect(object.shape().iter())?;
        let other = self.layouts.map_or(Ok(None), |layouts| layouts(object))?;
        let (layout, attributes) = match other {
            Some((layout, attributes)) => (Some(layout), Some(attributes)),
            None => (None, attributes(object)?),
        };
        let format = match &layout {
            Some(layout) => layout,
            None => format(object, &target).map_err(WriteError::Refused)?,
        };
        let mut new = NewObject::custom(object.name(), &shape, format, &components);
        if let Some(attributes) = &attributes {
            new = new.attributes(attributes);
        }
        let own = |error: Error| {
            let ordinal = error.place().component();
            let part = ordinal.and_then(|ordinal| parts.get(usize_from_u32(ordinal)));
            let place = Place::new(Some(object.ordinal()), None);
            error.at(part.map_or(place, Component::place))
        };
        let refused = |error| WriteError::Refused(own(error));
        let begun = match shard {
            Some((name, shard)) => writer.object_in(name, shard, &new),
            None => writer.object(&new),
        };
        let mut out = begun.map_err(refused)?;
        for part in &parts {
            let change = change(part, &target);
            let (component, source) = files.locate(part)?;
            let take = |chunk: &[u8]| -> Result<(), CopyError<_, _>> {
                Ok(change.chunk(chunk, |bytes| out.write(part.role(), bytes))?)
            };
            let copied =
                self.verifier.component(&component, &mut sparse, source, Order::Rows, take);
            copied.map_err(|error| match error {
                CopyError::Write(error) => CopyError::Write(error.map_refused(own)),
                other => other,
            })?;
        }
        Ok(out.end().map_err(refused)?)
    }

    /// The component of the new file, and its sha256, where that has to be known before.
    fn component<'a, L: Locate, W>(
        &self,
        part: &Component<'a>,
        files: L,
        target: &Target,
    ) -> Result<NewWithDigest<'a>, CopyError<SourceError<L>, W>> {
        let (component, source) = files.locate(part)?;
        let storage = component.stored()?;
        let widens = widens(part, target);
        let element = element(part, widens, target).map_err(WriteError::Refused)?;
        let bytes = match part.decoded_length() {
            Some(bytes) => bytes,
            None => self.verifier.measure(&component, &source)?,
        };
        let mut new = if widens {
            let elements = bytes / NonZeroU64::from(storage.divisor());
            NewComponent::new(part.role(), element, elements)
        } else {
            NewComponent::of_bytes(part.role(), element, bytes)
        };
        let sha256 = || sha256(&component, &source, &self.limits, change(part, target));
        let identity = target.sharing.then(sha256).transpose()?;
        new.level = self.level;
        Ok((new, identity))
    }
}

/// The attributes of an object, as they are; those of a 0.1 object are its unknown fields.
fn attributes(object: &Object<'_>) -> Result<Option<Encoded>, Error> {
    let Some(known) = object.dialect().object_fields else {
        return object.encoded_attributes().map(Encoded::copied).transpose();
    };
    let Some(fields) = object.fields() else { return Ok(None) };
    let unknown = || fields.clone().filter(|(name, _)| !known(name.as_bytes()));
    let count = unknown().count();
    if count == 0 {
        return Ok(None);
    }
    let attributes = Encoder::with(|out| {
        out.map(u64_from_usize(count))?;
        unknown().try_for_each(|(name, item)| {
            out.text(name)?;
            out.raw(item.as_bytes())
        })
    })?;
    Ok(Some(Encoded::from_cbor(attributes.into_bytes())))
}

/// The name of an object's format.
fn format<'a>(object: &Object<'a>, target: &Target) -> Result<&'a str, Error> {
    let (format, name) = (object.format(), object.format_name());
    let writing = target.writing;
    if let Some(name) = (writing.format_name)(format) {
        return Ok(name);
    }
    let there = (writing.format)(name.as_bytes());
    // What is a profile of 2 is a format that is not known in 1.2, and may come back.
    let kept = match format {
        // Names of 1.2 have no version.
        Format::Unknown => !v1::FORMATS.contains(&there),
        _ => there == format || there == Format::Unknown && format != Format::QuantizedGroup,
    };
    let place = Place::new(Some(object.ordinal()), None);
    kept.then_some(name).ok_or(Error::nowhere(Unsupported::Format).at(place))
}

/// Returns the type of a component in the copy.
fn element<'a>(
    part: &Component<'a>,
    widens: bool,
    target: &Target,
) -> Result<ElementType<'a>, Error> {
    let refused = |error: Error| Err(error.at(part.place()));
    let known = |logical: LogicalType| (target.writing.logical_type)(logical.name().as_bytes());
    match part.element_type() {
        _ if widens => Ok(ElementType::Plain(StorageType::U64)),
        // A dtype of 1.1 that would be a `type`, where another stands already.
        ElementType::UnknownOnLogical(..) => refused(Error::nowhere(Rule::LogicalTypeStorage)),
        // Readers of 1.2 list it, and show the storage type.
        ElementType::Logical(logical) if known(logical).is_none() => {
            Ok(ElementType::UnknownLogical(logical.name(), logical.storage()))
        }
        // The copy would say of the elements what the source does not.
        ElementType::UnknownLogical(name, storage) if target.writing.knows_type(name, storage) => {
            refused(Error::nowhere(Unsupported::LogicalType))
        }
        element => Ok(element),
    }
}

/// Returns the change to the elements of a component on the way.
fn change(part: &Component<'_>, target: &Target) -> Normalization {
    if widens(part, target) {
        Normalization::content(part)
    } else if part.dialect().bool_value.is_none() {
        Normalization::bools(part)
    } else {
        Normalization::NOTHING
    }
}

/// Returns whether a component holds indices that become `u64`.
fn widens(part: &Component<'_>, target: &Target) -> bool {
    let is_narrow = part.storage_type() != Some(StorageType::U64);
    part.is_index() && is_narrow && !keeps_indices(&part.object(), target)
}

/// Returns whether all indices of an object are of one type, where the target asks for that, and of types that it allows.
fn keeps_indices(object: &Object<'_>, target: &Target) -> bool {
    let types = target.writing.dialect.index_types;
    let indices = || object.components().filter(Component::is_index);
    let first = indices().next().and_then(|part| part.storage_type());
    let same = indices().all(|part| part.storage_type() == first);
    let allowed = indices().all(|part| part.storage_type().is_some_and(|own| types.allow(own)));
    allowed && (same || types != IndexTypes::Unsigned)
}

/// The error of an object that could not be copied: it could not be read, or not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyError<R, W> {
    /// The source failed, or what is in it was refused.
    Read(ReadError<R>),
    /// The sink failed, or the call was wrong.
    Write(WriteError<W>),
    /// The source is valid, and has something that cannot be written in the generation that is asked for.
    Inexpressible(Inexpressible),
}

/// Something that a valid file has, and a file of the generation that is asked for, or a canonical one,
/// cannot have. `Display` tells what it is, and its place in the source in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inexpressible {
    error: Error,
    generation: Generation,
}

impl Inexpressible {
    /// The rule that the written file would break, the limit that it would go beyond, or what of the
    /// source it does not have. The place is that in the source.
    pub fn error(&self) -> Error {
        self.error
    }

    /// The generation that cannot have it.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// The sentence that `Display` tells, without the place.
    pub fn sentence(&self) -> impl fmt::Display + use<> {
        Sentence(*self)
    }
}

impl fmt::Display for Inexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)?;
        let place = self.error.place();
        if let Some(object) = place.object() {
            write!(f, " in object {object}")?;
        }
        match place.component() {
            Some(component) => write!(f, ", component {component}"),
            None => Ok(()),
        }
    }
}

struct Sentence(Inexpressible);

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it can be read, and not be written: ")?;
        let Inexpressible { error, generation } = self.0;
        match error.kind() {
            ErrorKind::Malformed(Rule::LogicalTypeStorage) => {
                write!(
                    f,
                    "the dtype is a `type` in {generation}, and there is another `type` already"
                )
            }
            ErrorKind::Malformed(Rule::DuplicateKey) if generation == Generation::V1_2 => {
                f.write_str("an attribute with a key that stands twice has no canonical form")
            }
            ErrorKind::Malformed(Rule::QuantizedZeros) => {
                write!(f, "the object has no `zeros`, which {generation} asks for")
            }
            ErrorKind::Limit(Limit::Depth) if generation == Generation::V1_2 => {
                f.write_str("a field becomes an attribute, which would be nested too deep")
            }
            ErrorKind::Unsupported(Unsupported::Format) => {
                write!(f, "{generation} has no such format, or one of that name that is another")
            }
            ErrorKind::Unsupported(Unsupported::LogicalType) => {
                write!(f, "the `type` is unknown, and would get a meaning in {generation}")
            }
            kind => {
                let id = kind.row().map_or("", |row| row.id);
                write!(f, "in {generation}, {} ({id})", error.sentence())
            }
        }
    }
}

impl<R, W> CopyError<R, W> {
    /// The error of a copy of a generation: what its writer refuses has been accepted by the reader.
    fn of<L>(self, generation: Generation) -> CopyError<L::Error, W>
    where
        L: Locate<Source: ReadAt<Error = R>>,
    {
        match self {
            Self::Write(WriteError::Refused(error)) if error.kind().row().is_some() => {
                CopyError::Inexpressible(Inexpressible { error, generation })
            }
            Self::Read(error) => CopyError::Read(L::flatten(error)),
            Self::Write(error) => CopyError::Write(error),
            Self::Inexpressible(error) => CopyError::Inexpressible(error),
        }
    }
}

impl<R, W> From<ReadError<R>> for CopyError<R, W> {
    fn from(error: ReadError<R>) -> Self {
        Self::Read(error)
    }
}

impl<R, W> From<WriteError<W>> for CopyError<R, W> {
    fn from(error: WriteError<W>) -> Self {
        Self::Write(error)
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
            Self::Inexpressible(Inexpressible { error, .. }) => Some(error),
        }
    }
}
