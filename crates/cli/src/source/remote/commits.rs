//! Keeps all files that one command reads from a repository of the Hugging Face hub at one commit. A branch can get new commits
//! while the command runs, so the files of a branch could be of different commits otherwise.
//!
//! The command has a list with the commit of each repository and revision from which it has opened a file. The first file that is
//! opened adds its commit, and all later files are opened at the commit in the list. On Linux a process of its own opens each file
//! that the command line names, and these processes share the list.

use std::io;

use zten_remote::{RemoteFile, RemoteName, RemoteOptions};

#[cfg(target_os = "linux")]
pub(super) use in_file::start;
#[cfg(target_os = "linux")]
use in_file::{first, known};
#[cfg(not(target_os = "linux"))]
use in_memory::{first, known};

/// Opens the remote file `name`. A file on the hub is opened at the commit that the list has for its repository and revision. If
/// the list has none, the hub decides the commit, which is then added to the list.
pub(super) fn open(name: &RemoteName, options: &RemoteOptions) -> io::Result<RemoteFile> {
    let at = |commit: &str| -> io::Result<RemoteFile> {
        let name = name.at_commit(commit).ok_or(io::ErrorKind::InvalidData)?;
        Ok(RemoteFile::open(&name, options)?)
    };
    let Some(repository) = name.repository() else { return Ok(RemoteFile::open(name, options)?) };
    if let Some(commit) = known(&repository)? {
        return at(&commit);
    }
    let file = RemoteFile::open(name, options)?;
    let Some(own) = file.commit() else { return Ok(file) };
    let commit = first(&repository, own)?;
    // Another process may have opened a file of the repository at the same time, and added another commit before. That commit is
    // the one for all files.
    if commit == own { Ok(file) } else { at(&commit) }
}

/// The list of commits as a file in memory. Each process that fetches a file inherits this file as its standard output.
#[cfg(target_os = "linux")]
mod in_file {
    use std::fs::File;
    use std::io::{self, Write as _};
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::FileExt as _;
    use std::process::Stdio;
    use std::sync::OnceLock;

    use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};
    use rustix::io::Errno;
    use sha2::{Digest as _, Sha256};
    use zten::num::u64_from_usize;

    /// The length in bytes of the SHA-256 of a repository's name.
    const SUM: usize = 32;
    /// The length of a record in bytes: the SHA-256 of a repository's name, and the 40 hexadecimal digits of its commit.
    const RECORD: usize = 72;

    /// Returns the list as the standard output for a new process that fetches a file. The first call creates the list.
    pub(crate) fn start() -> io::Result<Stdio> {
        static LIST: OnceLock<Result<File, Errno>> = OnceLock::new();
        let list = LIST.get_or_init(|| {
            let list = memfd_create("commits", MemfdFlags::CLOEXEC)?;
            // Processes append at the same time. The kernel never mixes their records.
            fcntl_setfl(&list, OFlags::APPEND)?;
            Ok(list.into())
        });
        Ok(list.as_ref().map_err(|error| *error)?.try_clone()?.into())
    }

    /// Returns the list of commits, a file that this process has as its standard output.
    fn list() -> io::Result<File> {
        Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
    }

    /// Returns the SHA-256 sum of the name of a repository, so that all records have one length.
    fn sum(repository: &str) -> [u8; SUM] {
        Sha256::digest(repository.as_bytes()).into()
    }

    /// Returns the commit that `repository` has in the list of commits of this run. `repository` is the name of a repository on
    /// the hub with its revision. Returns `None` if the list has no commit for it yet, and an error if the file that holds the
    /// list cannot be read.
    pub(super) fn known(repository: &str) -> io::Result<Option<String>> {
        let (list, sum) = (list()?, sum(repository));
        let mut offset = 0;
        loop {
            let mut record = [0; RECORD];
            match list.read_exact_at(&mut record, offset) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                Err(error) => return Err(error),
            }
            if let Some(commit) = record.strip_prefix(&sum) {
                return Ok(Some(String::from_utf8_lossy(commit).into_owned()));
            }
            offset = offset.saturating_add(u64_from_usize(RECORD));
        }
    }

    /// Adds `commit` as a commit of `repository` to the list, and returns the first commit of `repository` in the list,
    /// which another process may have added before.
    pub(super) fn first(repository: &str, commit: &str) -> io::Result<String> {
        list()?.write_all(&[&sum(repository), commit.as_bytes()].concat())?;
        known(repository)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// The list of commits as a map. Outside of Linux this process opens all files itself.
#[cfg(not(target_os = "linux"))]
mod in_memory {
    use std::collections::HashMap;
    use std::io;
    use std::sync::{Mutex, PoisonError};

    static LIST: Mutex<Option<HashMap<String, String>>> = Mutex::new(None);

    /// Returns the commit that `repository` has in the list of commits of this run. `repository` is the name of a repository on
    /// the hub with its revision. Returns `None` if the list has no commit for it yet.
    #[expect(clippy::unnecessary_wraps, reason = "on Linux, it may fail")]
    pub(super) fn known(repository: &str) -> io::Result<Option<String>> {
        let list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(list.as_ref().and_then(|list| list.get(repository)).cloned())
    }

    /// Returns the commit of `repository` in the list, to which `commit` is added before if the list has no commit of `repository`.
    #[expect(clippy::unnecessary_wraps, reason = "on Linux, it may fail")]
    pub(super) fn first(repository: &str, commit: &str) -> io::Result<String> {
        let mut list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        let list = list.get_or_insert_default();
        Ok(list.entry(repository.to_owned()).or_insert_with(|| commit.to_owned()).clone())
    }
}
