//! The rows of the table of objects.

use std::io;

use zten::conventions::QuantizedForm;
use zten::{Component, Digest, Encoding, Tensor};
use zten_report::blocks::{self, Blocks};
use zten_report::text::{elements, format, shape, word};
use zten_report::totals::Totals;

use crate::output::table;
use crate::size::human;

/// A row: the name, and eight cells for layout, type, shape, state, stored size, decoded size, encoding and digest.
pub(super) type Row<'a> = table::Row<'a, 8>;

/// A function that takes a row.
pub(super) type Each<'e> = table::Each<'e, 8>;

/// Passes the rows of all `objects` to `each`. An object whose only component has the role `data` has one row. Any other
/// object has a row for itself, and a row for each of its components.
pub(super) fn all<'a>(objects: impl Iterator<Item = Tensor<'a>>, each: Each<'_>) -> io::Result<()> {
    for object in objects {
        let mut components = object.components();
        match (components.next(), components.next()) {
            (Some(only), None) if only.role() == "data" => each(&single(&object, &only))?,
            _ => {
                each(&self::object(&object))?;
                for component in object.components() {
                    each(&self::component(&component))?;
                }
            }
        }
    }
    Ok(())
}

/// Returns the row of an object and its only component.
fn single<'a>(object: &Tensor<'a>, component: &Component<'_>) -> Row<'a> {
    let Row { depth, name, cells: [format, blocks, shape, state, ..] } = self::object(object);
    let [_, element, _, _, stored, decoded, encoding, digest] = self::component(component).cells;
    let element = if blocks.is_empty() { element } else { format!("{element}, {blocks}") };
    Row { depth, name, cells: [format, element, shape, state, stored, decoded, encoding, digest] }
}

/// Returns the row of an object, with the sizes of all its components together.
fn object<'a>(object: &Tensor<'a>) -> Row<'a> {
    let mut totals = Totals::default();
    for component in object.components() {
        totals.add(component.extent().length(), component.decoded_length());
    }
    let blocks = match QuantizedForm::of(object) {
        Some(form) => form.to_string(),
        None => Blocks::of(object).map_or_else(String::new, |blocks| blocks.to_string()),
    };
    let cells = [
        format(object),
        blocks,
        shape(object),
        blocks::state(object).name().to_owned(),
        human(totals.stored),
        size(totals.decoded),
        common(object.components().map(|component| encoding(&component))),
        common(object.components().map(|component| digest(&component))),
    ];
    Row { depth: 0, name: object.name(), cells }
}

/// Returns the row of a component, indented below its object.
fn component<'a>(component: &Component<'a>) -> Row<'a> {
    let cells = [
        String::new(),
        elements(component),
        String::new(),
        String::new(),
        stored(component),
        size(component.decoded_length()),
        encoding(component),
        digest(component),
    ];
    Row { depth: 1, name: component.role(), cells }
}

/// Formats the stored size of a component, or `-` for a field of records: its bytes are those of the records.
fn stored(component: &Component<'_>) -> String {
    if component.is_field_of_records() {
        "-".to_owned()
    } else {
        human(component.extent().length())
    }
}

/// Formats a size in bytes for people, or returns `?` if the size is not known.
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

/// Returns the one of `words`, of which each component has one, if it is the same for all components. Returns `-` if there
/// are no components, and `mixed` if the words differ.
fn common(mut words: impl Iterator<Item = String>) -> String {
    match words.next() {
        None => "-".to_owned(),
        Some(first) if words.all(|word| word == first) => first,
        Some(_) => "mixed".to_owned(),
    }
}
