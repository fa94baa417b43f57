//! What a manifest says, read from its bytes: the same code whatever holds them.

use alloc::vec::Vec;
use core::ops::Range;

use super::index::{Index, Records};
use crate::format::Dialect;
use crate::format::frame::Frame;
use crate::limits::Options;

/// That a manifest has been validated, and what is known of it beside its bytes.
pub(crate) struct Admitted {
    /// The container of zTensor; none of other formats.
    pub(super) frame: Option<Frame>,
    /// The range of the file that was parsed: the manifest, or the header of another format.
    pub(super) header: Range<u64>,
    pub(super) file_len: u64,
    pub(super) text: TextIn,
    pub(super) index: Index,
    /// What it was opened with: its limits hold for its content, and it opens with them again
    /// when it has been appended to.
    pub(super) options: Options,
}

/// The bytes in which names, attributes and other texts stand.
pub(crate) enum TextIn {
    /// All that are held.
    Held,
    /// A range of those that are held, which are the whole file.
    File(Range<usize>),
    /// Those of a front end. The bytes that are held are the whole file.
    Own(Vec<u8>),
}

/// What objects and components read from.
#[derive(Clone, Copy)]
pub(crate) struct ManifestRef<'a> {
    /// The manifest's own, or all of the file's, where [`Admitted::text`] says so.
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
    pub(super) fn records(&self) -> Records<'a> {
        let Index { objects, components, dialect, .. } = self.index();
        Records { bytes: self.as_bytes(), dialect, objects, components }
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
        match &self.admitted.text {
            TextIn::Held => self.held,
            TextIn::File(section) => self.held.get(section.clone()).unwrap_or_default(),
            TextIn::Own(text) => text,
        }
    }

    /// All bytes of the file that is read from, where they are known.
    pub(crate) fn file(&self) -> Option<&'a [u8]> {
        #[cfg(feature = "v2")]
        if self.at_hand.is_some() {
            return None;
        }
        match self.admitted.text {
            TextIn::Held => None,
            TextIn::File(_) | TextIn::Own(_) => Some(self.held),
        }
    }
}
