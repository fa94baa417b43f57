//! The header: the metadata, and the descriptions of tensors.

use alloc::vec::Vec;
use core::fmt;

use crate::escape::Short;
use crate::formats::cbor::Map;
use crate::formats::error::FormatError;
use crate::formats::limits::{check_keys, check_rank};
use crate::formats::rules::Rule;
use crate::limits::Limits;
use crate::num::len_u32;

use super::input::{Input, Stop};
use super::types::{self, Type};
use super::{known, value};

/// The alignment of data, if the metadata has none.
const ALIGNMENT: u64 = 32;
/// The key of the alignment.
const ALIGNMENT_KEY: &str = "general.alignment";
/// The smallest alignment that the format allows. All other alignments are multiples of it.
const LEAST_ALIGNMENT: u32 = 8;
/// The largest number of dimensions of a tensor.
const RANK: usize = 4;
/// The largest length of a metadata key in bytes.
const KEY: usize = 65535;
/// The largest length of a tensor's name in bytes.
const NAME: usize = 64;
/// The largest number of bytes of CBOR for a tensor in addition to its name and shape: the head of the name, and the layout and
/// attributes of its blocks.
const BLOCKS: usize = 82;

/// A valid header, except that the extents of tensor data have not been checked.
#[derive(Debug)]
pub(super) struct Header<'h> {
    /// The number of tensors.
    pub(super) tensors: u32,
    /// The largest number of bytes that the names, layouts and attributes of all tensors take as CBOR.
    pub(super) text: usize,
    pub(super) alignment: u64,
    /// The offset in the file at which the header ends.
    pub(super) end: u64,
    /// The offset in the file at which the data begins.
    pub(super) data: u64,
    /// The input at the description of the first tensor.
    first: Input<'h>,
    limits: Limits,
}

/// The extent of a tensor's data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// The offset, counted from the start of the data.
    pub(super) offset: u64,
    /// The length in bytes.
    pub(super) bytes: u64,
    /// The offset of the tensor's description, counted from the start of the file.
    pub(super) description_offset: u32,
}

/// A tensor, as the header describes it.
#[derive(Debug)]
pub(super) struct Info<'h> {
    pub(super) name: &'h str,
    pub(super) kind: Type,
    /// The length of the tensor's data in bytes.
    pub(super) bytes: u64,
    /// The offset of the tensor's data, counted from the start of the data.
    pub(super) offset: u64,
    /// The offset of the tensor's description, counted from the start of the file.
    pub(super) description_offset: u32,
    shape: [u64; RANK],
    rank: usize,
}

impl Info<'_> {
    /// The dimensions, outermost first.
    pub(super) fn shape(&self) -> Result<&[u64], FormatError> {
        let shape = self.shape.get(..self.rank);
        shape.ok_or_else(|| FormatError::internal("a tensor has more dimensions than there can be"))
    }
}

/// A header, its metadata as CBOR, and the extents of tensor data.
pub(super) type Parsed<'h> = (Header<'h>, Vec<u8>, Vec<Extent>);

impl<'h> Header<'h> {
    /// Parses a header. `input` begins at the first byte of the file.
    pub(super) fn parse(mut input: Input<'h>, limits: &Limits) -> Result<Parsed<'h>, Stop> {
        // The caller has recognized the file by its magic number.
        input.bytes::<4>()?;
        check_version(input.u32()?)?;
        let (tensors, keys) = (input.u64()?, input.u64()?);
        let (metadata, alignment) = metadata(&mut input, keys, limits)?;
        let (first, mut extents, mut text) = (input, Vec::new(), 0_usize);
        for _ in 0..tensors {
            let Info { name, kind, bytes, offset, description_offset, .. } =
                info(&mut input, alignment, limits)?;
            let more = if matches!(kind, Type::Plain(_)) { 2 } else { BLOCKS };
            text = text.saturating_add(name.len()).saturating_add(more);
            extents.try_reserve(1).map_err(|_| FormatError::memory())?;
            extents.push(Extent { offset, bytes, description_offset });
        }
        let end = input.at();
        let data = end.checked_next_multiple_of(alignment);
        // Both the end of a header and an alignment are far below 2^63.
        let data = data.ok_or_else(|| FormatError::internal("the data has no offset"))?;
        let (tensors, limits) = (len_u32(extents.len()), *limits);
        Ok((Self { tensors, text, alignment, end, data, first, limits }, metadata, extents))
    }

    /// Parses the descriptions of all tensors again, in their order.
    pub(super) fn infos(&self) -> impl Iterator<Item = Result<Info<'h>, FormatError>> {
        let mut input = self.first;
        (0..self.tensors).map(move |_| {
            info(&mut input, self.alignment, &self.limits).map_err(|stop| match stop {
                Stop::More => FormatError::internal("the header has not been read"),
                Stop::Failed(error) => error,
            })
        })
    }

    /// Returns the name of the tensor with the given [`description_offset`](Info::description_offset).
    #[cold]
    pub(super) fn name(&self, description_offset: u32) -> Result<&'h str, FormatError> {
        let name = self.first.seek(description_offset.into()).text("the name of a tensor");
        name.map_err(|_| FormatError::internal("a tensor is not in the header"))
    }
}

/// Checks that `version` is 2 or 3.
fn check_version(version: u32) -> Result<(), Stop> {
    let violation = |sentence: fmt::Arguments<'_>| Err(Stop::at(Rule::GgufVersion, sentence, 4));
    match version {
        2 | 3 => Ok(()),
        1 => violation(format_args!("unsupported GGUF version 1")),
        // A small number in the opposite byte order: the low 16 bits are 0.
        _ if version.trailing_zeros() >= 16 => {
            violation(format_args!("unsupported big-endian GGUF"))
        }
        _ => violation(format_args!("unsupported GGUF version {version}")),
    }
}

/// Parses the metadata, which has `keys` keys. Returns the metadata as CBOR, and the alignment that it sets.
fn metadata(input: &mut Input<'_>, keys: u64, limits: &Limits) -> Result<(Vec<u8>, u64), Stop> {
    let start = input.at();
    check_keys(keys, limits, "the metadata").map_err(|error| error.or_at(start))?;
    let (mut map, mut alignment, mut known) = (Map::default(), ALIGNMENT, Vec::new());
    for _ in 0..keys {
        let at = input.at();
        let key = input.text("a key of the metadata")?;
        if key.is_empty() || key.len() > KEY {
            let length = key.len();
            let sentence = format_args!("invalid key of {length} bytes: expected 1 to {KEY}");
            return Err(Stop::at(Rule::GgufKey, sentence, at));
        }
        let value = *input;
        map.try_put(key, |out| value::copy(input, out)).map_err(|stop: Stop| stop.about(key))?;
        if key == ALIGNMENT_KEY {
            alignment = read_alignment(value).map_err(|stop| stop.about(key))?;
        }
        if known::is_known(key) {
            known.try_reserve(1).map_err(|_| FormatError::memory())?;
            known.push(at);
        }
    }
    let cbor = map.finish(|key| {
        // A variable: Rust 1.89 drops a temporary in `format_args!` before the next statement.
        let key = Short(key);
        let sentence = format_args!("duplicate metadata key {key}");
        FormatError::violation_at(Rule::GgufDuplicateKey, sentence, start)
    })?;
    known::check(*input, &known)?;
    Ok((cbor, alignment))
}

/// Parses the value of the alignment. `input` begins at the type of the value.
fn read_alignment(mut input: Input<'_>) -> Result<u64, Stop> {
    let start = input.at();
    let rule = Rule::GgufAlignment;
    if input.u32()? != value::U32 {
        return Err(Stop::of_key(rule, "is not of type u32", start));
    }
    let alignment = input.u32()?;
    if alignment >= LEAST_ALIGNMENT && alignment.is_power_of_two() {
        return Ok(alignment.into());
    }
    let sentence =
        format_args!("is {alignment}, expected a power of two, at least {LEAST_ALIGNMENT}");
    Err(Stop::of_key(rule, sentence, start))
}

/// Parses the description of a tensor.
fn info<'h>(input: &mut Input<'h>, alignment: u64, limits: &Limits) -> Result<Info<'h>, Stop> {
    let at = input.at();
    let name = input.text("the name of a tensor")?;
    let violation =
        |rule, sentence: fmt::Arguments<'_>| Stop::of_tensor(rule, sentence, at).about(name);
    if name.len() > NAME {
        let length = name.len();
        let sentence = format_args!("has a name of {length} bytes, expected at most {NAME}");
        return Err(violation(Rule::GgufName, sentence));
    }
    let dimensions = input.u32()?;
    let rank = usize::try_from(dimensions).unwrap_or(usize::MAX);
    let mut shape = [0; RANK];
    let Some(slots) = shape.get_mut(..rank) else {
        let sentence = format_args!("has {dimensions} dimensions, expected at most {RANK}");
        return Err(violation(Rule::GgufShape, sentence));
    };
    check_rank(rank, limits, "the shape").map_err(|error| error.about(name).or_at(at))?;
    // GGUF stores the innermost dimension first.
    for slot in slots.iter_mut().rev() {
        *slot = input.u64()?;
    }
    let kind = types::kind(input.u32()?)
        .map_err(|unknown| violation(Rule::GgufTensorType, format_args!("is of the {unknown}")))?;
    let bytes = kind.bytes(slots).ok_or_else(|| match kind {
        Type::Blocks(block) => {
            let name = block.name;
            let sentence =
                format_args!("has rows that are not whole blocks of {name}, or too many");
            violation(Rule::GgufShape, sentence)
        }
        Type::Plain(_) => {
            violation(Rule::GgufShape, format_args!("has more elements than 64 bits can count"))
        }
    })?;
    let offset = input.u64()?;
    if offset.checked_rem(alignment) != Some(0) {
        let sentence =
            format_args!("begins at data offset {offset}, which is not a multiple of {alignment}");
        return Err(violation(Rule::GgufOffset, sentence));
    }
    // The offset fits, because a header has at most 100 MiB.
    let description_offset = u32::try_from(at).unwrap_or(u32::MAX);
    Ok(Info { name, kind, bytes, offset, description_offset, shape, rank })
}
