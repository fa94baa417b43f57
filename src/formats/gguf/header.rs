//! Parsing the header of a GGUF file: the metadata, and the descriptions of tensors.

use alloc::vec::Vec;
use core::fmt;

use crate::element::{ByteOrder, OPAQUE_BLOCKS};
use crate::escape::Short;
use crate::formats::cbor::Map;
use crate::formats::error::FormatError;
use crate::formats::kind::elements;
use crate::formats::limits::{check_keys, check_rank};
use crate::formats::rules::Rule;
use crate::limits::Limits;
use crate::num::len_u32;

use super::input::{Input, Stop};
use super::types::Type;
use super::{known, value};

/// The alignment of tensor data in bytes, if the metadata does not set `general.alignment`.
pub(super) const ALIGNMENT: u64 = 32;
/// The metadata key whose value is the alignment of tensor data in bytes.
pub(super) const ALIGNMENT_KEY: &str = "general.alignment";
/// The smallest alignment that the format allows. All other alignments are multiples of it.
const LEAST_ALIGNMENT: u32 = 8;
/// The largest number of dimensions of a tensor that zten accepts. The specification names 4, "but this may change in the
/// future", and tools for video models write 5.
const RANK: usize = 8;
/// The largest length in bytes of a tensor's name that zten accepts. The specification names 64, and some builds of ggml
/// allow more.
const NAME: usize = 255;
/// The largest number of dimensions that the specification names. The default build of ggml refuses more.
const GGML_RANK: usize = 4;
/// The largest length in bytes of a tensor's name that the specification names. The default build of ggml refuses names of 64
/// bytes and more.
const GGML_NAME: usize = 64;
/// The largest number of bytes that a tensor takes in the index's CBOR texts in addition to its name: the head of the name,
/// and the layout and attributes of a tensor of blocks.
const BLOCKS: usize = 82;

/// A parsed and checked header. Only the extents of tensor data have not been checked against the file.
#[derive(Debug)]
pub(super) struct GgufHeader<'h> {
    /// The number of tensors that the header describes.
    pub(super) tensors: u32,
    /// An upper bound for the number of bytes that the names, layouts and attributes of all tensors take as CBOR.
    pub(super) text: usize,
    pub(super) alignment: u64,
    /// The byte order of the numbers in the header, and of the elements of tensors.
    pub(super) byte_order: ByteOrder,
    /// The offset in the file of the first byte after the header.
    pub(super) end: u64,
    /// The offset in the file at which the data of the first tensor begins: the end of the header, rounded up to a multiple
    /// of the alignment.
    pub(super) data: u64,
    /// The input at the description of the first tensor.
    first: Input<'h>,
    /// The offsets in the file of the metadata keys that [`known::check`] checks.
    known: Vec<u64>,
    limits: Limits,
}

/// The position and length of the data of a tensor in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// The offset in bytes of the tensor's data, counted from [`GgufHeader::data`].
    pub(super) offset: u64,
    /// The length in bytes. `None` for a tensor of a type that zten does not read: its data ends where the next tensor begins,
    /// or with the file.
    pub(super) bytes: Option<u64>,
    /// The offset of the tensor's description, counted from the start of the file.
    pub(super) description_offset: u32,
}

/// The number of bytes that are reserved in the index's texts for the name of a tensor type that zten does not read.
const UNREAD: usize = 40;

/// The parsed description of one tensor in the header.
#[derive(Debug)]
pub(super) struct TensorInfo<'h> {
    pub(super) name: &'h str,
    pub(super) kind: Type,
    /// The length of the tensor's data in bytes; `None` for a tensor of a type that zten does not read.
    pub(super) bytes: Option<u64>,
    /// The offset in bytes of the tensor's data, counted from [`GgufHeader::data`].
    pub(super) offset: u64,
    /// The offset of the tensor's description, counted from the start of the file.
    pub(super) description_offset: u32,
    shape: [u64; RANK],
    rank: usize,
}

impl TensorInfo<'_> {
    /// Returns the sizes of the dimensions, outermost first.
    pub(super) fn shape(&self) -> Result<&[u64], FormatError> {
        let shape = self.shape.get(..self.rank);
        shape.ok_or_else(|| {
            FormatError::internal("the description of a tensor has fewer dimensions than its rank")
        })
    }

    /// Returns whether the tensor has more dimensions or a longer name than the specification names.
    pub(super) fn exceeds_ggml(&self) -> bool {
        self.rank > GGML_RANK || self.name.len() > GGML_NAME
    }

    /// Returns the note `gguf-limits` about the number of dimensions or the name of a tensor, for which
    /// [`exceeds_ggml`](Self::exceeds_ggml) is true.
    #[cold]
    pub(super) fn limits_note(&self) -> FormatError {
        let (rank, length) = (self.rank, self.name.len());
        let note = |sentence: fmt::Arguments<'_>| {
            let note = FormatError::predicate(Rule::GgufLimits, sentence);
            note.or_at(self.description_offset.into()).about(self.name)
        };
        if rank > GGML_RANK {
            note(format_args!(
                "has {rank} dimensions, more than the {GGML_RANK} that the specification allows"
            ))
        } else {
            note(format_args!(
                "has a name of {length} bytes, more than the {GGML_NAME} that the specification allows"
            ))
        }
    }
}

/// A header, its metadata as CBOR, and the extents of tensor data.
pub(super) type Parsed<'h> = (GgufHeader<'h>, Vec<u8>, Vec<Extent>);

impl<'h> GgufHeader<'h> {
    /// Parses and checks the header of a file. `input` begins at the first byte of the file, the start of the magic number.
    pub(super) fn parse(mut input: Input<'h>, limits: &Limits) -> Result<Parsed<'h>, Stop> {
        // The caller has recognized the file by its magic number.
        input.bytes::<4>()?;
        read_version(&mut input)?;
        let byte_order = input.byte_order();
        let (tensors, keys) = (input.u64()?, input.u64()?);
        let Metadata { cbor, alignment, known } = metadata(&mut input, keys, limits)?;
        let (first, mut extents, mut text) = (input, Vec::new(), 0_usize);
        for _ in 0..tensors {
            let TensorInfo { name, kind, bytes, offset, description_offset, .. } =
                info(&mut input, alignment, limits)?;
            let more = match (kind, byte_order) {
                (Type::Plain(_), _) => 2,
                (Type::Unread(_), _) => UNREAD,
                (Type::Blocks(_), ByteOrder::Little) => BLOCKS,
                (Type::Blocks(_), ByteOrder::Big) => const { BLOCKS + OPAQUE_BLOCKS.len() },
            };
            text = text.saturating_add(name.len()).saturating_add(more);
            extents.try_reserve(1).map_err(|_| FormatError::memory())?;
            extents.push(Extent { offset, bytes, description_offset });
        }
        let end = input.at();
        let data = end.checked_next_multiple_of(alignment);
        // Both the end of a header and an alignment are far below 2^63.
        let data =
            data.ok_or_else(|| FormatError::internal("the offset of the data exceeds 64 bits"))?;
        let (tensors, limits) = (len_u32(extents.len()), *limits);
        let header = Self { tensors, text, alignment, byte_order, end, data, first, known, limits };
        Ok((header, cbor, extents))
    }

    /// Checks the metadata values that loaders rely on, and passes an error for each key that breaks a rule to `found`. These
    /// errors do not keep a file from opening, because zten does not use the values.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn check_known(
        &self,
        found: &mut dyn FnMut(FormatError),
    ) -> Result<(), FormatError> {
        known::check(self.first, &self.known, found).map_err(|stop| match stop {
            Stop::More => {
                FormatError::internal("the metadata of a parsed GGUF header is not complete")
            }
            Stop::Failed(error) => error,
        })
    }

    /// Returns an iterator over the tensors, in the order of the header. It parses their descriptions again, because they are
    /// not kept.
    pub(super) fn infos(&self) -> impl Iterator<Item = Result<TensorInfo<'h>, FormatError>> {
        let mut input = self.first;
        (0..self.tensors).map(move |_| {
            info(&mut input, self.alignment, &self.limits).map_err(|stop| match stop {
                Stop::More => FormatError::internal("a parsed GGUF header is not complete"),
                Stop::Failed(error) => error,
            })
        })
    }

    /// Returns the name of the tensor with the given [`description_offset`](TensorInfo::description_offset).
    #[cold]
    pub(super) fn name(&self, description_offset: u32) -> Result<&'h str, FormatError> {
        let name = self.first.seek(description_offset.into()).text("the name of a tensor");
        name.map_err(|_| {
            FormatError::internal("a parsed GGUF header has no tensor at the given offset")
        })
    }
}

/// Reads the version, which must be 2 or 3, and sets the byte order of `input`. GGUF has no field for the byte order. A file is
/// big-endian if the low 16 bits of its version are 0 when they are read as a little-endian number: other readers decide so, too.
pub(super) fn read_version(input: &mut Input<'_>) -> Result<(), Stop> {
    let mut version = input.u32()?;
    if version.trailing_zeros() >= 16 {
        input.set_big_endian();
        version = version.swap_bytes();
    }
    match version {
        2 | 3 => Ok(()),
        _ => {
            let sentence = format_args!("unsupported GGUF version {version}");
            Err(Stop::at(Rule::GgufVersion, sentence, 4))
        }
    }
}

/// The metadata of a GGUF file, after it has been parsed and converted.
struct Metadata {
    /// The metadata, converted to a CBOR map with sorted keys.
    cbor: Vec<u8>,
    /// The alignment of tensor data in bytes: the value of `general.alignment`, or the default.
    alignment: u64,
    /// The offsets in the file of the keys whose values are checked by [`known::check`].
    known: Vec<u64>,
}

/// Parses the metadata at `input`, which has `keys` keys, and converts it to CBOR.
fn metadata(input: &mut Input<'_>, keys: u64, limits: &Limits) -> Result<Metadata, Stop> {
    let start = input.at();
    check_keys(keys, limits, "the metadata").map_err(|error| error.or_at(start))?;
    let (mut map, mut alignment, mut known) = (Map::default(), ALIGNMENT, Vec::new());
    for _ in 0..keys {
        let at = input.at();
        let key = input.text("a key of the metadata")?;
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
        // A named variable: Rust 1.89 drops a temporary in `format_args!` before the next statement.
        let key = Short(key);
        let sentence = format_args!("duplicate metadata key {key}");
        FormatError::violation_at(Rule::GgufDuplicateKey, sentence, start)
    })?;
    Ok(Metadata { cbor, alignment, known })
}

/// Parses and checks the value of `general.alignment`, and returns the alignment in bytes. `input` begins at the type of the
/// value.
pub(super) fn read_alignment(mut input: Input<'_>) -> Result<u64, Stop> {
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

/// Parses and checks the description of a tensor at `input`. `alignment` is the alignment of tensor data in bytes.
pub(super) fn info<'h>(
    input: &mut Input<'h>,
    alignment: u64,
    limits: &Limits,
) -> Result<TensorInfo<'h>, Stop> {
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
    let kind = Type::of(input.u32()?);
    let bytes = match kind {
        Type::Plain(storage) => {
            let bytes = elements(slots).and_then(|count| count.checked_mul(storage.width().into()));
            let sentence = format_args!("has more bytes than 64 bits can count");
            Some(bytes.ok_or_else(|| violation(Rule::GgufShape, sentence))?)
        }
        Type::Blocks(block) => {
            let name = block.name;
            let sentence =
                format_args!("has rows that are not whole blocks of {name}, or too many");
            let bytes = block.bytes_of(slots);
            Some(bytes.ok_or_else(|| violation(Rule::GgufShape, sentence))?)
        }
        Type::Unread(_) => None,
    };
    let offset = input.u64()?;
    if offset.checked_rem(alignment) != Some(0) {
        let sentence =
            format_args!("begins at data offset {offset}, which is not a multiple of {alignment}");
        return Err(violation(Rule::GgufOffset, sentence));
    }
    // The offset fits, because a header has at most 100 MiB.
    let description_offset = u32::try_from(at).unwrap_or(u32::MAX);
    Ok(TensorInfo { name, kind, bytes, offset, description_offset, shape, rank })
}
