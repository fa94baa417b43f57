//! The index of a manifest: one plain record for each object and component, filled while the manifest is parsed.

use alloc::vec::Vec;
use core::ops::Range;

use super::shared_sums::SharedSums;
use crate::cbor::{BytesLeft, Input, key, seek, text};
use crate::codec::Source;
use crate::error::{Error, Location, OutOfMemory};
use crate::format::frame::Frame;
use crate::format::{
    ComponentRecord, Dialect, Dimensions, Encoding, Layout, Nesting, RawObject, ShapeSpan, Shapes,
    ShardRecord, Text, Version,
};
use crate::limits::OpenOptions;
use crate::names::Names;
use crate::num::{len_u32, u64_from_usize, usize_from_u32};
use crate::rules::Rule;

/// The record of an object. [`BytesLeft::END`] is the place of a missing field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectRecord {
    /// The place of the name's text item, the size of the item's head in bytes, and the size of the name in bytes.
    pub(crate) name: BytesLeft,
    pub(crate) name_head: u8,
    pub(crate) name_length: u32,
    /// The shape, in the shapes of the index.
    pub(crate) shape: ShapeSpan,
    /// The place of the attributes, a map.
    pub(crate) attributes: BytesLeft,
    /// The ordinal of the object's first component among all components, and the number of its components.
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) format: Layout,
}

impl ObjectRecord {
    /// Creates the record of a parsed object that has `count` components.
    #[inline]
    pub(super) fn of(raw: &RawObject<'_>, count: usize) -> Self {
        let Text { bytes_left, bytes, behind } = raw.name;
        let length = len_u32(bytes.len());
        // The head of a CBOR text takes at most 9 bytes, so its size fits in a byte.
        let [head, ..] =
            bytes_left.get().wrapping_sub(behind.get()).wrapping_sub(length).to_le_bytes();
        Self {
            name: bytes_left,
            name_head: head,
            name_length: length,
            shape: raw.shape,
            attributes: raw.attributes.unwrap_or(BytesLeft::END),
            first: raw.first,
            count: len_u32(count),
            format: raw.layout,
        }
    }
}

/// The records of a manifest, and the bytes that hold their texts.
#[derive(Clone, Copy)]
pub(crate) struct Records<'a> {
    pub(super) bytes: Input<'a>,
    pub(super) dialect: &'static Dialect,
    pub(super) objects: &'a [ObjectRecord],
    pub(crate) components: &'a [ComponentRecord],
}

impl<'a> Records<'a> {
    /// Returns the name of `object`.
    #[inline]
    pub(super) fn name(&self, object: &ObjectRecord) -> &'a [u8] {
        let start = self.bytes.len().wrapping_sub(usize_from_u32(object.name.get()));
        let start = start.wrapping_add(object.name_head.into());
        let end = start.wrapping_add(usize_from_u32(object.name_length));
        // The caller's bytes may have become fewer since they were checked. The name is then empty.
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Returns the name of the object at `ordinal`, or an empty name if there is no such object.
    #[inline]
    pub(super) fn name_at(&self, ordinal: u32) -> &'a [u8] {
        let object = self.objects.get(usize_from_u32(ordinal));
        object.map(|object| self.name(object)).unwrap_or_default()
    }

    /// Returns the map of `object`, which follows the object's name, if the format has maps. In 0.1 the map of the
    /// object is the map of its only component.
    pub(super) fn object_map(&self, object: &ObjectRecord) -> Option<Input<'a>> {
        match self.dialect.nesting {
            Nesting::Absent => None,
            Nesting::Flat => self.component_map(self.components(object).first()?),
            Nesting::Named => Some(key(seek(self.bytes, object.name)).ok()?.0),
        }
    }

    /// Returns the name of the layout of `object`, as the file spells it.
    pub(super) fn layout(&self, object: &ObjectRecord) -> &'a [u8] {
        let fixed = self.dialect.layout_name(object.format);
        if let Some(name) = fixed {
            return name.as_bytes();
        }
        // Records have no field for the name of an unknown layout, because unknown layouts are rare.
        let at = match self.dialect.nesting {
            Nesting::Absent => key(seek(self.bytes, object.name)).ok().map(|(layout, _)| layout),
            Nesting::Flat | Nesting::Named => {
                self.object_map(object).and_then(|map| self.dialect.fields.layout.find(map))
            }
        };
        at.map_or(&[], |at| self.text(BytesLeft::of(at)))
    }

    /// Returns the components of `object`.
    #[inline]
    pub(super) fn components(&self, object: &ObjectRecord) -> &'a [ComponentRecord] {
        let start = usize_from_u32(object.first);
        let end = start.wrapping_add(usize_from_u32(object.count));
        self.components.get(start..end).unwrap_or_default()
    }

    /// Returns the map of `component`, if the format has maps: it follows the role; in 0.1 it is the entry itself.
    pub(super) fn component_map(&self, component: &ComponentRecord) -> Option<Input<'a>> {
        self.dialect.component_map(seek(self.bytes, component.at))
    }

    /// Returns the role of `component`.
    pub(super) fn role(&self, component: &ComponentRecord) -> &'a [u8] {
        match component.role {
            Some(role) => role.name().as_bytes(),
            None => self.text(component.at),
        }
    }

    /// Returns the text item at `at`, or an empty text if there is no text.
    pub(super) fn text(&self, at: BytesLeft) -> &'a [u8] {
        text(Rule::NameType, seek(self.bytes, at)).map_or(&[], |(_, text)| text)
    }

    /// Returns the place of `field` in `component`, or the place of the component in other formats, whose components
    /// have no fields.
    #[cold]
    pub(super) fn field(&self, component: &ComponentRecord, field: Site) -> BytesLeft {
        let location = || {
            let (fields, map) = (&self.dialect.fields, self.component_map(component)?);
            match field {
                Site::Offset => Some(fields.blob.find(map)?.0),
                Site::Size if component.has_decoded && component.encoding != Encoding::Raw => {
                    fields.decoded_length.find(map)
                }
                Site::Length | Site::Size => Some(fields.blob.find(map)?.1),
                Site::Type if component.has_type => fields.logical_type.find(map),
                Site::Dtype | Site::Type => fields.dtype.find(map),
            }
        };
        location().map_or(component.at, BytesLeft::of)
    }

    /// Returns the object of the component with the ordinal `component` among all components, and the component's
    /// ordinal within that object.
    #[cold]
    pub(super) fn location(&self, component: u32) -> Location {
        // An object without components has the same `first` as the next object with components. The last of them is the
        // owner.
        let after = self.objects.partition_point(|object| object.first <= component);
        let object = after.checked_sub(1);
        let first = object.and_then(|object| self.objects.get(object)).map(|object| object.first);
        let within = first.and_then(|first| component.checked_sub(first));
        Location::new(object.map(len_u32), within)
    }
}

/// Returns `bytes`, which have been checked, as text. If the caller's bytes have changed since, returns the first valid
/// part.
pub(super) fn utf8(bytes: &[u8]) -> &str {
    match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid()),
    }
}

/// The field of a component at which a fault is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Site {
    Offset,
    /// The stored length.
    Length,
    /// The decoded length, or the stored length if the component has no decoded length.
    Size,
    Dtype,
    /// The `type`, or the dtype if there is no `type`.
    Type,
}

/// The parsed content of a manifest: all that an open file keeps in memory beside the bytes of texts.
pub(crate) struct Index {
    pub(super) objects: Vec<ObjectRecord>,
    pub(super) components: Vec<ComponentRecord>,
    pub(super) names: Names,
    /// The place of the file's attributes, a map.
    pub(super) attributes: Option<BytesLeft>,
    /// The dimensions of the shapes.
    pub(super) shapes: Shapes,
    /// The table of shards.
    pub(super) shards: Vec<ShardRecord>,
    /// The ranges with checksums that several components share, and the outcomes of verifying them.
    pub(super) sums: SharedSums,
    pub(super) dialect: &'static Dialect,
    pub(super) version: Option<Version>,
}

impl Index {
    /// Fills `sums` with a pending outcome for each checksum that components share. `bytes` are the texts of the front
    /// end, which hold the numbers of each checksum.
    pub(crate) fn share_sums(&mut self, bytes: Input<'_>) -> Result<(), OutOfMemory> {
        let mut places = Vec::new();
        for record in self.components.iter().filter(|record| record.digest != BytesLeft::END) {
            // The numbers are the prefix, the checksum, and the start and end of its range.
            let mut numbers = Dimensions::of(seek(bytes, record.digest)).skip(1);
            let sum = numbers.next().filter(|sum| *sum != ComponentRecord::NO_CHECKSUM);
            let range = numbers.next().zip(numbers.next());
            let Some((_, (start, end))) = sum.zip(range.filter(|(start, end)| start < end)) else {
                continue;
            };
            let place = (record.shard, start, end);
            // Tensors of one storage mostly follow each other, so most repetitions are dropped without sorting.
            if places.last() != Some(&place) {
                places.try_reserve(1).map_err(|_| OutOfMemory)?;
                places.push(place);
            }
        }
        self.sums = SharedSums::new(places)?;
        Ok(())
    }

    /// Returns the size of the index in bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        let objects = self.objects.capacity().saturating_mul(size_of::<ObjectRecord>());
        let components = self.components.capacity().saturating_mul(size_of::<ComponentRecord>());
        let records = objects.saturating_add(components).saturating_add(self.shapes.heap());
        let records =
            records.saturating_add(self.shards.capacity().saturating_mul(size_of::<ShardRecord>()));
        records.saturating_add(self.names.bytes()).saturating_add(self.sums.bytes())
    }
}

/// The validated content of a manifest, and the facts that are not in the manifest's bytes.
pub(crate) struct ValidatedManifest {
    /// The container of a zTensor file; `None` for other formats.
    pub(super) frame: Option<Frame>,
    /// The range of the file that was parsed: the manifest, or the header of another format.
    pub(super) header: Range<u64>,
    pub(super) file_len: u64,
    pub(super) text: TextIn,
    pub(super) index: Index,
    /// The options that the file was opened with. Their limits also hold for its content, and a file that has been
    /// appended to is opened with them again.
    pub(super) options: OpenOptions,
    /// The findings that did not keep the file from opening.
    pub(crate) findings: Vec<Finding>,
}

/// A finding about a file that did not keep the file from opening.
#[derive(Debug)]
pub struct Finding {
    pub(crate) error: Error,
    pub(crate) more: u64,
}

impl Finding {
    /// Returns the error of the first finding by the rule. If its [kind](Error::kind) is
    /// [`Note`](crate::ErrorKind::Note), the file is valid. A check of the file reports any other kind as an error of
    /// the file.
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// Returns the number of further findings by the same rule.
    pub fn more(&self) -> u64 {
        self.more
    }
}

/// The place of the bytes that hold names, attributes and other texts.
pub(crate) enum TextIn {
    /// All held bytes.
    Held,
    /// A range of the held bytes, which are the whole file.
    File(Range<usize>),
    /// Bytes that a front end wrote. The held bytes are the whole file.
    Own(Vec<u8>),
}

/// The bytes and the index that objects and components read from.
#[derive(Clone, Copy)]
pub(crate) struct ManifestRef<'a> {
    /// The bytes of the manifest, or of the whole file: [`ValidatedManifest::text`] tells which.
    pub(super) held: &'a [u8],
    pub(super) validated: &'a ValidatedManifest,
    /// The source of the content: a file, or a file and its shards. `None` for a manifest without its file.
    pub(super) source: Option<&'a dyn Source>,
}

impl<'a> ManifestRef<'a> {
    #[inline]
    pub(super) fn new(held: &'a [u8], validated: &'a ValidatedManifest) -> Self {
        Self { held, validated, source: None }
    }

    #[inline]
    pub(crate) fn records(&self) -> Records<'a> {
        let Index { objects, components, dialect, .. } = self.index();
        Records { bytes: self.as_bytes(), dialect, objects, components }
    }

    #[inline]
    pub(super) fn index(&self) -> &'a Index {
        &self.validated.index
    }

    /// Returns the options that the file was opened with.
    pub(crate) fn options(&self) -> &'a OpenOptions {
        &self.validated.options
    }

    /// Returns the dialect of the file.
    #[inline]
    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.index().dialect
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &'a [u8] {
        match &self.validated.text {
            TextIn::Held => self.held,
            TextIn::File(section) => self.held.get(section.clone()).unwrap_or_default(),
            TextIn::Own(text) => text,
        }
    }

    /// Returns the same manifest, whose content is read and borrowed from `source`.
    pub(crate) fn read_from<'s>(self, source: &'s dyn Source) -> ManifestRef<'s>
    where
        'a: 's,
    {
        // Content must not be borrowed from the held bytes any more. They are cut after the texts, before the footer,
        // so that they are not taken for the whole file.
        let held = match &self.validated.text {
            TextIn::File(section) => self.held.get(..section.end).unwrap_or_default(),
            TextIn::Own(_) => &[],
            TextIn::Held => self.held,
        };
        ManifestRef { held, source: Some(source), ..self }
    }

    /// Returns the same manifest, whose content is read from `archive` and may be borrowed from the held bytes.
    #[inline]
    pub(crate) fn with_source<'s>(self, archive: &'s dyn Source) -> ManifestRef<'s>
    where
        'a: 's,
    {
        ManifestRef { source: Some(archive), ..self }
    }

    /// Returns the source of the content, if it is known.
    pub(crate) fn source(&self) -> Option<&'a dyn Source> {
        self.source
    }

    /// Returns all bytes of the file, if they are in memory.
    #[inline]
    pub(crate) fn file(&self) -> Option<&'a [u8]> {
        let is_file = u64_from_usize(self.held.len()) == self.validated.file_len;
        match self.validated.text {
            TextIn::File(_) | TextIn::Own(_) if is_file => Some(self.held),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ComponentRecord, ObjectRecord};

    /// Records of an ordinary object take 80 bytes: `docs/limits.md`.
    #[test]
    fn records_are_small() {
        assert_eq!((size_of::<ObjectRecord>(), size_of::<ComponentRecord>()), (32, 48));
    }
}
