//! The fields of objects and components, as CBOR.
//!
//! Canonical files have them in the order of deterministic CBOR; others in the order of the
//! tables in `format`, which is what readers guess first.

use super::declare::NewObject;
use crate::cbor::Output;
use crate::digest::Spelled;
use crate::element::StorageType;
use crate::error::OutOfMemory;
use crate::format::v1::{ComponentKey, ObjectKey};
use crate::manifest::ElementType;
use crate::num::u64_from_usize;

/// What is known of a component once its bytes are written.
pub(super) struct Written<'a> {
    pub(super) role: &'a str,
    pub(super) element: ElementType<'a>,
    pub(super) storage: StorageType,
    pub(super) digest: Option<Spelled>,
    pub(super) offset: u64,
    /// Stored bytes.
    pub(super) length: u64,
    /// Decoded bytes, where it is compressed.
    pub(super) decoded: Option<u64>,
    /// The shard that it is in, if it is in one.
    pub(super) shard: Option<&'a str>,
}

/// Name and fields of an object up to its components, which are to follow. `attributes` are
/// CBOR.
pub(super) fn object(
    out: &mut Output,
    object: &NewObject<'_>,
    format: &str,
    attributes: Option<&[u8]>,
) -> Result<(), OutOfMemory> {
    out.text(object.name)?;
    out.map(object_keys(attributes))?;
    // Components are last in either order.
    for key in ObjectKey::TABLE_ORDER {
        match key {
            ObjectKey::shape => {
                key.write(out)?;
                shape(out, object.shape)?;
            }
            ObjectKey::format => {
                key.write(out)?;
                out.text(format)?;
            }
            ObjectKey::attributes => {
                if let Some(attributes) = attributes {
                    key.write(out)?;
                    out.raw(attributes)?;
                }
            }
            ObjectKey::components => {
                key.write(out)?;
                out.map(u64_from_usize(object.components().len()))?;
            }
        }
    }
    Ok(())
}

/// A shape.
pub(super) fn shape(out: &mut Output, shape: &[u64]) -> Result<(), OutOfMemory> {
    out.array(u64_from_usize(shape.len()))?;
    shape.iter().try_for_each(|dimension| out.uint(*dimension))
}

/// How many keys the map of an object has.
pub(super) fn object_keys(attributes: Option<&[u8]>) -> u64 {
    if attributes.is_some() { 4 } else { 3 }
}

/// The most keys that the map of an object or a component has.
pub(super) const MOST_KEYS: u64 = 7;

/// How many keys the map of a component has.
pub(super) fn component_keys(element: &ElementType<'_>, digest: bool, compressed: bool) -> u64 {
    let typed = matches!(element, ElementType::Logical(_) | ElementType::UnknownLogical(..));
    let given = [typed, digest, compressed, compressed];
    u64_from_usize(given.into_iter().filter(|given| *given).count()).saturating_add(3)
}

/// Role and fields of a component.
pub(super) fn component(
    out: &mut Output,
    written: &Written<'_>,
    canonical: bool,
) -> Result<(), OutOfMemory> {
    let order =
        if canonical { ComponentKey::DETERMINISTIC_ORDER } else { ComponentKey::TABLE_ORDER };
    let keys =
        component_keys(&written.element, written.digest.is_some(), written.decoded.is_some());
    out.text(written.role)?;
    out.map(keys)?;
    for key in order {
        match written.value(*key) {
            Some(Value::Text(text)) => {
                key.write(out)?;
                out.text_of(text)?;
            }
            Some(Value::Uint(number)) => {
                key.write(out)?;
                out.uint(number)?;
            }
            None => {}
        }
    }
    Ok(())
}

/// The value of a component's field.
enum Value<'a> {
    Text(&'a [u8]),
    Uint(u64),
}

impl<'a> Written<'a> {
    /// The value of a field; none where it is left out.
    #[inline]
    fn value(&self, key: ComponentKey) -> Option<Value<'_>> {
        match key {
            ComponentKey::dtype => Some(Value::Text(self.storage.name().as_bytes())),
            ComponentKey::offset => Some(Value::Uint(self.offset)),
            ComponentKey::length => Some(Value::Uint(self.length)),
            ComponentKey::digest => self.digest.as_ref().map(Spelled::as_bytes).map(Value::Text),
            ComponentKey::encoding => self.decoded.map(|_| Value::Text(b"zstd")),
            ComponentKey::decoded_length => self.decoded.map(Value::Uint),
            ComponentKey::logical_type => self.type_name().map(str::as_bytes).map(Value::Text),
        }
    }

    /// What `type` says, where it says more than `dtype`.
    pub(super) fn type_name(&self) -> Option<&'a str> {
        match self.element {
            ElementType::Logical(logical) => Some(logical.name()),
            ElementType::UnknownLogical(name, _) => Some(name),
            ElementType::Plain(_) | ElementType::Unknown(_) | ElementType::UnknownOnLogical(..) => {
                None
            }
        }
    }
}

/// More bytes than the entry of an object takes beside its attributes.
pub(super) fn bound(object: &NewObject<'_>, format: &str) -> u64 {
    let texts = |object: &NewObject<'_>| {
        let own = u64_from_usize(object.name.len()).saturating_add(u64_from_usize(format.len()));
        let shape = u64_from_usize(object.shape.len()).saturating_mul(9);
        own.saturating_add(shape).saturating_add(FIXED)
    };
    object.components().iter().fold(texts(object), |sum, component| {
        let role = u64_from_usize(component.role.len());
        sum.saturating_add(role).saturating_add(component.type_name_bytes()).saturating_add(FIXED)
    })
}

/// More than all keys, heads, numbers, digests and the name of a shard of an object or a component take.
const FIXED: u64 = 336;
