//! The fields of objects and parts of 2, as deterministic CBOR. The parts of an object stand before its
//! other fields.

use super::declare::NewObject;
use super::entry::{self, Written};
use crate::cbor::Output;
use crate::element::StorageType;
use crate::error::OutOfMemory;
use crate::format::v2::{ObjectKey, PartKey};
use crate::manifest::ElementType;
use crate::num::u64_from_usize;

/// Name and fields of an object up to its parts, which are to follow.
pub(super) fn begin(
    out: &mut Output,
    object: &NewObject<'_>,
    attributes: bool,
) -> Result<(), OutOfMemory> {
    out.text(object.name)?;
    out.map(if attributes { 4 } else { 3 })?;
    ObjectKey::parts.write(out)?;
    out.map(u64_from_usize(object.components().len()))
}

/// The fields that follow the parts.
pub(super) fn end(
    out: &mut Output,
    object: &NewObject<'_>,
    layout: &str,
    attributes: Option<&[u8]>,
) -> Result<(), OutOfMemory> {
    ObjectKey::shape.write(out)?;
    entry::shape(out, object.shape)?;
    ObjectKey::layout.write(out)?;
    out.text(layout)?;
    if let Some(attributes) = attributes {
        ObjectKey::attributes.write(out)?;
        out.raw(attributes)?;
    }
    Ok(())
}

/// Name and fields of a part.
pub(super) fn part(out: &mut Output, written: &Written<'_>) -> Result<(), OutOfMemory> {
    let (dtype, logical) = match written.element {
        ElementType::Plain(StorageType::Bool) => (StorageType::U8, Some(StorageType::Bool.name())),
        _ => (written.storage, written.type_name()),
    };
    let compressed = written.decoded.is_some();
    let (sharded, digested) = (written.shard.is_some(), written.digest.is_some());
    let given = [logical.is_some(), sharded, digested, compressed, compressed];
    let count = u64_from_usize(given.into_iter().filter(|given| *given).count());
    out.text(written.role)?;
    out.map(count.saturating_add(2))?;
    PartKey::blob.write(out)?;
    out.array(2)?;
    out.uint(written.offset)?;
    out.uint(written.length)?;
    if let Some(logical) = logical {
        PartKey::logical_type.write(out)?;
        out.text(logical)?;
    }
    PartKey::dtype.write(out)?;
    out.text(dtype.name())?;
    if let Some(shard) = written.shard {
        PartKey::shard.write(out)?;
        out.text(shard)?;
    }
    if let Some(digest) = &written.digest {
        PartKey::digest.write(out)?;
        out.text_of(digest.as_bytes())?;
    }
    if let Some(decoded) = written.decoded {
        PartKey::encoding.write(out)?;
        out.text(crate::format::Encoding::ZstdSeekable.name())?;
        PartKey::decoded_length.write(out)?;
        out.uint(decoded)?;
    }
    Ok(())
}
