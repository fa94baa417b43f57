//! All rules: those of zTensor, and those of other formats.

use zten::rules::{self, Row};

/// Every row, those of zTensor first.
pub(crate) fn rows() -> impl Iterator<Item = &'static Row> {
    rules::rows().chain(zten_formats::rules::rows())
}

/// The row of that id.
pub(crate) fn find(id: &str) -> Option<&'static Row> {
    rows().find(|row| row.id == id)
}

/// The number of a row among all.
pub(crate) fn number(row: &'static Row) -> Option<u16> {
    rows().position(|other| other.id == row.id).and_then(|number| u16::try_from(number).ok())
}
