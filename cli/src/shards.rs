//! The shards of files, which are looked for before any file is read.

mod beside;
mod find;
#[cfg(target_os = "linux")]
mod neighbours;
#[cfg(target_os = "linux")]
mod worker;

pub(crate) use beside::open_beside;
pub(crate) use find::find_in_process;
#[cfg(target_os = "linux")]
pub(crate) use find::{find, may_have};
