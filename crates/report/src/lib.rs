//! Text and JSON output about untrusted tensor files: names and attribute values without hidden characters, elements, and
//! descriptions of archives and findings.

#![forbid(unsafe_code)]

pub mod archive;
pub mod blocks;
pub mod check;
pub mod diagnostic;
pub mod digests;
pub mod glob;
pub mod natural;
pub mod notation;
pub mod size;
pub mod statistics;
pub mod totals;
