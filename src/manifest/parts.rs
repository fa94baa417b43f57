//! What a manifest says, read from its bytes: the same code whatever holds them.

use alloc::vec::Vec;

use super::admit;
#[cfg(feature = "write")]
use super::canonical;
use super::index::{ComponentRecord, ObjectRecord};
use super::names::Names;
use super::object::Object;
use super::reader::Reader;
use crate::cbor::{Attributes, Remaining, seek};
use crate::error::Error;
use crate::format::frame::Frame;
use crate::format::{Dialect, Version};
use crate::limits::Options;
use crate::num::{len_u32, usize_from_u32};

/// What opening finds out: where everything is, and how to find a name.
pub(super) struct Index {
    pub(super) objects: Vec<ObjectRecord>,
    pub(super) components: Vec<ComponentRecord>,
    pub(super) names: Names,
    pub(super) attributes: Option<Remaining>,
    pub(super) dialect: &'static Dialect,
    pub(super) version: Option<Version>,
}

impl Index {
    /// Bytes of heap that it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.objects.as_slice())
            .saturating_add(size_of_val(self.components.as_slice()))
            .saturating_add(self.names.bytes())
    }
}

/// That a manifest has been validated, and what is known of it beside its bytes.
pub(crate) struct Admitted {
    pub(super) frame: Frame,
    pub(super) index: Index,
    /// What it was opened with: its limits hold for its content, and it opens with them again
    /// when it has been appended to.
    pub(super) options: Options,
}

impl Admitted {
    /// Validates the bytes of a manifest.
    pub(crate) fn admit(frame: &Frame, bytes: &[u8], options: &Options) -> Result<Self, Error> {
        #[cfg(feature = "v2")]
        frame.validate_hash(bytes)?;
        let index = admit::admit(frame, bytes, options)?;
        let admitted = Self { frame: frame.clone(), index, options: *options };
        #[cfg(feature = "write")]
        if options.is_canonical() {
            canonical::validate(&ManifestRef { bytes, file: None, admitted: &admitted })?;
        }
        Ok(admitted)
    }
}

/// What objects and components read from.
#[derive(Clone, Copy)]
pub(crate) struct ManifestRef<'a> {
    /// The manifest's own.
    pub(super) bytes: &'a [u8],
    /// All of the file's, where they are known.
    pub(super) file: Option<&'a [u8]>,
    pub(super) admitted: &'a Admitted,
}

impl<'a> ManifestRef<'a> {
    pub(super) fn reader(&self) -> Reader<'a> {
        Reader { bytes: self.bytes, dialect: self.dialect() }
    }

    pub(super) fn index(&self) -> &'a Index {
        &self.admitted.index
    }

    /// What it was opened with.
    pub(crate) fn options(&self) -> &'a Options {
        &self.admitted.options
    }

    /// What distinguishes the file's generation.
    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.index().dialect
    }

    pub(crate) fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// All bytes of the file, where they are known.
    pub(crate) fn file(&self) -> Option<&'a [u8]> {
        self.file
    }

    pub(crate) fn attributes(&self) -> Option<Attributes<'a>> {
        Attributes::read(seek(self.bytes, self.index().attributes?))
    }

    pub(crate) fn fields(&self) -> Option<Attributes<'a>> {
        if self.bytes.is_empty() {
            // A data shard has no manifest.
            return None;
        }
        // The root of 0.1 is an array.
        Attributes::read(self.bytes)
    }

    /// Where in the file the manifest lies.
    pub(crate) fn extent(&self) -> core::ops::Range<u64> {
        self.admitted.frame.manifest().clone()
    }

    pub(crate) fn len(&self) -> u32 {
        len_u32(self.index().objects.len())
    }

    pub(crate) fn objects(self) -> impl ExactSizeIterator<Item = Object<'a>> + use<'a> {
        let objects = self.index().objects.iter().enumerate();
        objects.map(move |(ordinal, record)| Object::new(self, len_u32(ordinal), *record))
    }

    pub(crate) fn object(self, ordinal: u32) -> Option<Object<'a>> {
        let record = self.index().objects.get(usize_from_u32(ordinal))?;
        Some(Object::new(self, ordinal, *record))
    }

    pub(crate) fn get(self, name: &str) -> Option<Object<'a>> {
        let reader = self.reader();
        let objects = &self.index().objects;
        let read = |ordinal| reader.name(objects, ordinal);
        self.object(self.index().names.find(name.as_bytes(), self.len(), read)?)
    }

    /// The name of the object at that place, which costs nothing to read.
    #[cfg(any(feature = "std", feature = "write"))]
    pub(crate) fn name(&self, ordinal: u32) -> &'a [u8] {
        self.reader().name(&self.index().objects, ordinal)
    }

    /// Validates the same bytes by other options.
    #[cfg(feature = "write")]
    pub(crate) fn admit_again(&self, options: &Options) -> Result<(), Error> {
        Admitted::admit(&self.admitted.frame, self.bytes, options)?;
        Ok(())
    }
}
