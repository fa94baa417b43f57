//! `zten patch show`: prints what a patch changes.

use std::fmt::Write as _;

use serde::Serialize;
use zten_patch::Patch;
use zten_report::digests::{hex, kind};

use super::Files;
use crate::args::PatchShow;
use crate::escape::{self, Name};
use crate::json::{Integer, Schema, to_line};
use crate::output::report::Problem;
use crate::source::remote;

/// The JSON document of a patch.
#[derive(Serialize)]
struct Document<'a> {
    schema: Schema,
    file: &'a str,
    patch: Shown<'a>,
}

/// What a patch changes, as the JSON document shows it.
#[derive(Serialize)]
struct Shown<'a> {
    base: String,
    result: String,
    format: &'a str,
    changed: Vec<Changed<'a>>,
    whole: Vec<Whole<'a>>,
    removed: &'a [&'a str],
    renamed: Vec<Renamed<'a>>,
    /// True if the patch changes the attributes of the file.
    attributes: bool,
}

/// A component whose elements change.
#[derive(Serialize)]
struct Changed<'a> {
    name: &'a str,
    role: &'a str,
    r#type: &'a str,
    base: String,
    result: String,
    bytes: Integer,
}

/// A tensor that the patch holds whole.
#[derive(Serialize)]
struct Whole<'a> {
    name: &'a str,
    r#type: String,
}

/// A tensor that gets another name.
#[derive(Serialize)]
struct Renamed<'a> {
    old: &'a str,
    new: &'a str,
}

/// Returns the text about a patch, without the last line break.
pub(super) fn text(args: &PatchShow, files: &Files<'_>) -> Result<String, Box<Problem>> {
    let patches = files.patches(0)?;
    let Some(patch) = patches.first() else { return Ok(String::new()) };
    Ok(if args.json { json(args, patch) } else { lines(patch) })
}

/// Returns the shape of a tensor that a patch holds whole, and the type of its first component.
fn whole_kind(tensor: &zten::Tensor<'_>) -> String {
    tensor.components().next().map(|own| kind(tensor, &own)).unwrap_or_default()
}

fn json(args: &PatchShow, patch: &Patch<'_>) -> String {
    let shown = remote::shown(&args.patch);
    let changed = patch.changed().iter().map(|own| Changed {
        name: own.name,
        role: own.role,
        r#type: own.kind,
        base: hex(&own.base),
        result: hex(&own.result),
        bytes: Integer(own.bytes()),
    });
    let whole = patch.whole().map(|(name, own)| Whole { name, r#type: whole_kind(&own) });
    let document = Document {
        schema: Schema,
        file: &shown.to_string_lossy(),
        patch: Shown {
            base: hex(&patch.base()),
            result: hex(&patch.result()),
            format: patch.format(),
            changed: changed.collect(),
            whole: whole.collect(),
            removed: patch.removed(),
            renamed: patch.renamed().iter().map(|[old, new]| Renamed { old, new }).collect(),
            attributes: patch.attributes().is_some(),
        },
    };
    let mut line = Vec::new();
    // Writing to memory cannot fail, and JSON is UTF-8.
    let _ = to_line(&mut line, &document);
    String::from_utf8_lossy(line.trim_ascii_end()).into_owned()
}

fn lines(patch: &Patch<'_>) -> String {
    let mut text = format!("base    {}\nresult  {}", hex(&patch.base()), hex(&patch.result()));
    // Writing to a text cannot fail.
    let mut line = |of: std::fmt::Arguments<'_>| {
        let _ = write!(text, "\n{of}");
    };
    line(format_args!("format  {}", escape::word(patch.format(), 40)));
    for change in patch.changed() {
        let role =
            if change.role == "data" { String::new() } else { format!("/{}", Name(change.role)) };
        let bytes = crate::size::human(change.bytes());
        line(format_args!(
            "changed  {}{role}  {}  {bytes}",
            Name(change.name),
            escape::word(change.kind, 80)
        ));
    }
    for (name, tensor) in patch.whole() {
        line(format_args!("whole    {}  {}", Name(name), whole_kind(&tensor)));
    }
    for name in patch.removed() {
        line(format_args!("removed  {}", Name(name)));
    }
    for [old, new] in patch.renamed() {
        line(format_args!("renamed  {} -> {}", Name(old), Name(new)));
    }
    if patch.attributes().is_some() {
        line(format_args!("the attributes of the file are replaced"));
    }
    text
}
