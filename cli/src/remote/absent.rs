//! Without the feature `remote`.

use std::io;
use std::ops::Range;
use std::path::Path;

use zten::ReadAt;

/// There is none.
#[derive(Debug)]
pub(crate) enum Remote {}

impl Remote {
    /// Says how to have it.
    pub(crate) fn open(_: &Path) -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this zten reads no files over the network; one that does is built with \
             --features remote, or remote-tls for https and S3",
        ))
    }

    pub(crate) fn length(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn plan(&self, _: impl IntoIterator<Item = Range<u64>>) -> io::Result<()> {
        match *self {}
    }
}

impl ReadAt for Remote {
    type Error = io::Error;

    fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
        match *self {}
    }
}
