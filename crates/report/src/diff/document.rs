//! The JSON document about the differences of two files, and the summary that `zten diff` prints.

use std::fmt;

use serde::Serialize;
use zten::finding::grouped;
use zten::json::Schema;
use zten::num::u64_from_usize;

use super::attribute::AttributeChange;
use super::change::Changes;
use super::{Difference, FileDifferences, ObjectDifference};

/// The number of objects that were added, removed, renamed or changed, that are equal, and that were not compared. `Display` writes
/// the last line of the output of `zten diff`.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Summary {
    added: u64,
    removed: u64,
    renamed: u64,
    changed: u64,
    equal: u64,
    /// The number of tensors that differ by no more than the tolerance, or `None` if the comparison has no tolerance.
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<u64>,
    unread: u64,
}

impl Summary {
    /// Counts the objects of `found`, the differences of two files.
    pub fn of(found: &FileDifferences<'_>) -> Self {
        let unread = u64_from_usize(found.unread.len());
        let (equal, within) = (found.equal, found.within);
        let mut summary = Self { equal, within, unread, ..Self::default() };
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

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { changed, added, removed, renamed, equal, within, unread } = *self;
        let counts = [changed, added, removed, renamed, equal].map(grouped);
        let [changed, added, removed, renamed, equal] = &counts;
        write!(
            f,
            "tensors: {changed} changed, {added} added, {removed} removed, {renamed} renamed, {equal} equal"
        )?;
        if let Some(within) = within {
            write!(f, ", {} within the tolerance", grouped(within))?;
        }
        match unread {
            0 => Ok(()),
            unread => write!(f, ", {} unread and not compared", grouped(unread)),
        }
    }
}

/// A changed or renamed object in the JSON document of a comparison.
#[derive(Serialize)]
struct ChangedObject<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<&'a str>,
    #[serde(flatten)]
    changes: &'a Changes<'a>,
}

/// The JSON document of a comparison of two files. `docs/json.md` describes its keys.
#[derive(Serialize)]
struct Document<'a> {
    schema: Schema,
    equal: bool,
    attributes: &'a [AttributeChange<'a>],
    added: Vec<&'a str>,
    removed: Vec<&'a str>,
    renamed: Vec<ChangedObject<'a>>,
    changed: Vec<ChangedObject<'a>>,
    unread: &'a [&'a str],
    summary: Summary,
}

/// Returns the JSON document about `found`, the differences of two files. `docs/json.md` describes its keys.
pub fn document<'a>(found: &'a FileDifferences<'a>) -> impl Serialize + 'a {
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
    for ObjectDifference { name, difference, changes, .. } in &found.objects {
        match difference {
            Difference::Added => document.added.push(name),
            Difference::Removed => document.removed.push(name),
            Difference::Changed => {
                document.changed.push(ChangedObject { name, old: None, changes });
            }
            Difference::Renamed(old) => {
                document.renamed.push(ChangedObject { name, old: Some(old), changes });
            }
        }
    }
    document
}
