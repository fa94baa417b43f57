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
use std::mem;
use std::path::Path;

use zten::Limits;
use zten_present::escape;

pub use block::Block;
pub use chunk::Take;
pub use detect::{Detected, Format, START, by_name, by_start, detect};
pub use index::Beside;
pub use kind::Kind;
use listing::Listing;
pub use listing::{Attributes, Tensors};
use place::Place;
pub use rules::Rule;
pub use scratch::prepare;
pub use source::Source;
pub use stored::Stored;
pub use tensor::Tensor;
pub use trouble::{Failure, Refusal, Trouble};

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
    /// What the file says of itself, which is given away.
    pub fn take_attributes(&mut self) -> Attributes {
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

/// Parses the header of a safetensors file, and counts its tensors: what `benches/open.rs` measures.
///
/// # Errors
/// The header is refused.
#[doc(hidden)]
pub fn safetensors_tensors(header: &[u8], limits: &Limits) -> Result<usize, Trouble> {
    safetensors::count(header, limits)
}

/// Opens a file of any format, and validates everything but its data. `beside` are the files that it may name.
///
/// # Errors
/// The file cannot be read, or is refused.
pub fn open(
    source: Source,
    beside: Vec<Beside>,
    path: &Path,
    limits: &Limits,
) -> Result<Input, Trouble> {
    let format = match detect(&source, path)? {
        Some(Detected::Read(format)) => format,
        Some(Detected::Named(rule)) => return Err(Trouble::refused(rule, rule.row().broken)),
        Some(Detected::Misnamed(rule)) => {
            return Err(Trouble::refused_at(rule, rule.row().broken, 0));
        }
        None => {
            let rule = Rule::FormatUnknown;
            return Err(Trouble::refused_at(rule, rule.row().broken, 0));
        }
    };
    let mut archive = None;
    let mut parts = Vec::new();
    let mut listing = match format {
        Format::Safetensors => safetensors::list(&source, limits)?,
        Format::Gguf => gguf::list(&source, limits)?,
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
    if let Some(name) = listing.tensors.duplicate()? {
        let rule = match format {
            Format::Gguf => Rule::GgufDuplicateName,
            Format::Npy | Format::Npz => Rule::NpzDuplicateName,
            Format::Safetensors | Format::Index => Rule::SafetensorsDuplicateName,
        };
        let name = escape::quoted(name);
        return Err(Trouble::refused(rule, format!("there are two tensors of the name {name}")));
    }
    Ok(Input { format, listing, source, archive, parts })
}
