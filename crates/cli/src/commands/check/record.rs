//! The outcome of a check of a file, written as text, JSON or SARIF.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use zten::network::file_name;
use zten_report::check::{self, Report};

use super::sarif;
use crate::args::Check;
use crate::escape;
use crate::json;
use crate::output::kind::{Outcome, OutcomeKind, Valid};
use crate::output::paint::{Painted, Palette};
use crate::output::report::{Verdict, write_notes};
use crate::source::remote::shown;

/// The format of the output of `zten check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputForm {
    /// Text lines for people.
    Text,
    /// One JSON document a line.
    Json,
    /// Results in a SARIF document, for findings only.
    Sarif,
}

impl OutputForm {
    /// Returns the output format that the command line asks for.
    pub(super) fn of(args: &Check) -> Self {
        match (args.json, args.sarif) {
            (true, _) => Self::Json,
            (_, true) => Self::Sarif,
            _ => Self::Text,
        }
    }

    /// Writes `outcome`, the outcome of the file at `path`, in this format.
    fn write(self, out: &mut impl Write, path: &Path, outcome: &Outcome) -> io::Result<()> {
        match (self, outcome) {
            (Self::Text, Ok(Valid { verdict, summary, notes, .. })) => {
                let palette = Palette::output();
                let path = Painted(palette.path(), escape::path(&shown(path)));
                let mut text = format!("{path}: {}", Painted(palette.verdict(*verdict), summary));
                write_notes(&mut text, notes, palette).map_err(io::Error::other)?;
                writeln!(out, "{text}")
            }
            (Self::Text, Err(problem)) => {
                // Errors that kept the file from being checked go to standard error; all verdicts go to standard output.
                let palette = match problem.finding().verdict {
                    Verdict::Error => Palette::errors(),
                    _ => Palette::output(),
                };
                let mut text = String::new();
                problem.write(&mut text, palette).map_err(io::Error::other)?;
                writeln!(out, "{text}")
            }
            (Self::Json, Ok(Valid { verdict, summary, format, notes })) => {
                let valid = check::Valid { verdict: *verdict, format, message: summary, notes };
                json::to_line(out, &Report::valid(&valid).of_file(path))
            }
            (Self::Json, Err(problem)) => problem.json(out),
            (Self::Sarif, Ok(valid)) => sarif::results(out, path, None, &valid.notes),
            (Self::Sarif, Err(problem)) => {
                let found = Some((problem.finding(), problem.more()));
                sarif::results(out, path, found, problem.notes())
            }
        }
    }
}

/// An outcome that has been rendered as text.
#[derive(Debug)]
pub(crate) struct RenderedOutcome {
    pub(crate) kind: OutcomeKind,
    pub(crate) text: String,
    /// The other paths in a hub's cache that lead to the file. The worker that renders the text does not know them.
    pub(crate) also: Vec<PathBuf>,
}

impl RenderedOutcome {
    /// Renders `outcome`, the outcome of the file at `path`, in the format `form`.
    pub(super) fn new(form: OutputForm, path: &Path, outcome: &Outcome) -> Self {
        let mut text = Vec::new();
        // Writing to memory does not fail.
        let _ = form.write(&mut text, path, outcome);
        let text = String::from_utf8_lossy(&text).into_owned();
        Self { kind: OutcomeKind::of(outcome), text, also: Vec::new() }
    }

    /// Returns the text. Text output and JSON also name the paths of `also`.
    pub(super) fn text(&self, form: OutputForm) -> Cow<'_, str> {
        let names = || self.also.iter().map(|path| escape::path(&shown(path)));
        let text = match form {
            _ if self.also.is_empty() => return Cow::Borrowed(&self.text),
            OutputForm::Text => {
                format!("{}  also {}\n", self.text, names().collect::<Vec<_>>().join(", "))
            }
            OutputForm::Json => {
                let also: Vec<_> = self.also.iter().map(|path| file_name(path)).collect();
                let mut list = Vec::new();
                // Writing to memory does not fail.
                let _ = json::to_writer(&mut list, &also);
                let document = self.text.trim_end().strip_suffix('}').unwrap_or_default();
                format!("{document},\"also\":{}}}\n", String::from_utf8_lossy(&list))
            }
            OutputForm::Sarif => return Cow::Borrowed(&self.text),
        };
        Cow::Owned(text)
    }
}
