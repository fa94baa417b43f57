//! One object of a manifest.

#[cfg(feature = "v2")]
use nom::Parser as _;

use super::ManifestRef;
use super::component::Component;
use super::index::{ObjectRecord, utf8};
use crate::brief::Start;
#[cfg(feature = "write")]
use crate::cbor::item;
#[cfg(feature = "v2")]
use crate::cbor::uint;
use crate::cbor::{Attributes, Input, Remaining, seek};
#[cfg(feature = "v2")]
use crate::format::Field;
use crate::format::{ComponentRecord, Dialect, Format, Role, Shape};
use crate::num::{len_u32, usize_from_u32};
#[cfg(feature = "v2")]
use crate::rules::Rule;

/// One tensor: a name, a shape, a format, and the components that hold its bytes.
#[derive(Clone, Copy)]
pub struct Object<'a> {
    pub(super) parts: ManifestRef<'a>,
    ordinal: u32,
    record: &'a ObjectRecord,
}

impl<'a> Object<'a> {
    #[inline]
    pub(super) fn new(parts: ManifestRef<'a>, ordinal: u32, record: &'a ObjectRecord) -> Self {
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
        utf8(self.parts.records().name(self.record))
    }

    /// How its components make up a tensor.
    #[inline]
    pub fn format(&self) -> Format {
        self.record.format
    }

    /// The format's name (the layout's in 0.1), known or not.
    pub fn format_name(&self) -> &'a str {
        utf8(self.parts.records().layout(self.record))
    }

    /// Its dimensions, outermost first. Row-major (C order): v1.1 III.1, v1.2 §3.
    #[inline]
    pub fn shape(&self) -> Shape<'a> {
        self.parts.index().shapes.get(self.record.shape)
    }

    /// Its attributes (1.x): v1.2 §1.
    pub fn attributes(&self) -> Option<Attributes<'a>> {
        Attributes::read(self.attributes_at()?)
    }

    /// The place of its attributes.
    fn attributes_at(&self) -> Option<Input<'a>> {
        let at = self.record.attributes;
        (at != Remaining::END).then(|| seek(self.parts.as_bytes(), at))
    }

    /// Its attributes as the manifest spells them, where its generation has attributes.
    #[cfg(feature = "write")]
    pub(crate) fn encoded_attributes(&self) -> Option<&'a [u8]> {
        item(self.attributes_at()?)
    }

    /// Whether it has attributes, or fields that would be attributes: a 0.1 object has no other place for
    /// fields that are not in its table.
    #[cfg(feature = "write")]
    pub fn has_attributes(&self) -> bool {
        if self.dialect().has_attributes {
            return self.attributes().is_some_and(|mut attributes| attributes.next().is_some());
        }
        let known = self.dialect().is_object_field;
        self.fields().is_some_and(|mut fields| fields.any(|(name, _)| !known(name.as_bytes())))
    }

    /// The attribute of that key, if it is a number.
    #[cfg(feature = "v2")]
    pub(crate) fn number(&self, attribute: Field) -> Option<u64> {
        let at = attribute.find(self.attributes_at()?)?;
        uint(Rule::AttributeType).parse(at).ok().map(|(_, number)| number)
    }

    /// All fields of its map as the manifest spells them, unknown ones included.
    pub fn fields(&self) -> Option<Attributes<'a>> {
        Attributes::read(self.map()?)
    }

    /// Its components, in the order of the manifest. A 0.1 entry has one, `data`.
    pub fn components(&self) -> impl ExactSizeIterator<Item = Component<'a>> + use<'a> {
        let object = *self;
        let components = self.records().iter().enumerate();
        components.map(move |(place, record)| object.component_of(len_u32(place), record))
    }

    /// The component at a place among them, in one step.
    pub fn component_at(&self, place: u32) -> Option<Component<'a>> {
        let record = self.records().get(usize_from_u32(place))?;
        Some(self.component_of(place, record))
    }

    /// Its component, where it has one.
    #[inline]
    pub(crate) fn only_component(&self) -> Option<Component<'a>> {
        if self.record.count == 1 { self.component_at(0) } else { None }
    }

    /// The component of that role.
    pub fn component(&self, role: &str) -> Option<Component<'a>> {
        let records = self.parts.records();
        let mut components = self.records().iter().enumerate();
        let known = Role::from_name(role.as_bytes());
        let (place, record) = components.find(|(_, record)| match known {
            Some(_) => record.role == known,
            None => record.role.is_none() && records.role(record) == role.as_bytes(),
        })?;
        Some(self.component_of(len_u32(place), record))
    }

    #[inline]
    fn records(&self) -> &'a [ComponentRecord] {
        self.parts.records().components(self.record)
    }

    #[inline]
    fn component_of(&self, place: u32, record: &'a ComponentRecord) -> Component<'a> {
        let Self { parts, ordinal, record: owner } = *self;
        Component { parts, record, owner, object: ordinal, ordinal: place }
    }

    /// Returns the map of the object, if its format has one.
    pub(super) fn map(&self) -> Option<Input<'a>> {
        self.parts.records().object_map(self.record)
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
        Object::new(self.parts, self.object, self.owner)
    }
}
