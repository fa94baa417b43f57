//! What `zten convert` reads: files of other formats as names, shapes, types and bytes.
//!
//! Opening reads headers only. Nothing of a tensor is in memory but the chunk that is handed on.

mod cbor;
mod cursor;
mod gguf;
mod listing;
mod npy;
mod npz;
mod record;
mod safetensors;
mod scratch;
mod source;
mod trouble;

#[cfg(test)]
mod tests;

use std::mem;
use std::path::Path;

use zten::{Limits, LogicalType, StorageType};

pub(crate) use gguf::types::Block;
pub(crate) use listing::{Attributes, Listing, Tensors};
use record::Record;
#[cfg(target_os = "linux")]
pub(crate) use scratch::prepare;
use source::Source;
pub(crate) use trouble::{Failure, Trouble};

use crate::escape;
use crate::file::Opened;

/// The longest chunk that is handed on. A multiple of every element's width.
const CHUNK: usize = 1 << 20;

/// Takes the bytes of a tensor, chunk by chunk.
pub(crate) type Take<'t, E> = dyn FnMut(&[u8]) -> Result<(), E> + 't;

/// One tensor of a foreign file.
#[derive(Debug)]
pub(crate) struct Tensor {
    /// Its name, as the file gives it.
    pub(crate) name: String,
    /// Its dimensions, the slowest first.
    pub(crate) shape: Vec<u64>,
    /// What its elements are.
    pub(crate) kind: Kind,
    /// Bytes that reading it hands out: row-major and little-endian.
    pub(crate) bytes: u64,
    place: Place,
}

/// Where a tensor lies.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// As it is handed out, from this byte of the file on.
    Extent(u64),
    /// In a NumPy file, which is the whole file.
    Array(npy::Array),
    /// In a NumPy file, which is a member of the archive.
    Member(npz::Member, npy::Array),
}

impl Place {
    /// Numbers that a record has of a place, at most.
    const NUMBERS: usize = 7;

    /// Where it begins in the file.
    fn offset(&self) -> u64 {
        match self {
            Self::Extent(offset) => *offset,
            Self::Array(_) => 0,
            Self::Member(member, _) => member.start,
        }
    }

    /// Appends what a record needs beside the offset.
    fn record(&self, out: &mut Vec<u8>) {
        match self {
            Self::Extent(_) => record::number(out, 0),
            Self::Array(array) => {
                record::number(out, 1);
                array.record(out);
            }
            Self::Member(member, array) => {
                record::number(out, 2);
                member.record(out);
                array.record(out);
            }
        }
    }

    /// Reads that again.
    fn recorded(record: &mut Record<'_>, offset: u64, kind: Kind) -> Self {
        match record.number() {
            0 => Self::Extent(offset),
            1 => Self::Array(npy::Array::recorded(record, kind)),
            _ => {
                let member = npz::Member::recorded(record, offset);
                Self::Member(member, npy::Array::recorded(record, kind))
            }
        }
    }
}

/// What the elements of a tensor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What their storage type says.
    Plain(StorageType),
    /// What their logical type says.
    Logical(LogicalType),
    /// Blocks that are kept as they are: `Block::format`, `Block::attributes`.
    Verbatim(&'static Block),
}

impl Kind {
    /// Bytes of all elements of a shape; none where these cannot be counted, or are no whole
    /// number of blocks in each row.
    fn bytes(self, shape: &[u64]) -> Option<u64> {
        let elements = if shape.contains(&0) {
            0
        } else {
            shape.iter().try_fold(1_u64, |product, dimension| product.checked_mul(*dimension))?
        };
        let (elements, width) = match self {
            Self::Plain(storage) => (elements, storage.width().into()),
            Self::Logical(logical) => {
                let parts = u64::from(logical.ratio());
                (elements.checked_mul(parts)?, logical.storage().width().into())
            }
            Self::Verbatim(block) => {
                let row = shape.last().copied().unwrap_or(1);
                if row.checked_rem(block.elements)? != 0 {
                    return None;
                }
                (elements.checked_div(block.elements)?, block.bytes)
            }
        };
        elements.checked_mul(width)
    }
}

/// An open foreign file.
#[derive(Debug)]
pub(crate) struct Input {
    listing: Listing,
    source: Source,
    archive: Option<npz::Archive>,
}

impl Input {
    /// What the file says of itself, which is given away.
    pub(crate) fn take_attributes(&mut self) -> Attributes {
        mem::take(&mut self.listing.attributes)
    }

    /// The tensors that it holds.
    pub(crate) fn tensors(&self) -> &Tensors {
        &self.listing.tensors
    }

    /// Puts the tensors in the order that the canonical form asks for.
    pub(crate) fn put_in_canonical_order(&mut self) -> Result<(), Trouble> {
        self.listing.tensors.put_in_canonical_order()
    }

    /// Hands on the bytes of one of the tensors, in order, in chunks of at most 1 MiB. They are as
    /// many as the tensor says, or this fails.
    pub(crate) fn read<E>(
        &mut self,
        tensor: &Tensor,
        take: &mut Take<'_, E>,
    ) -> Result<(), Failure<E>> {
        match (tensor.place, &mut self.archive) {
            (Place::Extent(offset), _) => self
                .source
                .stream(offset, tensor.bytes, &mut |chunk| take(chunk).map_err(Failure::Taker)),
            (Place::Array(array), _) => array.read(&self.source, tensor, take),
            (Place::Member(member, array), Some(archive)) => {
                archive.read((&member, &array), tensor, take)
            }
            (Place::Member(..), None) => Err(Trouble::refused("there is no archive").into()),
        }
    }
}

/// A kind of file that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Safetensors,
    Npy,
    Npz,
    Gguf,
}

/// Opens a file of any format, and judges everything but its data.
pub(crate) fn open(opened: Opened, path: &Path, limits: &Limits) -> Result<Input, Trouble> {
    judge(opened.into(), path, limits)
}

fn judge(source: Source, path: &Path, limits: &Limits) -> Result<Input, Trouble> {
    let form = form(&source, path)?;
    let mut archive = None;
    let mut listing = match form {
        Form::Safetensors => safetensors::list(&source, limits)?,
        Form::Gguf => gguf::list(&source, limits)?,
        Form::Npy => npy::list(&source, path, limits)?,
        Form::Npz => {
            let (opened, listing) = npz::open(&source, limits)?;
            archive = Some(opened);
            listing
        }
    };
    listing.tensors.shrink();
    if let Some(name) = listing.tensors.duplicate()? {
        let name = escape::quoted(name);
        return Err(Trouble::refused(format!("there are two tensors of the name {name}")));
    }
    Ok(Input { listing, source, archive })
}

/// What a file is: by what it begins with, and else by its name.
fn form(source: &Source, path: &Path) -> Result<Form, Trouble> {
    let mut start = [0; 9];
    let there = source.read_up_to(0, &mut start)?;
    let start = start.get(..there).unwrap_or_default();
    let known = [
        (npy::MAGIC, Form::Npy),
        (b"GGUF", Form::Gguf),
        (b"PK\x03\x04", Form::Npz),
        // An archive without members has nothing but its end.
        (b"PK\x05\x06", Form::Npz),
    ];
    if let Some((_, form)) = known.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Ok(*form);
    }
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    // Safetensors files begin with the length of the header, and the header with a brace.
    if start.get(8) == Some(&b'{') || extension.eq_ignore_ascii_case("safetensors") {
        return Ok(Form::Safetensors);
    }
    let named =
        ["npy", "npz", "gguf"].into_iter().find(|name| extension.eq_ignore_ascii_case(name));
    let sentence = match named {
        Some(name) => format!("the file does not begin as .{name} files do"),
        None => "the file is none of safetensors, .npy, .npz and GGUF".to_owned(),
    };
    Err(Trouble::refused_at(sentence, 0))
}

/// A number of bytes in memory.
fn wide(length: usize) -> u64 {
    // No address space is wider than 64 bits.
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Refuses a shape of more dimensions than the limits allow.
fn judge_rank(rank: usize, limits: &Limits, whose: &str) -> Result<(), Trouble> {
    if wide(rank) <= limits.rank().into() {
        return Ok(());
    }
    Err(Trouble::refused(format!("{whose} has more than {} dimensions", limits.rank())))
}

/// Refuses more keys than the limits allow.
fn judge_keys(keys: u64, limits: &Limits, whose: &str) -> Result<(), Trouble> {
    if keys <= limits.keys().into() {
        return Ok(());
    }
    let most = limits.keys();
    Err(Trouble::refused(format!("{whose} has {keys} keys, beyond the limit of {most}")))
}
