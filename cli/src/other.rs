//! Files of formats that have no archives.

use std::io;
use std::path::Path;
use std::sync::Arc;

use zten::num::u64_from_usize;
use zten::write::{Checksum, Encoded, Settings, Writer};
use zten::{Archive, Error, Limits, Options};
use zten_formats::{Input, Source, Trouble};
use zten_shards::Want;

use crate::companion::Companion;
use crate::file::Opened;
use crate::handle::Handle;

/// Bytes of an index that are read, one more than it may have.
const LONGEST: u64 = 100_000_001;

/// The names of the files that an index lists.
pub(crate) fn listed(opened: &Opened, limits: &Limits) -> io::Result<Result<Vec<String>, Trouble>> {
    // A confined process cannot open a file again, nor take a second descriptor of it.
    let bytes = opened.start(opened.length.min(LONGEST))?;
    Ok(zten_formats::listed(&bytes, limits))
}

/// Opens a file of a format that has no archives, and validates everything but its data.
pub(crate) fn open(opened: Opened, path: &Path, limits: &Limits) -> Result<Input, Trouble> {
    let Opened { file, length, .. } = opened;
    zten_formats::open_input(source(file, length), path, limits)
}

fn source(file: Handle, length: u64) -> Source {
    match file {
        Handle::Local(file) => Source::new(file, length),
        remote @ Handle::Remote(_) => Source::over(Arc::new(remote), length),
    }
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

/// A file that has attributes and nothing else.
pub(crate) fn alone(attributes: Vec<u8>, options: &Options) -> Result<Archive<Vec<u8>>, Error> {
    let settings = Settings::default().checksum(Checksum::None).limits(*options.limit());
    let mut writer = Writer::new(Vec::new(), &settings)?;
    if !attributes.is_empty() {
        writer.attributes(&Encoded::from_cbor(attributes))?;
    }
    Archive::open_with(writer.finish()?, options)
}

/// What a file says of itself, to be shown; none where it says nothing, or more than a zTensor file may.
pub(crate) fn attributes(input: &mut Input) -> Option<Archive<Vec<u8>>> {
    let cbor = input.take_attributes();
    if cbor.is_empty() { None } else { alone(cbor, &Options::default()).ok() }
}
