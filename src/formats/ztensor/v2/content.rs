//! The bytes that the content digest is computed over: names, shapes, layouts, attributes of
//! objects, types and digests, as deterministic CBOR. v2 §6.4.

use super::{ObjectKey, PartKey, RootKey};
use crate::cbor::{Checked, Fault, Input, UNLIMITED, head_bytes, key, major, map_head, pass, span};
use crate::formats::ztensor::Field;
use crate::num::len_u32;
use crate::rules::Rule;

/// An array of two, and its first element.
const BEGIN: &[u8] = b"\x82\x6czt.content/1";

/// Hands all of it to `feed`, of a manifest that has been validated and each of whose parts has a digest.
///
/// # Errors
/// An internal error, if the manifest is not what was validated.
pub(crate) fn content(manifest: Input<'_>, mut feed: impl FnMut(&[u8])) -> Checked<()> {
    feed(BEGIN);
    write_entries(value(manifest, RootKey::objects.field())?, &mut feed, object)
}

/// The value of a field that a record has to have.
fn value(map: Input<'_>, field: Field) -> Checked<Input<'_>> {
    field.find(map).ok_or_else(|| Fault::internal(map).into())
}

/// Writes the head of a map, and for each entry the key; `write` writes the value.
fn write_entries<F: FnMut(&[u8])>(
    map: Input<'_>,
    feed: &mut F,
    write: impl Fn(Input<'_>, &mut F) -> Checked<()>,
) -> Checked<()> {
    let (mut input, mut entries) = map_head(Rule::ObjectsType, UNLIMITED, map)?;
    head(major::MAP, entries.claimed().ok_or_else(|| Fault::internal(map))?, feed);
    while entries.next(input) {
        let (at, _) = key(input)?;
        feed(span(input, at)?);
        write(at, feed)?;
        input = pass(at).ok_or_else(|| Fault::internal(at))?;
    }
    Ok(())
}

/// An object, whose fields stand in the order of their keys' encodings.
fn object<F: FnMut(&[u8])>(map: Input<'_>, feed: &mut F) -> Checked<()> {
    let own = ObjectKey::attributes.field().find(map);
    head(major::MAP, if own.is_some() { 4 } else { 3 }, feed);
    text(ObjectKey::parts.as_str(), feed);
    write_entries(value(map, ObjectKey::parts.field())?, feed, part)?;
    for key in [ObjectKey::shape, ObjectKey::layout] {
        field(key.as_str(), value(map, key.field())?, feed)?;
    }
    match own {
        Some(own) => field(ObjectKey::attributes.as_str(), own, feed),
        None => Ok(()),
    }
}

/// A part, whose fields stand in that order, too.
fn part<F: FnMut(&[u8])>(map: Input<'_>, feed: &mut F) -> Checked<()> {
    let own = PartKey::logical_type.field().find(map);
    head(major::MAP, if own.is_some() { 3 } else { 2 }, feed);
    for key in [PartKey::logical_type, PartKey::dtype, PartKey::digest] {
        if let Some(value) = key.field().find(map) {
            field(key.as_str(), value, feed)?;
        }
    }
    Ok(())
}

/// A key and the value at `at`, which is deterministic as it stands.
fn field(key: &str, at: Input<'_>, feed: &mut impl FnMut(&[u8])) -> Checked<()> {
    text(key, feed);
    let rest = pass(at).ok_or_else(|| Fault::internal(at))?;
    feed(span(at, rest)?);
    Ok(())
}

fn text(text: &str, feed: &mut impl FnMut(&[u8])) {
    head(major::TEXT, len_u32(text.len()), feed);
    feed(text.as_bytes());
}

/// A head, its argument in as few bytes as can be.
fn head(major: u8, argument: u32, feed: &mut impl FnMut(&[u8])) {
    let (bytes, start) = head_bytes(major, argument.into());
    feed(bytes.get(start..).unwrap_or_default());
}
