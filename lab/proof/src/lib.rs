//! Proofs about `zten` that anyone can run again: how many instructions a file can cost, and that
//! no panic is in a linked image.
#![allow(
    clippy::allow_attributes,
    clippy::missing_panics_doc,
    reason = "what panics here has failed to prove something"
)]

pub mod allowed;
pub mod count;
pub mod files;
pub mod guest;
pub mod image;
pub mod machine;
pub mod panics;

// The builders of the corpus, by their own names for each other.
#[allow(dead_code, reason = "the corpus uses the rest")]
#[path = "../../corpus/generator/src/base.rs"]
mod base;
#[allow(dead_code, reason = "the corpus uses the rest")]
#[path = "../../corpus/generator/src/cbor.rs"]
mod cbor;
#[allow(dead_code, reason = "the corpus uses the rest")]
#[path = "../../corpus/generator/src/file.rs"]
mod file;
#[path = "../../corpus/generator/src/sha256.rs"]
mod sha256;
#[allow(dead_code, reason = "the corpus uses the rest")]
#[path = "../../corpus/generator/src/zstd.rs"]
mod zstd;
