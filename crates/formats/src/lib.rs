#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
// Beyond the lints of the workspace: what could panic is not in a library that reads untrusted bytes.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::expect_used,
        clippy::get_unwrap,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

mod block;
mod cbor;
mod chunk;
mod cursor;
mod detect;
mod front;
mod gguf;
mod index;
mod json;
mod kind;
mod limits;
mod listing;
mod npy;
mod npz;
mod place;
mod record;
pub mod rules;
mod safetensors;
mod scratch;
mod source;
mod stored;
mod tensor;
mod trouble;
mod verify;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::{io, mem};

use zten::num::u64_from_usize;
use zten::shards::{Candidate, Find, Shard};
use zten::source::{FileArchive, SourceArchive};
use zten::{Archive, Limits, Options, ReadAt, ReadError};

pub use block::{Block, LengthMismatch};
pub use chunk::Take;
pub use detect::{Detected, Format, START, by_name, by_start, detect};
pub use index::Part;
pub use kind::Kind;
use listing::Listing;
pub use listing::Tensors;
use place::Place;
pub use rules::Rule;
pub use scratch::prepare;
pub use source::Source;
pub use stored::Stored;
pub use tensor::Tensor;
pub use trouble::{Failure, Refusal, Trouble};

/// Bytes of the magic of a zTensor file.
const MAGIC: u64 = 8;

/// An open foreign file.
#[derive(Debug)]
pub struct Input {
    format: Format,
    listing: Listing,
    source: Source,
    archive: Option<npz::Archive>,
}

impl Input {
    /// What the file says of itself, which is given away: a CBOR map with text keys, in deterministic order. Empty where
    /// the file says nothing.
    pub fn take_attributes(&mut self) -> Vec<u8> {
        mem::take(&mut self.listing.attributes)
    }

    /// What it is.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The tensors that it holds.
    pub fn tensors(&self) -> &Tensors {
        &self.listing.tensors
    }

    /// Puts the tensors in an order of their names.
    pub fn put_in_order_of_names(
        &mut self,
        order: fn(&str, &str) -> Ordering,
    ) -> Result<(), Trouble> {
        self.listing.tensors.put_in_order_of_names(order)
    }

    /// Hands on the bytes of one of the tensors, in order, in chunks of at most 1 MiB. They are as
    /// many as the tensor says, or this fails.
    pub fn read<E>(&mut self, tensor: &Tensor, take: &mut Take<'_, E>) -> Result<(), Failure<E>> {
        match (tensor.place, &mut self.archive) {
            (Place::Extent(offset), _) => self
                .source
                .stream(offset, tensor.bytes, &mut |chunk| take(chunk).map_err(Failure::Taker)),
            (Place::Array(array), _) => array.read(&self.source, tensor, take),
            (Place::Member(packed), Some(archive)) => archive.read(&packed, tensor, take),
            // None has been opened, so no tensor is in one.
            (Place::Member(_), None) => Ok(()),
        }
    }
}

/// Opens the file at `path`, which is of zTensor, safetensors or GGUF, or an index of several safetensors files, with the
/// default options: parses and validates its header. The page of the crate has an example.
///
/// The files that an index names are those beside it, and no links. [`Folder`] finds them again for
/// [`bind_shards`](zten::Manifest::bind_shards), as components are in them.
///
/// # Errors
/// The file cannot be read, breaks a rule of its format, or is of a format that has no archives yet.
pub fn open(path: impl AsRef<Path>) -> Result<FileArchive, Trouble> {
    let (path, options) = (path.as_ref(), Options::default());
    let (file, length) = open_regular(path)?.ok_or_else(irregular)?;
    if opened_beside(path).is_none() {
        return open_source(file, length, path, &options);
    }
    let folder = Folder::of(path);
    let mut index = Vec::new();
    index::read(&file, length, &mut index, options.limit())?;
    let mut beside = Vec::new();
    for name in listed(&index, options.limit())? {
        if let Some((part, length)) = folder.open(&name)? {
            beside.push((name, part, length));
        }
    }
    let parts: Vec<_> = beside
        .iter()
        .map(|(name, source, length)| Part { name, source, length: *length })
        .collect();
    open_with_parts(file, length, path, &parts, &options)
}

/// Opens a regular file; none if it is another one.
fn open_regular(path: &Path) -> io::Result<Option<(File, u64)>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    Ok(metadata.is_file().then_some((file, metadata.len())))
}

fn irregular() -> Trouble {
    Trouble::reading(io::ErrorKind::InvalidInput.into())
}

/// The folder of an index, in which the files lie that it names.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder of the file at `path`.
    pub fn of(path: &Path) -> Self {
        Self(path.parent().unwrap_or(Path::new("")).to_owned())
    }

    /// Opens the regular file of that name, which is no link; none if there is none.
    fn open(&self, name: &str) -> io::Result<Option<(File, u64)>> {
        let path = self.0.join(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() => open_regular(&path),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Find for Folder {
    type Source = File;

    fn find(&self, shard: &Shard<'_>) -> io::Result<Option<Candidate<File>>> {
        Ok(self.open(shard.name())?.map(|(source, length)| Candidate { source, length }))
    }
}

/// Opens any source of `length` bytes as an archive. Its name tells the format where its bytes do not.
///
/// No byte of a safetensors file is read twice, and none beyond the end of its header or [`START`] bytes, whichever
/// comes later. Of a GGUF file, whose header does not say how long it is, 32 KiB are read, then twice as many until the
/// header ends in them, and all padding.
///
/// # Errors
/// The errors of [`open`]; `index-file` for an index that names any files.
pub fn open_source<S: ReadAt<Error = io::Error>>(
    source: S,
    length: u64,
    path: &Path,
    options: &Options,
) -> Result<SourceArchive<S>, Trouble> {
    open_with_parts::<S, S>(source, length, path, &[], options)
}

/// The same as [`open_source`], with the files beside it, of which an index names some. Their headers are read.
///
/// # Errors
/// The errors of [`open`].
pub fn open_with_parts<S, P>(
    source: S,
    length: u64,
    path: &Path,
    parts: &[Part<'_, P>],
    options: &Options,
) -> Result<SourceArchive<S>, Trouble>
where
    S: ReadAt<Error = io::Error>,
    P: ReadAt<Error = io::Error>,
{
    let mut start = Vec::new();
    source.append_range(0..MAGIC.min(length), &mut start)?;
    if is_ztensor(&start) {
        let opened = SourceArchive::with_length(source, length, options);
        return opened.map_err(|error| ReadError::from(error).into());
    }
    let there = u64_from_usize(START).min(length);
    source.append_range(MAGIC.min(length)..there, &mut start)?;
    let parsed = match known(&start, path)? {
        Format::Safetensors => {
            safetensors::read(&source, length, &mut start, options.limit())?;
            safetensors::open(&start, length, options)?
        }
        Format::Gguf => gguf::read(&source, length, start, options)?,
        Format::Index => {
            index::read(&source, length, &mut start, options.limit())?;
            index::open(&start, parts, options)?
        }
        other => return Err(without_archives(other)),
    };
    Ok(SourceArchive::from_front(source, parsed))
}

/// Opens a file whose bytes are in memory, and are borrowed by views, as an archive.
///
/// # Errors
/// The errors of [`open`].
pub fn open_bytes<B: AsRef<[u8]>>(file: B, options: &Options) -> Result<Archive<B>, Trouble> {
    let bytes = file.as_ref();
    let start = bytes.get(..START.min(bytes.len())).unwrap_or_default();
    if is_ztensor(start) {
        return Ok(Archive::open_with(file, options)?);
    }
    let parsed = match known(start, Path::new(""))? {
        Format::Safetensors => safetensors::open(bytes, u64_from_usize(bytes.len()), options)?,
        Format::Gguf => gguf::open(bytes, options)?,
        other => return Err(without_archives(other)),
    };
    Ok(Archive::from_front(file, parsed)?)
}

/// Returns whether a file begins as zTensor files of any version do.
pub fn is_ztensor(start: &[u8]) -> bool {
    [&b"ZTEN"[..], b"\x89ZT"].iter().any(|magic| start.starts_with(magic))
}

/// Returns the format of a file that begins so.
fn known(start: &[u8], path: &Path) -> Result<Format, Trouble> {
    match by_start(start, path).or_else(|| by_name(path)) {
        Some(Detected::Read(format)) => Ok(format),
        found => Err(refused(found)),
    }
}

/// The error for a file of a format that has no archives.
fn without_archives(format: Format) -> Trouble {
    let name = format.name();
    unsupported(&format!("{name} files cannot be opened as archives yet"))
}

/// The refusal of a file of no format that is read.
fn refused(found: Option<Detected>) -> Trouble {
    let at_start = |rule: Rule| Trouble::refused_at(rule, rule.row().broken, 0);
    match found {
        Some(Detected::Named(rule)) => Trouble::refused(rule, rule.row().broken),
        Some(Detected::Misnamed(rule)) => at_start(rule),
        Some(Detected::Read(format)) => Trouble::internal(format.name()),
        None => at_start(Rule::FormatUnknown),
    }
}

/// The error for a file that is opened in the wrong way.
fn unsupported(sentence: &str) -> Trouble {
    Trouble::reading(io::Error::new(io::ErrorKind::Unsupported, sentence))
}

/// The names of the files that an index lists.
///
/// # Errors
/// The index is refused.
pub fn listed(index: &[u8], limits: &Limits) -> Result<Vec<String>, Trouble> {
    index::listed(index, limits)
}

/// What the names of files end with that are to be opened beside one, before it is read; none where
/// there are no such.
pub fn opened_beside(path: &Path) -> Option<&'static str> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(index::is_named_so).then_some(index::PARTS)
}

/// Opens a file of a format that has no archives yet, and validates everything but its data.
///
/// # Errors
/// The file cannot be read, is refused, or is of a format that has archives.
pub fn open_input(source: Source, path: &Path, limits: &Limits) -> Result<Input, Trouble> {
    let format = match detect(&source, path)? {
        Some(Detected::Read(format)) => format,
        found => return Err(refused(found)),
    };
    let mut archive = None;
    let mut listing = match format {
        Format::Safetensors | Format::Gguf | Format::Index => {
            let name = format.name();
            return Err(unsupported(&format!("{name} files are opened as archives")));
        }
        Format::Npy => npy::list(&source, path, limits)?,
        Format::Npz => {
            let (opened, listing) = npz::open(&source, limits)?;
            archive = Some(opened);
            listing
        }
    };
    listing.tensors.shrink();
    Ok(Input { format, listing, source, archive })
}
