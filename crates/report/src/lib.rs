//! Text and JSON output about untrusted tensor files: names and attribute values without hidden characters, elements, and
//! descriptions of archives and findings.

#![forbid(unsafe_code)]

pub mod archive;
pub mod blocks;
pub mod clause;
pub mod diagnostic;
pub mod digests;
pub mod element;
pub mod escape;
pub mod finding;
pub mod glob;
pub mod json;
pub mod natural;
pub mod network;
pub mod notation;
pub mod npy;
pub mod size;
pub mod statistics;
pub mod totals;
pub mod value;
