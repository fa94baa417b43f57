//! Writes files of any supported format as safetensors and NumPy files.

mod archived;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::io::{Seek, Write};

use zten::formats::write::{self, ArrayList as _, Settings};
use zten::num::u64_from_usize;

use super::Written;
use super::failure::{ConvertFailure, problem};
use super::plan::Plan;
use super::sharded::{self, Files};
use crate::args::Convert;
use crate::escape;
use crate::input::file::{FileWithShards, counted, stored};
use crate::output::progress::Progress;
use crate::output::report::Problem;
use archived::Archived;

/// Writes the selected objects of `archive` to `out` in the format of `plan`.
pub(super) fn archive(
    args: &Convert,
    archive: &FileWithShards,
    mut out: impl Write + Seek,
    plan: &Plan,
) -> Result<Written, Box<Problem>> {
    with_source(args, archive, plan, |source| {
        write::write(plan.target, source, &mut out, settings(args))
    })
}

/// Writes the selected objects of `archive` as several safetensors files, or as one if they fit in it.
pub(super) fn archive_sharded(
    args: &Convert,
    archive: &FileWithShards,
    plan: &Plan,
    files: &Files<'_>,
) -> Result<Written, Box<Problem>> {
    with_source(args, archive, plan, |source| sharded::safetensors(args, source, files))
}

/// Returns the settings of the writer, as the command line gives them.
pub(super) fn settings(args: &Convert) -> Settings {
    Settings { align: args.align }
}

/// The largest number of attributes that a note names.
const KEYS: usize = 4;
/// The largest number of terminal columns of the name of an attribute in a note.
const KEY: usize = 40;

/// Returns the notes for the user about the written `source`: attributes that became JSON text, and shared storage. NumPy
/// formats reject attributes, so only the source of a safetensors file has any.
fn notes(source: &Archived<'_>) -> Vec<String> {
    let attributes = source.attributes();
    let count = write::json_texts(&attributes).count();
    if count == 0 {
        return source.shared.iter().cloned().collect();
    }
    let keys = write::json_texts(&attributes).take(KEYS).map(|key| escape::word(key, KEY));
    let mut keys: Vec<_> = keys.collect();
    if count > KEYS {
        keys.push("…".to_owned());
    }
    let attributes = counted(u64_from_usize(count), "attribute");
    let texts = format!("{attributes} written as JSON text: {}", keys.join(", "));
    [texts].into_iter().chain(source.shared.clone()).collect()
}

fn with_source(
    args: &Convert,
    archive: &FileWithShards,
    plan: &Plan,
    write: impl FnOnce(&mut Archived<'_>) -> Result<(), ConvertFailure>,
) -> Result<Written, Box<Problem>> {
    let (progress, overflow) = (Progress::new(stored(archive.manifest())), Cell::new(None));
    let written =
        Archived::new(args, archive, plan, (&progress, &overflow)).and_then(|mut source| {
            write(&mut source)?;
            let (objects, notes) = (source.count(), notes(&source));
            Ok(Written { objects, notes, left_out: source.left_out })
        });
    written.map_err(|failure| problem(failure, [&args.input, &args.output]))
}
