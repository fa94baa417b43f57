//! Where what is found goes, file by file.

use std::io::{self, Seek as _, Write as _};
use std::path::Path;

use tempfile::SpooledTempFile;

use super::record::Form;
#[cfg(target_os = "linux")]
use super::record::Record;
use super::sarif;
use super::tally::Tally;
use crate::app::App;
use crate::args::Check;
use crate::kind::{Kind, Outcome};
#[cfg(target_os = "linux")]
use crate::message::Stream;
use crate::report::{Problem, status};
use crate::status::Status;

/// Bytes of the list of files that are held; more are in a temporary file.
const HELD: usize = 1 << 20;

/// The output of the command.
pub(crate) struct Output {
    form: Form,
    wants_summary: bool,
    tally: Tally,
    /// The files of a SARIF document, which come behind the results.
    artifacts: SpooledTempFile,
    /// Whether a result has been written.
    has_results: bool,
}

impl Output {
    /// Begins it.
    pub(crate) fn begin(app: &mut App, args: &Check) -> io::Result<Self> {
        let form = Form::of(args);
        if form == Form::Sarif {
            sarif::head(&mut app.out)?;
        }
        Ok(Self {
            form,
            wants_summary: args.summary,
            tally: Tally::default(),
            artifacts: SpooledTempFile::new(HELD),
            has_results: false,
        })
    }

    /// Says what has been found of the file at `path`.
    pub(super) fn outcome(
        &mut self,
        app: &mut App,
        path: &Path,
        outcome: &Outcome,
    ) -> io::Result<()> {
        let kind = Kind::of(outcome);
        self.note(app, path, kind)?;
        match outcome {
            Err(problem) if self.form == Form::Text => app.problem(problem),
            _ => {
                app.worsen(status(kind.verdict));
                self.form.write(&mut app.out, path, outcome)
            }
        }
    }

    /// Prints what a worker has rendered.
    #[cfg(target_os = "linux")]
    pub(crate) fn record(&mut self, app: &mut App, path: &Path, record: &Record) -> io::Result<()> {
        self.note(app, path, record.kind)?;
        let status = status(record.kind.verdict);
        if self.form == Form::Text && status != Status::Success {
            app.worsen(status);
            return app.text(Stream::Errors, &record.text);
        }
        app.worsen(status);
        app.out.write_all(record.text.as_bytes())
    }

    /// Renders a problem that no worker has reported.
    #[cfg(target_os = "linux")]
    pub(crate) fn problem(&self, path: &Path, problem: Problem) -> Record {
        Record::new(self.form, path, &Err(Box::new(problem)))
    }

    /// What comes before the words on a file.
    fn note(&mut self, app: &mut App, path: &Path, kind: Kind) -> io::Result<()> {
        self.tally.note(kind);
        if self.form != Form::Sarif {
            return Ok(());
        }
        if self.tally.files() > 1 {
            self.artifacts.write_all(b",")?;
        }
        sarif::artifact(&mut self.artifacts, path)?;
        if status(kind.verdict) != Status::Success {
            if self.has_results {
                app.out.write_all(b",")?;
            }
            self.has_results = true;
        }
        Ok(())
    }

    /// Ends it.
    pub(crate) fn end(mut self, app: &mut App) -> io::Result<()> {
        let summary = self.wants_summary.then_some(&self.tally);
        let status = app.status();
        match (self.form, summary) {
            (Form::Sarif, summary) => {
                let artifacts = &mut self.artifacts;
                let list = |out: &mut _| {
                    artifacts.rewind()?;
                    io::copy(artifacts, out).map(drop)
                };
                sarif::end(&mut app.out, list, summary, status)
            }
            (Form::Text, Some(tally)) => tally.lines(&mut app.out),
            (Form::Json, Some(tally)) => tally.document(&mut app.out),
            (_, None) => Ok(()),
        }
    }
}
