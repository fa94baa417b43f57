//! Writing objects, components and shards as CBOR, by the tables of the parsers.
//!
//! In canonical files and files of 2, fields are in the order of deterministic CBOR. In other files they are in the order
//! of the tables, which readers try first.

use super::declare::{Declared, DeclaredComponent};
use super::settings::Target;
use crate::cbor::Encoder;
use crate::digest::{Digest, DigestText};
use crate::element::StorageType;
use crate::error::OutOfMemory;
use crate::formats::ztensor::v1::{ComponentKey, ObjectKey};
use crate::formats::ztensor::v2;
use crate::num::u64_from_usize;

/// Writes the name and the fields of `declared`. Its components are in the order in which they are written.
pub(super) fn object(
    out: &mut Encoder,
    object: &Declared<'_>,
    target: &Target,
) -> Result<(), OutOfMemory> {
    let components = |out: &mut Encoder| {
        out.map(u64_from_usize(object.parts.len()))?;
        object.parts.iter().try_for_each(|part| component(out, part, target))
    };
    let attributes = || object.attributes.as_ref().map(|own| FieldValue::Encoded(own.as_bytes()));
    out.text(object.name)?;
    if target.writing.deterministic {
        return record(out, v2::ObjectKey::TABLE_ORDER, v2::ObjectKey::write, |key| match key {
            v2::ObjectKey::parts => Some(FieldValue::Written(&components)),
            v2::ObjectKey::shape => Some(FieldValue::Numbers(object.shape)),
            v2::ObjectKey::layout => Some(FieldValue::Text(object.layout)),
            v2::ObjectKey::attributes => attributes(),
        });
    }
    // For this record, the table and deterministic CBOR have the same order.
    record(out, ObjectKey::TABLE_ORDER, ObjectKey::write, |key| match key {
        ObjectKey::shape => Some(FieldValue::Numbers(object.shape)),
        ObjectKey::format => Some(FieldValue::Text(object.layout)),
        ObjectKey::attributes => attributes(),
        ObjectKey::components => Some(FieldValue::Written(&components)),
    })
}

/// The fields of a component of 1.2 in the order of deterministic CBOR: RFC 8949 §4.2.3.
const CANONICAL_ORDER: &[ComponentKey] = &[
    ComponentKey::logical_type,
    ComponentKey::dtype,
    ComponentKey::digest,
    ComponentKey::length,
    ComponentKey::offset,
    ComponentKey::encoding,
    ComponentKey::decoded_length,
];
const _: () = assert!(
    CANONICAL_ORDER.len() == ComponentKey::TABLE_ORDER.len(),
    "the canonical order must list every field of a component"
);

/// Writes the entry of the component `part`: its role, and a map of its fields.
fn component(
    out: &mut Encoder,
    part: &DeclaredComponent<'_>,
    target: &Target,
) -> Result<(), OutOfMemory> {
    let blob = &part.blob;
    let decoded = blob.compressed.then_some(FieldValue::Uint(part.bytes));
    let encoding = decoded.map(|_| FieldValue::Text(target.writing.compression.name()));
    let logical = part.type_name.map(FieldValue::Text);
    out.text(part.role)?;
    if target.writing.deterministic {
        let bools =
            part.storage == StorageType::Bool && part.type_name == Some(StorageType::Bool.name());
        let dtype = if bools { StorageType::U8 } else { part.storage };
        let extent = [blob.offset, blob.length];
        return record(out, v2::PartKey::TABLE_ORDER, v2::PartKey::write, |key| match key {
            v2::PartKey::blob => Some(FieldValue::Numbers(&extent)),
            v2::PartKey::logical_type => logical,
            v2::PartKey::dtype => Some(FieldValue::Text(dtype.name())),
            v2::PartKey::shard => part.shard.map(FieldValue::Text),
            v2::PartKey::digest => blob.digest.as_ref().map(FieldValue::Digest),
            v2::PartKey::encoding => encoding,
            v2::PartKey::decoded_length => decoded,
        });
    }
    let order = if target.canonical { CANONICAL_ORDER } else { ComponentKey::TABLE_ORDER };
    record(out, order, ComponentKey::write, |key| match key {
        ComponentKey::dtype => Some(FieldValue::Text(part.storage.name())),
        ComponentKey::offset => Some(FieldValue::Uint(blob.offset)),
        ComponentKey::length => Some(FieldValue::Uint(blob.length)),
        ComponentKey::digest => blob.digest.as_ref().map(FieldValue::Digest),
        ComponentKey::encoding => encoding,
        ComponentKey::decoded_length => decoded,
        ComponentKey::logical_type => logical,
    })
}

/// The value of a field to write.
#[derive(Clone, Copy)]
pub(super) enum FieldValue<'a> {
    Uint(u64),
    Text(&'a str),
    Numbers(&'a [u64]),
    Digest(&'a Digest<'static>),
    Encoded(&'a [u8]),
    /// The items that this function writes.
    Written(&'a dyn Fn(&mut Encoder) -> Result<(), OutOfMemory>),
}

/// Writes a map with the fields `keys`, as far as `value` returns a value for them. `write` writes the key of a field.
pub(super) fn record<'a, K: Copy>(
    out: &mut Encoder,
    keys: &[K],
    write: impl Fn(K, &mut Encoder) -> Result<(), OutOfMemory>,
    value: impl Fn(K) -> Option<FieldValue<'a>>,
) -> Result<(), OutOfMemory> {
    let (head, mut count) = (out.len(), 0_u8);
    out.map(0)?;
    for key in keys {
        let Some(value) = value(*key) else { continue };
        count = count.saturating_add(1);
        write(*key, out)?;
        match value {
            FieldValue::Uint(number) => out.uint(number)?,
            FieldValue::Text(text) => out.text(text)?,
            FieldValue::Numbers(numbers) => {
                out.array(u64_from_usize(numbers.len()))?;
                numbers.iter().try_for_each(|number| out.uint(*number))?;
            }
            // A digest of an unknown algorithm has no text form. It becomes the empty text, which readers reject, because no
            // written file may claim a digest that nobody can verify.
            FieldValue::Digest(own) => {
                let digest_text = DigestText::new(own);
                out.text_of(digest_text.as_ref().map_or(b"", DigestText::as_bytes))?;
            }
            FieldValue::Encoded(bytes) => out.raw(bytes)?,
            FieldValue::Written(write) => write(out)?,
        }
    }
    out.count(head, count);
    Ok(())
}
