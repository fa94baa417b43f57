//! What `zten convert` reads: files of other formats as names, shapes, types and bytes.
//!
//! Opening reads headers only. Nothing of a tensor is in memory but the chunk that is handed on.

mod block;
mod cbor;
mod chunk;
mod cursor;
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
mod safetensors;
mod scratch;
mod source;
mod tensor;
mod trouble;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::mem;
use std::path::Path;

use zten::Limits;
use zten_shards::ShardFile;

use crate::escape;
use crate::file::Opened;
use chunk::Take;
use index::Beside;
pub(crate) use kind::Kind;
use listing::{Attributes, Listing, Tensors};
use place::Place;
#[cfg(target_os = "linux")]
pub(crate) use scratch::prepare;
use source::Source;
pub(crate) use tensor::Tensor;
pub(crate) use trouble::{Failure, Trouble};

/// An open foreign file.
#[derive(Debug)]
pub(crate) struct Input {
    listing: Listing,
    source: Source,
    archive: Option<npz::Archive>,
    /// The files that an index names.
    parts: Vec<Source>,
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

    /// Puts the tensors in an order of their names.
    pub(crate) fn put_in_order_of_names(
        &mut self,
        order: fn(&str, &str) -> Ordering,
    ) -> Result<(), Trouble> {
        self.listing.tensors.put_in_order_of_names(order)
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
            (Place::Part { file, offset }, _) => {
                let part = self.parts.get(file).unwrap_or(&self.source);
                part.stream(offset, tensor.bytes, &mut |chunk| take(chunk).map_err(Failure::Taker))
            }
            (Place::Array(array), _) => array.read(&self.source, tensor, take),
            (Place::Member(packed), Some(archive)) => archive.read(&packed, tensor, take),
            (Place::Member(_), None) => Err(Trouble::refused("there is no archive").into()),
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
    Index,
}

/// Opens a file of any format, and validates everything but its data.
pub(crate) fn open(mut opened: Opened, path: &Path, limits: &Limits) -> Result<Input, Trouble> {
    let shards = mem::take(&mut opened.shards).into_iter();
    let beside = shards
        .map(|ShardFile { name, file, length }| Beside { name, source: Source::new(file, length) });
    let beside = beside.collect();
    validate(opened.into(), beside, path, limits)
}

/// What the names of files end with that are to be opened beside one, before it is read; none where
/// there are no such.
pub(crate) fn opened_beside(path: &Path) -> Option<&'static str> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(index::is_named_so).then_some(index::PARTS)
}

fn validate(
    source: Source,
    beside: Vec<Beside>,
    path: &Path,
    limits: &Limits,
) -> Result<Input, Trouble> {
    let form = form(&source, path)?;
    let mut archive = None;
    let mut parts = Vec::new();
    let mut listing = match form {
        Form::Safetensors => safetensors::list(&source, limits)?,
        Form::Gguf => gguf::list(&source, limits)?,
        Form::Npy => npy::list(&source, path, limits)?,
        Form::Npz => {
            let (opened, listing) = npz::open(&source, limits)?;
            archive = Some(opened);
            listing
        }
        Form::Index => {
            let (sources, listing) = index::list(&source, beside, limits)?;
            parts = sources;
            listing
        }
    };
    listing.tensors.shrink();
    if let Some(name) = listing.tensors.duplicate()? {
        let name = escape::quoted(name);
        return Err(Trouble::refused(format!("there are two tensors of the name {name}")));
    }
    Ok(Input { listing, source, archive, parts })
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
    if opened_beside(path).is_some() {
        return Ok(Form::Index);
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
