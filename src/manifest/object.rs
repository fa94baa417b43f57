//! One object of a manifest.

use nom::Parser as _;

use super::ManifestRef;
use super::component::{Component, string};
use super::index::ObjectRecord;
use crate::brief::Start;
#[cfg(feature = "write")]
use crate::cbor::item;
use crate::cbor::{Attributes, Entries, Input, UNLIMITED, array_head, uint};
#[cfg(feature = "v2")]
use crate::format::Field;
use crate::format::{Dialect, Format, Nesting};
use crate::num::{Assured as _, len_u32, usize_from_u32};
use crate::rules::Rule;

/// One tensor: a name, a shape, a format, and the components that hold its bytes.
#[derive(Clone, Copy)]
pub struct Object<'a> {
    pub(super) parts: ManifestRef<'a>,
    ordinal: u32,
    record: ObjectRecord,
}

impl<'a> Object<'a> {
    #[inline]
    pub(super) fn new(parts: ManifestRef<'a>, ordinal: u32, record: ObjectRecord) -> Self {
        Self { parts, ordinal, record }
    }

    /// What distinguishes its generation.
    #[inline]
    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.parts.dialect()
    }

    /// Its place in the manifest, from 0.
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// Its name: any UTF-8, the empty string and control characters included.
    pub fn name(&self) -> &'a str {
        core::str::from_utf8(self.parts.reader().name_of(self.record)).assured()
    }

    /// How its components make up a tensor.
    #[inline]
    pub fn format(&self) -> Format {
        self.record.format()
    }

    /// The format's name (the layout's in 0.1), known or not.
    pub fn format_name(&self) -> &'a str {
        let name = self.dialect().format.find(self.map());
        name.map_or("dense", |name| string(name).assured())
    }

    /// Its dimensions, outermost first. Row-major (C order): v1.1 III.1, v1.2 §3.
    pub fn shape(&self) -> Shape<'a> {
        let at = self.dialect().shape.find(self.map()).assured();
        let read = array_head(Rule::ShapeType, UNLIMITED).parse(at);
        let (rest, entries) = read.assured_or((&[], Entries::NONE));
        Shape { rest, entries }
    }

    /// Its attributes (1.x): v1.2 §1.
    pub fn attributes(&self) -> Option<Attributes<'a>> {
        Attributes::read(self.dialect().attributes?.find(self.map())?)
    }

    /// Its attributes as the manifest spells them, where its generation has attributes.
    #[cfg(feature = "write")]
    pub(crate) fn encoded_attributes(&self) -> Option<&'a [u8]> {
        item(self.dialect().attributes?.find(self.map())?)
    }

    /// Whether it has attributes, or fields that would be attributes: a 0.1 object has no other place for
    /// fields that are not in its table.
    #[cfg(feature = "write")]
    pub fn has_attributes(&self) -> bool {
        if self.dialect().attributes.is_some() {
            return self.attributes().is_some_and(|mut attributes| attributes.next().is_some());
        }
        let known = self.dialect().is_object_field;
        self.fields().is_some_and(|mut fields| fields.any(|(name, _)| !known(name.as_bytes())))
    }

    /// The attribute of that key, if it is a number.
    #[cfg(feature = "v2")]
    pub(crate) fn number(&self, attribute: Field) -> Option<u64> {
        let at = attribute.find(self.dialect().attributes?.find(self.map())?)?;
        uint(Rule::AttributeType).parse(at).ok().map(|(_, number)| number)
    }

    /// All fields of its map as the manifest spells them, unknown ones included.
    pub fn fields(&self) -> Option<Attributes<'a>> {
        Attributes::read(self.map())
    }

    /// Its components, in the order of the manifest. A 0.1 entry has one, `data`.
    pub fn components(&self) -> impl ExactSizeIterator<Item = Component<'a>> + use<'a> {
        Components { object: *self, next: 0 }
    }

    /// The component at a place among them, in one step.
    pub fn component_at(&self, place: u32) -> Option<Component<'a>> {
        let record = self.parts.index().records().of(self.ordinal).get(place)?;
        Some(Component::new(self.parts, record, self.ordinal, place))
    }

    /// Its component, where it has one.
    #[inline]
    pub(crate) fn only_component(&self) -> Option<Component<'a>> {
        Some(Component::new(self.parts, self.record.only()?, self.ordinal, 0))
    }

    /// The component of that role.
    #[inline]
    pub fn component(&self, role: &str) -> Option<Component<'a>> {
        self.component_at(self.place_of(role)?)
    }

    /// The place of the component of that role. It takes a copy, so that the object need not have an address
    /// where it has one component.
    fn place_of(self, role: &str) -> Option<u32> {
        let reader = self.parts.reader();
        let mut components = self.components();
        let found = components.find(|found| reader.role(found.record) == role.as_bytes())?;
        Some(found.ordinal)
    }

    /// Where its map begins.
    pub(super) fn map(&self) -> Input<'a> {
        match self.dialect().nesting {
            Nesting::Flat(_) => {
                let entry = self.record.first();
                entry.map(|entry| self.parts.reader().component_map(entry)).assured()
            }
            Nesting::Named => self.parts.reader().object_map(self.record),
        }
    }
}

impl core::fmt::Debug for Object<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Object")
            .field("name", &Start(self.name()))
            .field("ordinal", &self.ordinal)
            .finish()
    }
}

impl<'a> Component<'a> {
    /// The object it is a component of.
    pub fn object(&self) -> Object<'a> {
        let record = self.parts.index().objects.get(usize_from_u32(self.object)).copied();
        Object::new(self.parts, self.object, record.assured())
    }
}

/// The components of an object that have not come yet.
struct Components<'a> {
    object: Object<'a>,
    next: u32,
}

impl<'a> Iterator for Components<'a> {
    type Item = Component<'a>;

    fn next(&mut self) -> Option<Component<'a>> {
        let component = self.object.component_at(self.next)?;
        self.next = self.next.saturating_add(1);
        Some(component)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

impl ExactSizeIterator for Components<'_> {
    // The one that is provided has a panic.
    fn len(&self) -> usize {
        let group = self.object.parts.index().records().of(self.object.ordinal);
        usize_from_u32(group.len().saturating_sub(self.next))
    }
}

/// The dimensions of a shape, outermost first.
#[derive(Clone)]
pub struct Shape<'a> {
    rest: Input<'a>,
    entries: Entries,
}

impl Shape<'_> {
    /// The number of dimensions; 0 for a scalar.
    pub fn rank(&self) -> u32 {
        self.entries.claimed().unwrap_or_else(|| len_u32(self.clone().count()))
    }

    /// The number of elements: 0 where a dimension is 0, none where it overflows.
    pub fn elements(&self) -> Option<u64> {
        if self.clone().any(|dimension| dimension == 0) {
            return Some(0);
        }
        self.clone().try_fold(1_u64, u64::checked_mul)
    }
}

impl core::fmt::Debug for Shape<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl Iterator for Shape<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.entries.next(self.rest).then_some(())?;
        let (rest, dimension) = uint(Rule::ShapeType).parse(self.rest).ok()?;
        self.rest = rest;
        Some(dimension)
    }
}
