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
use std::fs::File;
use std::path::Path;
use std::{io, mem};

use zten::num::u64_from_usize;
use zten::source::{FileArchive, SourceArchive};
use zten::{Archive, Limits, Options, ReadAt, ReadError};

pub use block::{Block, LengthMismatch};
pub use chunk::Take;
pub use detect::{Detected, Format, START, by_name, by_start, detect};
pub use index::Beside;
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
    /// The files that an index names.
    parts: Vec<Beside>,
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
            (Place::Part { file, offset }, _) => {
                let part = self.parts.get(file).map_or(&self.source, |part| &part.source);
                part.stream(offset, tensor.bytes, &mut |chunk| take(chunk).map_err(Failure::Taker))
            }
            (Place::Array(array), _) => array.read(&self.source, tensor, take),
            (Place::Member(packed), Some(archive)) => archive.read(&packed, tensor, take),
            // None has been opened, so no tensor is in one.
            (Place::Member(_), None) => Ok(()),
        }
    }
}

/// Opens the file at `path`, which is of zTensor, safetensors or GGUF, with the default options: parses and validates its
/// header. The page of the crate has an example.
///
/// # Errors
/// The file cannot be read, breaks a rule of its format, or is of a format that has no archives yet.
pub fn open(path: impl AsRef<Path>) -> Result<FileArchive, Trouble> {
    let path = path.as_ref();
    let file = File::open(path).map_err(Trouble::reading)?;
    let metadata = file.metadata().map_err(Trouble::reading)?;
    if !metadata.is_file() {
        return Err(Trouble::reading(io::ErrorKind::InvalidInput.into()));
    }
    open_source(file, metadata.len(), path, &Options::default())
}

/// Opens any source of `length` bytes as an archive. Its name tells the format where its bytes do not.
///
/// No byte of a safetensors file is read twice, and none beyond the end of its header or [`START`] bytes, whichever
/// comes later. Of a GGUF file, whose header does not say how long it is, 32 KiB are read, then twice as many until the
/// header ends in them, and all padding.
///
/// # Errors
/// The errors of [`open`].
pub fn open_source<S: ReadAt<Error = io::Error>>(
    source: S,
    length: u64,
    path: &Path,
    options: &Options,
) -> Result<SourceArchive<S>, Trouble> {
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
/// The index cannot be read, or is refused.
pub fn listed(index: &Source, limits: &Limits) -> Result<Vec<String>, Trouble> {
    index::listed(index, limits)
}

/// What the names of files end with that are to be opened beside one, before it is read; none where
/// there are no such.
pub fn opened_beside(path: &Path) -> Option<&'static str> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(index::is_named_so).then_some(index::PARTS)
}

/// Opens a file of a format that has no archives yet, and validates everything but its data. `beside` are the files
/// that it may name.
///
/// # Errors
/// The file cannot be read, is refused, or is of a format that has archives.
pub fn open_input(
    source: Source,
    beside: Vec<Beside>,
    path: &Path,
    limits: &Limits,
) -> Result<Input, Trouble> {
    let format = match detect(&source, path)? {
        Some(Detected::Read(format)) => format,
        found => return Err(refused(found)),
    };
    let mut archive = None;
    let mut parts = Vec::new();
    let mut listing = match format {
        Format::Safetensors | Format::Gguf => {
            let name = format.name();
            return Err(unsupported(&format!("{name} files are opened as archives")));
        }
        Format::Npy => npy::list(&source, path, limits)?,
        Format::Npz => {
            let (opened, listing) = npz::open(&source, limits)?;
            archive = Some(opened);
            listing
        }
        Format::Index => {
            let (sources, listing) = index::list(&source, beside, limits)?;
            parts = sources;
            listing
        }
    };
    listing.tensors.shrink();
    Ok(Input { format, listing, source, archive, parts })
}
