//! What a manifest says, read from its bytes: the same code whatever holds them.

use alloc::vec::Vec;
use core::ops::Range;

use super::index::{ComponentRecord, ObjectRecord};
use super::names::Names;
use super::reader::Reader;
use super::records::Records;
use crate::cbor::Remaining;
use crate::format::frame::Frame;
use crate::format::{Dialect, Version};
use crate::limits::Options;

/// What opening finds out: where everything is, and how to find a name.
pub(super) struct Index {
    pub(super) objects: Vec<ObjectRecord>,
    /// The components that are not the first of their object.
    pub(super) others: Vec<ComponentRecord>,
    pub(super) names: Names,
    pub(super) attributes: Option<Remaining>,
    #[cfg(feature = "v2")]
    pub(super) shards: Option<Remaining>,
    pub(super) dialect: &'static Dialect,
    pub(super) version: Option<Version>,
}

impl Index {
    /// Its objects and components.
    pub(super) fn records(&self) -> Records<'_> {
        Records { objects: &self.objects, others: &self.others }
    }

    /// Bytes of heap that it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.objects.as_slice())
            .saturating_add(size_of_val(self.others.as_slice()))
            .saturating_add(self.names.bytes())
    }
}

/// That a manifest has been validated, and what is known of it beside its bytes.
pub(crate) struct Admitted {
    pub(super) frame: Frame,
    /// Where in the bytes that are held the manifest lies, if those are the whole file.
    pub(super) section: Option<Range<usize>>,
    pub(super) index: Index,
    /// What it was opened with: its limits hold for its content, and it opens with them again
    /// when it has been appended to.
    pub(super) options: Options,
}

/// What objects and components read from.
#[derive(Clone, Copy)]
pub(crate) struct ManifestRef<'a> {
    /// The manifest's own, or all of the file's, where [`Admitted::section`] says so.
    pub(super) held: &'a [u8],
    pub(super) admitted: &'a Admitted,
    /// The name of the shard that is read from; none where it is the file itself.
    #[cfg(feature = "v2")]
    pub(super) at_hand: Option<&'a str>,
}

impl<'a> ManifestRef<'a> {
    #[inline]
    pub(super) fn new(held: &'a [u8], admitted: &'a Admitted) -> Self {
        Self {
            held,
            admitted,
            #[cfg(feature = "v2")]
            at_hand: None,
        }
    }

    #[inline]
    pub(super) fn reader(&self) -> Reader<'a> {
        Reader { bytes: self.as_bytes(), dialect: self.dialect() }
    }

    #[inline]
    pub(super) fn index(&self) -> &'a Index {
        &self.admitted.index
    }

    /// What it was opened with.
    pub(crate) fn options(&self) -> &'a Options {
        &self.admitted.options
    }

    /// What distinguishes the file's generation.
    #[inline]
    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.index().dialect
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &'a [u8] {
        match &self.admitted.section {
            None => self.held,
            Some(section) => self.held.get(section.clone()).unwrap_or_default(),
        }
    }

    /// All bytes of the file that is read from, where they are known.
    pub(crate) fn file(&self) -> Option<&'a [u8]> {
        #[cfg(feature = "v2")]
        if self.at_hand.is_some() {
            return None;
        }
        self.admitted.section.as_ref().map(|_| self.held)
    }
}
