//! Which files are to be checked: those that are named, those in lists, and those in folders.

mod list;
mod walk;

use std::fs;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::args::Check;
use crate::file::{Opened, open_named, open_unlinked};
use crate::strictness::Strictness;
use list::{List, Named};
use walk::{Suffixes, Walk};

/// A file that is to be checked.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
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
    /// Opens the file, and returns its length.
    pub(crate) fn open(&self) -> io::Result<(File, u64)> {
        match &self.found {
            Found::Named => open_named(&self.path),
            Found::Walked => open_unlinked(&self.path),
            Found::Failed(error) => Err(match error.raw_os_error() {
                Some(number) => io::Error::from_raw_os_error(number),
                None => io::Error::new(error.kind(), error.to_string()),
            }),
        }
    }

    /// Opens the file, and those that it names when they are asked for.
    pub(super) fn opened(&self, strictness: &Strictness) -> io::Result<Opened> {
        if matches!(self.found, Found::Named) {
            return Opened::open(&self.path, strictness);
        }
        let (file, length) = self.open()?;
        Ok(Opened::local(&self.path, file, length, strictness))
    }
}

/// The files of a command, in the order of their names on the command line and in lists; what is in a
/// folder comes sorted by name. Of each folder on the way to a file the names in it are held, and of a list
/// one name.
pub(crate) struct Entries {
    named: std::vec::IntoIter<PathBuf>,
    list: Option<List>,
    walk: Walk,
    recursive: bool,
}

impl Entries {
    /// The files that the command line asks for.
    ///
    /// # Errors
    /// The list that it names cannot be opened.
    pub(crate) fn of(args: &Check) -> io::Result<Self> {
        let end = if args.null { 0 } else { b'\n' };
        let list = args.files_from.as_ref().map(|path| List::open(path, end)).transpose()?;
        let suffixes = match args.suffix.as_slice() {
            [] => Suffixes::of_tensors(),
            suffixes => Suffixes::new(suffixes),
        };
        let (named, walk) = (args.files.clone().into_iter(), Walk::new(suffixes));
        Ok(Self { named, list, walk, recursive: args.recursive })
    }

    /// Files by their names.
    #[cfg(target_os = "linux")]
    pub(crate) fn named(paths: Vec<PathBuf>) -> Self {
        let walk = Walk::new(Suffixes::of_tensors());
        Self { named: paths.into_iter(), list: None, walk, recursive: false }
    }

    /// Whether the next one is there without waiting for what writes the list.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_ready(&self) -> bool {
        let waits = self.named.len() == 0 && self.walk.is_empty();
        !waits || self.list.as_ref().is_none_or(List::is_ready)
    }

    /// What tells when there is more of the list.
    #[cfg(target_os = "linux")]
    pub(crate) fn waits_for(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.list.as_ref().map(List::descriptor)
    }

    /// The next file.
    ///
    /// # Errors
    /// The list cannot be read on. What is wrong with a file or a folder is told when it is opened.
    pub(crate) fn next(&mut self) -> io::Result<Option<Entry>> {
        loop {
            if let Some((path, walked)) = self.walk.next() {
                let found = walked.map_or_else(Found::Failed, |()| Found::Walked);
                return Ok(Some(Entry { path, found }));
            }
            let path = match (self.named.next(), &mut self.list) {
                (Some(path), _) => path,
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
