//! The fields of objects and components, as CBOR.
//!
//! Canonical files have them in the order of deterministic CBOR; others in the order of the
//! tables in `schema`, which is what readers guess first.

use super::declare::NewObject;
use crate::cbor::{Output, spell};
use crate::digest::Spelled;
use crate::error::OutOfMemory;
use crate::manifest::ElementType;
use crate::num::wide;

/// What is known of a component once its bytes are written.
pub(super) struct Written<'a> {
    pub(super) role: &'a str,
    pub(super) element: ElementType<'a>,
    pub(super) digest: Option<Spelled>,
    pub(super) offset: u64,
    /// Stored bytes.
    pub(super) length: u64,
    /// Decoded bytes, where it is compressed.
    pub(super) decoded: Option<u64>,
}

/// Name and fields of an object up to its components, which are to follow. `attributes` are
/// CBOR.
pub(super) fn object(
    out: &mut Output,
    object: &NewObject<'_>,
    attributes: Option<&[u8]>,
) -> Result<(), OutOfMemory> {
    out.text(object.name)?;
    out.map(if attributes.is_some() { 4 } else { 3 })?;
    out.raw(const { &spell::<6>("shape") })?;
    out.array(wide(object.shape.len()))?;
    object.shape.iter().try_for_each(|dimension| out.uint(*dimension))?;
    out.raw(const { &spell::<7>("format") })?;
    out.text(object.format)?;
    if let Some(attributes) = attributes {
        out.text("attributes")?;
        out.raw(attributes)?;
    }
    out.raw(const { &spell::<11>("components") })?;
    out.map(wide(object.components().len()))
}

/// Role and fields of a component.
pub(super) fn component(
    out: &mut Output,
    written: &Written<'_>,
    canonical: bool,
) -> Result<(), OutOfMemory> {
    let Written { element, digest, offset, length, decoded, .. } = written;
    let dtype = element.storage().map_or("", |storage| storage.name());
    let logical = match element {
        ElementType::Logical(logical) => Some(logical.name()),
        ElementType::UnknownLogical(name, _) => Some(*name),
        _ => None,
    };
    let given = [logical.is_some(), digest.is_some(), decoded.is_some(), decoded.is_some()];
    let fields = given.into_iter().filter(|given| *given).count();
    let digest = digest.as_ref().map(Spelled::as_str);
    out.text(written.role)?;
    out.map(wide(fields).saturating_add(3))?;
    // Most of what is written are keys and short numbers, of sizes known here.
    macro_rules! text {
        ($key:literal, $value:expr) => {
            if let Some(value) = $value {
                out.raw(const { &spell::<{ $key.len() + 1 }>($key) })?;
                out.text(value)?;
            }
        };
    }
    macro_rules! number {
        ($key:literal, $value:expr) => {
            out.raw(const { &spell::<{ $key.len() + 1 }>($key) })?;
            out.uint($value)?;
        };
    }
    if canonical {
        text!("type", logical);
        text!("dtype", Some(dtype));
        text!("digest", digest);
        number!("length", *length);
        number!("offset", *offset);
        return Ok(());
    }
    text!("dtype", Some(dtype));
    number!("offset", *offset);
    number!("length", *length);
    text!("digest", digest);
    if let Some(decoded) = decoded {
        text!("encoding", Some("zstd"));
        number!("uncompressed_length", *decoded);
    }
    text!("type", logical);
    Ok(())
}

/// More bytes than the entry of an object takes beside its attributes.
pub(super) fn bound(object: &NewObject<'_>) -> u64 {
    let texts = |object: &NewObject<'_>| {
        let own = wide(object.name.len()).saturating_add(wide(object.format.len()));
        let shape = wide(object.shape.len()).saturating_mul(9);
        own.saturating_add(shape).saturating_add(FIXED)
    };
    object.components().iter().fold(texts(object), |sum, component| {
        let element = match component.element {
            ElementType::UnknownLogical(name, _) => wide(name.len()),
            _ => 0,
        };
        let role = wide(component.role.len());
        sum.saturating_add(role).saturating_add(element).saturating_add(FIXED)
    })
}

/// More than all keys, heads, numbers and digests of an object or a component take.
const FIXED: u64 = 256;
