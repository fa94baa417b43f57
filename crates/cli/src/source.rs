//! Sources of the bytes of a file: the file system, memory, or the network.

pub(crate) mod handle;
pub(crate) mod remote;
