//! The arguments of `zten diff`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use zten_report::diff::Tolerance;

use super::os_path;
use crate::args::Patterns;
use crate::args::strictness::Strictness;

pub(crate) const AFTER_HELP: &str = "\
Examples:
  zten diff old.zt new.zt
  zten diff model.gguf model.zt
  zten diff --tree base.safetensors tuned.safetensors
  zten diff --rtol 1e-2 model.safetensors bf16.safetensors   Values may differ by a hundredth
  zten diff a.safetensors b.safetensors '*.norm.*'           Compare some tensors
  zten diff --json a.safetensors b.safetensors

An element of NEW is within the tolerance if it differs from the element of OLD by at most ATOL + RTOL * |OLD|. A dtype or layout may
then differ, too.

Exit status:
  0  the contents are equal, or within the tolerance
  1  they differ, or a file is invalid, or exceeds a limit
  2  wrong usage, a pattern that matches nothing, or a file could not be read
  3  a file needs what is not supported; unread tensors are named, and all others are compared";

/// `zten diff`
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
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
    #[command(flatten)]
    pub(crate) select: Patterns,
    /// Accept a difference of up to RTOL times the old element
    #[arg(long, value_name = "RTOL", value_parser = tolerance)]
    rtol: Option<f64>,
    /// Accept an absolute difference of up to ATOL
    #[arg(long, value_name = "ATOL", value_parser = tolerance)]
    atol: Option<f64>,
    /// Print the changed tensors as a tree, grouped at the dots of their names
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    pub(crate) tree: bool,
    /// Show a quantized tensor as the tensors of codes and scales that the file stores
    #[arg(long)]
    pub(crate) plain: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing; the exit status says whether the contents are equal
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}

impl Diff {
    /// Returns how much elements may differ (`--rtol` and `--atol`), or `None` if every difference counts.
    pub(crate) fn tolerance(&self) -> Option<Tolerance> {
        Tolerance::new(self.rtol, self.atol)
    }
}

/// Parses the value of `--rtol` or `--atol`: a finite number that is not negative.
fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| Tolerance::is_part(*number));
    number.ok_or_else(|| "expected a finite number that is not negative, such as 1e-3".to_owned())
}
