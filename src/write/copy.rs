//! Copying a file of any generation into a file of the generation that the settings ask for.
//!
//! | in the file | written in 1.2 | written in 2 |
//! | --- | --- | --- |
//! | 1.1 dtypes `f8_e4m3`, `f8_e5m2`, `complex64`, `complex128` | `type` on `u8`, `f32`, `f64` | the same |
//! | bools | `bool` | `type` on `u8` |
//! | types that 1.2 does not have | a `type` that readers of 1.2 do not know | unchanged |
//! | an unknown `type` with a name that the target generation knows | rejected | rejected, except types that 1.2 does not have |
//! | `sparse_csr`, `zt.sparse_csr/1`, and the like | the name in 1.2 | the name in 2 |
//! | index components of other integer types | `u64` | `u64`, if not all are `u32` |
//! | 0.1 bools other than 0 and 1 | 1 | 1 |
//! | big-endian elements (0.1) | little-endian | little-endian |
//! | compression; digests | as the settings say | as the settings say |
//! | blobs in shards | in the new file | in the new file |
//! | unknown fields | those of 0.1 become attributes of the object; others are left out | the same |

use alloc::string::String;
use alloc::vec::Vec;
#[cfg(feature = "dequantize")]
use core::cell::RefCell;
use core::num::NonZeroU64;

use super::collect;
use super::compress::Level;
use super::declare::{Identity, NewComponent, NewObject};
use super::encoded::Encoded;
#[cfg(feature = "dequantize")]
use super::joined::{JoinedObject, JoinedObjects};
use super::settings::{Target, WriteOptions};
use super::shard::ShardWriter;
use super::sink::Sink;
use super::writer::Writer;
use crate::cbor::Encoder;
use crate::element::{DType, LogicalType, StorageType};
use crate::error::{BareError, Error, Location, OutOfMemory};
use crate::formats::ztensor::v1;
use crate::index::{IndexTypes, Layout};
use crate::layout::Normalization;
use crate::manifest::{Component, ElementType, Manifest, Tensor};
use crate::num::{len_u32, u64_from_usize, usize_from_u32};
use crate::read_at::Source;
use crate::rules::{Rule, Unsupported};
use crate::verify::{Order, Verifier, measure, sha256};

/// A component to write, and the SHA-256 of its decoded bytes if it has been computed.
type NewWithDigest<'a> = (NewComponent<'a>, Option<Identity>);

/// A copier of the objects of a file, which validates all that it reads as a [`Verifier`] does.
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
    #[cfg(feature = "dequantize")]
    joined: Option<&'c JoinedObjects>,
}

/// A function that returns the layout that the copy of an object of another format gets, and the attributes of that layout;
/// `None` if the copy keeps the layout.
pub type Layouts = fn(&Tensor<'_>) -> Result<Option<(String, Encoded)>, Error>;

/// A function that converts the bytes of whole elements, and passes the converted bytes to the other function that it is given.
pub type Conversion<'c> =
    dyn Fn(&[u8], &mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> + 'c;

/// The changes to an object in its copy.
#[derive(Clone, Copy, Default)]
pub struct Change<'c> {
    /// The new name; `None` to keep the name.
    pub name: Option<&'c str>,
    /// Whether the attributes of the object are left out of the copy. Attributes of a new layout (see [`Layouts`]) are kept.
    pub drops_attributes: bool,
    /// The new type of the elements of `data`, and the function that converts them; `None` to keep the elements.
    pub elements: Option<(DType, &'c Conversion<'c>)>,
    /// The function that replaces the bytes of each component by as many others; `None` to keep the bytes. It is not combined with
    /// `elements`, nor with the settings of a file that stores equal bytes once.
    pub content: Option<&'c Content<'c>>,
}

/// A function that replaces the decoded bytes of a component while they are copied. It gets each chunk, and `None` at the end of
/// the component, and passes as many bytes as it has got to the function in its last parameter.
pub type Content<'c> = dyn Fn(
        &Component<'_>,
        Option<&[u8]>,
        &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error>
    + 'c;

impl core::fmt::Debug for Change<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let dtype = self.elements.map(|(dtype, _)| dtype);
        f.debug_struct("Change")
            .field("name", &self.name)
            .field("dtype", &dtype)
            .field("replaces_content", &self.content.is_some())
            .finish_non_exhaustive()
    }
}

/// The function that returns the changes to an object in its copy, or `None` if the object is not copied.
#[derive(Clone, Copy)]
struct Changes<'c>(&'c dyn Fn(&Tensor<'_>) -> Option<Change<'c>>);

impl core::fmt::Debug for Changes<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Changes")
    }
}

impl<'c> Copier<'c> {
    /// Creates a copier for the objects of a file, with the limits that the file was opened with.
    pub fn new<B: AsRef<[u8]>>(manifest: &Manifest<B>) -> Self {
        Self::with_verifier(Verifier::new(manifest))
    }

    /// Creates a copier that validates with `verifier` what it reads.
    #[doc(hidden)]
    pub fn with_verifier(verifier: Verifier) -> Self {
        Self {
            verifier,
            level: None,
            layouts: None,
            attributes: None,
            changes: None,
            #[cfg(feature = "dequantize")]
            joined: None,
        }
    }

    /// Adds the `bytes` of all shards to the size of the file, as [`Verifier::with_shard_bytes`] does.
    #[must_use]
    pub fn with_shard_bytes(self, bytes: u64) -> Self {
        Self { verifier: self.verifier.with_shard_bytes(bytes), ..self }
    }

    /// Sets the function that returns a new layout for an object, and the attributes that replace those of the object. The
    /// components stay the same.
    #[must_use]
    pub fn layouts(mut self, layouts: Layouts) -> Self {
        self.layouts = Some(layouts);
        self
    }

    /// Sets attributes for the copy, which replace the attributes of the file. With an empty map the copy has no
    /// attributes.
    #[must_use]
    pub fn attributes(mut self, attributes: &'c Encoded) -> Self {
        self.attributes = Some(attributes);
        self
    }

    /// Sets the function that selects and changes objects: an object is copied if `changes` returns a [`Change`].
    /// `changes` is called several times for an object, and must return the same each time.
    #[doc(hidden)]
    #[must_use]
    pub fn changes(mut self, changes: &'c dyn Fn(&Tensor<'_>) -> Option<Change<'c>>) -> Self {
        self.changes = Some(Changes(changes));
        self
    }

    /// Sets `joined`, the objects of the copy of which each takes the place of several objects of the file. They must have been
    /// made for the generation of the copy and for the new names of these objects, whose elements are not
    /// [converted](Self::changes).
    #[cfg(feature = "dequantize")]
    #[must_use]
    pub fn joined(mut self, joined: &'c JoinedObjects) -> Self {
        self.joined = Some(joined);
        self
    }

    /// Returns the changes to `object` in its copy, or `None` if the object is not copied.
    fn change(&self, object: &Tensor<'_>) -> Option<Change<'c>> {
        self.changes.map_or(Some(Change::default()), |Changes(changes)| changes(object))
    }

    /// Compresses all components of the copy.
    #[cfg(feature = "zstd")]
    #[must_use]
    pub fn compressed(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Copies a whole file: its attributes, unless [others](Self::attributes) are set, and its [selected](Self::changes) objects in
    /// their order, or in canonical form in canonical order. The copy is of the generation of the settings.
    ///
    /// If `files` is [`Files`](crate::shards::Files), components in shards become components of the copy. Callers that
    /// [verify](crate::shards::Shards::verify) the shards before are sure that only verified bytes are copied.
    ///
    /// # Errors
    /// [`Misuse::Settings`](crate::error::Misuse::Settings); the errors of [`object`](Self::object) and of [`Component::reader`].
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
            let changed = |ordinal| {
                #[cfg(feature = "dequantize")]
                if let Some(joined) = self.joined.and_then(|all| all.of(ordinal)) {
                    return Some(joined.name.as_bytes());
                }
                self.change(&manifest.object(ordinal)?)?.name.map(str::as_bytes)
            };
            let name = |ordinal| changed(ordinal).unwrap_or(manifest.name(ordinal));
            order.sort_unstable_by(|a, b| target.order(name(*a), name(*b)));
        }
        for object in order.into_iter().filter_map(|ordinal| manifest.object(ordinal)) {
            self.object(&object, &mut writer, None)?;
        }
        writer.finish().map_err(failed)
    }

    /// Copies one object, into a shard if a shard and its name are given. An object that is not
    /// [selected](Self::changes) is not copied. Nor is an object that is joined with others (see `joined`): the joined object is
    /// written in place of the first of them. Objects that [`Verifier::object`] rejects are rejected, except objects of an unknown
    /// layout of 2 and components of an unknown type, which are copied.
    ///
    /// # Errors
    /// Any rule on content; anything unsupported; any error of the source and the sink; errors of objects that the
    /// target generation cannot have.
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
        #[cfg(feature = "dequantize")]
        if let Some(joined) = self.joined.and_then(|all| all.of(object.ordinal())) {
            let is_first = joined.first == object.ordinal();
            return if is_first { self.join(joined, object, (writer, shard)) } else { Ok(()) };
        }
        // The reader has accepted the object, so an error of the writer means that the target cannot have it.
        let rejected = |error: Error| error.inexpressible_in(target.writing.generation);
        if object.dialect().is_none_or(|dialect| dialect.writing.is_none()) {
            object.unknown_layout().map_or(Ok(()), Err)?;
        }
        if object.facts().single_cells
            && matches!(object.layout(), Layout::SparseCsr | Layout::SparseCoo)
        {
            // Some rules compare the indices of a sparse tensor with each other, such as their order. These rules are checked
            // before the object is written. Values of an unknown type do not keep the object from being copied.
            match self.verifier.clone().check(object) {
                Err(error) if error.kind() == Unsupported::LogicalType => {}
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
        let shape = collect(object.shape().iter().copied())?;
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
            let mut write = |chunk: &[u8]| {
                converted.chunk(chunk, &mut |bytes| out.write_part(part.role(), bytes)).map_err(own)
            };
            let Some(content) = new.content else {
                self.verifier.component(part, &mut sparse, Order::Rows, write)?;
                continue;
            };
            let replace = |chunk: &[u8]| content(part, Some(chunk), &mut write);
            self.verifier.component(part, &mut sparse, Order::Rows, replace)?;
            content(part, None, &mut write)?;
        }
        out.finish().map_err(own)
    }

    /// Writes `joined` in place of `first`, the first of the objects that it is made of.
    #[cfg(feature = "dequantize")]
    fn join<S: Sink>(
        &mut self,
        joined: &JoinedObject,
        first: &Tensor<'_>,
        (writer, shard): (&mut Writer<S>, Option<(&str, &mut ShardWriter<S>)>),
    ) -> Result<(), Error> {
        let target = writer.file.target;
        let mut parts = Vec::new();
        parts.try_reserve_exact(joined.parts.len()).map_err(|_| BareError::from(OutOfMemory))?;
        for part in &joined.parts {
            let source = first.sibling(part.ordinal).and_then(|tensor| tensor.component("data"));
            let source = source.ok_or_else(BareError::internal)?;
            let digest = || {
                let convert = RefCell::new(part.converter(&source));
                sha256(&source, |chunk, take| match convert.try_borrow_mut() {
                    Ok(mut convert) => convert.chunk(chunk, take),
                    Err(_) => Err(BareError::internal().into()),
                })
            };
            parts.push((part, source, target.sharing.then(digest).transpose()?));
        }
        if target.canonical {
            parts.sort_unstable_by(|(a, ..), (b, ..)| {
                target.order(a.role.as_bytes(), b.role.as_bytes())
            });
        }
        let components = collect(parts.iter().map(|(part, _, identity)| {
            let mut new = NewComponent::of_bytes(part.role, part.dtype, part.bytes);
            new.level = self.level;
            match identity {
                Some(sha256) => new.with_known_sha256(sha256),
                None => new,
            }
        }))?;
        let JoinedObject { name, shape, layout, attributes, .. } = joined;
        let object = NewObject::custom(name, shape, layout, &components).attributes(attributes);
        let rejected =
            |error: Error| error.inexpressible_in(target.writing.generation).at(first.location());
        let mut out = match shard {
            Some((name, shard)) => writer.object_in(name, shard, &object),
            None => writer.object(&object),
        }
        .map_err(rejected)?;
        for (part, source, _) in &parts {
            let (mut convert, mut sparse) = (part.converter(source), Verifier::sparse(first)?);
            let mut write = |bytes: &[u8]| out.write_part(part.role, bytes).map_err(rejected);
            let take = |chunk: &[u8]| convert.chunk(chunk, &mut write);
            self.verifier.component(source, &mut sparse, Order::Rows, take)?;
        }
        out.finish().map_err(rejected)
    }

    /// Returns the description of the component of the new file that holds the content of `part`. If the new file stores
    /// components with equal bytes once, also returns the SHA-256 of the new component's decoded bytes, by which the writer
    /// finds an equal component before it gets the bytes.
    fn component<'a>(
        &self,
        part: &Component<'a>,
        target: &Target,
        elements: Option<(DType, &Conversion<'_>)>,
    ) -> Result<NewWithDigest<'a>, Error> {
        // A component in a missing shard cannot be read, so its type does not matter.
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

/// Returns the attributes of an object as they are stored; for a 0.1 object, its unknown fields.
fn attributes(object: &Tensor<'_>) -> Result<Option<Encoded>, BareError> {
    let Some(known) = object.dialect().and_then(|dialect| dialect.object_fields) else {
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

/// Returns the name of the object's layout in the target generation.
///
/// # Errors
/// `unsupported-format` if the target generation does not have the layout, or gives its name to another layout.
fn format<'a>(object: &Tensor<'a>, target: &Target) -> Result<&'a str, BareError> {
    let (format, name) = (object.layout(), object.layout_name());
    let writing = target.writing;
    if let Some(name) = (writing.format_name)(format) {
        return Ok(name);
    }
    let there = (writing.format)(name.as_bytes());
    // A profile of 2 is an unknown layout in 1.2, and becomes the profile again when it is copied back.
    let kept = match format {
        // Names of layouts in 1.2 have no version.
        Layout::Unknown => !v1::FORMATS.contains(&there),
        _ => there == format || there == Layout::Unknown && format != Layout::QuantizedGroup,
    };
    let location = Location::new(Some(object.ordinal()), None);
    kept.then_some(name).ok_or(BareError::nowhere(Unsupported::Format).at(location))
}

/// Returns the type of the elements that the component `part` has in the copy: `u64` if `widens` is true.
///
/// # Errors
/// `type-storage` or `unsupported-type` if the target generation cannot express the type, or gives its name a meaning that the file
/// does not give it.
fn element<'a>(
    part: &Component<'a>,
    widens: bool,
    target: &Target,
) -> Result<ElementType<'a>, BareError> {
    let rejected = |error: BareError| Err(error.at(part.location()));
    let known = |logical: LogicalType| (target.writing.logical_type)(logical.name().as_bytes());
    match part.element_type() {
        _ if widens => Ok(ElementType::Plain(StorageType::U64)),
        // The dtype of 1.1 would become a `type`, but the component has another `type` already.
        ElementType::UnknownOnLogical(..) => rejected(BareError::nowhere(Rule::LogicalTypeStorage)),
        // A `type` of zTensor that readers do not know cannot tell them the size of an element.
        ElementType::Opaque(..) => rejected(BareError::nowhere(Unsupported::LogicalType)),
        // Readers of 1.2 list the unknown `type`, and return storage elements.
        ElementType::Logical(logical) if known(logical).is_none() => {
            Ok(ElementType::UnknownLogical(logical.name(), logical.storage()))
        }
        // The target generation gives the `type` a meaning that it does not have in the source.
        ElementType::UnknownLogical(name, storage) if target.writing.knows_type(name, storage) => {
            rejected(BareError::nowhere(Unsupported::LogicalType))
        }
        element => Ok(element),
    }
}

/// The role of the components whose elements can be converted.
const DATA: &str = "data";

/// The conversion of a component's elements while they are copied.
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
        } else if part.facts().bool_value.is_none() {
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

/// Returns whether the component holds indices that are widened to `u64`.
fn widens(part: &Component<'_>, target: &Target) -> bool {
    let is_narrow = part.storage_type() != Some(StorageType::U64);
    part.is_index() && is_narrow && !keeps_indices(&part.tensor(), target)
}

/// Returns whether the indices of an object keep their types: the target generation allows these types and, if it requires that all
/// indices of an object have the same type, they have.
fn keeps_indices(object: &Tensor<'_>, target: &Target) -> bool {
    let types = target.writing.dialect.facts.index_types;
    let indices = || object.components().filter(Component::is_index);
    let first = indices().next().and_then(|part| part.storage_type());
    let same = indices().all(|part| part.storage_type() == first);
    let allowed = indices().all(|part| part.storage_type().is_some_and(|own| types.allow(own)));
    allowed && (same || types != IndexTypes::Unsigned)
}
