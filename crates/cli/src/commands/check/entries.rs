//! The files to check: named files, files in lists, and files in folders.

mod folder;
mod hub;
mod list;
mod skipped;
mod walk;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zten::source::open_regular;
use zten_report::digests::{Sha256, hex};
use zten_report::stores::{self, Role};

use crate::args::strictness::Strictness;
use crate::args::{Call, Check};
use crate::escape;
use crate::input::file::{Blobs, Opened, model_path};
use crate::link::origin::Origin;
use crate::source::remote::is_remote;
use folder::Folder;
use list::{List, Named};
pub(super) use skipped::{Reason, Skipped};
use walk::{DirectoryWalk, FoundFile, WalkedFile};
pub(super) use walk::{Suffixes, is_of_weights};

/// A file that is to be checked.
#[derive(Debug)]
pub(crate) struct CheckedFile {
    pub(crate) path: PathBuf,
    /// The other paths in a hub's cache that lead to the same file.
    pub(crate) also: Vec<PathBuf>,
    pub(crate) origin: Origin,
    /// The role of the file in a store of downloaded models, such as a blob or a manifest.
    pub(crate) role: Role,
    /// If the file is an Ollama manifest, the folder of the store's blobs.
    blobs: Option<Folder>,
    /// True if a blob of the store may be a symbolic link (`--follow`).
    follows: bool,
    found: FoundBy,
    /// True if the command is one that has the option `-r`, which checks all files in folders.
    takes_folders: bool,
}

/// The way in which a file was found.
#[derive(Debug)]
enum FoundBy {
    /// A file whose path was given; the path may be that of a link.
    Named,
    /// A file that was found in a folder.
    Walked(WalkedFile),
    /// A path that could not be read, and the reason.
    Failed(io::Error),
}

impl CheckedFile {
    /// Creates the entry of a file that the user named.
    fn named(path: PathBuf, takes_folders: bool) -> Self {
        let (also, found) = (Vec::new(), FoundBy::Named);
        let (origin, role, blobs) = (Origin::Named, Role::Outside, None);
        Self { path, also, origin, role, blobs, follows: false, found, takes_folders }
    }

    /// Finds the role that a file that the user named has in a store of downloaded models. The real path of the file decides, so
    /// that a link in a snapshot gets the role of the blob that it leads to. A file that is neither a blob nor a manifest is
    /// checked like any other file if the user names it.
    fn in_store(self, follows: bool) -> Self {
        if is_remote(&self.path) || self.path.as_os_str() == "-" {
            return self;
        }
        let Some((role, real)) = stores::role_of(&self.path) else { return self };
        let blobs = if role == Role::Manifest { walk::blobs_of(&real) } else { None };
        if role == Role::Manifest && blobs.is_none() {
            return self;
        }
        Self { role, blobs, follows, ..self }
    }

    /// Returns the length of the blob `sha256` in the store of this file, a manifest. Returns `None` if the store does not have the
    /// blob.
    ///
    /// # Errors
    /// The blob cannot be opened, or is a link that is not followed; the file is no manifest.
    pub(crate) fn blob_length(&self, sha256: &Sha256) -> io::Result<Option<u64>> {
        let blobs = self.blobs.as_ref().ok_or(io::ErrorKind::InvalidInput)?;
        length_of(blobs, sha256, self.follows)
    }

    /// Opens the file, and returns its length.
    pub(crate) fn open(&self) -> io::Result<(File, u64)> {
        match &self.found {
            FoundBy::Named => open_regular(&self.path).map_err(|error| self.advised(error)),
            FoundBy::Walked(file) => file.open(),
            FoundBy::Failed(error) => Err(self.advised(match error.raw_os_error() {
                Some(number) => io::Error::from_raw_os_error(number),
                None => io::Error::new(error.kind(), error.to_string()),
            })),
        }
    }

    /// Returns the path in whose folder the sibling files of this file are opened. For a file that was found in a folder,
    /// the path leads to the folder that was listed, even if another folder has taken the place of that folder since. Such
    /// a path works as long as this [`CheckedFile`] exists.
    pub(crate) fn beside(&self) -> PathBuf {
        match &self.found {
            FoundBy::Walked(file) => file.folder.path_of(&file.name),
            _ => None,
        }
        .unwrap_or_else(|| self.path.clone())
    }

    /// Returns the other names of the file in a hub's cache. They matter because any of them may have the suffix of another
    /// format.
    pub(crate) fn other_names(&self) -> Vec<PathBuf> {
        let own = self.path.file_name();
        let mut names: Vec<_> = self.also.iter().filter_map(|path| path.file_name()).collect();
        names.retain(|name| Some(*name) != own);
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(PathBuf::from).collect()
    }

    /// Adds the advice to use `-r` to `error`, if the error is that the path is a folder, and the command can check folders. The Python
    /// package, which has no such option, removes these words (`_sandbox.py`).
    fn advised(&self, error: io::Error) -> io::Error {
        if self.takes_folders && error.kind() == io::ErrorKind::IsADirectory {
            return io::Error::new(error.kind(), format!("{error}; -r checks all files in it"));
        }
        error
    }

    /// Opens the file. Its sibling files are opened when they are asked for.
    pub(crate) fn opened(&self, strictness: &Strictness) -> io::Result<Opened> {
        let role = self.role;
        let blobs = self.blobs.clone().map(|blobs| -> Blobs {
            let follows = self.follows;
            Box::new(move |sha256| length_of(&blobs, sha256, follows))
        });
        if matches!(self.found, FoundBy::Named) {
            let opened = Opened::open(&self.path, strictness);
            let opened = opened.map_err(|error| self.advised(error))?;
            return Ok(Opened { role, blobs, ..opened });
        }
        let (file, length) = self.open()?;
        let opened = Opened::local(&self.beside(), file, length, strictness);
        let (other_names, origin) = (self.other_names(), self.origin);
        Ok(Opened { path: self.path.clone(), other_names, origin, role, blobs, ..opened })
    }
}

/// Returns the length of the blob `sha256` in the folder `blobs` of an Ollama store. Returns `None` if there is no such blob.
fn length_of(blobs: &Folder, sha256: &Sha256, follows: bool) -> io::Result<Option<u64>> {
    let name = format!("sha256-{}", hex(sha256));
    if !follows && blobs.link(name.as_ref()).is_ok() {
        return Err(io::Error::other(format!("blob {name} is a link; --follow follows it")));
    }
    match blobs.file(name.as_ref(), follows) {
        Ok((_, length)) => Ok(Some(length)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// An iterator over the files that a command reads: first the files of the command line, then the files of a list
/// (`--files-from`). With `-r`, a folder is replaced by all files in it and below, sorted by name. Memory holds the names
/// in each folder above the current file, and one name of the list.
pub(crate) struct Entries {
    named: std::vec::IntoIter<PathBuf>,
    list: Option<List>,
    walk: DirectoryWalk,
    recursive: bool,
    takes_folders: bool,
    /// True if a folder is replaced by the one model in it, unless `-r` is given.
    finds_models: bool,
}

impl Entries {
    /// Creates the iterator over the files that `call` reads.
    ///
    /// # Errors
    /// The list of files cannot be opened.
    pub(crate) fn of(call: &Call) -> Result<Self, String> {
        match call {
            Call::Check(args) => Self::of_check(args).map_err(|error| list_error(args, &error)),
            _ => Ok(Self::named(call.paths(), call.finds_models())),
        }
    }

    fn of_check(args: &Check) -> io::Result<Self> {
        let end = if args.null { 0 } else { b'\n' };
        let list = args.files_from.as_ref().map(|path| List::open(path, end)).transpose()?;
        let (named, walk) = (
            args.files.clone().into_iter(),
            DirectoryWalk::new(Suffixes::new(&args.suffix), args.strictness.follows()),
        );
        let recursive = args.recursive;
        Ok(Self { named, list, walk, recursive, takes_folders: true, finds_models: true })
    }

    /// Returns the counts of skipped entries of folders, which grow as folders are listed.
    pub(super) fn skipped(&self) -> Arc<Skipped> {
        Arc::clone(&self.walk.skipped)
    }

    /// Creates the iterator over the files at `paths`. If `finds_models` is true, a folder is replaced by the one model in it.
    fn named(paths: Vec<PathBuf>, finds_models: bool) -> Self {
        let (named, walk) = (paths.into_iter(), DirectoryWalk::new(Suffixes::new(&[]), false));
        let (list, recursive, takes_folders) = (None, false, false);
        Self { named, list, walk, recursive, takes_folders, finds_models }
    }

    /// Returns whether the next file is known without waiting for more of the list (`--files-from`), which may be a pipe.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_ready(&self) -> bool {
        let waits = self.named.len() == 0 && self.walk.is_empty();
        !waits || self.list.as_ref().is_none_or(List::is_ready)
    }

    /// Returns the descriptor of the list of file names (`--files-from`), which can be polled for more names.
    #[cfg(target_os = "linux")]
    pub(crate) fn waits_for(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.list.as_ref().map(List::descriptor)
    }

    /// Returns the files of the next job of `call`, or `None` at the end.
    ///
    /// # Errors
    /// The list of files cannot be read.
    pub(crate) fn next_job(&mut self, call: &Call) -> Result<Option<Vec<CheckedFile>>, String> {
        let mut entries = Vec::new();
        while entries.len() < call.files_of_job() {
            let next = self.next().map_err(|error| match call {
                Call::Check(args) => list_error(args, &error),
                _ => error.to_string(),
            });
            let Some(entry) = next? else { return Ok(None) };
            entries.push(entry);
        }
        Ok(Some(entries))
    }

    /// Returns the next file, or `None` at the end.
    ///
    /// # Errors
    /// The list of files cannot be read. Errors of a file or folder are reported when the entry is opened.
    fn next(&mut self) -> io::Result<Option<CheckedFile>> {
        loop {
            if let Some(FoundFile { path, also, file, has_weights }) = self.walk.next() {
                let (takes_folders, follows) = (self.takes_folders, self.walk.follows());
                let (role, blobs, found) = match file {
                    Ok(file) => (file.role, file.blobs.clone(), FoundBy::Walked(file)),
                    Err(error) => (Role::Outside, None, FoundBy::Failed(error)),
                };
                let is_whole = self.walk.takes_all();
                let origin = Origin::Folder { has_weights, is_whole };
                return Ok(Some(CheckedFile {
                    path,
                    also,
                    origin,
                    role,
                    blobs,
                    follows,
                    found,
                    takes_folders,
                }));
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
            let named = CheckedFile::named(path, self.takes_folders);
            let entry = match model_path(&named.path).filter(|_| self.finds_models) {
                None => named,
                Some(Ok(path)) => CheckedFile { path, ..named },
                Some(Err(error)) => CheckedFile { found: FoundBy::Failed(error), ..named },
            };
            return Ok(Some(if self.takes_folders {
                entry.in_store(self.walk.follows())
            } else {
                entry
            }));
        }
    }
}

/// Returns the message that the list of file names (`--files-from`) cannot be read, because of `error`.
fn list_error(args: &Check, error: &io::Error) -> String {
    let list = args.files_from.as_deref().unwrap_or_else(|| "-".as_ref());
    format!("--files-from {}: {error}", escape::path(list))
}

/// Returns whether `path` leads to a folder, directly or through a link.
fn is_folder(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_dir())
}
