//! What a manifest says, read from its bytes: the same code whatever holds them.

use core::ops::Range;

use super::index::{Index, Records};
use crate::format::Dialect;
use crate::format::frame::Frame;
use crate::limits::Options;

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
