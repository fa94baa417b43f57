//! What Cargo says as it compiles the copy.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::list::PACKAGES;

/// What Cargo is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Goal {
    /// Whether the libraries are right.
    Check,
    /// The programs of all tests.
    Tests,
}

/// What Cargo has said.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) success: bool,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) programs: Vec<Program>,
    /// What it said to people.
    pub(crate) text: String,
}

/// A program of tests.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// Where it is started.
    pub(crate) folder: PathBuf,
}

#[derive(Deserialize)]
#[serde(tag = "reason")]
enum Message {
    #[serde(rename = "compiler-message")]
    Said { message: Diagnostic },
    #[serde(rename = "compiler-artifact")]
    Built { target: Target, profile: Profile, manifest_path: PathBuf, executable: Option<PathBuf> },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// A warning or an error of the compiler.
#[derive(Debug, Deserialize)]
pub(crate) struct Diagnostic {
    level: String,
    code: Option<Code>,
    pub(crate) spans: Vec<Span>,
    pub(crate) rendered: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Code {
    code: String,
}

/// A place in a file of the copy.
#[derive(Debug, Deserialize)]
pub(crate) struct Span {
    pub(crate) file_name: String,
    pub(crate) byte_start: usize,
    pub(crate) byte_end: usize,
    pub(crate) is_primary: bool,
}

impl Diagnostic {
    pub(crate) fn is_error(&self) -> bool {
        self.level == "error"
    }

    /// Whether it names a place where a mutant asks whether it is on.
    pub(crate) fn is_question(&self) -> bool {
        self.code.as_ref().is_some_and(|code| code.code == "deprecated")
    }
}

/// Runs Cargo in the copy.
pub(crate) fn cargo(folder: &Path, goal: Goal) -> Result<Said> {
    let mut command = Command::new("cargo");
    match goal {
        Goal::Check => command.args(["check", "--keep-going", "--lib"]),
        Goal::Tests => command.args(["test", "--no-run"]),
    };
    let output = command
        .args(["--profile", "mutants", "--message-format", "json"])
        .args(PACKAGES)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .context("cargo")?;
    let mut said = Said {
        success: output.status.success(),
        text: String::from_utf8_lossy(&output.stderr).into_owned(),
        ..Said::default()
    };
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        // The programs may say something, too.
        let Ok(message) = serde_json::from_slice(line) else { continue };
        match message {
            Message::Said { message } => said.diagnostics.push(message),
            Message::Built { target, profile, manifest_path, executable } => {
                if let (true, Some(path), Some(folder)) =
                    (profile.test, executable, manifest_path.parent())
                {
                    said.programs.push(Program { name: target.name, path, folder: folder.into() });
                }
            }
            Message::Other => {}
        }
    }
    Ok(said)
}
