//! The programs that race: this one, programs that are built separately, and the command.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use zten_lab::proof::guest;
use zten_testkit::process::{Build, target_folder};

use crate::race::Contestant;

/// The path of this program, and of the target folder in which the other programs are built.
pub(crate) struct Programs {
    ours: PathBuf,
    target: PathBuf,
}

impl Programs {
    /// Builds the other programs that race, and returns the paths of all programs.
    pub(crate) fn build() -> Result<Self> {
        let own = Self { ours: std::env::current_exe()?, target: target_folder()? };
        own.cargo("others/Cargo.toml", "zten-others", "ztensor")?;
        own.cargo("../Cargo.toml", "zten-cli", "")?;
        Ok(own)
    }

    /// Builds a package whose manifest is at the path `manifest`, relative to `lab`.
    fn cargo(&self, manifest: &str, package: &str, features: &str) -> Result<()> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(manifest);
        Build { features, ..Build::released(&manifest, package) }.run(&self.target)?;
        Ok(())
    }

    /// Returns the path of a program that Cargo has built.
    pub(crate) fn built(&self, name: &str) -> PathBuf {
        self.target.join("release").join(name)
    }

    /// Starts a contestant of this program: a reader and its task.
    pub(crate) fn worker(&self, reader: &str, case: &str, files: &[&Path]) -> Result<Contestant> {
        Contestant::start(reader, &self.ours, words(reader, case, files))
    }

    /// Returns the count by callgrind of the work of one pass of a reader: the difference between a run with one more pass and a
    /// run without it.
    pub(crate) fn count(
        &self,
        counted: Counted,
        reader: &str,
        case: &str,
        files: &[&Path],
    ) -> Result<u64> {
        let run = |asked: &str| -> Result<u64> {
            let mut child = Command::new("valgrind")
                .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
                .args(counted.options())
                .arg(&self.ours)
                .args(words(reader, case, files))
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()?;
            child.stdin.take().context("no input")?.write_all(asked.as_bytes())?;
            let said = String::from_utf8(child.wait_with_output()?.stderr)?;
            let counts = said.rsplit_once("Collected : ").context("callgrind counted nothing")?.1;
            let counts = counts.lines().next().context("no count")?.split_whitespace();
            let counts: Vec<u64> = counts.map(str::parse).collect::<Result<_, _>>()?;
            counted.of(&counts).context("another number of counts")
        };
        run("\n")?.checked_sub(run("")?).context("it did nothing when it was asked")
    }

    /// Builds the guest that is counted in `work-bound.md`, for `wasm32-unknown-unknown`. Fails if this target is not installed.
    pub(crate) fn guest(&self) -> Result<PathBuf> {
        Ok(guest::module(&self.target, "")?)
    }

    /// Starts `ztensor` 1.1.1 as a contestant that opens a file.
    pub(crate) fn ztensor_1_1(&self, file: &Path) -> Result<Contestant> {
        Contestant::start("ztensor 1.1.1", self.built("ztensor-1-1-1-raced"), [file])
    }
}

/// Returns the command-line arguments of a worker.
fn words(reader: &str, case: &str, files: &[&Path]) -> Vec<PathBuf> {
    let files = files.iter().map(|file| file.to_path_buf());
    ["worker", reader, case].map(PathBuf::from).into_iter().chain(files).collect()
}

/// The events that callgrind counts.
#[derive(Clone, Copy)]
pub(crate) enum Counted {
    Instructions,
    /// Reads and writes of memory that is not in the cache, whose size is 1 MiB.
    Misses,
}

impl Counted {
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Instructions => &[],
            Self::Misses => &["--cache-sim=yes", "--D1=32768,8,64", "--LL=1048576,16,64"],
        }
    }

    /// Returns the figure from callgrind's counts: the instructions, or the reads and writes
    /// that miss the last cache.
    fn of(self, counts: &[u64]) -> Option<u64> {
        match (self, counts) {
            (Self::Instructions, [instructions, ..]) => Some(*instructions),
            (Self::Misses, [_, _, _, _, _, _, _, reads, writes]) => Some(reads + writes),
            _ => None,
        }
    }
}
