//! The rows of the table.

use zten::{Component, Digest, Encoding, Tensor};
use zten_formats::Block;
use zten_report::blocks::Blocks;
use zten_report::totals::Totals;

use crate::escape::Name;
use crate::size::human;
use crate::table;
use crate::words::{element, format, shape, word};

/// Name, and format, type, shape, stored and decoded size, encoding, digest.
pub(super) type Row<'a> = table::Row<'a, 7>;

/// An object and its only component.
pub(super) fn single<'a>(object: &Tensor<'a>, component: &Component<'_>) -> Row<'a> {
    let Row { below, name, cells: [format, blocks, shape, ..] } = self::object(object);
    let [_, element, _, stored, decoded, encoding, digest] = self::component(component).cells;
    let element = if blocks.is_empty() { element } else { format!("{element}, {blocks}") };
    Row { below, name, cells: [format, element, shape, stored, decoded, encoding, digest] }
}

/// An object, with the totals of its components.
pub(super) fn object<'a>(object: &Tensor<'a>) -> Row<'a> {
    let mut totals = Totals::default();
    for component in object.components() {
        totals.add(component.extent().length(), component.decoded_length());
    }
    let cells = [
        format(object),
        Blocks::of(object).map_or_else(String::new, |blocks| blocks.to_string()),
        shape(object),
        human(totals.stored),
        size(totals.decoded),
        common(object.components().map(|component| encoding(&component))),
        common(object.components().map(|component| digest(&component))),
    ];
    Row { below: false, name: Name(object.name()), cells }
}

/// A component, below its object.
pub(super) fn component<'a>(component: &Component<'a>) -> Row<'a> {
    let element = match Block::of(&component.tensor()) {
        Some(block) => block.name.to_owned(),
        None => element(component.element_type()),
    };
    let cells = [
        String::new(),
        element,
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
