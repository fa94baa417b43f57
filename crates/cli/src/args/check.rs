//! The arguments of `zten check`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::TypedValueParser as _;
use serde::{Deserialize, Serialize};
use zten_report::check::Scope;
use zten_report::policy::{self, Policy};

use crate::args::strictness::Strictness;

const EXAMPLES: &str = "Examples:
  zten check model.safetensors
  zten check -r ~/.cache/huggingface/hub
  zten check -q --allow-unsupported *.zt
  zten check -r models --policy registry.toml
  zstd -dc model.safetensors.zst | zten check -
  find . -name '*.gguf' -print0 | zten check --null --files-from -

Exit status:
  0  every file is valid
  1  a file is invalid, breaks the policy, or exceeds a limit
  2  wrong usage, a file could not be read, or no file was checked
  3  no file is invalid, and one needs what is not supported";

/// `zten check`
#[derive(Debug, clap::Args, Serialize, Deserialize)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Check {
    /// Check these files, or with -r the files in these folders; - reads standard input
    #[arg(required_unless_present = "files_from", value_name = "FILE")]
    #[serde(skip)]
    pub(crate) files: Vec<PathBuf>,
    /// Check every file in folders and below, whatever its name, and compare the files in a cache of the Hugging Face hub or a
    /// store of Ollama with the digests that are their names. The only links that are followed are those from the snapshots to
    /// the blobs of a Hugging Face cache. The folders .git, .hg and .svn are skipped
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Check only files in folders whose names end in this suffix; repeat, or separate by commas
    #[arg(long, value_delimiter = ',', requires = "recursive")]
    #[serde(skip)]
    pub(crate) suffix: Vec<OsString>,
    /// Accept named files of kinds that hold no tensors, such as text and images, as -r does in folders
    #[arg(long)]
    pub(crate) any_kind: bool,
    /// Check the files that LIST names, one on each line, which ends with LF or CR LF; - reads standard input
    #[arg(long, value_name = "LIST")]
    #[serde(skip)]
    pub(crate) files_from: Option<PathBuf>,
    /// Read names that end with NUL instead of a line end from LIST
    #[arg(short = '0', long, requires = "files_from")]
    pub(crate) null: bool,
    /// Print the numbers of files by verdict and by broken rule, and the numbers of skipped entries
    #[arg(long)]
    pub(crate) summary: bool,
    /// Print findings only, and nothing about valid files and skipped files
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Set the number of files to check in parallel; results are printed in the order of the files
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Check the manifest or header only, and read no data
    #[arg(long)]
    pub(crate) manifest_only: bool,
    /// Accept only the canonical form, which is unique for each content
    #[arg(long, conflicts_with = "tolerate")]
    pub(crate) canonical: bool,
    /// Check files against the policy in FILE, too: formats, dtypes, sizes, digests, compression
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath,
          value_parser = clap::builder::PathBufValueParser::new().try_map(policy::read))]
    pub(crate) policy: Option<Box<Policy>>,
    /// Exit with 0 if files need unsupported features, and none is invalid
    #[arg(long)]
    pub(crate) allow_unsupported: bool,
    /// Print one JSON object for each file, each on one line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print one SARIF 2.1.0 document, with a result for each finding
    #[arg(long, conflicts_with = "json")]
    pub(crate) sarif: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}

impl Check {
    /// Returns whether files of kinds that hold no tensors are counted instead of rejected.
    pub(crate) fn takes_any_kind(&self) -> bool {
        self.recursive || self.any_kind
    }

    /// Returns the part of each file that is validated.
    pub(crate) fn scope(&self) -> Scope {
        if self.manifest_only { Scope::Manifest } else { Scope::All }
    }
}
