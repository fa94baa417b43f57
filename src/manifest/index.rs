//! The index: one plain record for each object and each component, filled once, as the manifest is parsed.

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

/// One object. Places that are [`BytesLeft::END`] stand for a field that is not there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectRecord {
    /// The name, a text; the bytes that its head takes, and those of its content.
    pub(crate) name: BytesLeft,
    pub(crate) name_head: u8,
    pub(crate) name_length: u32,
    /// The shape, among those of the index.
    pub(crate) shape: ShapeSpan,
    /// The attributes, a map.
    pub(crate) attributes: BytesLeft,
    /// The ordinal of its first component among all components, and the number of its components.
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) format: Layout,
}

impl ObjectRecord {
    /// The record of an object that has been parsed, and has so many components.
    #[inline]
    pub(super) fn of(raw: &RawObject<'_>, count: usize) -> Self {
        let Text { bytes_left, bytes, behind } = raw.name;
        let length = len_u32(bytes.len());
        // A head takes 9 bytes at most.
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

/// The records of a manifest, and its bytes, in which their texts stand.
#[derive(Clone, Copy)]
pub(crate) struct Records<'a> {
    pub(super) bytes: Input<'a>,
    pub(super) dialect: &'static Dialect,
    pub(super) objects: &'a [ObjectRecord],
    pub(crate) components: &'a [ComponentRecord],
}

impl<'a> Records<'a> {
    /// The name of an object.
    #[inline]
    pub(super) fn name(&self, object: &ObjectRecord) -> &'a [u8] {
        let start = self.bytes.len().wrapping_sub(usize_from_u32(object.name.get()));
        let start = start.wrapping_add(object.name_head.into());
        let end = start.wrapping_add(usize_from_u32(object.name_length));
        // A holder that gives fewer bytes by now has no names.
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// The name of the object at an ordinal.
    #[inline]
    pub(super) fn name_at(&self, ordinal: u32) -> &'a [u8] {
        let object = self.objects.get(usize_from_u32(ordinal));
        object.map(|object| self.name(object)).unwrap_or_default()
    }

    /// The map of an object, if its format has one: after its name; in 0.1 the entry, as that of its component.
    pub(super) fn object_map(&self, object: &ObjectRecord) -> Option<Input<'a>> {
        match self.dialect.nesting {
            Nesting::Absent => None,
            Nesting::Flat => self.component_map(self.components(object).first()?),
            Nesting::Named => Some(key(seek(self.bytes, object.name)).ok()?.0),
        }
    }

    /// The name of the layout of an object, as the file spells it.
    pub(super) fn layout(&self, object: &ObjectRecord) -> &'a [u8] {
        let fixed = self.dialect.layout_name(object.format);
        if let Some(name) = fixed {
            return name.as_bytes();
        }
        // No record has a place for other names: they are rare.
        let at = match self.dialect.nesting {
            Nesting::Absent => key(seek(self.bytes, object.name)).ok().map(|(layout, _)| layout),
            Nesting::Flat | Nesting::Named => {
                self.object_map(object).and_then(|map| self.dialect.fields.layout.find(map))
            }
        };
        at.map_or(&[], |at| self.text(BytesLeft::of(at)))
    }

    /// The components of an object.
    #[inline]
    pub(super) fn components(&self, object: &ObjectRecord) -> &'a [ComponentRecord] {
        let start = usize_from_u32(object.first);
        let end = start.wrapping_add(usize_from_u32(object.count));
        self.components.get(start..end).unwrap_or_default()
    }

    /// The map of a component, if its format has one: after its role, or the entry itself.
    pub(super) fn component_map(&self, component: &ComponentRecord) -> Option<Input<'a>> {
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
    pub(super) fn text(&self, at: BytesLeft) -> &'a [u8] {
        text(Rule::NameType, seek(self.bytes, at)).map_or(&[], |(_, text)| text)
    }

    /// The place of a component's field; that of the component in other formats, whose records have no fields.
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

    /// The place of the component at an ordinal among all components.
    #[cold]
    pub(super) fn location(&self, component: u32) -> Location {
        // Objects without components share their ordinal with the next object that has one.
        let after = self.objects.partition_point(|object| object.first <= component);
        let object = after.checked_sub(1);
        let first = object.and_then(|object| self.objects.get(object)).map(|object| object.first);
        let within = first.and_then(|first| component.checked_sub(first));
        Location::new(object.map(len_u32), within)
    }
}

/// Returns checked bytes as text: of a holder that gives other bytes by now, as many of them as are text.
pub(super) fn utf8(bytes: &[u8]) -> &str {
    match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid()),
    }
}

/// The field of a component that a fault is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Site {
    Offset,
    /// The stored length.
    Length,
    /// The decoded length, or the stored one if that says it.
    Size,
    Dtype,
    /// The `type`, or the dtype if that says it.
    Type,
}

/// Everything that opening finds out.
pub(crate) struct Index {
    pub(super) objects: Vec<ObjectRecord>,
    pub(super) components: Vec<ComponentRecord>,
    pub(super) names: Names,
    /// The attributes of the file, a map.
    pub(super) attributes: Option<BytesLeft>,
    /// The dimensions of the shapes.
    pub(super) shapes: Shapes,
    /// The table of shards.
    pub(super) shards: Vec<ShardRecord>,
    /// The checksums that components share.
    pub(super) sums: SharedSums,
    pub(super) dialect: &'static Dialect,
    pub(super) version: Option<Version>,
}

impl Index {
    /// Prepares to keep, for the checksums that components share, whether they have been verified. `bytes` are those of
    /// the texts.
    pub(crate) fn share_sums(&mut self, bytes: Input<'_>) -> Result<(), OutOfMemory> {
        let mut places = Vec::new();
        for record in self.components.iter().filter(|record| record.digest != BytesLeft::END) {
            // In front of the content; the checksum; the range that it is over.
            let mut numbers = Dimensions::of(seek(bytes, record.digest)).skip(1);
            let sum = numbers.next().filter(|sum| *sum != ComponentRecord::NO_CHECKSUM);
            let range = numbers.next().zip(numbers.next());
            let Some((_, (start, end))) = sum.zip(range.filter(|(start, end)| start < end)) else {
                continue;
            };
            let place = (record.shard, start, end);
            // Tensors of one storage mostly stand together.
            if places.last() != Some(&place) {
                places.try_reserve(1).map_err(|_| OutOfMemory)?;
                places.push(place);
            }
        }
        self.sums = SharedSums::new(places)?;
        Ok(())
    }

    /// Bytes of heap.
    pub(super) fn bytes(&self) -> usize {
        let objects = self.objects.capacity().saturating_mul(size_of::<ObjectRecord>());
        let components = self.components.capacity().saturating_mul(size_of::<ComponentRecord>());
        let records = objects.saturating_add(components).saturating_add(self.shapes.heap());
        let records =
            records.saturating_add(self.shards.capacity().saturating_mul(size_of::<ShardRecord>()));
        records.saturating_add(self.names.bytes()).saturating_add(self.sums.bytes())
    }
}

/// Proof that a manifest has been validated, and the facts that its bytes do not hold.
pub(crate) struct ValidatedManifest {
    /// The container of zTensor; none of other formats.
    pub(super) frame: Option<Frame>,
    /// The range of the file that was parsed: the manifest, or the header of another format.
    pub(super) header: Range<u64>,
    pub(super) file_len: u64,
    pub(super) text: TextIn,
    pub(super) index: Index,
    /// The options that it was opened with: their limits hold for its content, and it opens with them again
    /// when it has been appended to.
    pub(super) options: OpenOptions,
    /// The findings that did not keep the file from opening.
    pub(crate) findings: Vec<Finding>,
}

/// What a reader found in a file, and what did not keep the file from opening.
#[derive(Debug)]
pub struct Finding {
    pub(crate) error: Error,
    pub(crate) more: u64,
}

impl Finding {
    /// The first finding by its rule. Its [kind](Error::kind) is [`Note`](crate::ErrorKind::Note) if the file is valid all the
    /// same; a check of the file reports any other kind as the error of the file.
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// The number of further findings by the same rule.
    pub fn more(&self) -> u64 {
        self.more
    }
}

/// The bytes in which names, attributes and other texts stand.
pub(crate) enum TextIn {
    /// All that are held.
    Held,
    /// A range of those that are held, which are the whole file.
    File(Range<usize>),
    /// The bytes of a front end. The bytes that are held are the whole file.
    Own(Vec<u8>),
}

/// The bytes and the index that objects and components read from.
#[derive(Clone, Copy)]
pub(crate) struct ManifestRef<'a> {
    /// The manifest's own, or all of the file's, where [`ValidatedManifest::text`] says so.
    pub(super) held: &'a [u8],
    pub(super) validated: &'a ValidatedManifest,
    /// The files that content is read from, where they are known.
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

    /// The options that it was opened with.
    pub(crate) fn options(&self) -> &'a OpenOptions {
        &self.validated.options
    }

    /// The dialect of the file.
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

    /// The same, whose content is read from `source`, and borrowed from there.
    pub(crate) fn read_from<'s>(self, source: &'s dyn Source) -> ManifestRef<'s>
    where
        'a: 's,
    {
        // What is held is not the file any longer: it ends with the texts, behind which a footer stands.
        let held = match &self.validated.text {
            TextIn::File(section) => self.held.get(..section.end).unwrap_or_default(),
            TextIn::Own(_) => &[],
            TextIn::Held => self.held,
        };
        ManifestRef { held, source: Some(source), ..self }
    }

    /// The same, of the archive that holds it.
    #[inline]
    pub(crate) fn with_source<'s>(self, archive: &'s dyn Source) -> ManifestRef<'s>
    where
        'a: 's,
    {
        ManifestRef { source: Some(archive), ..self }
    }

    /// The files that content is read from, where they are known.
    pub(crate) fn source(&self) -> Option<&'a dyn Source> {
        self.source
    }

    /// All bytes of the file, where they are in memory.
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
