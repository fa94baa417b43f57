//! The arguments of `zten diff`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::os_path;
use crate::args::strictness::Strictness;

pub(crate) const AFTER_HELP: &str = "\
Examples:
  zten diff old.zt new.zt
  zten diff model.gguf model.zt
  zten diff --json a.safetensors b.safetensors

Exit status:
  0  the contents are equal
  1  they differ, or a file is invalid, or exceeds a limit
  2  wrong usage, or a file could not be read
  3  a file needs what is not supported; unread objects are named, and all others are compared";

/// `zten diff`
#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct Diff {
    /// Read this as the first file, of any format
    #[arg(value_name = "OLD")]
    #[serde(with = "os_path")]
    pub(crate) old: PathBuf,
    /// Read this as the second file
    #[arg(value_name = "NEW")]
    #[serde(with = "os_path")]
    pub(crate) new: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing; the exit status says whether the contents are equal
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}
