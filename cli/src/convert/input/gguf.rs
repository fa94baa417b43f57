//! GGUF, versions 2 and 3: metadata, a list of tensors, and their data.

pub(super) mod types;
mod value;

use zten::Limits;

use super::cbor::{self, Map};
use super::cursor::Cursor;
use super::source::Source;
use super::{Kind, Listing, Place, Tensor, Trouble, judge_rank};
use crate::escape;

/// The longest header that is read. Large vocabularies take some ten million bytes.
const HEADER: u64 = 100 << 20;
/// What data is aligned to, where the metadata does not tell.
const ALIGNMENT: u64 = 32;
/// The key that tells.
const ALIGNMENT_KEY: &str = "general.alignment";

/// Reads the header.
pub(super) fn list(source: &Source, limits: &Limits) -> Result<Listing, Trouble> {
    let mut cursor = Cursor::new(source, 0, HEADER);
    // What the file is has been told by its magic.
    cursor.skip(4)?;
    judge_version(cursor.u32()?)?;
    let (tensors, keys) = (cursor.u64()?, cursor.u64()?);
    let (attributes, alignment) = metadata(&mut cursor, keys)?;
    let mut tensors = infos(&mut cursor, tensors, limits)?;
    let data = cursor.at().checked_next_multiple_of(alignment);
    let data = data.ok_or_else(|| Trouble::refused("the data begins beyond what can be"))?;
    for tensor in &mut tensors {
        place(tensor, data, alignment, source.len())?;
    }
    judge_overlap(&mut tensors)?;
    Ok(Listing { attributes, tensors })
}

fn judge_version(version: u32) -> Result<(), Trouble> {
    let sentence = match version {
        2 | 3 => return Ok(()),
        1 => "version 1 of GGUF is not supported".to_owned(),
        // Small numbers, with their bytes in the other order.
        _ if version.trailing_zeros() >= 16 => "big-endian GGUF is not supported".to_owned(),
        _ => format!("version {version} of GGUF is not known"),
    };
    Err(Trouble::refused_at(sentence, 4))
}

/// The metadata as CBOR, and the alignment that it asks for.
fn metadata(cursor: &mut Cursor<'_>, keys: u64) -> Result<(Vec<u8>, u64), Trouble> {
    let mut map = Map::default();
    let mut alignment = ALIGNMENT;
    for _ in 0..keys {
        let key = text(cursor, "a key of the metadata")?;
        let start = cursor.at();
        let kind = cursor.u32()?;
        map.entry(&key, |out| {
            if key == ALIGNMENT_KEY {
                alignment = read_alignment(cursor, kind, start)?;
                cbor::uint(out, alignment);
                return Ok(());
            }
            value::copy(cursor, kind, out)
        })
        .map_err(|trouble: Trouble| trouble.about(&key))?;
    }
    let attributes = map.finish().map_err(|key| {
        let key = escape::quoted(&key);
        Trouble::refused(format!("the metadata has the key {key} twice"))
    })?;
    Ok((attributes, alignment))
}

fn read_alignment(cursor: &mut Cursor<'_>, kind: u32, start: u64) -> Result<u64, Trouble> {
    let alignment = if kind == value::U32 { cursor.u32()? } else { 0 };
    if alignment.is_power_of_two() {
        return Ok(alignment.into());
    }
    Err(Trouble::refused_at("the alignment is no power of two of type u32", start))
}

/// A length and a text of that length.
fn text(cursor: &mut Cursor<'_>, what: &str) -> Result<String, Trouble> {
    let start = cursor.at();
    let length = cursor.u64()?;
    let mut bytes = Vec::new();
    cursor.append(length, &mut bytes)?;
    String::from_utf8(bytes).map_err(|_| Trouble::refused_at(format!("{what} is not UTF-8"), start))
}

/// The list of tensors. Each place is still counted from where the data begins.
fn infos(cursor: &mut Cursor<'_>, count: u64, limits: &Limits) -> Result<Vec<Tensor>, Trouble> {
    let mut tensors = Vec::new();
    for _ in 0..count {
        let start = cursor.at();
        let name = text(cursor, "the name of a tensor")?;
        let tensor = info(cursor, name, limits).map_err(|trouble| trouble.or_at(start))?;
        tensors.push(tensor);
    }
    Ok(tensors)
}

fn info(cursor: &mut Cursor<'_>, name: String, limits: &Limits) -> Result<Tensor, Trouble> {
    let refused = |sentence| Trouble::refused(sentence).about(&name);
    let rank = cursor.u32()?;
    judge_rank(usize::try_from(rank).unwrap_or(usize::MAX), limits, "it")
        .map_err(|trouble| trouble.about(&name))?;
    let mut shape = Vec::new();
    for _ in 0..rank {
        shape.push(cursor.u64()?);
    }
    // The first dimension is the one that moves fastest.
    shape.reverse();
    let kind = types::kind(cursor.u32()?).map_err(refused)?;
    let bytes = kind.bytes(&shape).ok_or_else(|| match kind {
        Kind::Verbatim(block) => {
            refused(format!("its rows are no whole blocks of {}, or too many", block.name))
        }
        _ => refused("its elements are too many".to_owned()),
    })?;
    let place = Place::Extent(cursor.u64()?);
    Ok(Tensor { name, shape, kind, bytes, place })
}

/// Puts the place of a tensor where it is in the file, if it can be there.
fn place(tensor: &mut Tensor, data: u64, alignment: u64, length: u64) -> Result<(), Trouble> {
    let Place::Extent(offset) = tensor.place else {
        return Ok(());
    };
    let refused = |sentence| {
        let sentence = format!("its data, at {offset}, {sentence}");
        Err(Trouble::refused(sentence).about(&tensor.name))
    };
    if offset.checked_rem(alignment) != Some(0) {
        return refused(format!("is not aligned to {alignment} bytes"));
    }
    let start = data.checked_add(offset);
    let end = start.and_then(|start| start.checked_add(tensor.bytes));
    match start.filter(|_| tensor.bytes == 0 || end.is_some_and(|end| end <= length)) {
        Some(start) => tensor.place = Place::Extent(start),
        None => return refused(format!("takes {} bytes, which are not there", tensor.bytes)),
    }
    Ok(())
}

/// Puts the tensors in the order of their data, which no two may share.
fn judge_overlap(tensors: &mut [Tensor]) -> Result<(), Trouble> {
    let start = |tensor: &Tensor| match tensor.place {
        Place::Extent(start) => start,
        _ => 0,
    };
    // Those without data take no place, and stay in front of what begins where they do.
    tensors.sort_by_key(|tensor| (start(tensor), tensor.bytes > 0));
    let mut end = 0;
    let mut before = "";
    for tensor in tensors.iter().filter(|tensor| tensor.bytes > 0) {
        if start(tensor) < end {
            let (name, before) = (escape::quoted(&tensor.name), escape::quoted(before));
            let sentence = format!("{name} shares data with {before}");
            return Err(Trouble::refused_at(sentence, start(tensor)));
        }
        end = start(tensor).saturating_add(tensor.bytes);
        before = &tensor.name;
    }
    Ok(())
}
