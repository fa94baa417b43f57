//! The rows of the table.

use zten::{Component, Digest, Encoding, Object};

use crate::escape::Name;
use crate::table::{self, human};
use crate::words::{element, format, shape, word};

/// Name, and format, type, shape, stored and decoded size, encoding, digest.
pub(super) type Row<'a> = table::Row<'a, 7>;

/// Sums over components.
#[derive(Debug)]
pub(super) struct Totals {
    pub(super) components: u64,
    pub(super) stored: u64,
    /// None as soon as one is not known.
    pub(super) decoded: Option<u64>,
}

impl Default for Totals {
    fn default() -> Self {
        Self { components: 0, stored: 0, decoded: Some(0) }
    }
}

impl Totals {
    /// Adds one component.
    pub(super) fn add(&mut self, component: &Component<'_>) {
        self.components = self.components.saturating_add(1);
        self.stored = self.stored.saturating_add(component.extent().length());
        let both = self.decoded.zip(component.decoded_length());
        self.decoded = both.map(|(sum, length)| sum.saturating_add(length));
    }
}

/// An object and its only component.
pub(super) fn single<'a>(object: &Object<'a>, component: &Component<'_>) -> Row<'a> {
    let Row { below, name, cells: [format, _, shape, ..] } = self::object(object);
    let [_, element, _, stored, decoded, encoding, digest] = self::component(component).cells;
    Row { below, name, cells: [format, element, shape, stored, decoded, encoding, digest] }
}

/// An object, with the totals of its components.
pub(super) fn object<'a>(object: &Object<'a>) -> Row<'a> {
    let mut totals = Totals::default();
    object.components().for_each(|component| totals.add(&component));
    let cells = [
        format(object),
        blocks(object),
        shape(object),
        human(totals.stored),
        size(totals.decoded),
        common(object.components().map(|component| encoding(&component))),
        common(object.components().map(|component| digest(&component))),
    ];
    Row { below: false, name: Name(object.name()), cells }
}

/// How the elements of an object of 2 lie in blocks: bits of each, and how many have a scale in common.
fn blocks(object: &Object<'_>) -> String {
    if let Ok(group) = object.quant_group() {
        let size = group.group_size();
        let groups = if size == 0 { "whole lanes".to_owned() } else { format!("groups of {size}") };
        return format!("{} bits, {groups}", group.bits());
    }
    object.mx().map_or(String::new(), |mx| format!("blocks of {}", mx.block_size()))
}

/// A component, below its object.
pub(super) fn component<'a>(component: &Component<'a>) -> Row<'a> {
    let cells = [
        String::new(),
        element(component.element_type()),
        String::new(),
        human(component.extent().length()),
        size(component.decoded_length()),
        encoding(component),
        digest(component),
    ];
    Row { below: true, name: Name(component.role()), cells }
}

/// A size, if it is known.
pub(super) fn size(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "?".to_owned(), human)
}

fn encoding(component: &Component<'_>) -> String {
    word(component.encoding_name(), component.encoding() != Encoding::Unknown)
}

fn digest(component: &Component<'_>) -> String {
    match component.digest() {
        None => "-".to_owned(),
        Some(digest) => word(digest.algorithm(), !matches!(digest, Digest::Unverifiable(_))),
    }
}

/// What all components have in common.
fn common(mut words: impl Iterator<Item = String>) -> String {
    match words.next() {
        None => "-".to_owned(),
        Some(first) if words.all(|word| word == first) => first,
        Some(_) => "mixed".to_owned(),
    }
}
