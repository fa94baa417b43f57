//! Listing files of formats that have no archives.

use std::io::{self, Write};
use std::path::Path;

use zten_formats::{Input, Kind, Tensor};
use zten_present::finding::counted;

use super::totals::FileTotals;
use crate::app::App;
use crate::escape::{self, Name};
use crate::json::Json;
use crate::other;
use crate::remote::shown;
use crate::size::human;
use crate::table::{Column, Row, Table};
use crate::value;

/// Columns of a shape, at most.
const SHAPE: usize = 40;

/// Attributes, the table, and the totals of one file.
pub(super) fn list(app: &mut App, input: &mut Input) -> io::Result<()> {
    let archive = other::attributes(input);
    let attributes = archive.as_ref().and_then(|archive| archive.attributes());
    super::attributes::list(app, attributes)?;
    let mut table = Table::new([
        Column::text("TYPE"),
        Column::text("SHAPE"),
        Column::number("STORED"),
        Column::number("DECODED"),
    ]);
    for tensor in input.tensors().iter() {
        table.measure(&row(input, &tensor));
    }
    if !input.tensors().is_empty() {
        table.header(&mut app.out)?;
    }
    for tensor in input.tensors().iter() {
        table.row(&mut app.out, &row(input, &tensor))?;
    }
    let totals = totals(input);
    writeln!(
        app.out,
        "{}, {} stored, {} decoded, {}",
        counted(u64::try_from(input.tensors().len()).unwrap_or(u64::MAX), "tensor"),
        human(totals.all.stored),
        totals.all.decoded.map_or_else(|| "?".to_owned(), human),
        input.format().words(),
    )?;
    if input.tensors().is_empty() { Ok(()) } else { writeln!(app.out, "{}", totals.line()) }
}

/// Sums over the tensors.
fn totals(input: &Input) -> FileTotals {
    let mut totals = FileTotals::default();
    for tensor in input.tensors().iter() {
        let product = tensor.shape.iter().try_fold(1, |elements: u64, n| elements.checked_mul(*n));
        totals.object(if tensor.shape.contains(&0) { Some(0) } else { product });
        let stored = input.stored(&tensor).length;
        totals.component(Some(kind(tensor.kind)), stored, Some(tensor.bytes));
    }
    totals
}

fn row<'a>(input: &Input, tensor: &'a Tensor) -> Row<'a, 4> {
    let dimensions: Vec<_> = tensor.shape.iter().map(u64::to_string).collect();
    let cells = [
        kind(tensor.kind).to_owned(),
        escape::cut(&format!("[{}]", dimensions.join(", ")), SHAPE),
        human(input.stored(tensor).length),
        human(tensor.bytes),
    ];
    Row { below: false, name: Name(&tensor.name), cells }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Plain(storage) => storage.name(),
        Kind::Logical(logical) => logical.name(),
    }
}

/// Writes the document of one file, on one line.
pub(super) fn document(out: &mut impl Write, path: &Path, input: &mut Input) -> io::Result<()> {
    let archive = other::attributes(input);
    let mut json = Json::document(out)?;
    json.key("file")?;
    json.string(&shown(path).to_string_lossy())?;
    json.key("format")?;
    json.string(input.format().name())?;
    for absent in ["generation", "version"] {
        json.key(absent)?;
        json.null()?;
    }
    json.key("attributes")?;
    match archive.as_ref().and_then(|archive| archive.attributes()) {
        Some(attributes) => value::attributes(&attributes, &mut json)?,
        None => json.null()?,
    }
    json.key("data_shard")?;
    json.plain(false)?;
    json.key("shards")?;
    json.open('[')?;
    json.close(']')?;
    json.key("objects")?;
    json.open('[')?;
    for (ordinal, tensor) in input.tensors().iter().enumerate() {
        object(&mut json, input, (ordinal, &tensor))?;
    }
    json.close(']')?;
    json.key("totals")?;
    totals(input).json(&mut json)?;
    json.close('}')?;
    json.line()
}

fn object<W: Write>(
    json: &mut Json<'_, W>,
    input: &Input,
    (ordinal, tensor): (usize, &Tensor),
) -> io::Result<()> {
    json.open('{')?;
    json.key("name")?;
    json.string(&tensor.name)?;
    json.key("ordinal")?;
    json.plain(ordinal)?;
    json.key("format")?;
    json.string("dense")?;
    json.key("known")?;
    json.plain(true)?;
    json.key("shape")?;
    json.integers(tensor.shape.iter().copied())?;
    for absent in ["bits", "group_size", "attributes"] {
        json.key(absent)?;
        json.null()?;
    }
    json.key("components")?;
    json.open('[')?;
    component(json, input, tensor)?;
    json.close(']')?;
    json.close('}')
}

fn component<W: Write>(json: &mut Json<'_, W>, input: &Input, tensor: &Tensor) -> io::Result<()> {
    let stored = input.stored(tensor);
    let (dtype, logical) = match tensor.kind {
        Kind::Plain(storage) => (storage.name(), None),
        Kind::Logical(logical) => (logical.storage().name(), Some(logical.name())),
    };
    json.open('{')?;
    json.key("role")?;
    json.string("data")?;
    json.key("dtype")?;
    json.string(dtype)?;
    json.key("type")?;
    json.string_or_null(logical)?;
    json.key("offset")?;
    json.integer(stored.offset)?;
    json.key("length")?;
    json.integer(stored.length)?;
    json.key("decoded_length")?;
    json.integer(tensor.bytes)?;
    json.key("encoding")?;
    json.string(if stored.is_deflated { "deflate" } else { "raw" })?;
    json.key("byte_order")?;
    json.string(if stored.is_big { "big" } else { "little" })?;
    json.key("digest")?;
    json.null()?;
    json.key("shard")?;
    json.null()?;
    json.close('}')
}
