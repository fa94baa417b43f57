//! Writing what a file of any generation holds, in the generation that the settings ask for.
//!
//! | in the file | written in 1.2 | written in 2 |
//! | --- | --- | --- |
//! | 1.1 dtypes `f8_e4m3`, `f8_e5m2`, `complex64`, `complex128` | `type` on `u8`, `f32`, `f64` | the same |
//! | bools | `bool` | `type` on `u8` |
//! | types that 1.2 does not have | `type` that is not known there | as they are |
//! | `sparse_csr`, `zt.sparse_csr/1`, and the like | the one name | the other |
//! | index components of other integer types | `u64` | `u64`, if not all are `u32` |
//! | 0.1 bools other than 0 and 1 | 1 | 1 |
//! | big-endian elements (0.1) | little-endian | little-endian |
//! | zstd, or not; digests | as is asked for | as is asked for |
//! | blobs in shards | in the one file | in the one file |
//! | fields that are not known | in 0.1, attributes of the object; else left out | the same |

mod becomes;
mod error;

use alloc::string::String;
use alloc::vec::Vec;
use core::num::NonZeroU64;

use sha2::{Digest as _, Sha256};

use self::becomes::Change;
pub use self::error::{CopyError, Inexpressible};
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
use crate::error::{Error, OutOfMemory, Place};
use crate::format::Format;
use crate::limits::Limits;
use crate::manifest::{Component, Manifest, ManifestRef, Object};
use crate::num::{len_u32, u64_from_usize, usize_from_u32};
use crate::rules::Unsupported;
use crate::verify::{Order, Verifier};

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
    /// As [`object`](Self::object), and as [`Locate::locate`].
    pub fn file<L: Locate, S: Sink>(
        mut self,
        manifest: &Manifest<impl AsRef<[u8]>>,
        files: L,
        sink: S,
        settings: &Settings,
    ) -> Result<S, CopyError<L::Error, S::Error>> {
        let target = settings.target().map_err(WriteError::Refused)?;
        let copied = self.whole(manifest.parts(), files, sink, settings);
        copied.map_err(|error| error.of::<L>(target.writing.generation))
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

    fn whole<L: Locate, S: Sink>(
        &mut self,
        manifest: ManifestRef<'_>,
        files: L,
        sink: S,
        settings: &Settings,
    ) -> Result<S, CopyError<SourceError<L>, S::Error>> {
        let mut writer = Writer::new(sink, settings)?;
        let target = writer.file.target;
        if let Some(attributes) = manifest.encoded_attributes() {
            writer.attributes(&Encoded::copied(attributes)?).map_err(WriteError::Refused)?;
        }
        let mut order = collect((0..usize_from_u32(manifest.len())).map(len_u32))?;
        if target.canonical {
            order.sort_unstable_by(|a, b| target.order(manifest.name(*a), manifest.name(*b)));
        }
        for object in order.into_iter().filter_map(|ordinal| manifest.object(ordinal)) {
            self.one(&object, files, &mut writer, None)?;
        }
        Ok(writer.finish()?)
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
            None => becomes::format(object, &target).map_err(WriteError::Refused)?,
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
            let change = becomes::change(object, part, &target);
            let (component, source) = files.locate(part)?;
            let take = |chunk: &[u8]| -> Result<(), CopyError<_, _>> {
                let mut write = |bytes: &[u8]| out.write(part.role(), bytes);
                Ok(change.apply(chunk, &mut write)?)
            };
            let copied =
                self.verifier.component(&component, &mut sparse, source, Order::Rows, take);
            copied.map_err(|error| error.placed(own))?;
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
        let change = becomes::change(&part.object(), part, target);
        let element = becomes::element(part, change, target).map_err(WriteError::Refused)?;
        let bytes = match part.decoded_length() {
            Some(bytes) => bytes,
            None => self.verifier.measure(&component, source)?,
        };
        let mut new = match change {
            Change::Widen(_) => {
                let elements = bytes / NonZeroU64::from(storage.divisor());
                NewComponent::new(part.role(), element, elements)
            }
            Change::Nothing | Change::Bools => NewComponent::of_bytes(part.role(), element, bytes),
        };
        let identity = target.sharing.then(|| self.identity(part, files, target)).transpose()?;
        new.level = self.level;
        Ok((new, identity))
    }

    /// The sha256 of what a component of an object becomes.
    fn identity<L: Locate>(
        &self,
        part: &Component<'_>,
        files: L,
        target: &Target,
    ) -> Result<Identity, ReadError<SourceError<L>>> {
        let change = becomes::change(&part.object(), part, target);
        let (component, source) = files.locate(part)?;
        let mut sum = Sha256::new();
        let mut hash = |bytes: &[u8]| {
            sum.update(bytes);
            Ok::<(), ReadError<SourceError<L>>>(())
        };
        let mut content = component.any_content(source, &self.limits)?;
        while let Some(chunk) = content.next_chunk()? {
            change.apply(chunk, &mut hash)?;
        }
        Ok(sum.finalize().into())
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
