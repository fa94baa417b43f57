//! Text and JSON about untrusted tensor files: reports about archives and checked files, digest lists, patterns of names, sizes
//! and statistics.

#![forbid(unsafe_code)]

pub mod archive;
pub mod blocks;
#[cfg(feature = "policy")]
pub mod catalog;
pub mod check;
pub mod diagnostic;
#[cfg(feature = "content")]
pub mod diff;
pub mod digests;
pub mod dtype;
pub mod glob;
#[cfg(feature = "content")]
pub mod measure;
pub mod natural;
pub mod notation;
pub mod page;
#[cfg(feature = "policy")]
pub mod policy;
pub mod size;
pub mod statistics;
pub mod stores;
#[cfg(feature = "content")]
pub mod sums;
#[cfg(feature = "content")]
pub mod text;
pub mod totals;
#[cfg(feature = "content")]
pub mod unpacked;
#[cfg(feature = "content")]
pub mod values;
