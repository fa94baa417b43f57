//! Remote files, with the feature `remote`.
//!
//! The process that talks to a server does not look at the bytes of the file. The process that parses them is confined and does
//! not talk to a server: it asks for ranges over a socket that it was started with.

#[cfg(not(feature = "remote"))]
mod absent;
#[cfg(feature = "remote")]
mod commits;
#[cfg(all(feature = "remote", not(target_os = "linux")))]
mod direct;
#[cfg(all(feature = "remote", target_os = "linux"))]
mod fetcher;
#[cfg(all(feature = "remote", target_os = "linux"))]
mod piped;
#[cfg(feature = "remote")]
mod settings;

#[cfg(all(not(feature = "remote"), target_os = "linux"))]
pub(crate) use absent::{ARGUMENT, run, settings};
#[cfg(not(feature = "remote"))]
pub(crate) use absent::{Remote, decide, time_limit};
#[cfg(all(feature = "remote", not(target_os = "linux")))]
pub(crate) use direct::Remote;
#[cfg(all(feature = "remote", target_os = "linux"))]
pub(crate) use fetcher::{ARGUMENT, run};
#[cfg(all(feature = "remote", target_os = "linux"))]
pub(crate) use piped::Remote;
#[cfg(all(feature = "remote", target_os = "linux"))]
pub(crate) use settings::settings;
#[cfg(feature = "remote")]
pub(crate) use settings::{decide, time_limit};
pub(crate) use zten::network::{has_query, is_remote, shown};

/// Environment variables with keys and tokens for servers, which only the process that fetches files needs.
#[cfg(target_os = "linux")]
pub(crate) const SECRETS: [&str; 4] =
    ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "HF_TOKEN"];
