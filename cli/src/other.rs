//! Files of other formats.

use std::io;
use std::path::Path;
use std::sync::Arc;

use zten::write::{Checksum, Encoded, Settings, Writer};
use zten::{Archive, Error, Limits, Options};
use zten_foreign::{Beside, Detected, Input, START, Source, Trouble, by_start};
use zten_shards::ShardFile;

use crate::file::Opened;
use crate::handle::Handle;

/// Bytes of the magic that all zTensor files begin with.
const HEADER: u64 = 8;
/// Bytes of an index that are read, one more than it may have.
const LONGEST: u64 = 100_000_001;

/// What a file is that is none of zTensor's; none where it is one, or nothing that is known.
pub(crate) fn detect(opened: &Opened) -> io::Result<Option<Detected>> {
    // Of zTensor files no more is read than their header: over the network each byte counts.
    if is_tensors(&opened.start(HEADER)?) {
        return Ok(None);
    }
    let start = opened.start(u64::try_from(START).unwrap_or(u64::MAX))?;
    Ok(by_start(&start, &opened.path).or_else(|| zten_foreign::by_name(&opened.path)))
}

/// Whether a file begins as zTensor files of any version do.
pub(crate) fn is_tensors(start: &[u8]) -> bool {
    [&b"ZTEN"[..], b"\x89ZT"].iter().any(|magic| start.starts_with(magic))
}

/// The names of the files that an index lists.
pub(crate) fn listed(opened: &Opened, limits: &Limits) -> io::Result<Result<Vec<String>, Trouble>> {
    // A confined process cannot open a file again, nor take a second descriptor of it.
    let bytes = opened.start(opened.length.min(LONGEST))?;
    Ok(zten_foreign::listed(&Source::from(bytes), limits))
}

/// Opens a file of another format, and validates everything but its data.
pub(crate) fn open(opened: Opened, path: &Path, limits: &Limits) -> Result<Input, Trouble> {
    let Opened { file, length, shards, .. } = opened;
    let beside = shards
        .into_iter()
        .map(|ShardFile { name, file, length }| Beside { name, source: Source::new(file, length) });
    let source = match file {
        Handle::Local(file) => Source::new(file, length),
        remote @ Handle::Remote(_) => Source::over(Arc::new(remote), length),
    };
    zten_foreign::open(source, beside.collect(), path, limits)
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
    let cbor = input.take_attributes().cbor;
    if cbor.is_empty() { None } else { alone(cbor, &Options::default()).ok() }
}
