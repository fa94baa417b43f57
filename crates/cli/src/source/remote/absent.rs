//! Replacements for the items of the feature `remote`, for builds without it.

#[cfg(target_os = "linux")]
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use zten::ReadAt;
use zten::shards::Want;

use crate::args::RemoteSettings as Settings;

fn absent() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "this zten was built without remote files; build it with --features remote, or remote-tls for https, S3 and the Hugging Face hub",
    )
}

/// Does nothing: there are no settings.
pub(crate) fn decide(_: &Settings) {}

/// Returns the empty settings.
#[cfg(target_os = "linux")]
pub(crate) fn settings() -> Settings {
    Settings {}
}

/// The first argument of a process that fetches a file, which this build rejects.
#[cfg(target_os = "linux")]
pub(crate) const ARGUMENT: &str = "--fetch";

/// Fails, because this build cannot fetch files.
#[cfg(target_os = "linux")]
pub(crate) fn run() -> io::Result<()> {
    Err(absent())
}

/// Returns the time limit for reading remote files: 0 seconds.
pub(crate) fn time_limit() -> u64 {
    0
}

/// A remote file. This build has none, so the type has no value.
#[derive(Debug)]
pub(crate) enum Remote {}

impl Remote {
    /// Fails, with the advice to build the feature `remote`.
    pub(crate) fn open(_: &Path, _: u32) -> io::Result<Self> {
        Err(absent())
    }

    /// Always fails, because this build cannot read remote files. The error has the advice to build the feature `remote`.
    #[cfg(target_os = "linux")]
    pub(crate) fn start(_: &Path, _: u32) -> io::Result<File> {
        Err(absent())
    }

    /// Always fails, because this build cannot read remote files. The error has the advice to build the feature `remote`.
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
