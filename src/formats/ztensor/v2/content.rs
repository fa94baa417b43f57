//! The byte stream over which the content digest is computed: names, shapes, layouts, attributes of objects, types and
//! digests, as deterministic CBOR. v2 §6.4.

use super::{ObjectKey, PartKey, RootKey};
use crate::cbor::{Checked, Fault, Input, UNLIMITED, head_bytes, key, major, map_head, pass, span};
use crate::formats::ztensor::Field;
use crate::num::len_u32;
use crate::rules::Rule;

/// The beginning of the byte stream in CBOR: the head of an array of two items, and the first item. The second item is
/// the map of objects.
const BEGIN: &[u8] = b"\x82\x6czt.content/1";

/// Passes the byte stream over which the content digest is computed to `feed`, in pieces. `manifest` has been validated, and
/// each of its components has a digest.
///
/// # Errors
/// An internal error, if `manifest` has not been validated.
pub(crate) fn content(manifest: Input<'_>, mut feed: impl FnMut(&[u8])) -> Checked<()> {
    feed(BEGIN);
    write_entries(value(manifest, RootKey::objects.field())?, &mut feed, object)
}

/// Returns the input at the value of `field` in the validated `map`. A missing field is an internal error.
fn value(map: Input<'_>, field: Field) -> Checked<Input<'_>> {
    field.find(map).ok_or_else(|| Fault::internal(map).into())
}

/// Passes the head and the keys of `map` to `feed`. After each key, `write` gets the input at the value, and passes the bytes
/// for the value to `feed`.
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

/// Passes the bytes for the object at `map` to `feed`, with its fields in the order of deterministic CBOR.
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

/// Passes the bytes for the component at `map` to `feed`, with its fields in the order of deterministic CBOR.
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

/// Passes `key` as a CBOR text and then the CBOR item at `at` to `feed`. The item is deterministic CBOR, because the manifest
/// is.
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

/// Passes the shortest CBOR head of the major type `major` with `argument` to `feed`.
fn head(major: u8, argument: u32, feed: &mut impl FnMut(&[u8])) {
    let (bytes, start) = head_bytes(major, argument.into());
    feed(bytes.get(start..).unwrap_or_default());
}
