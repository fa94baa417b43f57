//! The source of a file's bytes (the file system, memory or the network), which also finds the file's sibling files.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use zten::shards::{IS_LINK, Links, ShardFile, ShardFinder, Want};
use zten::{Archive, ReadAt};
use zten_report::stores::Hashed;

use crate::escape;
#[cfg(target_os = "linux")]
use crate::link::channel::Channel;
use crate::source::remote::Remote;

/// A file of any supported format, whose manifest or header is valid.
pub(crate) type TensorFile = Archive<Handle>;

/// The source of the bytes of an open file.
#[derive(Debug)]
pub(crate) enum Handle {
    /// A file of the file system.
    Local(File, Finder),
    /// A blob of a store of downloaded models: a local file that is named by its digest, and is hashed as it is read.
    Blob(Arc<Hashed<File>>, Finder),
    /// A remote file, which is read by ranges.
    Remote(Remote),
    /// The content of standard input.
    Memory(Vec<u8>),
}

/// The way to find the sibling files that a local file names: its shards, or the files that an index (`*.index.json`) names.
#[derive(Clone, Debug)]
pub(crate) enum Finder {
    /// No sibling is looked for.
    Nothing,
    /// Opens siblings in the folder of the file at this path.
    Siblings(PathBuf, Links),
    /// Asks the broker for siblings of the input with this number.
    #[cfg(target_os = "linux")]
    Broker(Arc<Channel>, u32),
}

/// An open file to which another file refers.
#[derive(Debug)]
pub(crate) struct ShardHandle {
    /// The name by which the other file refers to this file.
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

impl Finder {
    /// Opens the sibling file `want` of a local file.
    fn find(&self, want: &Want) -> io::Result<Option<ShardHandle>> {
        match self {
            Self::Nothing => Ok(None),
            Self::Siblings(path, links) => {
                let found = ShardFinder::of(path).links(*links).open(want);
                found.map(|found| found.map(ShardHandle::new))
            }
            #[cfg(target_os = "linux")]
            Self::Broker(channel, number) => {
                let found = channel.find(*number, want);
                found.map(|found| {
                    found.map(|(file, found)| ShardHandle {
                        name: want.name().to_owned(),
                        file: Handle::Local(file, Self::Nothing),
                        length: found.length,
                        identity: found.identity,
                    })
                })
            }
        }
    }
}

impl Handle {
    /// Returns the blob of a store that is hashed as it is read, if this is one.
    pub(crate) fn hashed(&self) -> Option<&Hashed<File>> {
        match self {
            Self::Blob(file, _) => Some(file),
            _ => None,
        }
    }

    /// Returns whether the bytes are read without the network, so that several threads can read faster than one.
    pub(crate) fn is_local(&self) -> bool {
        !matches!(self, Self::Remote(_))
    }

    /// Opens the sibling file `want`. Returns `None` if there is no such regular file, or no sibling is looked for, as for standard
    /// input.
    pub(crate) fn find(&self, want: &Want) -> io::Result<Option<ShardHandle>> {
        let name = want.name();
        let found = match self {
            Self::Memory(_) => Ok(None),
            Self::Local(_, finder) | Self::Blob(_, finder) => finder.find(want),
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
            // The caller parses the text after this prefix, so the message is not changed.
            link if link.starts_with(IS_LINK) => error,
            why => io::Error::new(error.kind(), format!("{}: {why}", escape::quoted(name))),
        })
    }

    /// Announces the byte ranges of this file that will be read, in this order. Each item of `runs` is a group of ranges
    /// that are read one after another; between two groups, other files are read. If the file is remote, the ranges are
    /// fetched ahead; for other files, nothing is done.
    pub(crate) fn plan<R: IntoIterator<Item = Range<u64>>>(
        &self,
        runs: impl IntoIterator<Item = R>,
    ) -> io::Result<()> {
        match self {
            Self::Local(..) | Self::Blob(..) | Self::Memory(_) => Ok(()),
            Self::Remote(remote) => remote.plan(runs),
        }
    }
}

impl ReadAt for Handle {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), zten::Error> {
        match self {
            Self::Local(file, _) => file.read_at(offset, buffer),
            Self::Blob(file, _) => file.read_at(offset, buffer),
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
