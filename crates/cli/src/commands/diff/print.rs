//! Printing of differences as text and as JSON.

use std::io::{self, Write};

use serde::Serialize;

use super::change::Changes;
use super::value::AttributeChange;
use super::{Difference, Found, Object};
use crate::escape::Quoted;
use crate::json::{Schema, to_line};
use zten::finding::grouped;
use zten::num::u64_from_usize;

/// Writes one line for each differing attribute and object, and a line with the totals.
pub(super) fn lines(out: &mut dyn Write, found: &Found<'_>) -> io::Result<()> {
    for change in &found.attributes {
        let sign = Some(change.sign()).filter(|sign| !sign.is_empty()).unwrap_or("~");
        writeln!(out, "{sign} {change}")?;
    }
    for Object { name, difference, changes } in &found.objects {
        // Names are printed in full, because two cut names could look the same.
        let name = Quoted(name);
        let text = changes.to_string();
        let separator = if text.is_empty() { "" } else { ": " };
        match difference {
            Difference::Added => writeln!(out, "+ {name}")?,
            Difference::Removed => writeln!(out, "- {name}")?,
            Difference::Changed => writeln!(out, "~ {name}{separator}{text}")?,
            Difference::Renamed(old) => {
                writeln!(out, "> {} -> {name}{separator}{text}", Quoted(old))?;
            }
        }
    }
    let Summary { changed, added, removed, renamed, equal, unread } = Summary::of(found);
    let counts = [changed, added, removed, renamed, equal].map(grouped);
    let [changed, added, removed, renamed, equal] = &counts;
    let unread = match unread {
        0 => String::new(),
        unread => format!(", {} unread and not compared", grouped(unread)),
    };
    writeln!(
        out,
        "tensors: {changed} changed, {added} added, {removed} removed, {renamed} renamed, {equal} equal{unread}"
    )
}

/// The numbers of objects by their difference.
#[derive(Default, Serialize)]
struct Summary {
    added: u64,
    removed: u64,
    renamed: u64,
    changed: u64,
    equal: u64,
    unread: u64,
}

impl Summary {
    fn of(found: &Found<'_>) -> Self {
        let unread = u64_from_usize(found.unread.len());
        let mut summary = Self { equal: found.equal, unread, ..Self::default() };
        for object in &found.objects {
            let count = match object.difference {
                Difference::Added => &mut summary.added,
                Difference::Removed => &mut summary.removed,
                Difference::Renamed(_) => &mut summary.renamed,
                Difference::Changed => &mut summary.changed,
            };
            *count = count.saturating_add(1);
        }
        summary
    }
}

/// An object in the JSON document.
#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<&'a str>,
    #[serde(flatten)]
    changes: &'a Changes<'a>,
}

/// The JSON document of a comparison.
#[derive(Serialize)]
struct Document<'a> {
    schema: Schema,
    equal: bool,
    attributes: &'a [AttributeChange<'a>],
    added: Vec<&'a str>,
    removed: Vec<&'a str>,
    renamed: Vec<Entry<'a>>,
    changed: Vec<Entry<'a>>,
    unread: &'a [&'a str],
    summary: Summary,
}

/// Writes the differences as one JSON document.
pub(super) fn document(out: &mut dyn Write, found: &Found<'_>) -> io::Result<()> {
    let mut document = Document {
        schema: Schema,
        equal: found.is_equal() && found.unread.is_empty(),
        attributes: &found.attributes,
        added: Vec::new(),
        removed: Vec::new(),
        renamed: Vec::new(),
        changed: Vec::new(),
        unread: &found.unread,
        summary: Summary::of(found),
    };
    for Object { name, difference, changes } in &found.objects {
        match difference {
            Difference::Added => document.added.push(name),
            Difference::Removed => document.removed.push(name),
            Difference::Changed => document.changed.push(Entry { name, old: None, changes }),
            Difference::Renamed(old) => {
                document.renamed.push(Entry { name, old: Some(old), changes });
            }
        }
    }
    to_line(out, &document)
}
