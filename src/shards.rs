//! Files that hold tensors of another file: the shards of a zTensor file (v2 §7), the files that an index of safetensors files
//! names, and the other files of a split GGUF model.
//!
//! A shard of the zTensor file `STEM.zt` is the file `STEM-NAME.zt` in the same folder, or the file `blobs/ALGORITHM/DIGITS`, which
//! is named by its digest. Sibling files of other formats are in the same folder under their names. [`ShardFinder`] finds shards
//! and sibling files on a file system. By default, it opens only files in the folder, and follows no links. The one exception is
//! the cache of a hub, such as that of Hugging Face, where a link may lead to the folder `blobs` of the same repository.
//! [`ShardPath`] gives the same paths for files that are read over the network. A caller that implements [`Find`] can take shards
//! from anywhere.

#[cfg(feature = "std")]
mod on_disk;
#[cfg(feature = "std")]
mod runs;
mod shard_path;
mod want;
mod wanted;

use alloc::vec::Vec;

use crate::manifest::Manifest;
use crate::num::usize_from_u32;

pub use crate::codec::{BoundShard, Candidate, Files, Find, Shards};
pub use crate::manifest::Shard;
pub use crate::read_at::{Located, Source, VerifiedBlocks};
#[cfg(feature = "std")]
pub use on_disk::{ShardFile, ShardFinder};
#[cfg(feature = "std")]
pub use runs::{Runs, runs};
pub use shard_path::{ShardPath, stem};
pub use want::{Sibling, Want};
pub use wanted::{BLOBS, NAME, Wanted};

/// Returns the shards that `manifest` lists, except shards without a digest (the sibling files of other formats), and shards whose
/// name or digest cannot be the name of a file. Returns no shards if their number exceeds the limit `shards`.
pub fn wanted(manifest: &Manifest<impl AsRef<[u8]>>) -> Vec<Wanted> {
    let shards = manifest.shards();
    if shards.len() > usize_from_u32(manifest.limits().shards()) {
        return Vec::new();
    }
    shards.filter_map(|shard| Wanted::from_shard(&shard)).collect()
}

/// Which symbolic links are followed when a shard or sibling file is opened: those in the cache of a hub, or all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// Links in the cache of a hub, which lead to the `blobs` of the same repository. Other links are rejected: through a link,
    /// a model from a stranger could make zten read and show any file of the user.
    #[default]
    OfHub,
    /// All symbolic links, wherever they lead. Only for callers that trust the folder.
    All,
}

/// The advice for a link that is not followed.
pub const LINKED: &str = "Only links in the cache of a hub are followed. Put the file itself into the folder, or open the index in the folder that the links lead to.";
/// The beginning of the message about a link that is not followed. The target of the link comes next.
pub const IS_LINK: &str = "is a link to ";
