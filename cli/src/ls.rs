//! `zten ls`: what is in files.

mod attributes;
mod row;

use std::io::{self, Write as _};

use zten::num::u64_from_usize;
use zten_report::archive::archive as describe;
use zten_report::totals::FileTotals;

use crate::app::App;
use crate::args::Ls;
use crate::escape;
use crate::file::{Opened, TensorFile, counted};
use crate::json;
use crate::paint::{Painted, Palette};
use crate::remote::shown;
use crate::report::Problem;
use crate::size::human;
use crate::spelled::version;
use crate::table::{Column, Table};
use row::Row;

/// Lists a file; `number` is its place among those that are listed.
pub(crate) fn run(
    app: &mut App,
    args: &Ls,
    file: Result<Opened, Box<Problem>>,
    number: u64,
) -> io::Result<()> {
    let path = file.as_ref().map(|file| file.path.clone()).unwrap_or_default();
    let archive = match file.and_then(|file| file.archive(&args.strictness.options())) {
        Ok(archive) => archive,
        Err(problem) => return app.problem(&problem),
    };
    if args.json {
        let document = describe(Some(&path), archive.manifest(), || archive.tensors());
        return json::to_line(&mut app.out, &document);
    }
    if args.files.len() > 1 {
        let before = if number > 0 { "\n" } else { "" };
        let shown = Painted(Palette::output().path(), escape::path(&shown(&path)));
        writeln!(app.out, "{before}{shown}:")?;
    }
    list(app, &archive)
}

/// Attributes, the table, and the totals of one file.
fn list(app: &mut App, archive: &TensorFile) -> io::Result<()> {
    attributes::list(app, archive.attributes())?;
    let mut table = Table::new([
        Column::text("FORMAT"),
        Column::text("TYPE"),
        Column::text("SHAPE"),
        Column::number("STORED"),
        Column::number("DECODED"),
        Column::text("ENCODING"),
        Column::text("DIGEST"),
    ]);
    rows(archive, |row| {
        table.measure(row);
        Ok(())
    })?;
    if !archive.is_empty() {
        table.header(&mut app.out)?;
    }
    rows(archive, |row| table.row(&mut app.out, row))?;
    let totals = FileTotals::of(archive.tensors());
    if archive.manifest().is_data_shard() {
        writeln!(app.out, "a data shard: another file says what is in it")?;
    }
    write!(
        app.out,
        "{}, {}, {} stored, {} decoded, {}",
        counted(u64_from_usize(archive.len()), "object"),
        counted(totals.all.components, "component"),
        human(totals.all.stored),
        row::size(totals.all.decoded),
        archive.format(),
    )?;
    if let Some(generation) = archive.generation() {
        write!(app.out, " {generation}")?;
    }
    if let Some(version) = version(archive.manifest()) {
        write!(app.out, " (version {version})")?;
    }
    writeln!(app.out)?;
    if archive.is_empty() {
        return Ok(());
    }
    writeln!(app.out, "{}", totals.line())
}

/// All rows of the table, one after another.
fn rows(archive: &TensorFile, mut each: impl FnMut(&Row<'_>) -> io::Result<()>) -> io::Result<()> {
    for object in archive.tensors() {
        let mut components = object.components();
        match (components.next(), components.next()) {
            (Some(only), None) if only.role() == "data" => each(&row::single(&object, &only))?,
            _ => {
                each(&row::object(&object))?;
                for component in object.components() {
                    each(&row::component(&component))?;
                }
            }
        }
    }
    Ok(())
}
