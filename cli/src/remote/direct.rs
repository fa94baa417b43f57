//! Where nothing is confined, this process talks to the server itself.

use std::io;
use std::ops::Range;
use std::path::Path;

use zten::ReadAt;
use zten_remote::{RemoteFile, Want};

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

    /// What will be read, in that order.
    pub(crate) fn plan(&self, ranges: impl IntoIterator<Item = Range<u64>>) -> io::Result<()> {
        Ok(self.0.plan(ranges.into_iter().collect())?)
    }
}

impl ReadAt for Remote {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, buffer)
    }
}
