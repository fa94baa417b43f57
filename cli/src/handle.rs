//! What a file is read through: the system, or the network.

use std::fs::File;
use std::io;
use std::ops::Range;

use zten::ReadAt;

use crate::remote::Remote;

/// A file that was found, of which nothing has been looked at.
#[derive(Debug)]
pub(crate) enum Handle {
    /// One of the file system.
    Local(File),
    /// One that is read by ranges.
    Remote(Remote),
}

impl Handle {
    /// Whether it is one of the file system, which may have others beside it.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self, Self::Local(_))
    }

    /// The file of the file system, if it is one.
    pub(crate) fn local(&self) -> Option<&File> {
        match self {
            Self::Local(file) => Some(file),
            Self::Remote(_) => None,
        }
    }

    /// The same, to be handed on.
    #[cfg(target_os = "linux")]
    pub(crate) fn into_local(self) -> Option<File> {
        match self {
            Self::Local(file) => Some(file),
            Self::Remote(_) => None,
        }
    }

    /// What will be read, in that order, and other files between two runs: it is fetched ahead where that saves time.
    pub(crate) fn plan<R: IntoIterator<Item = Range<u64>>>(
        &self,
        runs: impl IntoIterator<Item = R>,
    ) -> io::Result<()> {
        match self {
            Self::Local(_) => Ok(()),
            Self::Remote(remote) => remote.plan(runs),
        }
    }
}

impl ReadAt for Handle {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), zten::Error> {
        match self {
            Self::Local(file) => file.read_at(offset, buffer),
            Self::Remote(remote) => remote.read_at(offset, buffer),
        }
    }
}
