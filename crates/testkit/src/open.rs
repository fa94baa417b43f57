//! Helpers that open, copy and write zTensor files in memory, and sources of bytes with chosen behavior.

use std::ops::Range;

use zten::open::{FileName, Opening, Step};
use zten::shards::{Candidate, Find, Shard};
use zten::write::{Copier, WriteOptions, Writer};
use zten::{Archive, Error, ErrorKind, InMemory, OpenOptions, ReadAt, error::Misuse};

/// Returns the misuse that `error` reports.
///
/// # Panics
/// Panics if the error is not a misuse.
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

/// Opens `file` from memory, under the name `x.zt`.
///
/// # Errors
/// Any error in the file, except in its data.
pub fn open_ztensor<B>(file: B, options: &OpenOptions) -> Result<Archive<InMemory<B>>, Error>
where
    B: AsRef<[u8]>,
    InMemory<B>: ReadAt,
{
    let length = file.as_ref().len() as u64;
    options.open_named(InMemory(file), length, "x.zt")
}

/// An archive whose data cannot be read, because it has no source.
pub type DetachedArchive = Archive<InMemory<[u8; 0]>>;

/// Opens the file `name` with [`Opening`], and reads each range that it requests from `source`. Every sibling file is reported as
/// missing.
///
/// # Errors
/// Any error in the file, except in its data; any error of `source`.
///
/// # Panics
/// Panics if a range is requested that is empty or beyond the file.
pub fn open_in_steps<'n>(
    name: impl Into<FileName<'n>>,
    (source, length): (&dyn ReadAt, usize),
    options: &OpenOptions,
) -> Result<DetachedArchive, Error> {
    let mut opening = Opening::new(name, length as u64, options);
    loop {
        match opening.step()? {
            Step::Read(wanted) => {
                for wanted in wanted {
                    let Range { start, end } = wanted.range;
                    assert!(start < end && end <= length as u64, "beyond the file");
                    let mut bytes = vec![0; usize::try_from(end - start).unwrap()];
                    source.read_at(start, &mut bytes)?;
                    opening.supply(&wanted, bytes)?;
                }
            }
            Step::Open(names) => names.into_iter().for_each(|name| opening.opened(name, None)),
            Step::Done(archive) => return Ok(*archive),
        }
    }
}

/// Copies the zTensor file `file` without changing its compression, and returns the bytes of the copy.
///
/// # Errors
/// The content of the file cannot be read, or the copy cannot be written with `options`.
///
/// # Panics
/// Panics if the file does not open.
pub fn copy(file: &[u8], options: &WriteOptions) -> Result<Vec<u8>, Error> {
    let archive = open_ztensor(file, &OpenOptions::default()).unwrap();
    let copier = Copier::new(archive.manifest());
    copier.file(archive.manifest(), archive.source(), Vec::new(), options)
}

/// Copies the zTensor file `file` into the canonical form of 1.2, and returns the bytes of the copy.
///
/// # Errors
/// The content of the file cannot be read, or has no canonical form.
///
/// # Panics
/// Panics if the file does not open.
pub fn canonical(file: &[u8]) -> Result<Vec<u8>, Error> {
    copy(file, &WriteOptions::default().canonical())
}

/// Writes a zTensor file, and returns its bytes. `add` adds the objects to the writer.
///
/// # Errors
/// The errors of `add`, and of finishing the file.
pub fn write(
    options: &WriteOptions,
    add: impl FnOnce(&mut Writer<Vec<u8>>) -> Result<(), Error>,
) -> Result<Vec<u8>, Error> {
    let mut writer = Writer::new(Vec::new(), options)?;
    add(&mut writer)?;
    writer.finish()
}

/// A source of bytes in memory that does not lend them, so that each read copies them, as from a disk.
pub struct Far<B>(pub B);

impl<B: AsRef<[u8]> + Sync> ReadAt for Far<B> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.0.as_ref().read_at(offset, buffer)
    }
}

/// Returns a source of bytes that calls `read` with the offset and the buffer of each read.
pub fn reads(read: impl Fn(u64, &mut [u8]) -> Result<(), Error> + Sync) -> impl ReadAt {
    struct Reads<F>(F);

    impl<F: Fn(u64, &mut [u8]) -> Result<(), Error> + Sync> ReadAt for Reads<F> {
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
            (self.0)(offset, buffer)
        }
    }

    Reads(read)
}

/// A finder of shards that calls a function with the name of each shard. The function returns a source of the shard's
/// bytes and their number, or `None` if there is no such shard.
pub struct Shards<F>(pub F);

impl<S: ReadAt, F: Fn(&str) -> Option<(S, usize)>> Find for Shards<F> {
    type Source = S;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<S>>, Error> {
        let found = (self.0)(shard.name());
        Ok(found.map(|(source, length)| Candidate { source, length: length as u64 }))
    }
}
