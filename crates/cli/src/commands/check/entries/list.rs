//! The list of files of `--files-from`: names that end with a newline or NUL.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The number of bytes that are read at a time. A name whose end is not found is rejected when more bytes than these have been read
/// of it, so no name of more than twice as many bytes is returned. Systems accept shorter paths only.
const LONGEST: usize = 64 << 10;

/// A list of file names (`--files-from`) that is being read.
pub(super) struct List {
    file: File,
    end: u8,
    buffer: Vec<u8>,
    /// The number of bytes at the start of `buffer` whose file names `next` has already returned or skipped.
    taken: usize,
    is_over: bool,
}

/// The path of a file that is named in the list.
pub(super) struct Named(pub(super) PathBuf);

impl List {
    /// Opens the list at `path`, or standard input for `-`. The byte `end` ends each name.
    pub(super) fn open(path: &Path, end: u8) -> io::Result<Self> {
        let file = if path.as_os_str() == "-" { standard_input()? } else { File::open(path)? };
        Ok(Self { file, end, buffer: Vec::new(), taken: 0, is_over: false })
    }

    /// Returns the next name that is not empty, or `None` at the end of the list. If names end with a newline, a CR before it is
    /// removed.
    ///
    /// # Errors
    /// The list cannot be read, a name is too long, or, on systems other than Unix, a name is not UTF-8.
    pub(super) fn next(&mut self) -> io::Result<Option<Named>> {
        loop {
            let mut name = match self.name_length() {
                Some(length) => {
                    let name = self.buffer.get(self.taken..self.taken + length);
                    let name = name.unwrap_or_default().to_vec();
                    self.taken += length + 1;
                    name
                }
                // The last name may lack the byte that ends names.
                None if self.is_over => {
                    let name = self.buffer.split_off(self.taken.min(self.buffer.len()));
                    self.taken = self.buffer.len();
                    if name.is_empty() {
                        return Ok(None);
                    }
                    name
                }
                None => {
                    self.read()?;
                    continue;
                }
            };
            // Lists that were written on Windows end lines with CR LF. `--null` reads names that end in CR themselves.
            if self.end == b'\n' && name.last() == Some(&b'\r') {
                name.pop();
            }
            if !name.is_empty() {
                return path(name).map(|path| Some(Named(path)));
            }
        }
    }

    /// Returns the length in bytes of the next name, if the whole name is in the buffer.
    fn name_length(&self) -> Option<usize> {
        self.buffer.get(self.taken..)?.iter().position(|byte| *byte == self.end)
    }

    fn read(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.taken.min(self.buffer.len()));
        self.taken = 0;
        let rest = self.buffer.len();
        if rest > LONGEST {
            return Err(io::Error::other(format!(
                "a name in the list of files exceeds the maximum of {LONGEST} bytes"
            )));
        }
        self.buffer.resize(rest + LONGEST, 0);
        let read = loop {
            match self.file.read(self.buffer.get_mut(rest..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer.truncate(rest + *read.as_ref().unwrap_or(&0));
        self.is_over = read? == 0;
        Ok(())
    }
}

#[cfg(target_os = "linux")]
impl List {
    /// Returns whether the next name, or the end of the list, can be read without waiting.
    pub(super) fn is_ready(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};

        if self.is_over || self.name_length().is_some() {
            return true;
        }
        let mut asked = [PollFd::new(&self.file, PollFlags::IN)];
        // If the descriptor cannot be polled, reading from it will report the error.
        poll(&mut asked, Some(&Timespec::default())) != Ok(0)
    }

    /// Returns the descriptor of the list, which can be polled for more names.
    pub(super) fn descriptor(&self) -> std::os::fd::BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.file)
    }
}

#[cfg(unix)]
fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd as _;
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle as _;
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "any bytes are a name here, and not everywhere")]
fn path(name: Vec<u8>) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    Ok(std::ffi::OsString::from_vec(name).into())
}

#[cfg(not(unix))]
fn path(name: Vec<u8>) -> io::Result<PathBuf> {
    String::from_utf8(name).map(PathBuf::from).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(bytes: &[u8], end: u8) -> Vec<PathBuf> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        fs::write(&path, bytes).unwrap();
        let mut list = List::open(&path, end).unwrap();
        std::iter::from_fn(|| list.next().unwrap()).map(|Named(path)| path).collect()
    }

    #[test]
    fn names_end_as_they_are_said_to() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(names(b"a b\n\nc", b'\n'), paths(&["a b", "c"]));
        assert_eq!(names(b"a\nb\0c\0", 0), paths(&["a\nb", "c"]));
        assert_eq!(names(b"", 0), paths(&[]));
        assert_eq!(names(b"\n\n", b'\n'), paths(&[]));
        // Windows ends lines with CR LF, so a CR before the end of a line does not belong to the name. With `--null`, it
        // does.
        assert_eq!(names(b"a\r\n\r\nb\rc\r\nd\r", b'\n'), paths(&["a", "b\rc", "d"]));
        assert_eq!(names(b"a\r\0b", 0), paths(&["a\r", "b"]));
        // The list is longer than one read, so names are put together from several reads.
        let long = ["x".repeat(LONGEST - 1), "y".repeat(LONGEST - 1), "z".to_owned()];
        assert_eq!(names(long.join("\n").as_bytes(), b'\n'), long.map(PathBuf::from));
    }

    #[test]
    fn a_name_without_end_is_not_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        fs::write(&path, vec![b'x'; 8 * LONGEST]).unwrap();
        let mut list = List::open(&path, b'\n').unwrap();
        assert!(list.next().is_err() && list.buffer.len() <= 3 * LONGEST);
    }
}
