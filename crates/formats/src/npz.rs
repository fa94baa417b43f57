//! Archives of NumPy files, as `numpy.savez` and `numpy.savez_compressed` write them.
//!
//! No byte of an archive is passed over: members lie one after the other, what is said of one of
//! them twice or thrice is the same each time, and what readers of zip differ on is refused. What
//! says nothing of arrays is read and left out: times, owners, and what has made the archive.

mod directory;
mod entry;
mod extra;
mod member;

use std::io::{self, Read};

use flate2::Decompress;
use zten::Limits;
use zten::rules::Limit;

use super::chunk::{CHUNK, Take};
use super::cursor::{Blames, Cursor};
use super::listing::{Listing, Tensors};
use super::npy;
use super::place::{PackedArray, Place};
use super::rules::Rule;
use super::source::{Scratch, Source, buffer};
use super::tensor::Tensor;
use super::trouble::{Damage, Failure, Trouble};
use entry::{Entry, Found};
use member::Content;
use zten::num::u64_from_usize;

/// An archive whose members are all arrays.
#[derive(Debug)]
pub(super) struct Archive {
    source: Source,
    /// What decompresses one member after the other.
    inflate: Decompress,
}

/// Opens an archive, and reads the header of each array in it.
pub(super) fn open(source: &Source, limits: &Limits) -> Result<(Archive, Listing), Trouble> {
    let directory = directory::find(source)?;
    let mut archive = Archive { source: source.clone(), inflate: Decompress::new(false) };
    let mut cursor = Cursor::new(source, directory.start..directory.end, Blames::DIRECTORY);
    let mut tensors = Tensors::default();
    let mut extents = Vec::new();
    let mut decoded = 0_u64;
    while cursor.at() < directory.end {
        let entry = Entry::read(&mut cursor)?;
        let about = |trouble: Trouble| trouble.about(entry.name());
        if let Some(size) = entry.decompressed() {
            decoded = decoded.saturating_add(size);
            let limit = match size > limits.decoded() {
                true => Some(Limit::Decoded),
                false if decoded > limits.decoded_total(source.len()) => Some(Limit::DecodedTotal),
                false => None,
            };
            if let Some(limit) = limit {
                let sentence = format!("it decompresses to {size} bytes, beyond the limit");
                return Err(about(Trouble::refused(limit, sentence)));
            }
        }
        let found = entry.find(source, directory.start).map_err(about)?;
        let header = archive.header(&found, limits).map_err(about)?;
        let place = Place::Member(PackedArray { member: found.member, array: header.array });
        tensors.push(&header.tensor(entry.tensor().to_owned(), place))?;
        extents.try_reserve(1).map_err(|_| Trouble::memory())?;
        extents.push((found.start, found.end));
    }
    directory.validate_count(extents.len())?;
    validate_extents(extents, directory.start)?;
    tensors.check_unique(Rule::NpzDuplicateName)?;
    Ok((archive, Listing { tensors, ..Listing::default() }))
}

/// Whether the members lie one after the other, from the first byte to `end`: no bytes belong to
/// two, and none to no one.
fn validate_extents(mut extents: Vec<(u64, u64)>, end: u64) -> Result<(), Trouble> {
    extents.sort_unstable();
    let mut from = 0;
    for (start, after) in extents.into_iter().chain([(end, end)]) {
        if start != from {
            let sentence = "a member of the archive does not begin where the one before it ends";
            return Err(Trouble::refused_at(Rule::NpzContiguous, sentence, start));
        }
        from = after;
    }
    Ok(())
}

impl Archive {
    /// The header of the array that a member is.
    fn header(&mut self, found: &Found, limits: &Limits) -> Result<npy::Header, Trouble> {
        let mut content = found.member.content(&self.source, found.size, &mut self.inflate);
        let header = npy::Header::read(&mut content, limits, fault)?;
        let wanted = header.array.start.checked_add(header.bytes);
        if wanted != Some(found.size) {
            let there = found.size.saturating_sub(header.array.start);
            let bytes = header.bytes;
            let sentence = format!("there are {there} bytes of data, and the array has {bytes}");
            return Err(Trouble::refused(Rule::NpySize, sentence));
        }
        Ok(header)
    }

    /// Hands on the elements of the array that a member is. All of the member is read, and its
    /// checksum is right, or this fails.
    pub(super) fn read<E>(
        &mut self,
        packed: &PackedArray,
        tensor: &Tensor,
        take: &mut Take<'_, E>,
    ) -> Result<(), Failure<E>> {
        self.read_member(packed, tensor, take).map_err(|failure| match failure {
            Failure::Input(trouble) => Failure::Input(trouble.about(&tensor.name)),
            taker @ Failure::Taker(_) => taker,
        })
    }

    fn read_member<E>(
        &mut self,
        PackedArray { member, array }: &PackedArray,
        tensor: &Tensor,
        take: &mut Take<'_, E>,
    ) -> Result<(), Failure<E>> {
        let size = array.start.saturating_add(tensor.bytes);
        let mut content = member.content(&self.source, size, &mut self.inflate);
        skip(&mut content, array.start)?;
        if !array.is_out_of_order(&tensor.shape) {
            array.stream(&mut content, tensor, fault, take)?;
            return Ok(content.end().map_err(fault)?);
        }
        if member.deflated {
            let spooled = spool(&mut content, tensor.bytes)?;
            content.end().map_err(fault)?;
            return array.at(0).read(&spooled, tensor, take);
        }
        // The checksum first; then any place of the member can be read.
        skip(&mut content, tensor.bytes)?;
        content.end().map_err(fault)?;
        array.at(member.start.saturating_add(array.start)).read(&self.source, tensor, take)
    }
}

/// Passes over bytes of a member, which its checksum counts.
fn skip(content: &mut Content<'_>, length: u64) -> Result<(), Trouble> {
    io::copy(&mut content.take(length), &mut io::sink()).map_err(fault)?;
    Ok(())
}

/// Bytes of a member in a temporary file, which can be read at any place.
fn spool(content: &mut Content<'_>, length: u64) -> Result<Source, Trouble> {
    let mut scratch = Scratch::new()?;
    let mut chunk = buffer(CHUNK, 0_u8)?;
    let mut at = 0;
    while at < length {
        let next = usize::try_from(length.saturating_sub(at)).unwrap_or(CHUNK).min(CHUNK);
        let bytes = chunk.get_mut(..next).unwrap_or_default();
        content.read_exact(bytes).map_err(fault)?;
        scratch.write_at(at, bytes)?;
        at = at.saturating_add(u64_from_usize(next));
    }
    Ok(scratch.into_source())
}

/// An error of reading a member: of the system, or of decompressing and checking.
fn fault(error: io::Error) -> Trouble {
    if error.raw_os_error().is_some() {
        return Trouble::reading(error);
    }
    let damage = error.get_ref().and_then(|error| error.downcast_ref::<Damage>());
    match damage {
        Some(Damage { rule, sentence }) => {
            Trouble::refused(*rule, format!("the archive is damaged: {sentence}"))
        }
        None => Trouble::reading(error),
    }
}
