//! Writing and reading with this project's library.

mod read;
mod write;

pub(crate) use read::compare;
pub(crate) use write::{Manner, append, create};
