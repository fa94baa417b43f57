//! Problems of files, printed as text for people and as JSON for programs.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use zten::finding::Finding;
use zten::num::u64_from_usize;
use zten::rules::Unsupported;
use zten::{Component, Error, error::Location};
use zten_report::check::Report;

use crate::escape;
use crate::json;
use crate::link::status::Status;
use crate::output::paint::{Painted, Palette};
use crate::source::handle::TensorFile;
use crate::source::remote;

pub(crate) use zten::finding::Verdict;

/// A problem with a file: what is wrong, where, and what to do.
#[derive(Debug)]
pub(crate) struct Problem {
    file: PathBuf,
    finding: Finding,
    /// Further objects of the file with problems, or `None` if no further objects were checked.
    more: Option<More>,
    /// The notes on the file.
    notes: Vec<Finding>,
}

/// Further objects with problems: for each [`Flaw`], their number and the names of the first.
#[derive(Debug, Default)]
pub(crate) struct More([(u64, Vec<String>); 4]);

/// A kind of problem with an object, in descending order of importance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flaw {
    Invalid,
    Unsupported,
    Tolerated,
    AgainstPolicy,
}

impl Flaw {
    /// Every flaw, and its name in messages.
    const ALL: [(Self, &str); 4] = [
        (Self::Invalid, "invalid"),
        (Self::Unsupported, "not supported"),
        (Self::Tolerated, "tolerated"),
        (Self::AgainstPolicy, "against the policy"),
    ];
}

/// The largest number of further objects that a message names for each [`Flaw`]. Further objects are those with problems, except
/// the one whose problem the message describes in full.
const NAMES: usize = 8;
/// The largest number of terminal columns of the name of a further object.
const NAME: usize = 40;

impl More {
    /// Adds the object `name`, which has a problem of the kind `flaw`.
    pub(crate) fn add(&mut self, name: &str, flaw: Flaw) {
        for ((count, first), (own, _)) in self.0.iter_mut().zip(Flaw::ALL) {
            if own == flaw {
                *count = count.saturating_add(1);
                if first.len() < NAMES {
                    first.push(escape::word(name, NAME));
                }
            }
        }
    }

    fn count(&self) -> u64 {
        self.0.iter().fold(0, |sum, (count, _)| sum.saturating_add(*count))
    }
}

impl fmt::Display for More {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((count, first), (_, what)) in self.0.iter().zip(Flaw::ALL) {
            let (tensors, are) = match count {
                0 => continue,
                1 => ("tensor", "is"),
                _ => ("tensors", "are"),
            };
            write!(f, "\n  {count} more {tensors} {are} {what}")?;
            let mut before = ": ";
            for name in first {
                write!(f, "{before}{name}")?;
                before = ", ";
            }
            if u64_from_usize(first.len()) < *count {
                f.write_str(", …")?;
            }
        }
        Ok(())
    }
}

impl Problem {
    /// Creates the problem of a file that cannot be opened, read or written.
    pub(crate) fn io(file: &Path, error: &io::Error) -> Self {
        Self::found(file, Finding::io(error))
    }

    /// Creates the problem of a file whose worker has ended unexpectedly. `how` says how the worker ended.
    #[cfg(target_os = "linux")]
    pub(crate) fn ended(file: &Path, how: &str) -> Self {
        let sentence = format!("the confined process that read this file has ended: {how}");
        Self::new(file, Verdict::Error, sentence)
    }

    /// Creates the problem of a file whose worker has finished without a verdict.
    #[cfg(target_os = "linux")]
    pub(crate) fn no_verdict(file: &Path) -> Self {
        let sentence = "the confined process that read this file gave no verdict".to_owned();
        Self::new(file, Verdict::Error, sentence)
    }

    fn new(file: &Path, verdict: Verdict, sentence: String) -> Self {
        Self::found(file, Finding::new(verdict, sentence))
    }

    /// Creates the problem of `file` with `finding`.
    pub(crate) fn found(file: &Path, finding: Finding) -> Self {
        Self { file: remote::shown(file).into_owned(), finding, more: None, notes: Vec::new() }
    }

    /// Creates the problem of a file that cannot be read, or cannot be opened as an archive, without a format besides that of the
    /// broken rule.
    pub(crate) fn opening(path: &Path, error: &Error) -> Self {
        Self::found(path, Finding::from_error(error))
    }

    /// Creates the problem of an archive whose content is not valid, or cannot be read.
    pub(crate) fn reading(file: &Path, archive: &TensorFile, error: &Error) -> Self {
        let mut finding = Finding::reading(archive.manifest(), error);
        if error.kind() == Unsupported::Shard && remote::has_query(file) {
            finding.advice = Some(
                "Shards are not fetched, because the query of the URL may be a signature for this file only.",
            );
        }
        Self::found(file, finding)
    }

    /// Creates the problem of a file of another format that is not valid, or cannot be read.
    pub(crate) fn format_error(file: &Path, error: &Error, format: Option<&'static str>) -> Self {
        Self::found(file, Finding { format, ..Finding::from_error(error) })
    }

    /// Creates the problem of a valid file for which the command cannot do what the user asked for.
    pub(crate) fn inexpressible(file: &Path, sentence: &impl fmt::Display) -> Self {
        Self::new(file, Verdict::Error, sentence.to_string())
    }

    /// Creates the problem of a valid file that cannot be converted, because the output cannot hold the tensor `object`, or the
    /// file as a whole if `object` is `None`.
    pub(crate) fn unwritable(
        file: &Path,
        object: Option<&str>,
        sentence: &dyn fmt::Display,
    ) -> Self {
        Self::found(file, Finding::unwritable(object, sentence))
    }

    /// Returns the problem with `advice` for its cause. Messages print the advice after the place of the problem in the file.
    pub(crate) fn advising(mut self, advice: Option<&'static str>) -> Self {
        self.finding.advice = advice.or(self.finding.advice);
        self
    }

    /// Creates the problem of a component that uses the unsupported feature `id` of the catalog.
    pub(crate) fn unsupported(
        file: &Path,
        archive: &TensorFile,
        component: &Component<'_>,
        id: &str,
    ) -> Self {
        let row = zten::rules::find(id);
        let sentence = row.map_or(id, |row| row.broken()).to_owned();
        let mut finding = Finding::new(Verdict::Unsupported, sentence);
        finding.row = row;
        finding.offset = Some(component.extent().offset());
        Self::found(file, finding.named(archive.manifest(), component.location()))
    }

    /// Returns the problem with the object and component of `location`.
    pub(crate) fn named(mut self, archive: &TensorFile, location: Location) -> Self {
        self.finding = self.finding.named(archive.manifest(), location);
        self
    }

    /// Returns the problem with the problems of further objects.
    pub(crate) fn and_more(mut self, more: More) -> Self {
        self.more = Some(more);
        self
    }

    /// Returns the problem with the notes on the file.
    pub(crate) fn with_notes(self, notes: Vec<Finding>) -> Self {
        Self { notes, ..self }
    }

    /// Returns a problem of the same file with `finding`, and without further objects and notes.
    #[must_use]
    pub(crate) fn with_finding(self, finding: Finding) -> Self {
        Self { finding, more: None, notes: Vec::new(), ..self }
    }

    /// Returns the notes on the file.
    pub(crate) fn notes(&self) -> &Vec<Finding> {
        &self.notes
    }

    /// Returns the problem with the verdict `Tolerated`, because the policy tolerates it.
    pub(crate) fn tolerated(mut self) -> Self {
        self.finding.verdict = Verdict::Tolerated;
        self
    }

    /// Returns the number of further objects with problems, or `None` if they were not checked.
    pub(crate) fn more(&self) -> Option<u64> {
        self.more.as_ref().map(More::count)
    }

    /// Returns the path of the file as messages show it.
    pub(crate) fn path(&self) -> &Path {
        &self.file
    }

    /// Returns the finding.
    pub(crate) fn finding(&self) -> &Finding {
        &self.finding
    }

    /// Returns the problem without names from the file, which may be of any length. The numbers of objects stay.
    pub(crate) fn without_names(mut self) -> Self {
        self.finding.object = None;
        self.finding.component = None;
        for (_, first) in self.more.iter_mut().flat_map(|More(others)| others) {
            first.clear();
        }
        remove_names(&mut self.notes);
        self
    }

    /// Returns the exit status that the problem leads to.
    pub(crate) fn status(&self) -> Status {
        status(self.finding.verdict)
    }

    /// Writes the problem as one line of JSON.
    pub(crate) fn json(&self, out: &mut impl Write) -> io::Result<()> {
        let report = Report::found(&self.finding, self.more()).with_notes(&self.notes);
        json::to_line(out, &report.of_file(&self.file))
    }
}

/// Returns the exit status that a verdict leads to.
pub(crate) fn status(verdict: Verdict) -> Status {
    match verdict {
        Verdict::Valid | Verdict::ManifestValid | Verdict::Tolerated | Verdict::Other => {
            Status::Success
        }
        Verdict::Unsupported => Status::Unsupported,
        Verdict::Invalid | Verdict::Limit => Status::Invalid,
        Verdict::Error => Status::Error,
    }
}

/// Removes the names of objects and components from `notes`.
pub(crate) fn remove_names(notes: &mut [Finding]) {
    for note in notes {
        note.object = None;
        note.component = None;
    }
}

/// Writes one line for each note, to follow the line of the file.
pub(crate) fn write_notes(
    f: &mut impl fmt::Write,
    notes: &[Finding],
    palette: Palette,
) -> fmt::Result {
    let style = palette.verdict(Verdict::Tolerated);
    notes.iter().try_for_each(|note| {
        let note = note.with_rule_between(style.render(), style.render_reset());
        write!(f, "\n  note: {note}")
    })
}

/// Formats the problem in the colors of standard error, where all commands but `check` print it.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, Palette::errors())
    }
}

impl Problem {
    /// Writes the problem in the colors of `palette`.
    pub(crate) fn write(&self, f: &mut impl fmt::Write, palette: Palette) -> fmt::Result {
        let rule = palette.verdict(self.finding.verdict);
        let finding = self.finding.with_rule_between(rule.render(), rule.render_reset());
        write!(f, "{}: {finding}", Painted(palette.path(), escape::path(&self.file)))?;
        if let Some(advice) = self.finding.advice() {
            let raised = advice.strip_prefix("Raise the limit `");
            match raised.and_then(|rest| rest.split_once('`')) {
                Some((name, _)) => {
                    let advice = advice.trim_end_matches('.');
                    write!(f, "\n  {advice} (--limit {name}=SIZE)")?;
                }
                None => write!(f, "\n  {advice}")?,
            }
        }
        if self.finding.verdict == Verdict::Tolerated {
            f.write_str("\n  tolerated by the policy; the file is not valid")?;
        }
        if let Some(more) = &self.more {
            write!(f, "{more}")?;
        }
        write_notes(f, &self.notes, palette)
    }
}
