//! The shards of files, which are looked for before any file is read.

#[cfg(not(feature = "v2"))]
mod absent;
#[cfg(feature = "v2")]
mod beneath;
#[cfg(feature = "v2")]
mod find;
#[cfg(feature = "v2")]
mod neighbours;
#[cfg(feature = "v2")]
mod wanted;
#[cfg(all(feature = "v2", target_os = "linux"))]
mod worker;

#[cfg(all(not(feature = "v2"), target_os = "linux"))]
pub(crate) use absent::find;
#[cfg(not(feature = "v2"))]
pub(crate) use absent::find_in_process;
#[cfg(feature = "v2")]
pub(crate) use find::find_in_process;
#[cfg(all(feature = "v2", target_os = "linux"))]
pub(crate) use find::{find, may_have, wanted};
