//! Files that are opened, copied and written in memory.

use std::ops::Range;

use zten::open::{Body, Opening};
use zten::shards::{Candidate, Find, Shard};
use zten::write::{Copier, CopyError, Settings, Writer};
use zten::{Archive, Error, ErrorKind, Limits, Options, ReadAt, error::Misuse};

/// Returns the misuse that an error is.
pub fn misuse(error: impl Into<Error>) -> Misuse {
    match error.into().kind() {
        ErrorKind::Misuse(misuse) => misuse,
        other => panic!("{other:?}"),
    }
}

/// The bytes of a file in that range.
pub fn slice(file: &[u8], range: Range<u64>) -> &[u8] {
    let [start, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap());
    &file[start..end]
}

/// Opens a file step by step: the state that takes the manifest, and the bytes that it takes.
///
/// # Errors
/// Any error in the header or the footer.
pub fn body<'f>(file: &'f [u8], options: &Options) -> Result<(Body, &'f [u8]), Error> {
    let opening = Opening::new(file.len() as u64, options)?;
    let footer = opening.header(slice(file, opening.needs()))?;
    let body = footer.footer(slice(file, footer.needs()))?;
    let manifest = slice(file, body.needs());
    Ok((body, manifest))
}

/// Copies a file, as it is compressed.
///
/// # Errors
/// Any reason not to read or write it.
pub fn copy(file: &[u8], settings: &Settings) -> Result<Vec<u8>, CopyError<Error, Error>> {
    let archive = Archive::open(file).unwrap();
    let copier = Copier::new(file.len() as u64, &Limits::default());
    copier.file(archive.manifest(), file, Vec::new(), settings)
}

/// Copies a file into the canonical form of 1.2.
///
/// # Errors
/// Any reason not to read or write it.
pub fn canonical(file: &[u8]) -> Result<Vec<u8>, CopyError<Error, Error>> {
    copy(file, &Settings::default().canonical())
}

/// Writes a file of what is added to it.
///
/// # Errors
/// Any error in an object that is added, or in all of them together.
pub fn write(
    settings: &Settings,
    add: impl FnOnce(&mut Writer<Vec<u8>>) -> Result<(), Error>,
) -> Result<Vec<u8>, Error> {
    let mut writer = Writer::new(Vec::new(), settings)?;
    add(&mut writer)?;
    Ok(writer.finish()?)
}

/// Finds shards by a function of their names, which gives a source and its length.
pub struct Shards<F>(pub F);

impl<S: ReadAt, F: Fn(&str) -> Option<(S, usize)>> Find for Shards<F> {
    type Source = S;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<S>>, S::Error> {
        let found = (self.0)(shard.name());
        Ok(found.map(|(source, length)| Candidate { source, length: length as u64 }))
    }
}
