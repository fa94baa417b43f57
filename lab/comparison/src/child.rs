//! A process for one file and one reader.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::outcome::Outcome;
use crate::subjects::Subject;

/// Where the programs are.
pub(crate) struct Programs {
    ours: PathBuf,
    target: PathBuf,
}

impl Programs {
    /// This program, and where Cargo built it.
    pub(crate) fn here() -> Result<Self> {
        let ours = std::env::current_exe()?;
        let target = ours.ancestors().nth(2).context("no target folder")?.to_owned();
        Ok(Self { ours, target })
    }

    /// Builds the other one beside it.
    pub(crate) fn build(&self) -> Result<()> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("ztensor-1.1.1/Cargo.toml");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(["build", "--locked", "--release", "--manifest-path"])
            .arg(manifest)
            .arg("--target-dir")
            .arg(&self.target)
            .status()?;
        ensure!(status.success(), "ztensor 1.1.1 was not built");
        Ok(())
    }

    /// Lets a reader read a file, with the options of the corpus.
    pub(crate) fn run(&self, subject: Subject, file: &Path, options: &str) -> Result<Outcome> {
        let mut command = if subject.is_1_1() {
            Command::new(self.target.join("release/zten-comparison-ztensor-1-1-1"))
        } else {
            Command::new(&self.ours)
        };
        let output = command
            .args(["worker", subject.key()])
            .arg(file)
            .arg(options)
            .env_remove("RUST_BACKTRACE")
            .output()?;
        let about = || format!("{} with {}", subject.name(), file.display());
        Outcome::of(&output).with_context(about)
    }
}
