//! The arguments of `zten edit`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::args::attributes::Set;
use crate::args::rename::Rename;
use crate::args::strictness::Strictness;

/// `zten edit`
#[derive(Debug, clap::Args, Serialize, Deserialize)]
#[command(group = clap::ArgGroup::new("edits").required(true).multiple(true))]
pub(crate) struct Edit {
    /// Edit this zTensor (1.x or 2), safetensors or GGUF file
    #[arg(value_name = "FILE")]
    #[serde(with = "super::os_path")]
    pub(crate) file: PathBuf,
    /// Set an attribute of the file to a JSON value (in a safetensors file, a string), or to text if the value is not JSON. In a
    /// GGUF file the value keeps the type that it has; may be given more than once
    #[arg(long, value_name = "KEY=VALUE", value_parser = Set::check, group = "edits")]
    pub(crate) set: Vec<String>,
    /// Remove an attribute of the file; may be given more than once
    #[arg(long, value_name = "KEY", group = "edits")]
    pub(crate) unset: Vec<String>,
    /// Rename one tensor (OLD=NEW), or replace the match of a regular expression in names (s/^model\.//; a g at the end
    /// replaces all matches in a name); may be given more than once, and is applied in that order
    #[arg(long, value_name = "OLD=NEW", value_parser = Rename::check, group = "edits")]
    pub(crate) rename: Vec<String>,
    /// Write this file, and leave FILE as it is
    #[arg(short, long, value_name = "OUT")]
    #[serde(with = "super::os_path::option")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file that is at OUT
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Print nothing if the file is written
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}

impl Edit {
    /// Returns the path that the edited file is written to: OUT, or FILE itself if there is no OUT.
    pub(crate) fn target(&self) -> &Path {
        self.output.as_deref().unwrap_or(&self.file)
    }
}
