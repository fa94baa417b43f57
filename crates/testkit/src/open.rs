//! Files that are opened, copied and written in memory.

use std::ops::Range;

use zten::open::{Body, Opening};
use zten::shards::{Candidate, Find, Shard};
use zten::write::{Copier, WriteOptions, Writer};
use zten::{Archive, Error, ErrorKind, OpenOptions, ReadAt, error::Misuse};

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
pub fn body<'f>(file: &'f [u8], options: &OpenOptions) -> Result<(Body, &'f [u8]), Error> {
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
pub fn copy(file: &[u8], options: &WriteOptions) -> Result<Vec<u8>, Error> {
    let archive = Archive::from_bytes(file).unwrap();
    let copier = Copier::new(archive.manifest());
    copier.file(archive.manifest(), archive.source(), Vec::new(), options)
}

/// Copies a file into the canonical form of 1.2.
///
/// # Errors
/// Any reason not to read or write it.
pub fn canonical(file: &[u8]) -> Result<Vec<u8>, Error> {
    copy(file, &WriteOptions::default().canonical())
}

/// Writes a file of what is added to it.
///
/// # Errors
/// Any error in an object that is added, or in all of them together.
pub fn write(
    options: &WriteOptions,
    add: impl FnOnce(&mut Writer<Vec<u8>>) -> Result<(), Error>,
) -> Result<Vec<u8>, Error> {
    let mut writer = Writer::new(Vec::new(), options)?;
    add(&mut writer)?;
    writer.finish()
}

/// A file that lends nothing, so that all that is read of it is copied.
pub struct Far<B>(pub B);

impl<B: AsRef<[u8]> + Sync> ReadAt for Far<B> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.0.as_ref().read_at(offset, buffer)
    }
}

/// Returns a source that is a function of the offset and the buffer to be filled.
pub fn reads(read: impl Fn(u64, &mut [u8]) -> Result<(), Error> + Sync) -> impl ReadAt {
    struct Reads<F>(F);

    impl<F: Fn(u64, &mut [u8]) -> Result<(), Error> + Sync> ReadAt for Reads<F> {
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
            (self.0)(offset, buffer)
        }
    }

    Reads(read)
}

/// Finds shards by a function of their names, which gives a source and its length.
pub struct Shards<F>(pub F);

impl<S: ReadAt, F: Fn(&str) -> Option<(S, usize)>> Find for Shards<F> {
    type Source = S;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<S>>, Error> {
        let found = (self.0)(shard.name());
        Ok(found.map(|(source, length)| Candidate { source, length: length as u64 }))
    }
}
