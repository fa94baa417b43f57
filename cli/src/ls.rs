//! `zten ls`: what is in files.

mod document;
mod row;

use std::io::{self, Write as _};
use std::path::PathBuf;

use zten::source::FileArchive;

use crate::app::App;
use crate::args::Ls;
use crate::diagnostic;
use crate::escape::{self, Name};
use crate::file::counted;
use crate::mode::Mode;
use crate::sandbox::{self, Access, Task};
use crate::spelled::version;
use crate::table::{Column, Table, human};
use row::{Row, Totals};

/// Bytes of an attribute's value, at most.
const VALUE: usize = 120;

/// Lists all the files.
pub(crate) fn run(app: &mut App, args: &Ls, mode: Mode) -> io::Result<()> {
    let options = args.strictness.options();
    let paths = args.files.iter().map(PathBuf::as_path);
    let access = Access { mode, task: Task::Look, strictness: &args.strictness };
    let Some(files) = sandbox::files(app, paths, access)? else {
        return Ok(());
    };
    let mut first = true;
    for (path, file) in args.files.iter().zip(files) {
        let archive = match file.and_then(|file| file.archive(&options)) {
            Ok(archive) => archive,
            Err(problem) => {
                app.problem(&problem)?;
                continue;
            }
        };
        if args.json {
            document::write(&mut app.out, path, &archive)?;
            continue;
        }
        if args.files.len() > 1 {
            let before = if first { "" } else { "\n" };
            writeln!(app.out, "{before}{}:", escape::path(path))?;
        }
        first = false;
        list(app, &archive)?;
    }
    Ok(())
}

/// Attributes, the table, and the totals of one file.
fn list(app: &mut App, archive: &FileArchive) -> io::Result<()> {
    for (key, item) in archive.attributes().into_iter().flatten() {
        let value = diagnostic::cut(&item, VALUE);
        writeln!(app.out, "{} = {value}", Name(key))?;
    }
    if archive.attributes().is_some_and(|mut attributes| attributes.next().is_some()) {
        writeln!(app.out)?;
    }
    let mut table = Table::new([
        Column::text("FORMAT"),
        Column::text("TYPE"),
        Column::text("SHAPE"),
        Column::number("STORED"),
        Column::number("DECODED"),
        Column::text("ENCODING"),
        Column::text("DIGEST"),
    ]);
    let mut totals = Totals::default();
    rows(archive, |row| {
        table.measure(row);
        Ok(())
    })?;
    if !archive.is_empty() {
        table.header(&mut app.out)?;
    }
    rows(archive, |row| table.row(&mut app.out, row))?;
    for component in archive.objects().flat_map(|object| object.components()) {
        totals.add(&component);
    }
    if archive.is_data_shard() {
        writeln!(app.out, "a data shard: another file says what is in it")?;
    }
    write!(
        app.out,
        "{}, {}, {} stored, {} decoded, zTensor {}",
        counted(archive.len().into(), "object"),
        counted(totals.components, "component"),
        human(totals.stored),
        row::size(totals.decoded),
        archive.generation().as_str(),
    )?;
    if let Some(version) = version(archive) {
        write!(app.out, " (version {version})")?;
    }
    writeln!(app.out)
}

/// All rows of the table, one after another.
fn rows(archive: &FileArchive, mut each: impl FnMut(&Row<'_>) -> io::Result<()>) -> io::Result<()> {
    for object in archive.objects() {
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
