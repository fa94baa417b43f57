//! The arguments of `zten hash`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::os_path;
use crate::args::strictness::Strictness;

pub(crate) const AFTER_HELP: &str = "\
Examples:
  zten hash model.zt > model.digests
  zten hash --check model.digests model.safetensors
  zten hash a.safetensors b.safetensors > list
  zten hash --check list a.safetensors b.safetensors
  zten hash -c models/list                      Check the files that the list names, from the folder models
  zten hash --only 'lm_head.*' model.safetensors
  zten hash --id model.safetensors              The same digest for the same tensors in any format and order, and in shards
  zten hash --content=sha256 model.zt

Exit status:
  0  every file is valid, and with --check agrees with the list
  1  a file is invalid, exceeds a limit, or differs from the list
  2  wrong usage, a pattern that matches nothing, the list is unusable, or a file could not be read
  3  no file is invalid, and one needs what is not supported";

/// `zten hash`
#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct Hash {
    /// Read these files, of any format. With --check, the files that the list names are read if none is given: they are found
    /// from the folder of the list
    #[arg(required_unless_present = "check", value_name = "FILE")]
    #[serde(with = "os_path::list")]
    pub(crate) files: Vec<PathBuf>,
    /// Compare the files with a list that `zten hash` has printed, and name each component that has changed, is
    /// missing, or was added
    #[arg(short, long, value_name = "LIST", conflicts_with = "content", num_args = 1,
        action = clap::ArgAction::Set)]
    #[serde(with = "os_path::list")]
    pub(crate) check: Vec<PathBuf>,
    /// List only tensors whose names match this pattern, and read no others; may be repeated. * matches any characters, ? one
    /// character, [a-z] one of a set, {a,b} one of several patterns, {0..31} a number of a range
    #[arg(long, value_name = "GLOB", conflicts_with_all = ["check", "content"])]
    pub(crate) only: Vec<String>,
    /// Print nothing; the exit status says whether the files agree with the list
    #[arg(short, long, requires = "check", conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print the content digest of a file of generation 2 instead, which depends on its tensors, and not on how the file stores
    /// them: xxh3, or sha256 if each component has a sha256 digest
    #[arg(long, value_name = "ALGORITHM", num_args = 0..=1, require_equals = true,
        default_missing_value = "xxh3")]
    pub(crate) content: Option<ContentAlgorithm>,
    /// Print the identity of the tensors instead: the SHA-256 of the list, which is the same for the same tensors in any format
    /// and order, and in shards
    #[arg(long, conflicts_with_all = ["check", "content"])]
    pub(crate) id: bool,
    /// Print one JSON document for each file
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}

impl Hash {
    /// Returns the files to open: with `--check`, the list before each file.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().flat_map(|file| self.check.iter().chain([file])).cloned().collect()
    }
}

/// The algorithm of a content digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub(crate) enum ContentAlgorithm {
    /// XXH3-64, which detects accidental changes only
    Xxh3,
    /// SHA-256
    Sha256,
}
