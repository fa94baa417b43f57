//! GGUF, versions 2 and 3: metadata, a list of tensors, and their data.

pub(super) mod dequantize;
mod layout;
pub(super) mod types;
mod value;

use zten::Limits;

use super::cbor::Map;
use super::cursor::{Blames, Cursor};
use super::kind::Kind;
use super::limits::{validate_keys, validate_rank};
use super::listing::{Attributes, Listing, Tensors};
use super::place::Place;
use super::rules::Rule;
use super::source::Source;
use super::tensor::Tensor;
use super::trouble::Trouble;
use layout::Layout;
use zten_present::escape;

/// The longest header that is read. Large vocabularies take some ten million bytes.
const HEADER: u64 = 100 << 20;
/// What data is aligned to, where the metadata does not tell.
const ALIGNMENT: u64 = 32;
/// The key that tells.
const ALIGNMENT_KEY: &str = "general.alignment";

/// Reads the header.
pub(super) fn list(source: &Source, limits: &Limits) -> Result<Listing, Trouble> {
    let mut cursor = Cursor::new(source, 0..HEADER, Blames::GGUF);
    // What the file is has been told by its magic.
    cursor.skip(4)?;
    validate_version(cursor.u32()?)?;
    let (tensors, keys) = (cursor.u64()?, cursor.u64()?);
    let (attributes, alignment) = metadata(&mut cursor, keys, limits)?;
    let mut tensors = infos(&mut cursor, tensors, &Asked { alignment, limits })?;
    let header = cursor.at();
    let data = header.checked_next_multiple_of(alignment);
    let data = data.ok_or_else(|| {
        Trouble::refused(Rule::GgufAlignment, "the data begins beyond what can be")
    })?;
    tensors.put_in_order(data);
    layout::validate(source, &tensors, &Layout { header, data, alignment })?;
    tensors.check_unique(Rule::GgufDuplicateName)?;
    Ok(Listing { attributes, tensors })
}

fn validate_version(version: u32) -> Result<(), Trouble> {
    let sentence = match version {
        2 | 3 => return Ok(()),
        1 => "version 1 of GGUF is not supported".to_owned(),
        // Small numbers, with their bytes in the other order.
        _ if version.trailing_zeros() >= 16 => "big-endian GGUF is not supported".to_owned(),
        _ => format!("version {version} of GGUF is not known"),
    };
    Err(Trouble::refused_at(Rule::GgufVersion, sentence, 4))
}

/// The metadata as CBOR, and the alignment that it asks for.
fn metadata(
    cursor: &mut Cursor<'_>,
    keys: u64,
    limits: &Limits,
) -> Result<(Attributes, u64), Trouble> {
    validate_keys(keys, limits, "the metadata")?;
    let mut map = Map::default();
    let mut alignment = ALIGNMENT;
    let mut other_nan = None;
    for _ in 0..keys {
        let key = text(cursor, "a key of the metadata")?;
        let start = cursor.at();
        let kind = cursor.u32()?;
        let mut has_other_nan = false;
        map.put(&key, |out| {
            if key == ALIGNMENT_KEY {
                alignment = read_alignment(cursor, kind, start)?;
                return Ok(out.uint(alignment)?);
            }
            has_other_nan = value::copy(cursor, kind, out)?;
            Ok(())
        })
        .map_err(|trouble: Trouble| trouble.about(&key))?;
        if has_other_nan {
            other_nan.get_or_insert(key);
        }
    }
    let cbor = map.finish(|key| {
        let key = escape::quoted(key);
        Trouble::refused(Rule::GgufDuplicateKey, format!("the metadata has the key {key} twice"))
    })?;
    Ok((Attributes { cbor, other_nan }, alignment))
}

fn read_alignment(cursor: &mut Cursor<'_>, kind: u32, start: u64) -> Result<u64, Trouble> {
    let alignment = if kind == value::U32 { cursor.u32()? } else { 0 };
    if alignment.is_power_of_two() {
        return Ok(alignment.into());
    }
    Err(Trouble::refused_at(
        Rule::GgufAlignment,
        "the alignment is no power of two of type u32",
        start,
    ))
}

/// A length and a text of that length.
fn text(cursor: &mut Cursor<'_>, what: &str) -> Result<String, Trouble> {
    let start = cursor.at();
    let length = cursor.u64()?;
    let mut bytes = Vec::new();
    cursor.append(length, &mut bytes)?;
    String::from_utf8(bytes)
        .map_err(|_| Trouble::refused_at(Rule::GgufUtf8, format!("{what} is not UTF-8"), start))
}

/// What a tensor is held to.
struct Asked<'l> {
    alignment: u64,
    limits: &'l Limits,
}

/// The list of tensors. Each place is still counted from where the data begins.
fn infos(cursor: &mut Cursor<'_>, count: u64, asked: &Asked<'_>) -> Result<Tensors, Trouble> {
    let mut tensors = Tensors::default();
    for _ in 0..count {
        let start = cursor.at();
        let name = text(cursor, "the name of a tensor")?;
        let tensor = info(cursor, name, asked).map_err(|trouble| trouble.or_at(start))?;
        tensors.push(&tensor)?;
    }
    Ok(tensors)
}

fn info(cursor: &mut Cursor<'_>, name: String, asked: &Asked<'_>) -> Result<Tensor, Trouble> {
    let refused = |rule, sentence: String| Trouble::refused(rule, sentence).about(&name);
    let rank = cursor.u32()?;
    validate_rank(usize::try_from(rank).unwrap_or(usize::MAX), asked.limits, "it")
        .map_err(|trouble| trouble.about(&name))?;
    let mut shape = Vec::new();
    for _ in 0..rank {
        shape.push(cursor.u64()?);
    }
    // The first dimension is the one that moves fastest.
    shape.reverse();
    let kind =
        types::kind(cursor.u32()?).map_err(|sentence| refused(Rule::GgufTensorType, sentence))?;
    let bytes = kind.bytes(&shape).ok_or_else(|| match kind {
        Kind::Verbatim(block) => refused(
            Rule::GgufShape,
            format!("its rows are no whole blocks of {}, or too many", block.name),
        ),
        _ => refused(Rule::GgufShape, "its elements are too many".to_owned()),
    })?;
    let offset = cursor.u64()?;
    let alignment = asked.alignment;
    if offset.checked_rem(alignment) != Some(0) {
        let sentence = format!("its data, at {offset}, is not aligned to {alignment} bytes");
        return Err(refused(Rule::GgufOffset, sentence));
    }
    Ok(Tensor { name, shape, kind, bytes, place: Place::Extent(offset) })
}
