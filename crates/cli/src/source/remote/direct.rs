//! Remote files that this process reads itself, on systems without a sandbox.

use std::io;
use std::ops::Range;
use std::path::Path;

use zten::ReadAt;
use zten_remote::{Plan, RemoteFile, Want};

use super::settings;

/// A remote file.
#[derive(Debug)]
pub(crate) struct Remote(RemoteFile);

impl Remote {
    /// Opens the remote file whose name is `path`.
    pub(crate) fn open(path: &Path, _: u32) -> io::Result<Self> {
        Ok(Self(settings::open(path.to_str().unwrap_or_default())?))
    }

    /// Returns the length of the file in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.0.length()
    }

    /// Opens the sibling file `want`. Returns `None` if the server has no such file.
    pub(crate) fn find(&self, want: &Want) -> io::Result<Option<Self>> {
        Ok(self.0.find(want)?.map(Self))
    }

    /// Announces the byte ranges of this file that will be read, in this order, so that they can be fetched ahead. Each
    /// item of `runs` is a group of ranges that are read one after another; between two groups, other files are read.
    pub(crate) fn plan<R: IntoIterator<Item = Range<u64>>>(
        &self,
        runs: impl IntoIterator<Item = R>,
    ) -> io::Result<()> {
        Ok(self.0.plan(Plan::of_runs(runs))?)
    }
}

impl ReadAt for Remote {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), zten::Error> {
        self.0.read_at(offset, buffer)
    }
}
