//! Looking for the shards of a file: beside it by their names, `STEM-NAME.zt`, or below `blobs` by
//! their digests, `ALGORITHM/DIGITS`. Nothing is opened by a link, or outside the file's folder.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use zten::source::FileArchive;
use zten::{Manifest, Options};

use super::beneath::{self, parent};
#[cfg(target_os = "linux")]
use super::neighbours::Neighbours;
use super::wanted::{BLOBS, Wanted};
#[cfg(target_os = "linux")]
use super::worker::{self, Listed};
use crate::file::{Opened, ShardFile};
#[cfg(target_os = "linux")]
use crate::report::Problem;

/// The first bytes of a file of generation 2, the only one that has shards.
const MAGIC: [u8; 8] = [0x89, b'Z', b'T', b'2', b'\r', b'\n', 0x1a, b'\n'];

/// Whether a file may have shards, as its first bytes tell.
pub(crate) fn may_have(file: &Opened) -> io::Result<bool> {
    Ok(file.start(8)? == MAGIC)
}

/// The shards of a file; none if they are more than the limit allows.
pub(crate) fn wanted(manifest: &Manifest<Vec<u8>>, options: &Options) -> Vec<Wanted> {
    let shards = manifest.shards();
    let most = usize::try_from(options.limit().shards()).unwrap_or(usize::MAX);
    if shards.len() > most {
        return Vec::new();
    }
    shards.filter_map(|shard| Wanted::from_shard(&shard)).collect()
}

/// Looks for the shards of a file, whose manifest is read here and now.
pub(crate) fn find_in_process(file: &mut Opened, options: &Options) -> io::Result<()> {
    if !may_have(file)? {
        return Ok(());
    }
    // What is wrong with it will be told when it is opened for good.
    let again = file.file.try_clone()?;
    let archive = FileArchive::with_length(again, file.length, options);
    let Ok(archive) = archive else { return Ok(()) };
    for wanted in wanted(&archive, options) {
        file.shards.extend(open(&file.path, &wanted)?);
    }
    Ok(())
}

/// Looks for the shards of all files, none of which is read here: where there is something that may
/// be a shard, another process, confined, lists them. The lengths of those that were found.
#[cfg(target_os = "linux")]
pub(crate) fn find(
    files: &mut [Result<Opened, Box<Problem>>],
    options: &Options,
) -> io::Result<Vec<u64>> {
    let mut lengths = Vec::new();
    let mut neighbours = Neighbours::default();
    if !files.iter().flatten().any(|file| neighbours.may_be_shards(&file.path)) {
        return Ok(lengths);
    }
    let most = usize::try_from(options.limit().shards()).unwrap_or(usize::MAX);
    for Listed { ordinal, wanted } in worker::listed(files.len().saturating_mul(most))? {
        let Some(Ok(file)) = files.get_mut(ordinal) else { continue };
        if file.shards.len() >= most {
            continue;
        }
        match open(&file.path, &wanted) {
            Ok(Some(shard)) => {
                lengths.push(shard.length);
                file.shards.push(shard);
            }
            Ok(None) => {}
            // Without descriptors nothing goes on; what else is wrong is wrong with one file.
            Err(error) if error.raw_os_error() == Some(TOO_MANY) => return Err(error),
            Err(error) => {
                let problem = Problem::io(&file.path, &error);
                if let Some(file) = files.get_mut(ordinal) {
                    *file = Err(Box::new(problem));
                }
            }
        }
    }
    Ok(lengths)
}

/// `EMFILE`.
#[cfg(target_os = "linux")]
const TOO_MANY: i32 = 24;

/// Opens a shard of the file at the path; none where there is no regular file that can be it.
fn open(root: &Path, wanted: &Wanted) -> io::Result<Option<ShardFile>> {
    let folder = parent(root);
    let mut beside = root.file_stem().unwrap_or_default().to_owned();
    beside.push(format!("-{}.zt", wanted.name));
    let steps = |names: &[&str]| names.iter().map(OsString::from).collect::<Vec<_>>();
    for steps in [vec![beside], steps(&[BLOBS, &wanted.algorithm, &wanted.digits])] {
        let Some(file) = beneath::open(folder, &steps)? else { continue };
        let metadata = file.metadata()?;
        if metadata.is_file() {
            let (name, length) = (wanted.name.clone(), metadata.len());
            return Ok(Some(ShardFile { name, file, length }));
        }
    }
    Ok(None)
}
