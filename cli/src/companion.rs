//! The files that another one names: its shards, and those of an index.

use std::io;

use zten_shards::{ShardFile, Want};

use crate::escape;
use crate::handle::Handle;

/// A file that is open, and that another one names. Nothing of it has been read.
#[derive(Debug)]
pub(crate) struct Companion {
    /// What the other one calls it.
    pub(crate) name: String,
    pub(crate) file: Handle,
    pub(crate) length: u64,
}

impl Companion {
    /// Finds one that a file names which is read over the network; those of others are opened before anything is read.
    pub(crate) fn find(of: &Handle, want: &Want) -> io::Result<Option<Self>> {
        let Handle::Remote(remote) = of else { return Ok(None) };
        let name = want.name();
        let found = remote.find(want).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", escape::quoted(name)))
        })?;
        Ok(found.map(|file| Self {
            name: name.to_owned(),
            length: file.length(),
            file: Handle::Remote(file),
        }))
    }
}

impl From<ShardFile> for Companion {
    fn from(ShardFile { name, file, length }: ShardFile) -> Self {
        Self { name, file: Handle::Local(file), length }
    }
}
