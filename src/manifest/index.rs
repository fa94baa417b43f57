//! The index: one plain record for each object and each component, filled once, as the manifest is parsed.

use alloc::vec::Vec;

use super::extent::Extent;
use super::names::Names;
use crate::cbor::{Fault, Input, Remaining, seek, text};
use crate::element::StorageType;
use crate::error::{OutOfMemory, Place};
use crate::format::{Dialect, Encoding, Format, Logical, Nesting, Role, Version};
use crate::num::{Assured as _, len_u32, usize_from_u32};
use crate::rules::Rule;
use nom::Parser as _;

/// One object. Places that are [`Remaining::END`] stand for a field that is not there.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectRecord {
    /// The name, a text; the bytes that its head takes, and those of its content.
    pub(super) name: Remaining,
    pub(super) name_head: u8,
    pub(super) name_length: u32,
    /// The shape, an array.
    pub(super) shape: Remaining,
    /// The name of the layout, a text.
    pub(super) layout: Remaining,
    /// The attributes, a map.
    pub(super) attributes: Remaining,
    /// The ordinal of its first component among all components, and the number of its components.
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) format: Format,
}

/// One component. Places that are [`Remaining::END`] stand for a field that is not there.
#[derive(Clone, Copy, Debug)]
pub(super) struct ComponentRecord {
    pub(super) extent: Extent,
    /// The length that the manifest gives for the decoded bytes, if it gives one.
    pub(super) decoded: u64,
    pub(super) has_decoded: bool,
    /// The role, a text; in 0.1 the entry, which is its map.
    pub(super) at: Remaining,
    /// The digest, a text.
    pub(super) digest: Remaining,
    /// The name of the shard, a text.
    pub(super) shard: Remaining,
    /// The name of a type that is not known: that of the dtype if [`storage`](Self::storage) is none.
    pub(super) type_name: Remaining,
    /// The role, if some layout gives it a meaning.
    pub(super) role: Option<Role>,
    /// None if the dtype, of 0.1, is not known.
    pub(super) storage: Option<StorageType>,
    pub(super) logical: Logical,
    pub(super) encoding: Encoding,
    pub(super) big_endian: bool,
}

impl ComponentRecord {
    /// The record of raw bytes without a type.
    #[cfg(test)]
    pub(super) fn raw(extent: Extent) -> Self {
        Self {
            extent,
            decoded: 0,
            has_decoded: false,
            at: Remaining::END,
            digest: Remaining::END,
            shard: Remaining::END,
            type_name: Remaining::END,
            role: None,
            storage: Some(StorageType::U8),
            logical: Logical::NONE,
            encoding: Encoding::Raw,
            big_endian: false,
        }
    }

    /// Returns whether its blob is in another file.
    #[inline(always)]
    pub(super) fn in_shard(&self) -> bool {
        self.shard != Remaining::END
    }
}

/// Adds an item. Its room grows with what was added, never with what the manifest claims.
#[inline(always)]
pub(super) fn push<T>(items: &mut Vec<T>, item: T) -> Result<(), Fault> {
    if items.len() == items.capacity() {
        reserve(items, 1)?;
    }
    items.push(item);
    Ok(())
}

/// Makes room for more items.
#[inline(never)]
pub(super) fn reserve<T>(items: &mut Vec<T>, more: u32) -> Result<(), Fault> {
    let reserved = items.try_reserve(usize_from_u32(more));
    reserved.map_err(|_| Fault::new(OutOfMemory, Remaining::END))
}

/// The records of a manifest, and its bytes, in which their texts stand.
#[derive(Clone, Copy)]
pub(super) struct Records<'a> {
    pub(super) bytes: Input<'a>,
    pub(super) dialect: &'static Dialect,
    pub(super) objects: &'a [ObjectRecord],
    pub(super) components: &'a [ComponentRecord],
}

impl<'a> Records<'a> {
    /// The name of an object.
    #[inline]
    pub(super) fn name(&self, object: &ObjectRecord) -> &'a [u8] {
        let content = seek(self.bytes, object.name).get(usize::from(object.name_head)..).assured();
        content.get(..usize_from_u32(object.name_length)).assured()
    }

    /// The name of the object at an ordinal.
    #[inline]
    pub(super) fn name_at(&self, ordinal: u32) -> &'a [u8] {
        self.objects.get(usize_from_u32(ordinal)).map(|object| self.name(object)).assured()
    }

    /// The map of an object: after its name; in 0.1 the entry, as that of its component.
    pub(super) fn object_map(&self, object: &ObjectRecord) -> Input<'a> {
        match self.dialect.nesting {
            Nesting::Flat(_) => {
                self.components(object).first().map(|entry| self.component_map(entry)).assured()
            }
            Nesting::Named => {
                let behind =
                    usize::from(object.name_head).checked_add(usize_from_u32(object.name_length));
                behind.and_then(|behind| seek(self.bytes, object.name).get(behind..)).assured()
            }
        }
    }

    /// The components of an object.
    #[inline]
    pub(super) fn components(&self, object: &ObjectRecord) -> &'a [ComponentRecord] {
        let components = self.components.get(usize_from_u32(object.first)..).assured();
        components.get(..usize_from_u32(object.count)).assured()
    }

    /// The map of a component: after its role, or the entry itself.
    pub(super) fn component_map(&self, component: &ComponentRecord) -> Input<'a> {
        self.dialect.component_map(seek(self.bytes, component.at))
    }

    /// The role of a component.
    pub(super) fn role(&self, component: &ComponentRecord) -> &'a [u8] {
        match component.role {
            Some(role) => role.name().as_bytes(),
            None => self.text(component.at),
        }
    }

    /// The text at a place; empty if there is none.
    pub(super) fn text(&self, at: Remaining) -> &'a [u8] {
        match text(Rule::NameType).parse(seek(self.bytes, at)) {
            Ok((_, text)) => text,
            Err(_) => &[],
        }
    }

    /// The places of a component's offset and length, for errors about them.
    #[cold]
    pub(super) fn blob_places(&self, component: &ComponentRecord) -> (Remaining, Remaining) {
        let (offset, length) = self.dialect.blob.find(self.component_map(component)).assured();
        (Remaining::of(offset), Remaining::of(length))
    }

    /// The place of the component at an ordinal among all components.
    #[cold]
    pub(super) fn place(&self, component: u32) -> Place {
        // Objects without components share their ordinal with the next object that has one.
        let after = self.objects.partition_point(|object| object.first <= component);
        let object = after.checked_sub(1).assured();
        let first = self.objects.get(object).map(|object| object.first).assured();
        Place::new(Some(len_u32(object)), component.checked_sub(first))
    }
}

/// Everything that opening finds out.
pub(super) struct Index {
    pub(super) objects: Vec<ObjectRecord>,
    pub(super) components: Vec<ComponentRecord>,
    pub(super) names: Names,
    /// The attributes of the file, a map.
    pub(super) attributes: Option<Remaining>,
    /// The table of shards.
    #[cfg(feature = "v2")]
    pub(super) shards: Option<Remaining>,
    pub(super) dialect: &'static Dialect,
    pub(super) version: Option<Version>,
}

impl Index {
    /// Bytes of heap.
    pub(super) fn bytes(&self) -> usize {
        let objects = self.objects.capacity().saturating_mul(size_of::<ObjectRecord>());
        let components = self.components.capacity().saturating_mul(size_of::<ComponentRecord>());
        objects.saturating_add(components).saturating_add(self.names.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::{ComponentRecord, ObjectRecord};

    /// Records of an ordinary object take 80 bytes: SECURITY.md.
    #[test]
    fn records_are_small() {
        assert_eq!((size_of::<ObjectRecord>(), size_of::<ComponentRecord>()), (32, 48));
    }
}
