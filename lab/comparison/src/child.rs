//! A process for one file and one reader.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use zten_testkit::process::{Build, command, target_folder};

use crate::outcome::Outcome;
use crate::subjects::Subject;

/// Where the programs are.
pub(crate) struct Programs {
    ours: PathBuf,
    ztensor_1_1: PathBuf,
}

impl Programs {
    /// Those of some readers: this program, and the other one, built beside it if need be.
    pub(crate) fn start(subjects: &[Subject]) -> Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ztensor-1.1.1/Cargo.toml");
        let mut ztensor_1_1 = PathBuf::new();
        if subjects.iter().any(|subject| subject.is_1_1()) {
            let built = Build::released(&manifest, "zten-ztensor-1-1-1").run(&target_folder()?)?;
            ztensor_1_1 = built.join("ztensor-1-1-1-compared");
        }
        Ok(Self { ours: std::env::current_exe()?, ztensor_1_1 })
    }

    /// Lets a reader read a file, with the options of the corpus.
    pub(crate) fn run(&self, subject: Subject, file: &Path, options: &str) -> Result<Outcome> {
        let output = command(if subject.is_1_1() { &self.ztensor_1_1 } else { &self.ours })
            .args(["worker", subject.key()])
            .arg(file)
            .arg(options)
            .env_remove("RUST_BACKTRACE")
            .output()?;
        let about = || format!("{} with {}", subject.name(), file.display());
        Outcome::from_output(&output).with_context(about)
    }
}
