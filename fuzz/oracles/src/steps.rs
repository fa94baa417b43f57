//! Whatever the source of the bytes of a file, and whatever pieces they come in: it is the same file, or the same
//! error.

use std::path::Path;

use zten::open::Opening;
use zten::source::FileArchive;
use zten::{Archive, Error, Manifest, Options, ReadAt, ReadError};

use crate::facts::{Held, held, said};
use crate::pieces::{GaveUp, Pieces};
use crate::{options, tolerant};

/// What a file says and holds: its manifest, what is read of it, and the content.
type Read = (Vec<u8>, String, Vec<Held>);

fn read<R: ReadAt + ?Sized>(manifest: &Manifest<impl AsRef<[u8]>>, source: &R) -> Read {
    (manifest.as_bytes().to_vec(), said(manifest), held(manifest, source))
}

/// Opens a file whole, step by step and in pieces of those sizes, by several options: all agree,
/// in what they accept, in every part of an error, and in what they read. Whether it opens by
/// default.
///
/// # Panics
/// Where a promise does not hold.
pub fn steps(bytes: &[u8], splits: &[u8]) -> bool {
    let opens = Archive::open_with(bytes, &options()).is_ok();
    for options in every_options(opens) {
        let whole = whole(bytes, &options);
        let pieces = Pieces::new(bytes, splits);
        let other = in_steps(&pieces, bytes.len(), &options);
        match (&whole, other) {
            (Ok(whole), Ok(other)) => assert!(*whole == other, "another file in steps"),
            (Err(whole), Err(ReadError::Refused(other))) => assert_eq!(*whole, other),
            (whole, other) => panic!("whole {:?}, in steps {:?}", whole.is_ok(), other.is_ok()),
        }
        given_up(bytes, splits, pieces.reads(), &options);
    }
    opens
}

/// Opens the file at `path`, which holds `bytes`: it is what [`steps`] finds.
///
/// # Panics
/// Where a promise does not hold, or the file cannot be read.
pub fn steps_on_disk(bytes: &[u8], path: &Path) {
    let opens = Archive::open_with(bytes, &options()).is_ok();
    for options in every_options(opens) {
        let disk = FileArchive::open(path, &options).map_err(ReadError::from);
        match (whole(bytes, &options), disk) {
            (Ok(whole), Ok(archive)) => {
                assert!(whole == read(&archive, &archive), "another file on disk");
            }
            (Err(whole), Err(ReadError::Refused(error))) => assert_eq!(whole, error),
            (whole, disk) => panic!("whole {:?}, from disk {disk:?}", whole.is_ok()),
        }
    }
}

/// The default options, and those that may have another outcome.
fn every_options(opens: bool) -> [Options; 2] {
    [options(), if opens { options().canonical() } else { tolerant(options()) }]
}

fn whole(bytes: &[u8], options: &Options) -> Result<Read, Error> {
    let archive = Archive::open_with(bytes, options)?;
    Ok(read(&archive, bytes))
}

/// Opens a file by asking for what is needed.
fn in_steps(
    source: &Pieces<'_>,
    length: usize,
    options: &Options,
) -> Result<Read, ReadError<GaveUp>> {
    let manifest = opened(source, length, options)?;
    Ok(read(&manifest, source))
}

fn opened(
    source: &Pieces<'_>,
    length: usize,
    options: &Options,
) -> Result<Manifest<Vec<u8>>, ReadError<GaveUp>> {
    let fetch = |range: core::ops::Range<u64>| {
        assert!(range.start <= range.end && range.end <= length as u64, "beyond the file");
        let mut bytes = vec![0; usize::try_from(range.end - range.start).expect("a length")];
        source.read_at(range.start, &mut bytes).map_err(ReadError::Source)?;
        Ok::<_, ReadError<GaveUp>>(bytes)
    };
    let opening = Opening::new(length as u64, options)?;
    assert!(opening.header(&[]).is_err(), "nothing is no header");
    let footer = opening.header(&fetch(opening.needs())?)?;
    let body = footer.footer(&fetch(footer.needs())?)?;
    let bytes = fetch(body.needs())?;
    Ok(body.manifest(bytes).map_err(Error::from)?)
}

/// A source that gives up spoils what needs it, and no more: what is read all the same is right.
fn given_up(bytes: &[u8], splits: &[u8], reads: usize, options: &Options) {
    let valid = splits.iter().fold(0, |sum, split| sum + usize::from(*split)) % reads.max(1);
    let source = Pieces::failing(bytes, splits, valid);
    let Ok(manifest) = opened(&source, bytes.len(), options) else { return };
    let right = held(&manifest, bytes);
    for (found, right) in held(&manifest, &source).iter().zip(right) {
        assert!(found.is_none() || *found == right, "a failed read became {found:?}");
    }
}
