//! The oracle for sources: whatever the source of the bytes is, and in whatever pieces they come, the result is the same
//! file or the same error.

use std::fs::File;
use std::path::Path;

use zten::formats::is_ztensor;
use zten::{Archive, Error, Manifest, OpenOptions, ReadAt};

use super::facts::{ComponentContent, held, said};
use super::pieces::Pieces;
use super::{options, tolerant};
use crate::{DetachedArchive, open_in_steps};

/// The result of reading a file: the bytes of its manifest, what the manifest says, and the content.
type Read = (Vec<u8>, String, Vec<ComponentContent>);

/// Reads everything of an archive, whose tensors are connected to its source.
fn read<S: ReadAt>(archive: &Archive<S>) -> Read {
    let manifest = archive.manifest();
    (manifest.as_bytes().to_vec(), said(manifest), held(archive.tensors()))
}

/// Reads all tensors that `manifest` describes. The manifest has no archive around it, so each tensor is connected to `source`
/// before it is read.
fn read_bound<R: ReadAt>(manifest: &Manifest<impl AsRef<[u8]>>, source: &R) -> Read {
    let tensors = manifest.tensors().map(|tensor| tensor.read_from(source));
    (manifest.as_bytes().to_vec(), said(manifest), held(tensors))
}

/// Opens a file from memory, step by step without I/O, and from a source that returns bytes in pieces of the sizes
/// `splits`, as an archive and as a bare manifest, with several options. All ways must accept the same files, report
/// the same errors in every detail, and read the same content. Returns whether the file opens with the default
/// options.
///
/// # Panics
/// Panics if a promise does not hold.
pub fn steps(bytes: &[u8], splits: &[u8]) -> bool {
    if !is_ztensor(bytes) {
        return false;
    }
    let opens = options().from_bytes(bytes).is_ok();
    for options in every_options(opens) {
        let whole = read_at_once(bytes, &options);
        let pieces = Pieces::new(bytes, splits);
        agree(&whole, &in_steps(&pieces, bytes.len(), &options), "in steps");
        let bound = opened(&bytes, bytes.len(), &options);
        let bound = bound.map(|header| read_bound(header.manifest(), &bytes));
        agree(&whole, &bound, "bound to its bytes");
        let length = bytes.len() as u64;
        let archive = options.open_source(Pieces::new(bytes, splits), length);
        agree(&whole, &archive.map(|archive| read(&archive)), "as an archive in pieces");
        given_up(bytes, splits, pieces.reads(), &options);
    }
    opens
}

/// Opens the file at `path`, whose content is `bytes`, and checks that the result is the same as from memory.
///
/// # Panics
/// Panics if a promise does not hold, or the file cannot be read.
pub fn steps_on_disk(bytes: &[u8], path: &Path) {
    if !is_ztensor(bytes) {
        return;
    }
    let opens = options().from_bytes(bytes).is_ok();
    for options in every_options(opens) {
        let whole = read_at_once(bytes, &options);
        let file = File::open(path).expect("a file that is there");
        let disk = options.open_source(file, bytes.len() as u64);
        let has_shards = disk.as_ref().is_ok_and(|disk| disk.manifest().shards().len() > 0);
        agree(&whole, &disk.map(|archive| read(&archive)), "on disk");
        // Opening by a path also looks for shards in the same folder.
        if !has_shards {
            agree(&whole, &options.open(path).map(|archive| read(&archive)), "by its path");
        }
    }
}

/// Panics unless two ways of opening gave the same file, or the same error including its names. `how` describes the second
/// way.
fn agree(whole: &Result<Read, Error>, other: &Result<Read, Error>, how: &str) {
    match (whole, other) {
        (Ok(whole), Ok(other)) => assert!(whole == other, "another file {how}"),
        (Err(whole), Err(other)) => {
            assert_eq!(whole, other, "{how}");
            assert_eq!(whole.to_string(), other.to_string(), "{how}");
        }
        (whole, other) => {
            panic!("whole {:?}, {how} {:?}", whole.as_ref().err(), other.as_ref().err())
        }
    }
}

/// Returns the default options, and other options that may have another result: canonical for a file that `opens`,
/// and all tolerances for a file that does not.
fn every_options(opens: bool) -> [OpenOptions; 2] {
    [options(), if opens { options().canonical() } else { tolerant(options()) }]
}

fn read_at_once(bytes: &[u8], options: &OpenOptions) -> Result<Read, Error> {
    Ok(read(&options.from_bytes(bytes)?))
}

fn in_steps(source: &Pieces<'_>, length: usize, options: &OpenOptions) -> Result<Read, Error> {
    let header = opened(source, length, options)?;
    Ok(read_bound(header.manifest(), source))
}

/// Opens a zTensor file of `length` bytes without I/O, by supplying the ranges that are requested from `source`.
pub(crate) fn opened<R: ReadAt>(
    source: &R,
    length: usize,
    options: &OpenOptions,
) -> Result<DetachedArchive, Error> {
    open_in_steps("x.zt", (source, length), options)
}

/// Opens and reads a file from a source that fails from some read on, which `splits` selects among the first `reads`.
/// Checks that each result that does not report the failure of the source is the right one.
fn given_up(bytes: &[u8], splits: &[u8], reads: usize, options: &OpenOptions) {
    let valid = splits.iter().fold(0, |sum, split| sum + usize::from(*split)) % reads.max(1);
    let source = Pieces::failing(bytes, splits, valid);
    let Ok(header) = opened(&source, bytes.len(), options) else { return };
    let (_, _, right) = read_bound(header.manifest(), &bytes);
    let (_, _, found) = read_bound(header.manifest(), &source);
    for (found, right) in found.iter().zip(right) {
        assert!(
            found.is_none() || *found == right,
            "the failed read gave another result: {found:?}"
        );
    }
}
