//! The arguments of `zten stat`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::os_path;
use crate::args::Patterns;
use crate::args::strictness::Strictness;

pub(crate) const HELP: &str = "\
Examples:
  zten stat model.safetensors                        Print a table with a line for each tensor
  zten stat model.safetensors 'layers.[0-3].*'       Compute the statistics of some tensors
  zten stat --sort std model.safetensors             Put the tensors that spread most first
  zten stat --csv model.safetensors > stat.csv       Write exact numbers for a spreadsheet
  zten stat --fail-on nan,inf model.safetensors      Fail if there are NaN or infinities

Exit status:
  0  all tensors were read, and no element is of a kind that --fail-on names
  1  an element is of a kind that --fail-on names, or the file is invalid, or exceeds a limit
  2  wrong usage, a pattern that matches nothing, or the file could not be read
  3  the file needs what is not supported, or with --fail-on a tensor has no statistics";

/// `zten stat`
#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct Stat {
    /// Read this file, of any supported format
    #[arg(value_name = "FILE")]
    #[serde(with = "os_path")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) select: Patterns,
    /// Put the tensors in this order [default: name; with --json and --csv, the order of the file]
    #[arg(long, value_name = "ORDER")]
    pub(crate) sort: Option<StatSort>,
    /// Exit with 1 if a tensor has elements of this kind; may be repeated or separated by commas
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub(crate) fail_on: Vec<Unwanted>,
    /// Show a quantized tensor as the tensors of codes and scales that the file stores
    #[arg(long)]
    pub(crate) plain: bool,
    /// Print one JSON document
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,
    /// Print comma-separated values: a header and a line for each tensor, with exact numbers
    #[arg(long)]
    pub(crate) csv: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}

/// An order of tensors with statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub(crate) enum StatSort {
    /// Sort by name, with numbers in names by value
    Name,
    /// Sort by stored bytes, the largest first
    Size,
    /// Sort by the offset of the data in the file
    Offset,
    /// Sort by standard deviation, the largest first
    Std,
    /// Sort by the largest element, the largest first
    Max,
    /// Sort by the number of NaN, then of infinities, the largest first
    Nan,
}

/// A kind of elements that `--fail-on` rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub(crate) enum Unwanted {
    /// Fail on elements that are not a number
    Nan,
    /// Fail on positive or negative infinities
    Inf,
}
