//! Writing what a file of any generation holds, in the generation that the settings ask for.
//!
//! | in the file | written in 1.2 | written in 2 |
//! | --- | --- | --- |
//! | 1.1 dtypes `f8_e4m3`, `f8_e5m2`, `complex64`, `complex128` | `type` on `u8`, `f32`, `f64` | the same |
//! | bools | `bool` | `type` on `u8` |
//! | types that 1.2 does not have | `type` that is not known there | as they are |
//! | a `type` that is not known, and is in what is written | rejected | rejected, but for the types that 1.2 does not have |
//! | `sparse_csr`, `zt.sparse_csr/1`, and the like | the one name | the other |
//! | index components of other integer types | `u64` | `u64`, if not all are `u32` |
//! | 0.1 bools other than 0 and 1 | 1 | 1 |
//! | big-endian elements (0.1) | little-endian | little-endian |
//! | zstd, or not; digests | as is asked for | as is asked for |
//! | blobs in shards | in the one file | in the one file |
//! | fields that are not known | in 0.1, attributes of the object; else left out | the same |

use alloc::string::String;
use alloc::vec::Vec;
use core::num::NonZeroU64;

use super::collect;
use super::compress::Level;
use super::declare::{Identity, NewComponent, NewObject};
use super::encoded::Encoded;
use super::settings::{Target, WriteOptions};
use super::shard::ShardWriter;
use super::sink::Sink;
use super::writer::Writer;
use crate::cbor::Encoder;
use crate::codec::Source;
use crate::element::{DType, LogicalType, StorageType};
use crate::error::{BareError, Error, Location, OutOfMemory};
use crate::format::{IndexTypes, Layout, v1};
use crate::layout::Normalization;
use crate::manifest::{Component, ElementType, Manifest, Tensor};
use crate::num::{len_u32, u64_from_usize, usize_from_u32};
use crate::rules::{Rule, Unsupported};
use crate::verify::{Order, Verifier, measure, sha256};

/// A component, and the sha256 of its bytes.
type NewWithDigest<'a> = (NewComponent<'a>, Option<Identity>);

/// Copies objects of one file, validating all that it reads as a [`Verifier`] does.
///
/// ```
/// # #[cfg(feature = "zstd")] {
/// use zten::write::{Copier, WriteOptions};
/// let archive = zten::open("corpus/accept/1.2.3/coo_zstd_crc.zt")?;
/// let (copier, options) = (Copier::new(archive.manifest()), WriteOptions::default().canonical());
/// let copy = copier.file(archive.manifest(), &archive, Vec::new(), &options)?;
/// zten::OpenOptions::default().canonical().from_bytes(&copy)?;
/// # }
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Copier<'c> {
    verifier: Verifier,
    level: Option<Level>,
    layouts: Option<Layouts>,
    attributes: Option<&'c Encoded>,
    changes: Option<Changes<'c>>,
}

/// Returns the layout that an object of another format is to have, and the attributes that belong to that layout; none
/// if it keeps its own.
pub type Layouts = fn(&Tensor<'_>) -> Result<Option<(String, Encoded)>, Error>;

/// Hands on what the bytes of whole elements become.
pub type Conversion<'c> =
    dyn Fn(&[u8], &mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> + 'c;

/// The changes to an object in its copy.
#[derive(Clone, Copy, Default)]
pub struct Change<'c> {
    /// Another name.
    pub name: Option<&'c str>,
    /// True if the copy has none of the attributes.
    pub drops_attributes: bool,
    /// Another type for the elements of `data`, and what converts them.
    pub elements: Option<(DType, &'c Conversion<'c>)>,
}

impl core::fmt::Debug for Change<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let dtype = self.elements.map(|(dtype, _)| dtype);
        f.debug_struct("Change")
            .field("name", &self.name)
            .field("dtype", &dtype)
            .finish_non_exhaustive()
    }
}

/// Returns what is other in the copy of an object; none if it is not copied.
#[derive(Clone, Copy)]
struct Changes<'c>(&'c dyn Fn(&Tensor<'_>) -> Option<Change<'c>>);

impl core::fmt::Debug for Changes<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Changes")
    }
}

impl<'c> Copier<'c> {
    /// Copies from a file, with the limits that it was opened with.
    pub fn new<B: AsRef<[u8]>>(manifest: &Manifest<B>) -> Self {
        let (level, layouts, attributes, changes) = (None, None, None, None);
        Self { verifier: Verifier::new(manifest), level, layouts, attributes, changes }
    }

    /// The same, for a file that has shards of so many bytes together, as [`Verifier::with_shard_bytes`].
    #[must_use]
    pub fn with_shard_bytes(self, bytes: u64) -> Self {
        Self { verifier: self.verifier.with_shard_bytes(bytes), ..self }
    }

    /// Gives objects other layouts, whose components are the same.
    #[must_use]
    pub fn layouts(mut self, layouts: Layouts) -> Self {
        self.layouts = Some(layouts);
        self
    }

    /// Gives the file those attributes in place of its own; an empty map is none.
    #[must_use]
    pub fn attributes(mut self, attributes: &'c Encoded) -> Self {
        self.attributes = Some(attributes);
        self
    }

    /// Selects objects, and changes them: those are copied for which there is a [`Change`]. It is asked several times for an
    /// object, and has to say the same.
    #[doc(hidden)]
    #[must_use]
    pub fn changes(mut self, changes: &'c dyn Fn(&Tensor<'_>) -> Option<Change<'c>>) -> Self {
        self.changes = Some(Changes(changes));
        self
    }

    /// Returns what is other in the copy of an object; none if it is not copied.
    fn change(&self, object: &Tensor<'_>) -> Option<Change<'c>> {
        self.changes.map_or(Some(Change::default()), |Changes(changes)| changes(object))
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
    /// The errors of [`object`](Self::object) and of [`Component::reader`].
    pub fn file<S: Sink>(
        mut self,
        manifest: &Manifest<impl AsRef<[u8]>>,
        source: &dyn Source,
        sink: S,
        settings: &WriteOptions,
    ) -> Result<S::Output, Error> {
        let target = settings.target()?;
        let failed = |error: Error| error.inexpressible_in(target.writing.generation);
        let manifest = manifest.parts().read_from(source);
        let mut writer = Writer::new(sink, settings).map_err(failed)?;
        let own = || manifest.encoded_attributes().map(Encoded::copied).transpose();
        match self.attributes {
            Some(attributes) if attributes.as_bytes() == b"\xa0" => {}
            Some(attributes) => writer.attributes_encoded(attributes).map_err(failed)?,
            None => own()?.map_or(Ok(()), |own| writer.attributes_encoded(&own).map_err(failed))?,
        }
        let mut order = collect((0..usize_from_u32(manifest.len())).map(len_u32))?;
        if target.canonical {
            let changed =
                |ordinal| self.change(&manifest.object(ordinal)?)?.name.map(str::as_bytes);
            let name = |ordinal| changed(ordinal).unwrap_or(manifest.name(ordinal));
            order.sort_unstable_by(|a, b| target.order(name(*a), name(*b)));
        }
        for object in order.into_iter().filter_map(|ordinal| manifest.object(ordinal)) {
            self.object(&object, &mut writer, None)?;
        }
        writer.finish().map_err(failed)
    }

    /// Writes one object, into a shard if one is given, with its name; nothing if it is not [selected](Self::changes). What [`Verifier::object`] rejects is not
    /// copied, but that objects of a layout of 2 that is not known are, and components of a type that is not.
    ///
    /// # Errors
    /// Any rule on content, what is unsupported, and whatever source and sink fail with; what
    /// keeps the object from being one of the generation that is written.
    pub fn object<S: Sink>(
        &mut self,
        object: &Tensor<'_>,
        writer: &mut Writer<S>,
        shard: Option<(&str, &mut ShardWriter<S>)>,
    ) -> Result<(), Error> {
        self.one(object, writer, shard).map_err(|error| object.named(error))
    }

    fn one<S: Sink>(
        &mut self,
        object: &Tensor<'_>,
        writer: &mut Writer<S>,
        shard: Option<(&str, &mut ShardWriter<S>)>,
    ) -> Result<(), Error> {
        let Some(new) = self.change(object) else { return Ok(()) };
        let target = writer.file.target;
        // What its writer rejects has been accepted by the reader.
        let rejected = |error: Error| error.inexpressible_in(target.writing.generation);
        if object.dialect().writing.is_none() {
            object.unknown_layout().map_or(Ok(()), Err)?;
        }
        if object.dialect().single_cells
            && matches!(object.layout(), Layout::SparseCsr | Layout::SparseCoo)
        {
            // What its indices show only together is found before any of it is written. Values of a
            // type that is not known are copied all the same.
            match self.verifier.clone().check(object) {
                Err(error) if error.kind() == Unsupported::LogicalType.into() => {}
                read => read?,
            }
        }
        let mut sparse = Verifier::sparse(object)?;
        let mut parts = collect(object.components())?;
        if target.canonical {
            parts.sort_unstable_by(|a, b| target.order(a.role_bytes(), b.role_bytes()));
        }
        let mut declared = Vec::new();
        declared.try_reserve_exact(parts.len()).map_err(|_| BareError::from(OutOfMemory))?;
        for part in &parts {
            declared.push(self.component(part, &target, new.elements)?);
        }
        let components = collect(declared.iter().map(|(new, sha256)| match sha256 {
            Some(sha256) => new.with_known_sha256(sha256),
            None => *new,
        }))?;
        let shape = collect(object.shape().iter())?;
        let other = self.layouts.map_or(Ok(None), |layouts| layouts(object))?;
        let (layout, attributes) = match other {
            Some((layout, attributes)) => (Some(layout), Some(attributes)),
            None if new.drops_attributes => (None, None),
            None => (None, attributes(object)?),
        };
        let format = match &layout {
            Some(layout) => layout,
            None => format(object, &target).map_err(|error| rejected(error.into()))?,
        };
        let name = new.name.unwrap_or(object.name());
        let mut copy = NewObject::custom(name, &shape, format, &components);
        if let Some(attributes) = &attributes {
            copy = copy.attributes(attributes);
        }
        let own = |error: Error| {
            let ordinal = error.location().component();
            let part = ordinal.and_then(|ordinal| parts.get(usize_from_u32(ordinal)));
            let location = Location::new(Some(object.ordinal()), None);
            rejected(error.at(part.map_or(location, Component::location)))
        };
        let begun = match shard {
            Some((name, shard)) => writer.object_in(name, shard, &copy),
            None => writer.object(&copy),
        };
        let mut out = begun.map_err(own)?;
        for part in &parts {
            let converted = Converted::new(part, &target, new.elements);
            let take = |chunk: &[u8]| {
                converted.chunk(chunk, &mut |bytes| out.write_part(part.role(), bytes)).map_err(own)
            };
            self.verifier.component(part, &mut sparse, Order::Rows, take)?;
        }
        out.finish().map_err(own)
    }

    /// The component of the new file, and its sha256, where that has to be known before.
    fn component<'a>(
        &self,
        part: &Component<'a>,
        target: &Target,
        elements: Option<(DType, &Conversion<'_>)>,
    ) -> Result<NewWithDigest<'a>, Error> {
        // What is in a shard that was not found cannot be read, whatever else it is.
        part.located()?;
        let storage = part.stored()?;
        let widens = widens(part, target);
        let rejected = |error| Error::from(error).inexpressible_in(target.writing.generation);
        let element = element(part, widens, target).map_err(rejected)?;
        let bytes = match part.decoded_length() {
            Some(bytes) => bytes,
            None => measure(part)?,
        };
        let converted = elements.filter(|_| part.role() == DATA);
        let mut new = if let Some((dtype, _)) = converted {
            let count = bytes / NonZeroU64::from(storage.divisor());
            NewComponent::new(part.role(), dtype, count)
        } else if widens {
            let elements = bytes / NonZeroU64::from(storage.divisor());
            NewComponent::new(part.role(), element, elements)
        } else {
            NewComponent::of_bytes(part.role(), element, bytes)
        };
        let sha256 = || {
            let converted = Converted::new(part, target, elements);
            sha256(part, |chunk, take| converted.chunk(chunk, take))
        };
        let identity = target.sharing.then(sha256).transpose()?;
        new.level = self.level;
        Ok((new, identity))
    }
}

/// The attributes of an object, as they are; those of a 0.1 object are its unknown fields.
fn attributes(object: &Tensor<'_>) -> Result<Option<Encoded>, BareError> {
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
fn format<'a>(object: &Tensor<'a>, target: &Target) -> Result<&'a str, BareError> {
    let (format, name) = (object.layout(), object.layout_name());
    let writing = target.writing;
    if let Some(name) = (writing.format_name)(format) {
        return Ok(name);
    }
    let there = (writing.format)(name.as_bytes());
    // What is a profile of 2 is a format that is not known in 1.2, and may come back.
    let kept = match format {
        // Names of 1.2 have no version.
        Layout::Unknown => !v1::FORMATS.contains(&there),
        _ => there == format || there == Layout::Unknown && format != Layout::QuantizedGroup,
    };
    let location = Location::new(Some(object.ordinal()), None);
    kept.then_some(name).ok_or(BareError::nowhere(Unsupported::Format).at(location))
}

/// Returns the type of a component in the copy.
fn element<'a>(
    part: &Component<'a>,
    widens: bool,
    target: &Target,
) -> Result<ElementType<'a>, BareError> {
    let rejected = |error: BareError| Err(error.at(part.location()));
    let known = |logical: LogicalType| (target.writing.logical_type)(logical.name().as_bytes());
    match part.element_type() {
        _ if widens => Ok(ElementType::Plain(StorageType::U64)),
        // A dtype of 1.1 that would be a `type`, where another stands already.
        ElementType::UnknownOnLogical(..) => rejected(BareError::nowhere(Rule::LogicalTypeStorage)),
        // Readers of 1.2 list it, and show the storage type.
        ElementType::Logical(logical) if known(logical).is_none() => {
            Ok(ElementType::UnknownLogical(logical.name(), logical.storage()))
        }
        // The copy would say of the elements what the source does not.
        ElementType::UnknownLogical(name, storage) if target.writing.knows_type(name, storage) => {
            rejected(BareError::nowhere(Unsupported::LogicalType))
        }
        element => Ok(element),
    }
}

/// The role whose elements can be converted.
const DATA: &str = "data";

/// The conversion of the elements of a component on the way.
struct Converted<'p> {
    normalization: Normalization,
    conversion: Option<&'p Conversion<'p>>,
}

impl<'p> Converted<'p> {
    fn new(
        part: &Component<'_>,
        target: &Target,
        elements: Option<(DType, &'p Conversion<'p>)>,
    ) -> Self {
        let normalization = if widens(part, target) {
            Normalization::content(part)
        } else if part.dialect().bool_value.is_none() {
            Normalization::bools(part)
        } else {
            Normalization::NOTHING
        };
        let conversion = elements.filter(|_| part.role() == DATA);
        Self { normalization, conversion: conversion.map(|(_, conversion)| conversion) }
    }

    fn chunk(
        &self,
        chunk: &[u8],
        take: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self.conversion {
            Some(conversion) => conversion(chunk, take),
            None => self.normalization.chunk(chunk, take),
        }
    }
}

/// Returns whether a component holds indices that become `u64`.
fn widens(part: &Component<'_>, target: &Target) -> bool {
    let is_narrow = part.storage_type() != Some(StorageType::U64);
    part.is_index() && is_narrow && !keeps_indices(&part.tensor(), target)
}

/// Returns whether all indices of an object are of one type, where the target asks for that, and of types that it allows.
fn keeps_indices(object: &Tensor<'_>, target: &Target) -> bool {
    let types = target.writing.dialect.index_types;
    let indices = || object.components().filter(Component::is_index);
    let first = indices().next().and_then(|part| part.storage_type());
    let same = indices().all(|part| part.storage_type() == first);
    let allowed = indices().all(|part| part.storage_type().is_some_and(|own| types.allow(own)));
    allowed && (same || types != IndexTypes::Unsigned)
}
