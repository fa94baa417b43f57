//! Reading the manifest's bytes again, after they have been checked.
//!
//! Nothing here can fail on bytes that have been: the defaults stand in for the impossible.

use super::blobs::Extent;
use super::index::{ComponentRecord, ObjectRecord};
use crate::cbor::{Input, Remaining, key, seek, text, uint};
use crate::format::Dialect;
use crate::num::{Assured as _, usize_from_u32};
use crate::rules::Rule;
use nom::Parser as _;

/// The manifest's bytes and what they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) dialect: &'static Dialect,
}

impl<'a> Reader<'a> {
    fn at(&self, left: u32) -> Input<'a> {
        seek(self.bytes, Remaining::from_left(left))
    }

    /// An object's name.
    #[inline]
    pub(super) fn name(&self, objects: &[ObjectRecord], ordinal: u32) -> &'a [u8] {
        objects.get(usize_from_u32(ordinal)).map(|object| self.name_of(*object)).assured()
    }

    #[inline]
    pub(super) fn name_of(&self, object: ObjectRecord) -> &'a [u8] {
        text(Rule::NameType).parse(seek(self.bytes, object.name())).assured().1
    }

    /// The map of a 1.x object, which follows its name.
    pub(super) fn object_map(&self, object: ObjectRecord) -> Input<'a> {
        key(seek(self.bytes, object.name())).assured().0
    }

    /// The map of a component: after its role, or the entry itself.
    pub(super) fn component_map(&self, component: ComponentRecord) -> Input<'a> {
        self.dialect.component_map(self.at(component.at()))
    }

    /// The role of a component.
    pub(super) fn role(&self, component: ComponentRecord) -> &'a [u8] {
        self.dialect.role(self.at(component.at()))
    }

    /// Where a component's offset and length stand.
    #[cfg_attr(not(feature = "small"), inline(always))]
    fn blob(&self, component: ComponentRecord) -> (Input<'a>, Input<'a>) {
        let (offset, length) = (component.offset_after(), component.length_after());
        if offset == 0 || length == 0 {
            // One of them is too far away to be recorded.
            return self.dialect.blob.find(self.component_map(component)).assured();
        }
        let at = self.at(component.at());
        let near = |after| at.get(usize_from_u32(after)..).assured();
        (near(offset), near(length))
    }

    /// Where a component's offset stands.
    pub(super) fn offset_remaining(&self, component: ComponentRecord) -> Remaining {
        Remaining::of(self.blob(component).0)
    }

    /// Where a component's length stands.
    #[cfg(feature = "v2")]
    pub(super) fn length_remaining(&self, component: ComponentRecord) -> Remaining {
        Remaining::of(self.blob(component).1)
    }

    /// Where a component's blob lies.
    #[inline]
    pub(super) fn extent(&self, component: ComponentRecord) -> Extent {
        let (offset, length) = self.blob(component);
        let read = |at| uint(Rule::OffsetType).parse(at).assured().1;
        Extent::new(read(offset), read(length))
    }
}
