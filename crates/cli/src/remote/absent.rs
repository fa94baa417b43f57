//! Replacements of what the feature `remote` has.

#[cfg(target_os = "linux")]
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use zten::ReadAt;
use zten_formats::shards::Want;

fn absent() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "this zten was built without remote files; build it with --features remote, or remote-tls for https and S3",
    )
}

/// No option says how files are read over the network.
#[derive(Clone, Debug, Default, clap::Args, Serialize, Deserialize)]
pub(crate) struct Settings {}

/// Decides nothing.
pub(crate) fn decide(_: &Settings) {}

/// No settings.
#[cfg(target_os = "linux")]
pub(crate) fn settings() -> Settings {
    Settings {}
}

/// The first argument of a process that fetches files, if there were one.
#[cfg(target_os = "linux")]
pub(crate) const ARGUMENT: &str = "--fetch";

/// Fetches nothing.
#[cfg(target_os = "linux")]
pub(crate) fn run() -> io::Result<()> {
    Err(absent())
}

/// Returns 0: nothing takes any time.
pub(crate) fn time_limit() -> u64 {
    0
}

/// A remote file, of which there is none.
#[derive(Debug)]
pub(crate) enum Remote {}

impl Remote {
    /// Says how to have it.
    pub(crate) fn open(_: &Path, _: u32) -> io::Result<Self> {
        Err(absent())
    }

    /// The same, where another process is to have it.
    #[cfg(target_os = "linux")]
    pub(crate) fn start(_: &Path, _: u32) -> io::Result<File> {
        Err(absent())
    }

    /// Fails as [`open`](Self::open) does.
    #[cfg(target_os = "linux")]
    pub(crate) fn received(_: File, _: u32) -> io::Result<Self> {
        Err(absent())
    }

    pub(crate) fn length(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn find(&self, _: &Want) -> io::Result<Option<Self>> {
        match *self {}
    }

    pub(crate) fn plan<R: IntoIterator<Item = Range<u64>>>(
        &self,
        _: impl IntoIterator<Item = R>,
    ) -> io::Result<()> {
        match *self {}
    }
}

impl ReadAt for Remote {
    fn read_at(&self, _: u64, _: &mut [u8]) -> Result<(), zten::Error> {
        match *self {}
    }
}
