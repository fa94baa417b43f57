//! `zten ls`: lists the objects of files.

mod attributes;
mod row;
mod tree;

use std::io::{self, Write};

use zten::State;
use zten::finding::grouped;
use zten::num::u64_from_usize;
use zten_report::archive::{archive as describe, left_out, left_out_names};
use zten_report::blocks::{reason, state};
use zten_report::totals::FileTotals;

use crate::args::{Ls, Sort};
use crate::escape;
use crate::input::file::{FileWithShards, TensorFile, counted};
use crate::input::selection::Selection;
use crate::json;
use crate::notation::version;
use crate::output::app::App;
use crate::output::paint::{Painted, Palette};
use crate::output::progress;
use crate::output::table::{self, Column, Table};
use crate::size::human;
use crate::source::remote::shown;

/// Returns whether `pattern` looks like the name of a file: it has a slash, or the suffix of a format.
fn is_like_file(pattern: &str) -> bool {
    const SUFFIXES: [&str; 9] =
        [".zt", ".safetensors", ".gguf", ".npy", ".npz", ".pt", ".pth", ".bin", ".json"];
    pattern.contains('/') || SUFFIXES.iter().any(|suffix| pattern.ends_with(suffix))
}

/// Lists `archive`, which is file `number` (from 0) of the listed files.
pub(crate) fn run(
    app: &mut App,
    args: &Ls,
    archive: &FileWithShards,
    number: u64,
) -> io::Result<()> {
    if let Some(key) = &args.attribute {
        return match attributes::value(&mut app.out, archive.attributes(), key)? {
            Ok(()) => Ok(()),
            Err(message) => {
                let path = escape::path(&shown(&archive.path));
                app.usage(format_args!("{path}: {message}"))
            }
        };
    }
    let default = (!args.json).then_some(Sort::Name);
    let patterns = &args.select.patterns;
    let selection = match Selection::new(archive, patterns, args.sort.or(default)) {
        Ok(selection) => selection,
        // Other commands take several files, so the user may have meant a file by an argument that `ls` takes as a pattern.
        Err(message) if patterns.iter().any(|pattern| is_like_file(pattern)) => {
            return app.usage(format!("{message}; --also FILE lists another file, too"));
        }
        Err(message) => return app.usage(message),
    };
    if args.json {
        let document = describe(Some(&archive.path), archive.manifest(), || selection.objects());
        return json::to_line(&mut app.out, &document);
    }
    if !args.also.is_empty() {
        let before = if number > 0 { "\n" } else { "" };
        let shown = Painted(Palette::output().path(), escape::path(&shown(&archive.path)));
        writeln!(app.out, "{before}{shown}:")?;
    }
    list(&mut app.out, args, archive, &selection)
}

/// Prints the attributes, objects and totals of one file. The attributes are left out if there are patterns, which select objects.
fn list(
    out: &mut dyn Write,
    args: &Ls,
    archive: &TensorFile,
    selection: &Selection<'_>,
) -> io::Result<()> {
    if args.select.patterns.is_empty() {
        attributes::list(out, archive.attributes())?;
    }
    let mut common = Vec::new();
    if args.tree {
        tree::list(out, selection, args.depth.unwrap_or(usize::MAX))?;
    } else {
        common = rows(out, selection)?;
    }
    let totals = FileTotals::of(selection.objects());
    if archive.manifest().is_data_shard() {
        writeln!(out, "a data shard, which another file describes")?;
    }
    let objects = counted(u64_from_usize(archive.len()), "tensor").to_string();
    let objects =
        if selection.is_all() { objects } else { format!("{} of {objects}", selection.len()) };
    let mut line = vec![objects, counted(totals.all.components, "component").to_string()];
    let stored = human(totals.all.stored);
    if totals.all.decoded == Some(totals.all.stored) {
        line.push(stored);
    } else {
        let decoded = row::size(totals.all.decoded);
        line.extend([format!("{stored} stored"), format!("{decoded} decoded")]);
    }
    let mut format = archive.format().to_string();
    if let Some(generation) = archive.generation() {
        format = format!("{format} {generation}");
    }
    if let Some(version) = version(archive.manifest()) {
        format = format!("{format} (version {version})");
    }
    line.push(format);
    table::list(out, line)?;
    if !common.is_empty() {
        table::list(out, common)?;
    }
    if selection.len() > 0 {
        table::list(out, totals.phrases())?;
    }
    let states = states(selection);
    if !states.is_empty() {
        table::list(out, states)?;
    }
    if let Some(sentence) = left_out(archive.manifest()) {
        writeln!(out, "{sentence}")?;
    }
    let names = left_out_names(archive.manifest()).iter().filter(|_| args.verbose);
    names.into_iter().try_for_each(|name| writeln!(out, "left out: {name}"))
}

/// The largest number of unread objects that the footer of the table names.
const NAMES: usize = 8;
/// The largest number of terminal columns of the name of an unread object in the footer.
const NAME: usize = 40;

/// Returns phrases about the objects that are not readable: how many are opaque, how many are unread, and the names and rules of
/// the first [`NAMES`] unread ones.
fn states(selection: &Selection<'_>) -> Vec<String> {
    let (mut opaque, mut unread, mut named) = (0_u64, 0_u64, Vec::new());
    for object in selection.objects() {
        let state = state(&object);
        match state {
            State::Opaque => opaque = opaque.saturating_add(1),
            State::Unread(_) => {
                unread = unread.saturating_add(1);
                if named.len() < NAMES {
                    let reason = reason(state).unwrap_or_default();
                    named.push(format!("{} ({reason})", escape::word(object.name(), NAME)));
                }
            }
            _ => {}
        }
    }
    let mut phrases = Vec::new();
    if opaque > 0 {
        phrases.push(format!("{} opaque", grouped(opaque)));
    }
    if unread > 0 {
        if u64_from_usize(named.len()) < unread {
            named.push("…".to_owned());
        }
        phrases.push(format!("{} unread: {}", grouped(unread), named.join(", ")));
    }
    phrases
}

/// Prints a table of the objects. Returns the texts that all rows have in common, whose columns the table leaves out.
fn rows(out: &mut dyn Write, selection: &Selection<'_>) -> io::Result<Vec<String>> {
    if selection.len() == 0 {
        return Ok(Vec::new());
    }
    let columns = [
        Column::Common("FORMAT"),
        Column::Text("TYPE"),
        Column::Text("SHAPE"),
        Column::Common("STATE"),
        Column::Number("STORED"),
        Column::Number("DECODED"),
        Column::Common("ENCODING"),
        Column::Common("DIGEST"),
    ];
    let all = |each: row::Each<'_>| row::all(selection.objects(), each);
    let mut table = Table::measure(columns, progress::output_columns(), all)?;
    let mut components = selection.objects().flat_map(|object| object.components());
    if components.all(|component| component.encoding() == zten::Encoding::Raw) {
        table.leave_out("DECODED");
    }
    table.write(out, all)?;
    let word = |word: &str| if word == "-" { "no digest".to_owned() } else { word.to_owned() };
    // Readable objects are the rule, so the footer names only the other states.
    let common = table.common().filter(|word| *word != State::Readable.name());
    let mut common: Vec<_> = common.map(word).collect();
    if let Some(first) = common.first_mut() {
        first.insert_str(0, "all ");
    }
    Ok(common)
}
