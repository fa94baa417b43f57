//! Files, read at positions and never mapped. Needs the feature `std`.
//!
//! A map changes under its reader when the file does; reading at positions does not.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::vec::Vec;

use crate::codec::{ReadAt, ReadError};
use crate::error::Error;
use crate::front::Parsed;
use crate::limits::Options;
use crate::manifest::{Manifest, RefusedManifest};
use crate::open::Opening;
use crate::verify::{Summary, Verifier};

/// A file and its manifest, which has been read and validated. It derefs to the manifest. `S` is what the bytes
/// are read from, at positions: [`FileArchive`] reads a file of the file system.
#[derive(Debug)]
pub struct SourceArchive<S> {
    source: S,
    manifest: Manifest<Vec<u8>>,
}

/// An open file of the file system.
///
/// ```
/// use zten::source::FileArchive;
/// let path = "corpus/accept/1.2.3/dense_all.zt";
/// let archive = FileArchive::open(path.as_ref(), &zten::Options::default())?;
/// let component = archive.get("t_f32").unwrap().component("data").unwrap();
/// let bytes = component.read_to_vec(&archive, &zten::Limits::default())?;
/// # assert_eq!(bytes.len(), 24);
/// # Ok::<(), zten::ReadError<std::io::Error>>(())
/// ```
pub type FileArchive = SourceArchive<File>;

impl SourceArchive<File> {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// What keeps the file from being read; any rule of the catalogue that needs no data.
    pub fn open(path: &Path, options: &Options) -> Result<Self, OpenError> {
        Self::from_file(File::open(path).map_err(OpenError::Source)?, options)
    }

    /// Opens a file that is open for reading.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_file(file: File, options: &Options) -> Result<Self, OpenError> {
        let metadata = file.metadata().map_err(OpenError::Source)?;
        if !metadata.is_file() {
            // An error with a text of its own would need memory.
            return Err(OpenError::Source(io::ErrorKind::InvalidInput.into()));
        }
        Self::with_length(file, metadata.len(), options)
    }
}

impl<S: ReadAt<Error = io::Error>> SourceArchive<S> {
    /// Opens what is `length` bytes long: a regular file that is open for reading, or any other source. It is asked for
    /// nothing but its bytes, so that a process may have been confined since it opened the file.
    ///
    /// # Errors
    /// As [`open`](FileArchive::open).
    pub fn with_length(source: S, length: u64, options: &Options) -> Result<Self, OpenError> {
        let opening = Opening::new(length, options)?;
        let footer = opening.header(&fetch(&source, opening.needs())?)?;
        let body = footer.footer(&fetch(&source, footer.needs())?)?;
        let bytes = fetch(&source, body.needs())?;
        let manifest = body.manifest(bytes).map_err(OpenError::Manifest)?;
        Ok(Self { source, manifest })
    }

    /// Reads all of the file and validates what opening does not: sizes, compression, digests, bools,
    /// indices; in a file opened as canonical the padding, too. With the limits that it was opened
    /// with. Memory does not depend on the size of the file. [`Verifier`] does the same object by
    /// object.
    ///
    /// # Errors
    /// Any rule on content; what is unsupported, a digest that cannot be verified among it; what
    /// keeps the file from being read.
    pub fn verify(&self) -> Result<Summary, ReadError<io::Error>> {
        Verifier::new(self.file_len(), self.limits()).file(&self.manifest, self)
    }
}

impl<S> SourceArchive<S> {
    /// The archive of a file of another format, whose header has been parsed. Unstable.
    #[doc(hidden)]
    pub fn from_front(source: S, parsed: Parsed) -> Self {
        Self { source, manifest: Manifest::of_front_alone(parsed.into_parts()) }
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest<Vec<u8>> {
        &self.manifest
    }

    /// The manifest alone.
    pub fn into_manifest(self) -> Manifest<Vec<u8>> {
        self.manifest
    }

    /// The source of the bytes and the manifest.
    pub fn into_parts(self) -> (S, Manifest<Vec<u8>>) {
        (self.source, self.manifest)
    }

    /// What the bytes are read from.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The length of the file when it was opened.
    pub fn file_len(&self) -> u64 {
        self.manifest.parts().file_len()
    }
}

/// Why a file was not opened. By `?` it becomes a [`ReadError`], without the manifest.
#[derive(Debug)]
pub enum OpenError {
    /// It could not be read.
    Source(io::Error),
    /// It was refused before its manifest was looked at.
    Refused(Error),
    /// Its manifest was refused, which says what the place is called.
    Manifest(RefusedManifest<Vec<u8>>),
}

impl From<Error> for OpenError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<OpenError> for ReadError<io::Error> {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Source(error) => Self::Source(error),
            OpenError::Refused(error) => Self::Refused(error),
            OpenError::Manifest(refused) => Self::Refused(refused.error()),
        }
    }
}

impl core::fmt::Display for OpenError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Source(error) => write!(f, "the bytes of the file could not be read: {error}"),
            Self::Refused(error) => error.fmt(f),
            Self::Manifest(refused) => refused.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Source(error) => Some(error),
            Self::Refused(_) | Self::Manifest(_) => None,
        }
    }
}

impl<S> Deref for SourceArchive<S> {
    type Target = Manifest<Vec<u8>>;

    fn deref(&self) -> &Manifest<Vec<u8>> {
        &self.manifest
    }
}

impl<S: ReadAt<Error = io::Error>> ReadAt for SourceArchive<S> {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), io::Error> {
        self.source.read_at(offset, buffer)
    }
}

impl ReadAt for File {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), io::Error> {
        read_exact_at(self, offset, buffer)
    }
}

/// The bytes of a range that has been held against the file's length and the limits.
fn fetch<S: ReadAt<Error = io::Error>>(
    source: &S,
    range: core::ops::Range<u64>,
) -> Result<Vec<u8>, OpenError> {
    let mut bytes = Vec::new();
    source.append_range(range, &mut bytes).map_err(|error| match error {
        ReadError::Source(error) => OpenError::Source(error),
        ReadError::Refused(error) => OpenError::Refused(error),
    })?;
    Ok(bytes)
}

#[cfg(unix)]
fn read_exact_at(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                offset = offset.saturating_add(crate::num::u64_from_usize(read));
                buffer = buffer.get_mut(read..).ok_or(io::ErrorKind::Other)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(not(any(unix, windows)))]
fn read_exact_at(mut file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    use std::io::{Read as _, Seek as _};
    file.seek(io::SeekFrom::Start(offset))?;
    file.read_exact(buffer)
}
