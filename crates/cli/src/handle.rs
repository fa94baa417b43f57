//! The source of a file's bytes: the system, memory, or the network. It also finds the files that this one names.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
#[cfg(target_os = "linux")]
use std::sync::Arc;

use zten::ReadAt;
use zten_formats::shards::{IS_LINK, Links, ShardFile, Want};

use crate::escape;
use crate::remote::Remote;
#[cfg(target_os = "linux")]
use crate::worker::Channel;

/// An open file, of which nothing needs to have been read.
#[derive(Debug)]
pub(crate) enum Handle {
    /// A file of the file system.
    Local(File, Finder),
    /// A file that is read by ranges.
    Remote(Remote),
    /// The content of a stream.
    Memory(Vec<u8>),
}

/// Finds the files that a local file names: its shards, and those of an index.
#[derive(Clone, Debug)]
pub(crate) enum Finder {
    /// Finds none.
    Nothing,
    /// Opens those beside the file at this path.
    Siblings(PathBuf, Links),
    /// Asks the broker for those of the input of this number.
    #[cfg(target_os = "linux")]
    Broker(Arc<Channel>, u32),
}

/// A file that is open, and that another one names.
#[derive(Debug)]
pub(crate) struct ShardHandle {
    /// The name that the other file has for it.
    pub(crate) name: String,
    pub(crate) file: Handle,
    pub(crate) length: u64,
    /// The [identity](ReadAt::identity) of a local file.
    pub(crate) identity: Option<[u64; 2]>,
}

impl ShardHandle {
    fn new(ShardFile { name, file, length }: ShardFile) -> Self {
        let identity = file.identity();
        Self { name, file: Handle::Local(file, Finder::Nothing), length, identity }
    }
}

impl Handle {
    /// Returns whether its bytes are at hand, so that several threads are worth it.
    pub(crate) fn is_local(&self) -> bool {
        !matches!(self, Self::Remote(_))
    }

    /// Opens a file that this one names; none where there is no regular file that can be it.
    pub(crate) fn find(&self, want: &Want) -> io::Result<Option<ShardHandle>> {
        let name = want.name();
        let found = match self {
            Self::Memory(_) | Self::Local(_, Finder::Nothing) => Ok(None),
            Self::Local(_, Finder::Siblings(path, links)) => {
                want.open(path, *links).map(|found| found.map(ShardHandle::new))
            }
            #[cfg(target_os = "linux")]
            Self::Local(_, Finder::Broker(channel, number)) => channel.find(*number, want),
            Self::Remote(remote) => remote.find(want).map(|found| {
                found.map(|file| ShardHandle {
                    name: name.to_owned(),
                    length: file.length(),
                    file: Self::Remote(file),
                    identity: None,
                })
            }),
        };
        found.map_err(|error| match error.to_string() {
            // It goes on from the name.
            link if link.starts_with(IS_LINK) => error,
            why => io::Error::new(error.kind(), format!("{}: {why}", escape::quoted(name))),
        })
    }

    /// Announces what will be read, in that order, with other files between two runs: it is fetched ahead where that saves
    /// time.
    pub(crate) fn plan<R: IntoIterator<Item = Range<u64>>>(
        &self,
        runs: impl IntoIterator<Item = R>,
    ) -> io::Result<()> {
        match self {
            Self::Local(..) | Self::Memory(_) => Ok(()),
            Self::Remote(remote) => remote.plan(runs),
        }
    }
}

impl ReadAt for Handle {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), zten::Error> {
        match self {
            Self::Local(file, _) => file.read_at(offset, buffer),
            Self::Remote(remote) => remote.read_at(offset, buffer),
            Self::Memory(bytes) => {
                let start = usize::try_from(offset).ok();
                let range = start.and_then(|start| bytes.get(start..)?.get(..buffer.len()));
                buffer.copy_from_slice(
                    range.ok_or(io::ErrorKind::UnexpectedEof).map_err(io::Error::from)?,
                );
                Ok(())
            }
        }
    }
}
