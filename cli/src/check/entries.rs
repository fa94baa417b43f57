//! Which files are to be checked: those that are named, those in lists, and those in folders.

mod list;
mod walk;

use std::fs;
#[cfg(target_os = "linux")]
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::args::Check;
use crate::file::Opened;
#[cfg(target_os = "linux")]
use crate::remote::{Remote, is_remote};
use list::{List, Named};
use walk::{Suffixes, Walk};

/// The length of a file that is read over the network, of which nothing is known yet.
#[cfg(target_os = "linux")]
pub(super) const ANY: u64 = u64::MAX;

/// What another process is given of a file, or of one that is read over the network the socket that this is asked for at.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) file: File,
    pub(super) length: u64,
}

/// A file that is to be checked.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) path: PathBuf,
    found: Found,
}

/// How it was found.
#[derive(Debug)]
enum Found {
    /// By its name, which may be that of a link.
    Named,
    /// In a folder, where it was no link.
    Walked,
    /// It was not, and why.
    Failed(io::Error),
}

impl Entry {
    /// Opens the file, which another process is to be given. One that is read over the network is not waited for.
    #[cfg(target_os = "linux")]
    pub(super) fn hand_over(&self, args: &Check) -> io::Result<Handed> {
        if is_remote(&self.path) {
            let file = Remote::start(&self.path, args.strictness.most_beside())?;
            return Ok(Handed { file, length: ANY });
        }
        let Opened { file, length, .. } = self.open(args)?;
        let file = file.into_local().ok_or(io::ErrorKind::Unsupported)?;
        Ok(Handed { file, length })
    }

    /// Opens the file.
    pub(super) fn open(&self, args: &Check) -> io::Result<Opened> {
        match &self.found {
            Found::Named => Opened::open(&self.path, args.strictness.most_beside()),
            Found::Walked => Opened::open_unlinked(&self.path),
            Found::Failed(error) => Err(match error.raw_os_error() {
                Some(number) => io::Error::from_raw_os_error(number),
                None => io::Error::new(error.kind(), error.to_string()),
            }),
        }
    }
}

/// The files of a command, in the order of their names on the command line and in lists; what is in a
/// folder comes sorted by name. Of each folder on the way to a file the names in it are held, and of a list
/// one name.
pub(super) struct Entries<'a> {
    named: std::slice::Iter<'a, PathBuf>,
    list: Option<List>,
    walk: Walk,
    recursive: bool,
}

impl<'a> Entries<'a> {
    /// The files that the command line asks for.
    ///
    /// # Errors
    /// The list that it names cannot be opened.
    pub(super) fn of(args: &'a Check) -> io::Result<Self> {
        let end = if args.null { 0 } else { b'\n' };
        let list = args.files_from.as_ref().map(|path| List::open(path, end)).transpose()?;
        let suffixes = match args.suffix.as_slice() {
            [] => Suffixes::of_tensors(),
            suffixes => Suffixes::new(suffixes),
        };
        let (named, walk) = (args.files.iter(), Walk::new(suffixes));
        Ok(Self { named, list, walk, recursive: args.recursive })
    }

    /// Whether the next one is there without waiting for what writes the list.
    #[cfg(target_os = "linux")]
    pub(super) fn is_ready(&self) -> bool {
        let waits = self.named.len() == 0 && self.walk.is_empty();
        !waits || self.list.as_ref().is_none_or(List::is_ready)
    }

    /// What tells when there is more of the list.
    #[cfg(target_os = "linux")]
    pub(super) fn waits_for(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.list.as_ref().map(List::descriptor)
    }

    /// The next file.
    ///
    /// # Errors
    /// The list cannot be read on. What is wrong with a file or a folder is told when it is opened.
    pub(super) fn next(&mut self) -> io::Result<Option<Entry>> {
        loop {
            if let Some((path, walked)) = self.walk.next() {
                let found = walked.map_or_else(Found::Failed, |()| Found::Walked);
                return Ok(Some(Entry { path, found }));
            }
            let path = match (self.named.next(), &mut self.list) {
                (Some(path), _) => path.clone(),
                (None, Some(list)) => match list.next()? {
                    Some(Named(path)) => path,
                    None => return Ok(None),
                },
                (None, None) => return Ok(None),
            };
            if self.recursive && is_folder(&path) {
                self.walk.enter(path);
                continue;
            }
            return Ok(Some(Entry { path, found: Found::Named }));
        }
    }
}

fn is_folder(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_dir())
}
