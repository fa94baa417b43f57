//! Opens, copies and writes files in memory.

use std::ops::Range;

use zten::open::{Body, Opening};
use zten::shards::{Candidate, Find, Shard};
use zten::write::{Copier, WriteOptions, Writer};
use zten::{Archive, Error, ErrorKind, OpenOptions, ReadAt, error::Misuse};

/// Returns the misuse that `error` reports.
pub fn misuse(error: impl Into<Error>) -> Misuse {
    match error.into().kind() {
        ErrorKind::Misuse(misuse) => misuse,
        other => panic!("{other:?}"),
    }
}

/// Returns the bytes of `file` in `range`.
pub fn slice(file: &[u8], range: Range<u64>) -> &[u8] {
    let [start, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap());
    &file[start..end]
}

/// Opens `file` step by step up to its manifest, and returns the state that needs the manifest, and the bytes of the manifest.
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

/// Copies `file` without changing its compression.
///
/// # Errors
/// The file cannot be read or written.
pub fn copy(file: &[u8], options: &WriteOptions) -> Result<Vec<u8>, Error> {
    let archive = Archive::from_bytes(file).unwrap();
    let copier = Copier::new(archive.manifest());
    copier.file(archive.manifest(), archive.source(), Vec::new(), options)
}

/// Copies `file` into the canonical form of 1.2.
///
/// # Errors
/// The file cannot be read or written.
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

/// A file in memory that does not lend its bytes, so that each read copies them.
pub struct Far<B>(pub B);

impl<B: AsRef<[u8]> + Sync> ReadAt for Far<B> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.0.as_ref().read_at(offset, buffer)
    }
}

/// Returns a source that calls `read` with the offset and the buffer of each read.
pub fn reads(read: impl Fn(u64, &mut [u8]) -> Result<(), Error> + Sync) -> impl ReadAt {
    struct Reads<F>(F);

    impl<F: Fn(u64, &mut [u8]) -> Result<(), Error> + Sync> ReadAt for Reads<F> {
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
            (self.0)(offset, buffer)
        }
    }

    Reads(read)
}

/// A finder of shards that calls a function with the name of a shard, which returns a source and its length.
pub struct Shards<F>(pub F);

impl<S: ReadAt, F: Fn(&str) -> Option<(S, usize)>> Find for Shards<F> {
    type Source = S;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<S>>, Error> {
        let found = (self.0)(shard.name());
        Ok(found.map(|(source, length)| Candidate { source, length: length as u64 }))
    }
}
