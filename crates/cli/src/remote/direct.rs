//! Files that this process itself reads over the network, where nothing is confined.

use std::io;
use std::ops::Range;
use std::path::Path;

use zten::ReadAt;
use zten_remote::{Plan, RemoteFile, Want};

use super::settings;

/// A file that is read over the network.
#[derive(Debug)]
pub(crate) struct Remote(RemoteFile);

impl Remote {
    /// Finds the file.
    pub(crate) fn open(path: &Path, _: u32) -> io::Result<Self> {
        Ok(Self(settings::open(path.to_str().unwrap_or_default())?))
    }

    /// Bytes of it.
    pub(crate) fn length(&self) -> u64 {
        self.0.length()
    }

    /// Finds a file that this one names.
    pub(crate) fn find(&self, want: &Want) -> io::Result<Option<Self>> {
        Ok(self.0.find(want)?.map(Self))
    }

    /// Announces what will be read, in that order, with other files between two runs.
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
