//! The mutants, as cargo-mutants lists them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

/// The packages whose code is mutated, and whose tests are run.
pub(crate) const PACKAGES: [&str; 4] = ["-p", "zten", "-p", "zten-zstd"];

/// A mutant.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Mutant {
    /// What it is reported as: file, place, and what is changed.
    pub(crate) name: String,
    /// The file, from the root of the repository.
    pub(crate) file: String,
    pub(crate) genre: Genre,
    /// What stands there in its place.
    pub(crate) replacement: String,
    pub(crate) span: Span,
    pub(crate) function: Option<Function>,
}

impl Mutant {
    /// Whether it is the value of a function that returns an `impl Trait`.
    pub(crate) fn is_opaque(&self) -> bool {
        let function = self.function.as_ref().filter(|_| self.genre == Genre::FnValue);
        function.is_some_and(|function| function.return_type.contains("impl "))
    }
}

/// What kind of change it is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq)]
pub(crate) enum Genre {
    /// The body of a function is one value.
    FnValue,
    BinaryOperator,
    UnaryOperator,
    /// An arm is not there.
    MatchArm,
    /// A guard is `true` or `false`.
    MatchArmGuard,
    /// A field is that of the struct that the rest comes from.
    StructField,
}

/// The function that a mutant lies in.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Function {
    pub(crate) return_type: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Span {
    pub(crate) start: Place,
}

/// A place in a file; the first line and the first character are 1.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// Asks cargo-mutants for them, with its own arguments.
pub(crate) fn list(repository: &Path, arguments: &[String]) -> Result<Vec<Mutant>> {
    let output = Command::new("cargo")
        .args(["mutants", "--list", "--json"])
        .args(PACKAGES)
        .args(arguments)
        .current_dir(repository)
        .output()
        .context("cargo mutants: `cargo install --locked cargo-mutants`")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo mutants: {said}");
    serde_json::from_slice(&output.stdout).context("what cargo mutants lists")
}
