//! `zten ls`: what is in files.

mod attributes;
mod blocks;
mod document;
mod row;
mod totals;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use zten::num::u64_from_usize;

use crate::app::App;
use crate::args::Ls;
use crate::escape;
use crate::file::{TensorFile, counted};
use crate::mode::Mode;
use crate::paint::{Painted, Palette};
use crate::remote::shown;
use crate::sandbox::{self, Access, Task};
use crate::size::human;
use crate::spelled::version;
use crate::table::{Column, Table};
use row::Row;
use totals::FileTotals;

/// Lists all the files.
pub(crate) fn run(app: &mut App, args: &Ls, mode: Mode) -> io::Result<()> {
    let options = args.strictness.options();
    let paths = args.files.iter().map(PathBuf::as_path);
    let access = Access { mode, task: Task::Look, strictness: &args.strictness };
    let Some(files) = sandbox::files(app, paths, access)? else {
        return Ok(());
    };
    let mut place = if args.files.len() == 1 { Place::Alone } else { Place::First };
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
        place.head(app, path)?;
        list(app, &archive)?;
    }
    Ok(())
}

/// Where a file is among those that are listed.
enum Place {
    Alone,
    First,
    Later,
}

impl Place {
    /// Writes which file it is, where there are several.
    fn head(&mut self, app: &mut App, path: &Path) -> io::Result<()> {
        let before = match self {
            Self::Alone => return Ok(()),
            Self::First => "",
            Self::Later => "\n",
        };
        *self = Self::Later;
        let shown = Painted(Palette::output().path(), escape::path(&shown(path)));
        writeln!(app.out, "{before}{shown}:")
    }
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
