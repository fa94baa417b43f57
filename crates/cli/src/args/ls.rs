//! The arguments of `zten ls`, and the patterns and orders of tensors that other commands take, too.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::os_path;
use crate::args::strictness::Strictness;

pub(crate) const LS_HELP: &str = "\
Examples:
  zten ls model.safetensors                      List all tensors, layer 2 before layer 10
  zten ls model.safetensors '*.mlp.*' lm_head.*  List tensors whose names match
  zten ls --tree model.safetensors               Fold layers.{0..31} into one line each
  zten ls --tree --depth 1 model.safetensors     Sum parameters and bytes of the outermost groups
  zten ls model.gguf --attribute tokenizer.chat_template > chat.jinja
  zten ls --sort size model.safetensors          Put the largest first

Exit status:
  0  every file is listed
  1  a file is invalid, or exceeds a limit
  2  wrong usage, a pattern that matches nothing, or a file could not be read
  3  no file is invalid, and one needs what is not supported";

/// The arguments of `ls`, `stat` and `diff` that select tensors by patterns of their names.
#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct Patterns {
    /// Select the tensors whose names match: * matches any characters, ? one character, [a-z] one of a set, {a,b} one of
    /// several patterns, {0..31} a number of a range, and \ takes the next character literally
    #[arg(value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
}

/// An order of tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub(crate) enum Sort {
    /// Sort by name, with numbers in names by value
    Name,
    /// Sort by stored bytes, the largest first
    Size,
    /// Sort by the offset of the data in the file
    Offset,
}

/// Parses a number of levels of a tree.
fn depth(text: &str) -> Result<usize, String> {
    let depth = text.parse().ok().filter(|depth| *depth > 0);
    depth.ok_or_else(|| "expected a number of 1 or more".to_owned())
}

/// `zten ls`
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct Ls {
    /// List this file, of any supported format
    #[arg(value_name = "FILE")]
    #[serde(with = "os_path")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) select: Patterns,
    /// Put the tensors in this order [default: name; with --json, the order of the file]
    #[arg(long, value_name = "ORDER")]
    pub(crate) sort: Option<Sort>,
    /// List this file, too; may be repeated
    #[arg(long, value_name = "FILE")]
    #[serde(with = "os_path::list")]
    pub(crate) also: Vec<PathBuf>,
    /// Fold tensors whose names differ only in a number, and group the other tensors at dots
    #[arg(long, conflicts_with_all = ["json", "sort"])]
    pub(crate) tree: bool,
    /// Show only the outermost N levels of the tree. The row of a group has the sums over all tensors in the group
    #[arg(long, value_name = "N", requires = "tree", value_parser = depth)]
    pub(crate) depth: Option<usize>,
    /// Print the value of this attribute and nothing else: text as it is (on a terminal with hidden characters escaped), any other
    /// value as JSON
    #[arg(long, value_name = "KEY", conflicts_with_all = ["patterns", "sort", "tree", "json"])]
    pub(crate) attribute: Option<String>,
    /// Also list each value of a checkpoint that is left out because it is neither a tensor nor an attribute
    #[arg(long, conflicts_with = "json")]
    pub(crate) verbose: bool,
    /// Show a quantized tensor as the tensors of codes and scales that the file stores
    #[arg(long)]
    pub(crate) plain: bool,
    /// Print one JSON document for each file, with exact values (see docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}
