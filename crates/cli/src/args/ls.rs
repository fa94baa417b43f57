//! The arguments of `zten ls` and `zten stat`, which select objects in the same way.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::os_path;
use crate::args::strictness::Strictness;

pub(crate) const LS_HELP: &str = "\
Examples:
  zten ls model.safetensors                      List all objects, layer 2 before layer 10
  zten ls model.safetensors '*.mlp.*' lm_head.*  List objects whose names match
  zten ls --tree model.safetensors               Fold layers.{0..31} into one line each
  zten ls --sort size model.safetensors          Put the largest first

Exit status:
  0  every file is listed
  1  a file is invalid, or exceeds a limit
  2  wrong usage, a pattern that matches nothing, or a file could not be read
  3  no file is invalid, and one needs what is not supported";

pub(crate) const STAT_HELP: &str = "\
Examples:
  zten stat model.safetensors                        Compute the statistics of all objects
  zten stat model.safetensors 'layers.[0-3].*'       Compute the statistics of some objects
  zten stat --fail-on nan,inf model.safetensors      Fail if there are NaN or infinities

Exit status:
  0  all objects were read, and no element is of a kind that --fail-on names
  1  an element is of a kind that --fail-on names, or the file is invalid, or exceeds a limit
  2  wrong usage, a pattern that matches nothing, or the file could not be read
  3  the file needs what is not supported";

/// The options that select objects, and their order.
#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct Filter {
    /// Select the objects whose names match: * matches any characters, ? one character, [a-z] one of a set, and \ takes
    /// the next character literally
    #[arg(value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    /// Put the objects in this order [default: name; with --json, the order of the file]
    #[arg(long, value_name = "ORDER")]
    pub(crate) sort: Option<Sort>,
}

/// An order of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub(crate) enum Sort {
    /// Sort by name, with numbers in names by value
    Name,
    /// Sort by stored bytes, the largest first
    Size,
    /// Sort by the offset of the data in the file
    Offset,
}

/// `zten ls`
#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct Ls {
    /// List this file, of any supported format
    #[arg(value_name = "FILE")]
    #[serde(with = "os_path")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) select: Filter,
    /// List this file, too; may be repeated
    #[arg(long, value_name = "FILE")]
    #[serde(with = "os_path::list")]
    pub(crate) also: Vec<PathBuf>,
    /// Fold objects whose names differ only in a number, and group the other objects at dots
    #[arg(long, conflicts_with_all = ["json", "sort"])]
    pub(crate) tree: bool,
    /// Print one JSON document for each file, with exact values (see docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}

/// `zten stat`
#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct Stat {
    /// Read this file, of any supported format
    #[arg(value_name = "FILE")]
    #[serde(with = "os_path")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) select: Filter,
    /// Exit with 1 if an object has elements of this kind; may be repeated or separated by commas
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub(crate) fail_on: Vec<Unwanted>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}

/// A kind of elements that `--fail-on` rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub(crate) enum Unwanted {
    /// Fail on elements that are not a number
    Nan,
    /// Fail on positive or negative infinities
    Inf,
}
