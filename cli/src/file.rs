//! Files: opened first, and looked at later.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use zten::Options;
use zten::source::FileArchive;

use crate::report::Problem;

/// A regular file that is open, and of which nothing has been read. Nothing but reading it needs
/// the system from here on.
pub(crate) struct Opened {
    path: PathBuf,
    pub(crate) file: File,
    pub(crate) length: u64,
}

impl Opened {
    /// Opens the file at `path`.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        // Opening a pipe would wait for its other end.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, length })
    }

    /// Its first bytes, so many or as many as there are. Every later read seeks first.
    pub(crate) fn start(&self, most: u64) -> io::Result<Vec<u8>> {
        let mut start = Vec::new();
        (&self.file).take(most).read_to_end(&mut start)?;
        Ok(start)
    }

    /// Validates its manifest.
    pub(crate) fn archive(self, options: &Options) -> Result<FileArchive, Box<Problem>> {
        FileArchive::with_length(self.file, self.length, options)
            .map_err(|error| Box::new(Problem::opening(&self.path, &error)))
    }
}

/// Stored bytes of all components.
pub(crate) fn stored(archive: &FileArchive) -> u64 {
    let components = archive.objects().flat_map(|object| object.components());
    components.fold(0, |sum: u64, component| sum.saturating_add(component.extent().length()))
}

/// A number and what it counts, in the singular or plural.
pub(crate) fn counted(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
