//! Looking for the shards of the files of a command.

use std::io;

use zten::OpenOptions;
use zten_shards::{open, wanted};

#[cfg(target_os = "linux")]
use super::neighbours::Neighbours;
#[cfg(target_os = "linux")]
use super::worker::{self, Listed};
use crate::companion::Companion;
use crate::file::Opened;
#[cfg(target_os = "linux")]
use crate::report::Problem;

/// The first bytes of a file of generation 2, the only one that has shards.
const MAGIC: [u8; 8] = [0x89, b'Z', b'T', b'2', b'\r', b'\n', 0x1a, b'\n'];

/// Whether a file may have shards, as its first bytes tell.
pub(crate) fn may_have(file: &Opened) -> io::Result<bool> {
    Ok(file.start(8)? == MAGIC)
}

/// Looks for the shards of a file, whose manifest is read here and now.
pub(crate) fn find_in_process(file: &mut Opened, options: &OpenOptions) -> io::Result<()> {
    // Those of a file that is read over the network are found when they are asked for.
    let Some(local) = file.file.local() else { return Ok(()) };
    if !may_have(file)? {
        return Ok(());
    }
    // What is wrong with it will be told when it is opened for good.
    let again = local.try_clone()?;
    let Ok(archive) = options.open_source(again, file.length) else { return Ok(()) };
    for wanted in wanted(archive.manifest()) {
        file.beside.extend(open(&file.path, &wanted)?.map(Companion::from));
    }
    Ok(())
}

/// Looks for the shards of all files, none of which is read here: where there is something that may
/// be a shard, another process, confined, lists them. The lengths of those that were found.
#[cfg(target_os = "linux")]
pub(crate) fn find(
    files: &mut [Result<Opened, Box<Problem>>],
    options: &OpenOptions,
) -> io::Result<Vec<u64>> {
    let mut lengths = Vec::new();
    let mut neighbours = Neighbours::default();
    let mut local = files.iter().flatten().filter(|file| file.file.is_local());
    if !local.any(|file| neighbours.may_be_shards(&file.path)) {
        return Ok(lengths);
    }
    let most = usize::try_from(options.limit().shards()).unwrap_or(usize::MAX);
    for Listed { ordinal, wanted } in worker::listed(files.len().saturating_mul(most))? {
        let Some(Ok(file)) = files.get_mut(ordinal) else { continue };
        if file.beside.len() >= most || !file.file.is_local() {
            continue;
        }
        match open(&file.path, &wanted) {
            Ok(Some(shard)) => {
                lengths.push(shard.length);
                file.beside.push(shard.into());
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
