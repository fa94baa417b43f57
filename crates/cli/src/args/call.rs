//! The commands that read files, as data.

use std::path::PathBuf;
use std::slice;

use serde::{Deserialize, Serialize};

use super::strictness::Strictness;
use super::{CAT_HELP, CONVERT_STATUS, Cat, Check, Convert, Diff, EDIT_STATUS, Edit, Hash};
use super::{LS_HELP, Ls, Patch, STAT_HELP, Stat};

/// A command that reads files.
#[derive(Debug, clap::Subcommand, Serialize, Deserialize)]
pub(crate) enum Call {
    /// Check files: structure, every rule, digests, compression, the values of bools and indices
    Check(Check),
    /// List the tensors of a file
    #[command(after_help = LS_HELP)]
    Ls(Ls),
    /// Compute the range, mean and spread of the elements of tensors, and count NaN, infinities and zeros
    #[command(after_help = STAT_HELP)]
    Stat(Stat),
    /// Print the elements of a tensor
    #[command(after_help = CAT_HELP)]
    Cat(Cat),
    /// Print the SHA-256 digest of every component, or check files against a list of digests
    #[command(after_help = crate::args::hash::AFTER_HELP)]
    Hash(Hash),
    /// Compare the contents of two files, whatever their format, generation, encoding and byte order
    #[command(after_help = crate::args::diff::AFTER_HELP)]
    Diff(Diff),
    /// Write a zTensor, safetensors, NumPy (.npy, .npz), GGUF or PyTorch file as a zTensor (1.2 or 2),
    /// safetensors or NumPy file
    #[command(after_help = CONVERT_STATUS)]
    Convert(Convert),
    /// Rename tensors and change attributes of a zTensor, safetensors or GGUF file: its data is copied as it is, or shared by the
    /// file system, and a new file takes the place of the old one
    #[command(after_help = EDIT_STATUS)]
    Edit(Edit),
    /// Make, apply, check and print patches: files that hold what changed between two checkpoints
    #[command(after_help = crate::args::patch::AFTER_HELP)]
    Patch(Patch),
}

impl Call {
    /// Returns the command's options on how its files are read: tolerated rules, limits, shards and links.
    pub(crate) fn strictness(&self) -> &Strictness {
        match self {
            Self::Check(args) => &args.strictness,
            Self::Ls(args) => &args.strictness,
            Self::Stat(args) => &args.strictness,
            Self::Cat(args) => &args.strictness,
            Self::Hash(args) => &args.strictness,
            Self::Diff(args) => &args.strictness,
            Self::Convert(args) => &args.strictness,
            Self::Edit(args) => &args.strictness,
            Self::Patch(args) => args.strictness(),
        }
    }

    /// Returns the paths of the files that the command reads. For `check` these are only the named paths: see
    /// `Entries` for the files in folders and lists.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        match self {
            Self::Check(args) => args.files.clone(),
            Self::Ls(args) => [slice::from_ref(&args.file), &args.also].concat(),
            Self::Stat(args) => vec![args.file.clone()],
            Self::Cat(args) => vec![args.file.clone()],
            Self::Hash(args) => args.paths(),
            Self::Diff(args) => vec![args.old.clone(), args.new.clone()],
            Self::Convert(args) => vec![args.input.clone()],
            Self::Edit(args) => vec![args.file.clone()],
            Self::Patch(args) => args.paths(),
        }
    }

    /// Returns whether a path to a folder means the model in the folder. `edit` replaces its file, so it takes the exact path
    /// only.
    pub(crate) fn finds_models(&self) -> bool {
        !matches!(self, Self::Edit(_))
    }

    /// Returns how many files make up one job, which is sent to a worker as a whole: 2 for `diff` and for `hash --check`
    /// (the list and a file), all files for `patch`, and 1 for the other commands.
    pub(crate) fn files_of_job(&self) -> usize {
        match self {
            Self::Diff(_) => 2,
            Self::Hash(args) => args.check.len().saturating_add(1),
            Self::Patch(args) => args.paths().len(),
            _ => 1,
        }
    }

    /// Returns whether the worker process writes data to standard output itself, instead of sending it to the broker to print.
    pub(crate) fn writes_data(&self) -> bool {
        matches!(self, Self::Cat(_) | Self::Ls(Ls { attribute: Some(_), .. }))
    }

    /// Returns whether the command writes files.
    pub(crate) fn writes_files(&self) -> bool {
        match self {
            Self::Convert(_) | Self::Edit(_) => true,
            Self::Patch(args) => args.output().is_some(),
            _ => false,
        }
    }
}
