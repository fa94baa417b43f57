//! Patches between checkpoints: what changed between two tensor files, in any formats that zten reads.
//!
//! A patch is a zTensor file of generation 2, which `docs/patch.md` describes. [`make`] writes one, [`Patch::open`] reads one, and
//! [`Chain`] applies several in one pass over their base. Patches come from strangers: a patch that is damaged, or was made of
//! other tensors, is an error of [`rules`](zten_report::catalog::PATCH_ROWS), and nothing is allocated that the patch only claims.
//!
//! Arrays in memory are models too: [`ArrayFile`] is their file, and [`ArrayUpdate`] changes them in place.
//!
//! Memory grows with the number of tensors, and not with their size: in addition to the descriptions of the tensors, [`make`] holds
//! two frames of 65,536 elements and, for each stream, up to a chunk of 1 MiB and the bytes of a frame, and [`Chain`] holds one
//! frame, and one chunk for each stream of each patch.
//!
//! ```
//! use zten::Archive;
//! use zten::write::WriteOptions;
//! use zten_patch::{Chain, Model, Patch, Settings, make};
//!
//! # fn file(weights: &[f32]) -> Result<Archive<zten::InMemory<Vec<u8>>>, zten::Error> {
//! #     let mut file = zten::Writer::to(Vec::new())?;
//! #     file.add("w", &[3], weights)?;
//! #     Archive::from_bytes(file.finish()?)
//! # }
//! let (old, new) = (file(&[1.0, 2.0, 3.0])?, file(&[1.0, 2.5, 3.0])?);
//! let (old, new) = (Model::new(old.manifest(), &old)?, Model::new(new.manifest(), &new)?);
//! let (patch, summary) = make(&old, &new, Vec::new(), &Settings::default())?;
//! assert_eq!(summary.changed, 1);
//!
//! let patch = Archive::from_bytes(patch)?;
//! let patches = [Patch::open(patch.manifest(), &patch)?];
//! let chain = Chain::new(&old, &patches)?;
//! let result = chain.write_ztensor(Vec::new(), &WriteOptions::default())?;
//! assert_eq!(Archive::from_bytes(result)?.tensor("w")?.to_vec::<f32>()?, [1.0, 2.5, 3.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::expect_used,
        clippy::get_unwrap,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

mod arrays;
mod chain;
mod content;
mod elements;
mod failure;
mod frame;
mod identity;
mod make;
mod model;
mod patch;
mod record;
mod streams;
mod update;
mod verify;

pub use arrays::{ArrayFile, ReadArray};
pub use chain::Chain;
pub use failure::PatchFailure;
pub use make::{Settings, Summary, make};
pub use model::Model;
pub use patch::Patch;
pub use record::{Change, VERSION};
pub use update::{ArrayUpdate, WriteFn};
pub use verify::{Verified, verify};

/// The 32 bytes of a SHA-256 digest.
pub type Sha256 = zten_report::digests::Sha256;
