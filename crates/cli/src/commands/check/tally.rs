//! The numbers of files by verdict and rule.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use super::entries::Skipped;
use crate::input::file::counted;
use crate::json::{self, Integer, Schema};
use crate::output::kind::{OutcomeKind, VERDICTS};

/// The numbers of files by verdict and by broken rule. Memory does not grow with the number of files.
#[derive(Debug, Default)]
pub(super) struct Tally {
    files: u64,
    verdicts: [u64; VERDICTS.len()],
    rules: BTreeMap<&'static str, u64>,
    /// The number of files with a note, by rule.
    notes: BTreeMap<&'static str, u64>,
    /// The number of files that hold no tensors, by kind.
    kinds: BTreeMap<&'static str, u64>,
    /// The entries of folders that were not checked.
    pub(super) skipped: Arc<Skipped>,
}

impl Tally {
    /// Creates a tally without files. The counts in `skipped` grow as folders are listed.
    pub(super) fn new(skipped: Arc<Skipped>) -> Self {
        Self { skipped, ..Self::default() }
    }

    /// Counts one more file, whose verdict and rules are in `kind`.
    pub(super) fn note(&mut self, kind: &OutcomeKind) {
        self.files = self.files.saturating_add(1);
        for (verdict, count) in VERDICTS.iter().zip(&mut self.verdicts) {
            *count = count.saturating_add((*verdict == kind.verdict).into());
        }
        if let Some(row) = kind.row {
            let count = self.rules.entry(row.id()).or_default();
            *count = count.saturating_add(1);
        }
        if let Some(other) = kind.other {
            let count = self.kinds.entry(other).or_default();
            *count = count.saturating_add(1);
        }
        for row in &kind.notes {
            let count = self.notes.entry(row.id()).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Returns the number of files.
    pub(super) fn files(&self) -> u64 {
        self.files
    }

    fn verdicts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        VERDICTS.iter().map(|verdict| verdict.as_str()).zip(self.verdicts)
    }

    /// Writes the counts that are not 0, and the skipped entries, as text.
    pub(super) fn lines(&self, out: &mut impl Write) -> io::Result<()> {
        let there = self.verdicts().filter(|(_, count)| *count > 0);
        let verdicts: Vec<_> = there.map(|(verdict, count)| format!("{count} {verdict}")).collect();
        let verdicts = if verdicts.is_empty() { "none".to_owned() } else { verdicts.join(", ") };
        writeln!(out, "{}: {verdicts}", counted(self.files, "file"))?;
        self.rules.iter().try_for_each(|(rule, count)| writeln!(out, "  {rule}: {count}"))?;
        self.notes.iter().try_for_each(|(rule, count)| writeln!(out, "  note {rule}: {count}"))?;
        self.write_kinds(out)?;
        if self.skipped.is_empty() { Ok(()) } else { writeln!(out, "{}", self.skipped) }
    }

    /// Writes a line with the number of files that hold no tensors, by kind. Writes nothing if there are no such files.
    pub(super) fn write_kinds(&self, out: &mut impl Write) -> io::Result<()> {
        if self.kinds.is_empty() {
            return Ok(());
        }
        let kinds: Vec<_> =
            self.kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let total = self.kinds.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
        writeln!(out, "{} without tensors: {}", counted(total, "file"), kinds.join(", "))
    }

    /// Writes the counts as a JSON document.
    pub(super) fn document(&self, out: &mut impl Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct Document<'a> {
            schema: Schema,
            summary: &'a Tally,
        }
        json::to_line(out, &Document { schema: Schema, summary: self })
    }
}

/// Serializes all counts: files by verdict (also those of 0), by broken rule, by rule of a note and by kind without
/// tensors; skipped entries by reason; and the paths of skipped folders.
impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counted = |(key, count): (&'static str, u64)| (key, Integer(count));
        let verdicts: BTreeMap<_, _> = self.verdicts().map(counted).collect();
        let by_rule = |rules: &BTreeMap<&'static str, u64>| -> BTreeMap<_, _> {
            rules.iter().map(|(rule, count)| (*rule, Integer(*count))).collect()
        };
        let skipped: BTreeMap<_, _> = self.skipped.by_name().map(counted).collect();
        let mut summary = serializer.serialize_struct("Tally", 7)?;
        summary.serialize_field("files", &Integer(self.files))?;
        summary.serialize_field("verdicts", &verdicts)?;
        summary.serialize_field("rules", &by_rule(&self.rules))?;
        summary.serialize_field("notes", &by_rule(&self.notes))?;
        summary.serialize_field("kinds", &by_rule(&self.kinds))?;
        summary.serialize_field("skipped", &skipped)?;
        summary.serialize_field("skipped_folders", &self.skipped.folders())?;
        summary.end()
    }
}
