//! The commits at which a call reads repositories of the hub. The first file of a repository decides the commit, and all other
//! files that the call names are read at it, although other processes may open them.

use std::io;

use zten_remote::{RemoteFile, RemoteName, RemoteOptions};

#[cfg(target_os = "linux")]
pub(super) use in_file::start;
#[cfg(target_os = "linux")]
use in_file::{first, known};
#[cfg(not(target_os = "linux"))]
use in_memory::{first, known};

/// Opens the remote file `name`: a file on the hub at the commit at which the call reads its repository, if the call has
/// opened a file of the same repository and revision before.
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
    // Several files of a repository may be opened at the same time. The first one decides for the others.
    if commit == own { Ok(file) } else { at(&commit) }
}

/// The list of commits in a file in memory, which the processes that fetch files inherit as their standard output.
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

    /// The length of the sum of a repository's name in bytes.
    const SUM: usize = 32;
    /// The length of a record in bytes: the sum of the name, and the commit of 40 digits.
    const RECORD: usize = 72;

    /// Returns the standard output of a process that fetches a file: the list of this call.
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

    /// Returns the list, which is the standard output of this process.
    fn list() -> io::Result<File> {
        Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
    }

    /// Returns the SHA-256 sum of the name of a repository, so that all records have one length.
    fn sum(repository: &str) -> [u8; SUM] {
        Sha256::digest(repository.as_bytes()).into()
    }

    /// Returns the commit of `repository` in the list.
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

    /// Adds `commit` to the list, and returns the first commit of `repository` in it.
    pub(super) fn first(repository: &str, commit: &str) -> io::Result<String> {
        list()?.write_all(&[&sum(repository), commit.as_bytes()].concat())?;
        known(repository)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// The list of commits of this process, which opens all files of the call.
#[cfg(not(target_os = "linux"))]
mod in_memory {
    use std::collections::HashMap;
    use std::io;
    use std::sync::{Mutex, PoisonError};

    static LIST: Mutex<Option<HashMap<String, String>>> = Mutex::new(None);

    /// Returns the commit of `repository` in the list.
    #[expect(clippy::unnecessary_wraps, reason = "on Linux, it may fail")]
    pub(super) fn known(repository: &str) -> io::Result<Option<String>> {
        let list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(list.as_ref().and_then(|list| list.get(repository)).cloned())
    }

    /// Adds `commit` to the list unless it has a commit of `repository`, and returns the one that it has.
    #[expect(clippy::unnecessary_wraps, reason = "on Linux, it may fail")]
    pub(super) fn first(repository: &str, commit: &str) -> io::Result<String> {
        let mut list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        let list = list.get_or_insert_default();
        Ok(list.entry(repository.to_owned()).or_insert_with(|| commit.to_owned()).clone())
    }
}
