//! Indices of safetensors files, and the files that they name.

use std::io;

use zten::Limits;
use zten::num::u64_from_usize;
use zten_formats::Trouble;
use zten_shards::Want;

use crate::companion::Companion;
use crate::file::Opened;

/// Bytes of an index that are read, one more than it may have.
const LONGEST: u64 = 100_000_001;

/// The names of the files that an index lists.
pub(crate) fn listed(opened: &Opened, limits: &Limits) -> io::Result<Result<Vec<String>, Trouble>> {
    // A confined process cannot open a file again, nor take a second descriptor of it.
    let bytes = opened.start(opened.length.min(LONGEST))?;
    Ok(zten_formats::listed(&bytes, limits))
}

/// Finds the files that an index lists which is read over the network: those beside others have been opened.
pub(crate) fn find_listed(opened: &mut Opened, limits: &Limits) -> io::Result<()> {
    if opened.file.is_local() || zten_formats::opened_beside(&opened.path).is_none() {
        return Ok(());
    }
    let Ok(names) = listed(opened, limits)? else { return Ok(()) };
    let most = limits.shards();
    if u64_from_usize(names.len()) > most.into() {
        let sentence = format!("it names more than {most} files; --limit shards=N allows more");
        return Err(io::Error::other(sentence));
    }
    for name in names.iter().filter_map(|name| zten_shards::Beside::new(name)) {
        let found = Companion::find(&opened.file, &Want::Beside(name))?;
        opened.beside.extend(found);
    }
    Ok(())
}
