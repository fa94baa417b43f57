//! The cases, by theme.

mod accepted;
mod cbor;
mod container;
mod content;
mod digests;
mod extents;
mod formats;
mod keys;
mod limits;
mod overlaps;
mod schema;
mod sizes;
mod strings;
mod truncated;
mod values;

use crate::table::Table;

/// Every case.
pub(crate) fn all(table: &mut Table) {
    accepted::cases(table);
    container::cases(table);
    cbor::cases(table);
    strings::cases(table);
    truncated::cases(table);
    keys::cases(table);
    schema::cases(table);
    values::cases(table);
    digests::cases(table);
    extents::cases(table);
    overlaps::cases(table);
    sizes::cases(table);
    formats::cases(table);
    content::cases(table);
    limits::cases(table);
}
