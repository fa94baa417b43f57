//! The output of `zten check`, file by file.

use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use tempfile::SpooledTempFile;

#[cfg(target_os = "linux")]
use super::about;
use super::entries::{Entries, Reason, Suffixes};
use super::record::{OutputForm, RenderedOutcome};
use super::sarif;
use super::tally::Tally;
use crate::args::Check;
use crate::link::status::Status;
use crate::output::app::App;
#[cfg(target_os = "linux")]
use crate::output::report::Problem;
use crate::output::report::{Verdict, status};

/// The largest length in bytes of the list of files that memory holds. A longer list is moved to a temporary file.
const HELD: usize = 1 << 20;

/// The output of `zten check`: what to print about each file, and what has been printed and counted so far.
#[expect(clippy::struct_excessive_bools, reason = "most are options of the command line")]
pub(crate) struct Output {
    form: OutputForm,
    wants_summary: bool,
    is_quiet: bool,
    allows_unsupported: bool,
    /// True if files that hold no tensors and have no notes are counted instead of listed, in text form.
    counts_others: bool,
    /// The suffixes of the files in folders that are checked (`--suffix`), for messages.
    suffixes: Suffixes,
    tally: Tally,
    /// The list of files of a SARIF document. It is written after the results.
    artifacts: SpooledTempFile,
    /// True if a result has been written.
    has_results: bool,
    /// True if `artifacts` has a file, so that a comma must come before the next file.
    has_artifacts: bool,
}

impl Output {
    /// Begins the output about the files of `entries`.
    pub(crate) fn begin(app: &mut App, args: &Check, entries: &Entries) -> io::Result<Self> {
        let form = OutputForm::of(args);
        if form == OutputForm::Sarif {
            sarif::head(&mut app.out)?;
        }
        Ok(Self {
            form,
            wants_summary: args.summary && !args.quiet,
            is_quiet: args.quiet,
            allows_unsupported: args.allow_unsupported,
            counts_others: args.recursive,
            suffixes: Suffixes::new(&args.suffix),
            tally: Tally::new(entries.skipped()),
            artifacts: SpooledTempFile::new(HELD),
            has_results: false,
            has_artifacts: false,
        })
    }

    /// Prints `record`, the rendered outcome of the file at `path`. Verdicts go to standard output. In text form, the error that
    /// kept a file from being checked goes to standard error. Nothing is printed about a file without a finding if the user asked
    /// for findings only, and about a file that is only counted.
    pub(crate) fn record(
        &mut self,
        app: &mut App,
        path: &Path,
        record: &RenderedOutcome,
    ) -> io::Result<()> {
        self.note(app, path, record)?;
        if self.is_quiet && record.kind.has_no_finding() {
            return Ok(());
        }
        // Files without tensors that are found in folders are counted in `end`.
        let is_other = record.kind.verdict == Verdict::Other && record.kind.notes.is_empty();
        let text = record.text(self.form);
        match record.kind.verdict {
            _ if is_other && self.form == OutputForm::Text && self.counts_others => Ok(()),
            Verdict::Error if self.form == OutputForm::Text => app.error_text(&text),
            _ => app.out.write_all(text.as_bytes()),
        }
    }

    /// Returns whether `record`, which a worker has rendered, is about the file at `path` alone.
    #[cfg(target_os = "linux")]
    pub(crate) fn accepts(&self, path: &Path, record: &RenderedOutcome) -> bool {
        about::is_about(self.form, path, record)
    }

    /// Renders `problem`, which the broker itself has found with the file at `path`.
    #[cfg(target_os = "linux")]
    pub(crate) fn problem(
        &self,
        path: &Path,
        also: Vec<PathBuf>,
        problem: Problem,
    ) -> RenderedOutcome {
        RenderedOutcome { also, ..RenderedOutcome::new(self.form, path, &Err(Box::new(problem))) }
    }

    /// Adds a file to the tally, the exit status and the artifacts of SARIF, before its outcome is written.
    fn note(&mut self, app: &mut App, path: &Path, record: &RenderedOutcome) -> io::Result<()> {
        self.tally.note(&record.kind);
        app.set_exit_status(match status(record.kind.verdict) {
            Status::Unsupported if self.allows_unsupported => Status::Success,
            status => status,
        });
        if self.form != OutputForm::Sarif {
            return Ok(());
        }
        for path in [path].into_iter().chain(record.also.iter().map(PathBuf::as_path)) {
            if std::mem::replace(&mut self.has_artifacts, true) {
                self.artifacts.write_all(b",")?;
            }
            sarif::artifact(&mut self.artifacts, path)?;
        }
        if !record.text.is_empty() {
            if self.has_results {
                app.out.write_all(b",")?;
            }
            self.has_results = true;
        }
        Ok(())
    }

    /// Returns the message that no file was checked, with the reason and advice.
    fn none_checked(&self) -> String {
        let skipped = &self.tally.skipped;
        if skipped.is_empty() {
            return "no file was checked: the folders are empty, or the list names no file"
                .to_owned();
        }
        let suffixes = match skipped.of(Reason::Suffix) {
            0 => String::new(),
            _ => format!("; expected names that end in {}", self.suffixes.list()),
        };
        let links = if skipped.of(Reason::Link) > 0 { "; --follow follows links" } else { "" };
        format!("no file was checked: {skipped}{suffixes}{links}")
    }

    /// Ends the output: writes the summary, the skipped entries and the end of a document. If no file was checked, reports that as
    /// an error.
    pub(crate) fn end(mut self, app: &mut App) -> io::Result<()> {
        if self.tally.files() == 0 && app.status() != Status::Error {
            app.usage(self.none_checked())?;
        } else if !self.is_quiet && !self.wants_summary {
            if self.form == OutputForm::Text && self.counts_others {
                self.tally.write_kinds(&mut app.out)?;
            }
            if !self.tally.skipped.is_empty() {
                app.error(&self.tally.skipped)?;
            }
        }
        let summary = self.wants_summary.then_some(&self.tally);
        let status = app.status();
        match (self.form, summary) {
            (OutputForm::Sarif, summary) => {
                let artifacts = &mut self.artifacts;
                let list = |out: &mut _| {
                    artifacts.rewind()?;
                    io::copy(artifacts, out).map(drop)
                };
                sarif::end(&mut app.out, list, summary, status)
            }
            (OutputForm::Text, Some(tally)) => tally.lines(&mut app.out),
            (OutputForm::Json, Some(tally)) => tally.document(&mut app.out),
            (_, None) => Ok(()),
        }
    }
}
