//! Where the bytes of a file come from: [`ReadAt`], of which a slice is the simplest, and files,
//! which are read at positions and never mapped.

#[cfg(feature = "std")]
mod file;

pub use crate::codec::{Content, ReadAt, ReadError};
#[cfg(feature = "std")]
pub use file::{FileArchive, OpenError, SourceArchive};
