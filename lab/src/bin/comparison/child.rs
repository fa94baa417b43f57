//! Runs a process for one file and one reader.

use std::env::var_os;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use zten_testkit::process::{Build, command, target_folder};

use crate::outcome::Outcome;
use crate::readers::{Program, Reader};

/// The variable with the path of the Python interpreter that has the packages of `lab/python/readers/requirements.txt`.
const PYTHON: &str = "ZTEN_LAB_PYTHON";

/// The paths of the programs.
pub(crate) struct Programs {
    runner: PathBuf,
    ztensor_1_1: PathBuf,
    candle: PathBuf,
    python: OsString,
}

impl Programs {
    /// Finds the programs of these readers: this program, and the others, which are built if necessary.
    pub(crate) fn start<'r>(readers: impl IntoIterator<Item = &'r Reader>) -> Result<Self> {
        let mut programs = Self {
            runner: std::env::current_exe()?,
            ztensor_1_1: PathBuf::new(),
            candle: PathBuf::new(),
            python: OsString::new(),
        };
        for reader in readers {
            match reader.program {
                Program::Runner => {}
                Program::Ztensor1_1 => {
                    programs.ztensor_1_1 = built("ztensor")?.join("ztensor-1-1-1-compared");
                }
                Program::Candle => {
                    programs.candle = built("candle")?.join("candle-reader");
                }
                Program::Python => {
                    programs.python =
                        var_os(PYTHON).with_context(|| format!("{PYTHON} is not set"))?;
                }
            }
        }
        Ok(programs)
    }

    /// Runs a reader on a file, with the options of the corpus.
    pub(crate) fn run(&self, reader: &Reader, file: &Path, options: &str) -> Result<Outcome> {
        let mut program = match reader.program {
            Program::Runner => command(&self.runner),
            Program::Ztensor1_1 => command(&self.ztensor_1_1),
            Program::Candle => command(&self.candle),
            Program::Python => {
                let mut python = command(&self.python);
                python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/python/readers/read.py"));
                python
            }
        };
        let output = program
            .args(["worker", reader.key])
            .arg(file)
            .arg(options)
            .env_remove("RUST_BACKTRACE")
            .output()?;
        let about = || format!("{} with {}", reader.name, file.display());
        Outcome::from_output(&output).with_context(about)
    }
}

/// Builds a reader of the package `zten-others`, which is a feature of that package. Returns the folder of its programs.
fn built(features: &str) -> Result<PathBuf> {
    let manifest = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/others/Cargo.toml"));
    Ok(Build { features, ..Build::released(manifest, "zten-others") }.run(&target_folder()?)?)
}
