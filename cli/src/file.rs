//! Opening a file by its path.

use std::fs;
use std::io;
use std::path::Path;

use zten::Options;
use zten::source::FileArchive;

use crate::report::Problem;

/// Opens a file and judges its manifest.
pub(crate) fn open(path: &Path, options: &Options) -> Result<FileArchive, Box<Problem>> {
    match fs::metadata(path) {
        // Opening a pipe would wait for its other end.
        Ok(metadata) if !metadata.is_file() => {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
            return Err(Box::new(Problem::io(path, &error)));
        }
        Ok(_) => {}
        Err(error) => return Err(Box::new(Problem::io(path, &error))),
    }
    FileArchive::open(path, options)
        .map_err(|error| Box::new(Problem::opening(path, options, &error)))
}

/// The version that a 1.x file names: `1.2.0`.
pub(crate) fn version(archive: &FileArchive) -> Option<String> {
    let version = archive.version()?;
    let last = version.patch.map_or_else(String::new, |patch| format!(".{patch}"));
    Some(format!("{}.{}{last}", version.major, version.minor))
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
