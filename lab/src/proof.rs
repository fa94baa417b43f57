//! Proofs about `zten` that anyone can run again: how many instructions a file can cost, and that a linked image has no panic but
//! the allowed ones, which are never reached.
#![allow(
    clippy::allow_attributes,
    clippy::missing_panics_doc,
    reason = "a panic means that a proof has failed"
)]

pub mod allowed;
pub mod count;
mod described;
pub mod files;
pub mod guest;
pub mod image;
pub mod machine;
pub mod panics;
