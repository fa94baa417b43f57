//! The laboratory: other readers, each of which reads one file within limits, and proofs about linked images.
#![cfg_attr(not(any(feature = "subject", feature = "proof")), no_std)]

#[cfg(feature = "proof")]
pub mod proof;
#[cfg(feature = "subject")]
pub mod readers;
