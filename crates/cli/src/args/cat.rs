//! The arguments of `zten cat`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::os_path;
use crate::args::strictness::Strictness;

pub(crate) const HELP: &str = "\
Examples:
  zten cat model.safetensors lm_head.weight                      Print a tensor
  zten cat model.safetensors lm_head.weight --slice '..., 0'     Print its first column
  zten cat model.safetensors lm_head.weight --slice '-2:, ::8'   Print every eighth column of the last two rows
  zten cat model.safetensors lm_head.weight --npy > lm_head.npy  Write it as a NumPy file
  zten cat model.gguf blk.0.ffn_up.weight --raw > blocks.bin     Write quantized blocks as they are stored

Exit status:
  0  the elements are printed
  1  the file is invalid, or exceeds a limit
  2  wrong usage, an unknown name, or the file could not be read
  3  the file needs what is not supported";

/// `zten cat`
#[derive(Debug, clap::Args, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Cat {
    /// Read this file, of any supported format
    #[arg(value_name = "FILE")]
    #[serde(with = "os_path")]
    pub(crate) file: PathBuf,
    /// Print this tensor
    #[arg(value_name = "NAME", required_unless_present = "index", conflicts_with = "index")]
    pub(crate) name: Option<String>,
    /// Print the tensor at this index in the manifest or header, from 0
    #[arg(long, value_name = "N")]
    pub(crate) index: Option<u32>,
    /// Print this component [default: the only one, the one that is called data, or the values of quantized
    /// blocks]
    #[arg(long, value_name = "ROLE")]
    pub(crate) component: Option<String>,
    /// Write decoded little-endian bytes; quantized blocks are written as they are stored
    #[arg(long, group = "form")]
    pub(crate) raw: bool,
    /// Write a NumPy file, version 1.0; bf16 becomes `V2` and FP8 `u1`
    #[arg(long, group = "form")]
    pub(crate) npy: bool,
    /// Print one JSON document, its elements nested as the shape is; NaN and infinities are {"$float":"NaN"} and so on
    #[arg(long, group = "form")]
    pub(crate) json: bool,
    /// Print a part of the elements, in NumPy's notation: start:stop, start:stop:step or an index for each dimension, and
    /// ... for all dimensions between; steps are positive. If the component is compressed in frames (generation 2),
    /// only the frames of the part are decoded, and the digest is not verified
    #[arg(long, value_name = "0:10,:", allow_hyphen_values = true)]
    pub(crate) slice: Option<String>,
    /// Print all elements, also on a terminal (default on a terminal: if there are more than 1,000, the first and the
    /// last three of each dimension)
    #[arg(long)]
    pub(crate) full: bool,
    /// Show a quantized tensor as the tensors of codes and scales that the file stores
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}
