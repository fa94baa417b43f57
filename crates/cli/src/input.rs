//! The files that a command reads: opened, with their shards, selected, and read by several threads.

pub(crate) mod file;
pub(crate) mod objects;
pub(crate) mod selection;
pub(crate) mod sources;
pub(crate) mod sums;
pub(crate) mod threads;
