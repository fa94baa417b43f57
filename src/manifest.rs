//! The proof that a manifest keeps every rule that can be validated without data, and what it says.
//!
//! A [`Manifest`] borrows the manifest's bytes and not the data: a file of 100 GB is opened with
//! its last bytes. Names, shapes, digests and attributes are read from those bytes when asked
//! for, which cannot fail, because they have been checked.

mod admit;
mod blobs;
#[cfg(feature = "write")]
mod canonical;
mod component;
mod hash;
mod index;
mod names;
mod object;
mod reader;
mod refused;
mod roles;
#[cfg(feature = "v2")]
mod shard;
#[cfg(feature = "v2")]
mod shards;
#[cfg(feature = "std")]
mod table;

use alloc::borrow::Cow;
use alloc::vec::Vec;

pub use blobs::Extent;
#[cfg(feature = "write")]
pub(crate) use canonical::{FIRST, VERSION, aligned};
pub use component::{Component, ElementType};
#[cfg(feature = "write")]
pub(crate) use hash::hash;
pub use object::{Object, Shape};
pub use refused::RefusedManifest;
#[cfg(feature = "write")]
pub(crate) use roles::{Part, Roles};
#[cfg(feature = "v2")]
pub use shard::{Shard, ShardTable};

use crate::cbor::{Attributes, Remaining, seek};
use crate::error::Error;
use crate::format::frame::Frame;
use crate::format::{Dialect, Generation, Version};
use crate::limits::Options;
use crate::num::len_u32;
use index::{ComponentRecord, ObjectRecord};
use names::Names;
use reader::Reader;

/// What opening finds out: where everything is, and how to find a name.
struct Index {
    objects: Vec<ObjectRecord>,
    components: Vec<ComponentRecord>,
    names: Names,
    attributes: Option<Remaining>,
    #[cfg(feature = "v2")]
    shards: Option<Remaining>,
    dialect: &'static Dialect,
    version: Option<Version>,
}

/// A manifest that has been read and found to keep every rule that needs no data bytes.
///
/// It is made by opening a file: [`Archive::open`](crate::Archive::open),
/// [`open::Opening`](crate::open::Opening), or `source::FileArchive`.
pub struct Manifest<'m> {
    bytes: Cow<'m, [u8]>,
    frame: Frame,
    index: Index,
    /// What it was opened with, and opens with again when it has been appended to.
    #[cfg(feature = "write")]
    options: Options,
}

impl<'m> Manifest<'m> {
    /// Validates the bytes of a manifest.
    pub(crate) fn admit(
        frame: Frame,
        bytes: Cow<'m, [u8]>,
        options: &Options,
    ) -> Result<Self, RefusedManifest<'m>> {
        #[cfg(feature = "v2")]
        if let Err(error) = frame.validate_hash(&bytes) {
            return Err(RefusedManifest::new(error, frame, bytes));
        }
        let index = match admit::admit(&frame, &bytes, options) {
            Ok(index) => index,
            Err(error) => return Err(RefusedManifest::new(error, frame, bytes)),
        };
        let manifest = Self {
            bytes,
            frame,
            index,
            #[cfg(feature = "write")]
            options: *options,
        };
        #[cfg(feature = "write")]
        if options.is_canonical()
            && let Err(error) = canonical::validate(&manifest)
        {
            return Err(RefusedManifest::new(error, manifest.frame, manifest.bytes));
        }
        Ok(manifest)
    }

    /// Validates the same bytes by other options.
    #[cfg(feature = "write")]
    pub(crate) fn admit_again(&self, options: &Options) -> Result<(), Error> {
        Manifest::admit(self.frame.clone(), Cow::Borrowed(&self.bytes), options)?;
        Ok(())
    }

    /// What it was opened with.
    #[cfg(feature = "write")]
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    fn reader(&self) -> Reader<'_> {
        Reader { bytes: &self.bytes, dialect: self.index.dialect }
    }

    /// Which rules the file follows.
    pub fn generation(&self) -> Generation {
        self.index.dialect.generation
    }

    /// The version that a 1.x file names.
    pub fn version(&self) -> Option<Version> {
        self.index.version
    }

    /// The file's attributes, if it has any (1.x): v1.1 II.1, v1.2 §1.
    pub fn attributes(&self) -> Option<Attributes<'_>> {
        Attributes::read(seek(&self.bytes, self.index.attributes?))
    }

    /// All fields of the root (1.x) as the manifest spells them, unknown ones included.
    pub fn fields(&self) -> Option<Attributes<'_>> {
        if self.bytes.is_empty() {
            // A data shard has no manifest.
            return None;
        }
        // The root of 0.1 is an array.
        Attributes::read(&self.bytes)
    }

    /// Whether the file has no manifest, and holds blobs for other files only (2): v2 §7.2.
    pub fn is_data_shard(&self) -> bool {
        self.frame.is_data_shard()
    }

    /// The manifest's CBOR; none in a data shard.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where in the file the manifest lies. Before 2, all blobs end before it. Empty, and at the
    /// footer, in a data shard.
    pub fn extent(&self) -> core::ops::Range<u64> {
        self.frame.manifest().clone()
    }

    /// How many objects there are.
    pub fn len(&self) -> u32 {
        len_u32(self.index.objects.len())
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.index.objects.is_empty()
    }

    /// The objects, in the order of the manifest.
    pub fn objects(&self) -> impl ExactSizeIterator<Item = Object<'_>> {
        self.index
            .objects
            .iter()
            .enumerate()
            .map(|(ordinal, record)| Object::new(self.parts(), len_u32(ordinal), *record))
    }

    /// The object at that place in the manifest.
    pub fn object(&self, ordinal: u32) -> Option<Object<'_>> {
        let record = self.index.objects.get(crate::num::usize_from_u32(ordinal))?;
        Some(Object::new(self.parts(), ordinal, *record))
    }

    /// The object of that name. In O(log n); or, with `std`, in a few steps, for which the
    /// first call puts 256 names or more that are in order into a table, of 6 bytes each.
    pub fn get(&self, name: &str) -> Option<Object<'_>> {
        let reader = self.reader();
        let read = |ordinal| reader.name(&self.index.objects, ordinal);
        self.object(self.index.names.find(name.as_bytes(), self.len(), read)?)
    }

    /// The name of the object at that place, which costs nothing to read.
    #[cfg(feature = "write")]
    pub(crate) fn name(&self, ordinal: u32) -> &[u8] {
        self.reader().name(&self.index.objects, ordinal)
    }

    /// Bytes of heap that the index takes, beside the manifest's own bytes.
    pub fn index_bytes(&self) -> usize {
        let names = self.index.names.bytes();
        size_of_val(self.index.objects.as_slice())
            .saturating_add(size_of_val(self.index.components.as_slice()))
            .saturating_add(names)
    }

    /// What distinguishes the file's generation.
    #[cfg(feature = "write")]
    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.index.dialect
    }

    fn parts(&self) -> ManifestRef<'_> {
        ManifestRef {
            reader: self.reader(),
            index: &self.index,
            #[cfg(feature = "v2")]
            at_hand: None,
        }
    }
}

impl core::fmt::Debug for Manifest<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Manifest")
            .field("generation", &self.generation())
            .field("version", &self.version())
            .field("extent", &self.extent())
            .field("objects", &self.len())
            .field("components", &self.index.components.len())
            .finish()
    }
}

/// What objects and components read from.
#[derive(Clone, Copy)]
struct ManifestRef<'a> {
    reader: Reader<'a>,
    index: &'a Index,
    /// The name of the shard that is read from; none where it is the file itself.
    #[cfg(feature = "v2")]
    at_hand: Option<&'a str>,
}
