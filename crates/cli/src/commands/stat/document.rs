//! The JSON document of `zten stat`.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use zten::Tensor;
use zten::json::{Integer, List, Schema, integer, integer_or_null, to_line};
use zten_report::statistics::Statistics;

use super::{Found, Total, dtype, totals};
use crate::source::remote::shown;

/// The document. Its keys are those of `docs/json.md`.
#[derive(Serialize)]
struct Document<'a, O: Serialize, T: Serialize> {
    schema: Schema,
    file: &'a str,
    objects: O,
    totals: T,
}

/// A tensor in the document.
#[derive(Serialize)]
struct Described<'a, S: Serialize> {
    name: &'a str,
    layout: &'a str,
    dtype: String,
    shape: S,
    /// The reason why there are no statistics.
    skipped: Option<String>,
    statistics: Option<Statistics>,
    #[serde(serialize_with = "integer_or_null")]
    implied_zeros: Option<u64>,
}

/// The totals of a dtype.
#[derive(Serialize)]
struct DescribedTotal<'a> {
    dtype: &'a str,
    #[serde(serialize_with = "integer")]
    tensors: u64,
    statistics: Statistics,
}

/// Prints the document of the file at `path`.
pub(super) fn print(
    out: &mut dyn Write,
    path: &Path,
    found: &[(Tensor<'_>, Found)],
) -> io::Result<()> {
    let (file, totals) = (shown(path), totals(found));
    let objects = List(|| found.iter().map(|(object, found)| described(object, *found)));
    let totals = List(|| totals.iter().map(described_total));
    let document = Document { schema: Schema, file: &file.to_string_lossy(), objects, totals };
    to_line(out, &document)
}

fn described_total(total: &Total) -> DescribedTotal<'_> {
    let Total { dtype, tensors, statistics, .. } = total;
    DescribedTotal { dtype, tensors: *tensors, statistics: *statistics }
}

fn described<'a>(object: &Tensor<'a>, found: Found) -> impl Serialize + use<'a> {
    let shape = object.shape();
    let (skipped, dtype) = (found.skipped(), dtype(object));
    let (statistics, implied_zeros) = match found {
        Found::Read(read) => (Some(read.statistics), read.implied),
        Found::Skipped(_) | Found::Unread(_) => (None, None),
    };
    let shape = List(move || shape.iter().copied().map(Integer));
    let (name, layout) = (object.name(), object.layout_name());
    Described { name, layout, dtype, shape, skipped, statistics, implied_zeros }
}
