//! How the command came to a file.

use serde::{Deserialize, Serialize};

/// How a file came to be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Origin {
    /// The file was not found in a folder: the user named its path.
    Named,
    /// The file was found in a folder. `has_weights` is true if the name of a file in that folder is one of weights, so that
    /// the file is probably part of a model; `is_whole` is true if all files of the folder are checked, whatever their names.
    Folder { has_weights: bool, is_whole: bool },
}
