//! All cases of the corpus for zTensor files, in one module for each theme.

mod accepted;
mod blocks;
mod budgets;
mod canonical;
mod canonical_cbor;
mod canonical_fields;
mod canonical_layout;
mod canonical_order;
mod canonical_values;
mod cbor;
mod container;
mod content;
mod corrupt;
mod decoded;
mod digests;
mod extents;
mod formats;
mod frames;
mod indices;
mod keys;
mod limits;
mod measured;
mod overlaps;
mod schema;
mod shards;
mod signed;
mod sizes;
mod strings;
mod sums;
mod truncated;
mod unsupported;
mod v2;
mod values;

use crate::table::Table;

/// Adds every case of all themes to `table`.
pub(crate) fn all(table: &mut Table) {
    accepted::cases(table);
    unsupported::cases(table);
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
    sums::cases(table);
    indices::cases(table);
    signed::cases(table);
    measured::cases(table);
    frames::cases(table);
    blocks::cases(table);
    corrupt::cases(table);
    decoded::cases(table);
    budgets::cases(table);
    limits::cases(table);
    canonical::cases(table);
    canonical_values::cases(table);
    canonical_cbor::cases(table);
    canonical_order::cases(table);
    canonical_fields::cases(table);
    canonical_layout::cases(table);
    v2::cases(table);
    shards::cases(table);
}
