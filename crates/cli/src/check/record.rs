//! The outcome of a file, written in each form.

use std::io::{self, Write};
use std::path::Path;

use zten_report::finding::{self, Report};

use super::sarif;
use crate::args::Check;
use crate::escape;
use crate::json;
#[cfg(target_os = "linux")]
use crate::kind::Kind;
use crate::kind::{Outcome, Valid};
use crate::paint::{Painted, Palette};
use crate::remote::shown;

/// A form of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Lines for people.
    Text,
    /// A document a line.
    Json,
    /// A result of a larger document, for what is wrong alone.
    Sarif,
}

impl Form {
    /// Returns the form that the command line asks for.
    pub(super) fn of(args: &Check) -> Self {
        match (args.json, args.sarif) {
            (true, _) => Self::Json,
            (_, true) => Self::Sarif,
            _ => Self::Text,
        }
    }

    /// Says what has been found of the file at `path`.
    pub(super) fn write(
        self,
        out: &mut impl Write,
        path: &Path,
        outcome: &Outcome,
    ) -> io::Result<()> {
        match (self, outcome) {
            (Self::Text, Ok(Valid { verdict, summary, .. })) => {
                let palette = Palette::output();
                let path = Painted(palette.path(), escape::path(&shown(path)));
                writeln!(out, "{path}: {}", Painted(palette.verdict(*verdict), summary))
            }
            (Self::Text, Err(problem)) => writeln!(out, "{problem}"),
            (Self::Json, Ok(Valid { verdict, summary, format })) => {
                let valid = finding::Valid { verdict: *verdict, format, message: summary };
                json::to_line(out, &Report::valid(&valid).of_file(path))
            }
            (Self::Json, Err(problem)) => problem.json(out),
            (Self::Sarif, Ok(_)) => Ok(()),
            (Self::Sarif, Err(problem)) => sarif::result(out, path, problem),
        }
    }
}

/// An outcome that has been put into words.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

#[cfg(target_os = "linux")]
impl Record {
    /// Puts it into words.
    pub(super) fn new(form: Form, path: &Path, outcome: &Outcome) -> Self {
        let mut text = Vec::new();
        // Memory takes all that is written.
        let _ = form.write(&mut text, path, outcome);
        Self { kind: Kind::of(outcome), text: String::from_utf8_lossy(&text).into_owned() }
    }
}
