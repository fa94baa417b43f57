//! The arguments of `zten patch`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::args::os_path;
use crate::args::strictness::Strictness;

pub(crate) const AFTER_HELP: &str = "\
Examples:
  zten patch make step-100.safetensors step-101.safetensors -o 101.zt
  zten patch apply step-100.safetensors 101.zt -o step-101.safetensors
  zten patch apply weights.safetensors 101.zt 102.zt 103.zt -o weights.safetensors
  zten patch verify step-100.safetensors 101.zt
  zten patch show 101.zt

Exit status:
  0  the file is written, or the patch fits
  1  a file is invalid or exceeds a limit, or OLD is not what the patch was made of
  2  wrong usage, or a file could not be read or written, or cannot hold the result
  3  a file needs what is not supported";

/// The largest number of patches of one call: with the file that they are applied to, a worker receives them in one packet,
/// which has room for 32 descriptors.
const MOST: usize = 31;

/// `zten patch`
#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct Patch {
    #[command(subcommand)]
    pub(crate) action: PatchAction,
}

/// The subcommand of `zten patch`: what is done with patches.
#[derive(Debug, clap::Subcommand, Serialize, Deserialize)]
pub(crate) enum PatchAction {
    /// Write what changed between two files, of any formats and names, as a patch
    Make(PatchMake),
    /// Apply patches to a file, one after another in one pass, and write the result: whole, or not at all
    Apply(PatchApply),
    /// Check that patches fit a file, one after another, without writing the result
    Verify(PatchVerify),
    /// Print what a patch changes
    Show(PatchShow),
}

/// `zten patch make`
#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct PatchMake {
    /// Read this as the file that the patch will be applied to
    #[arg(value_name = "OLD")]
    #[serde(with = "os_path")]
    pub(crate) old: PathBuf,
    /// Read this as the file that the patch leads to
    #[arg(value_name = "NEW")]
    #[serde(with = "os_path")]
    pub(crate) new: PathBuf,
    /// Write this patch
    #[arg(short, long, value_name = "PATCH")]
    #[serde(with = "os_path")]
    pub(crate) output: PathBuf,
    /// Compress at this level, from 1 (fast) to 5 (small)
    #[arg(long, value_name = "LEVEL", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=5))]
    pub(crate) level: u8,
    /// Replace the file that is at PATCH
    #[arg(long)]
    pub(crate) force: bool,
    /// Print nothing if the patch is written
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}

/// `zten patch apply`
#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct PatchApply {
    /// Apply the patches to this file
    #[arg(value_name = "OLD")]
    #[serde(with = "os_path")]
    pub(crate) old: PathBuf,
    /// Apply these patches, up to 31, the first one first
    #[arg(value_name = "PATCH", required = true, num_args = 1..=MOST)]
    #[serde(with = "os_path::list")]
    pub(crate) patches: Vec<PathBuf>,
    /// Write this file, whose suffix gives its format; OLD itself may be named, and is replaced
    #[arg(short, long, value_name = "NEW")]
    #[serde(with = "os_path")]
    pub(crate) output: PathBuf,
    /// Replace another file that is at NEW
    #[arg(long)]
    pub(crate) force: bool,
    /// Print nothing if the file is written
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}

/// `zten patch verify`
#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct PatchVerify {
    /// Check the patches against this file
    #[arg(value_name = "OLD")]
    #[serde(with = "os_path")]
    pub(crate) old: PathBuf,
    /// Check these patches, up to 31, the first one first
    #[arg(value_name = "PATCH", required = true, num_args = 1..=MOST)]
    #[serde(with = "os_path::list")]
    pub(crate) patches: Vec<PathBuf>,
    /// Print nothing if the patches fit
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}

/// `zten patch show`
#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct PatchShow {
    /// Read this patch
    #[arg(value_name = "PATCH")]
    #[serde(with = "os_path")]
    pub(crate) patch: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}

/// Returns whether two paths name the same entry of the same folder, such as `x` and `./x`. A link is another entry than
/// the file to which it leads: links are not replaced.
fn are_one_entry(one: &Path, other: &Path) -> bool {
    let folder = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        std::fs::canonicalize(folder.unwrap_or_else(|| ".".as_ref())).ok()
    };
    one == other
        || one.file_name().is_some()
            && one.file_name() == other.file_name()
            && folder(one).is_some_and(|own| folder(other) == Some(own))
}

impl Patch {
    /// Returns the limits and tolerances with which the subcommand reads all of its files.
    pub(crate) fn strictness(&self) -> &Strictness {
        match &self.action {
            PatchAction::Make(args) => &args.strictness,
            PatchAction::Apply(args) => &args.strictness,
            PatchAction::Verify(args) => &args.strictness,
            PatchAction::Show(args) => &args.strictness,
        }
    }

    /// Returns the paths of the files that the subcommand reads, in the order in which its function takes them.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let after = |old: &PathBuf, patches: &[PathBuf]| {
            let mut paths = vec![old.clone()];
            paths.extend_from_slice(patches);
            paths
        };
        match &self.action {
            PatchAction::Make(args) => vec![args.old.clone(), args.new.clone()],
            PatchAction::Apply(args) => after(&args.old, &args.patches),
            PatchAction::Verify(args) => after(&args.old, &args.patches),
            PatchAction::Show(args) => vec![args.patch.clone()],
        }
    }

    /// Returns the path of the file that the subcommand writes, or `None` if it writes no file.
    pub(crate) fn output(&self) -> Option<&Path> {
        match &self.action {
            PatchAction::Make(args) => Some(&args.output),
            PatchAction::Apply(args) => Some(&args.output),
            PatchAction::Verify(_) | PatchAction::Show(_) => None,
        }
    }

    /// Returns whether the output replaces an existing file. Looks at the file system, so a confined process must not call this
    /// function.
    pub(crate) fn replaces(&self) -> bool {
        match &self.action {
            PatchAction::Make(args) => args.force,
            // Who names OLD as the output, in any spelling, asks for OLD to be replaced.
            PatchAction::Apply(args) => args.force || are_one_entry(&args.output, &args.old),
            PatchAction::Verify(_) | PatchAction::Show(_) => false,
        }
    }
}
