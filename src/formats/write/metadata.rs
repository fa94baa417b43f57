//! The metadata of a safetensors file: attributes as texts.
//!
//! The values of safetensors metadata are texts. Other values are written as JSON text, and the entry [`JSON_KEYS`] lists
//! their keys. A reader of this project decodes only listed values, so that a text that looks like JSON stays a text. A value
//! that JSON cannot hold is an error that names the key.

use alloc::format;
use alloc::string::String;
use alloc::string::ToString as _;
use alloc::vec::Vec;
use std::collections::BTreeSet;

use serde::ser::{Error as _, SerializeMap as _};
use serde::{Serialize, Serializer};

use crate::cbor::{Attributes, Item, Map, Value};
use crate::formats::json_text::JSON_KEYS;
use crate::json::{self, value};
use crate::limits::Limits;
use crate::num::u64_from_usize;

use super::array::Inexpressible;

/// The largest nesting depth of the value of an attribute. A zTensor manifest allows 64 levels, and two of these levels are
/// around the value.
const DEPTH: usize = 62;

/// The entries of `__metadata__` in the header of a safetensors file that is being written.
pub(super) struct Metadata<'a> {
    attributes: Attributes<'a>,
    /// The keys of the attributes that are written as JSON text, in a JSON array; `None` if all attributes are texts.
    json_keys: Option<String>,
}

impl<'a> Metadata<'a> {
    /// Checks that each of `attributes` is a text or can be written as JSON text, and that readers accept their number.
    pub(super) fn new(attributes: Attributes<'a>) -> Result<Self, Inexpressible> {
        let mut keys = Vec::new();
        for (key, item) in attributes.clone() {
            if key == JSON_KEYS {
                let sentence =
                    "has the key that lists which metadata of a .safetensors file is JSON text";
                return Err(Inexpressible::attribute(key, sentence));
            }
            if !matches!(item.value(), Value::Text(_)) {
                check(&item, DEPTH).map_err(|what| {
                    let sentence = format!(
                        "holds {what}, and the metadata of a .safetensors file is text or JSON text"
                    );
                    Inexpressible::attribute(key, sentence)
                })?;
                keys.push(key);
            }
        }
        // A file that exceeds the default limit of keys could only be read by a caller who knows to raise the limit.
        let count = attributes.clone().count().saturating_add(usize::from(!keys.is_empty()));
        let most = Limits::default().keys();
        if u64_from_usize(count) > most.into() {
            return Err(Inexpressible::file(format!(
                "its metadata would have {count} keys, and zten reads at most {most} by default"
            )));
        }
        let json_keys = (!keys.is_empty()).then(|| serde_json::Value::from(keys).to_string());
        Ok(Self { attributes, json_keys })
    }

    /// Returns whether the file has no attributes, and so no `__metadata__`.
    pub(super) fn is_empty(&self) -> bool {
        self.attributes.clone().next().is_none()
    }
}

/// Returns the keys of the attributes whose values are not strings. The metadata of a safetensors file holds only strings, so these
/// values are written as JSON text.
pub fn json_texts<'a>(attributes: &Attributes<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    let is_other = |(_, item): &(&str, Item<'_>)| !matches!(item.value(), Value::Text(_));
    attributes.clone().filter(is_other).map(|(key, _)| key)
}

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, item) in self.attributes.clone() {
            if matches!(item.value(), Value::Text(_)) {
                map.serialize_entry(key, &value::Json(item))?;
            } else {
                let mut text = Vec::new();
                json::to_writer(&mut text, &Json(item)).map_err(S::Error::custom)?;
                map.serialize_entry(key, &String::from_utf8_lossy(&text))?;
            }
        }
        if let Some(keys) = &self.json_keys {
            map.serialize_entry(JSON_KEYS, keys)?;
        }
        map.end()
    }
}

/// Checks that JSON can hold the value `item`, and that it nests at most `depth` levels deep. The error names the part that
/// JSON cannot hold.
fn check(item: &Item<'_>, depth: usize) -> Result<(), &'static str> {
    let Some(below) = depth.checked_sub(1) else { return Err("more than 64 levels") };
    match item.value() {
        Value::Uint(_) | Value::Bool(_) | Value::Null | Value::Text(_) => Ok(()),
        Value::Negative(number) if i64::try_from(number).is_ok() => Ok(()),
        Value::Negative(_) => Err("an integer below -9223372036854775808"),
        Value::Float(number) if number.is_finite() => Ok(()),
        Value::Float(_) => Err("a number that is not finite"),
        Value::Bytes(_) => Err("bytes"),
        Value::Array(mut items) => items.try_for_each(|item| check(&item, below)),
        Value::Map(map) => check_map(map, below),
        Value::Tag(..) => Err("a CBOR tag"),
        _ => Err("a simple CBOR value that JSON does not have"),
    }
}

/// Checks that the keys of `map` are unique texts, and that JSON can hold its values, nested at most `depth` levels deep.
fn check_map(map: Map<'_>, depth: usize) -> Result<(), &'static str> {
    let mut keys = BTreeSet::new();
    for (key, item) in map {
        let Value::Text(key) = key.value() else { return Err("a map with a key that is not text") };
        if !keys.insert(key.pieces().flatten().copied().collect::<Vec<_>>()) {
            return Err("a map with one key twice");
        }
        check(&item, depth)?;
    }
    Ok(())
}

/// A value that [`check`] has accepted. It is serialized as plain JSON. Integers keep all digits, unlike in the JSON output
/// of the command.
struct Json<'a>(Item<'a>);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.value() {
            Value::Uint(number) => serializer.serialize_u64(number),
            Value::Negative(below) => match i64::try_from(below) {
                // CBOR encodes a negative number n as −1 − n, which is the bitwise complement of n.
                Ok(below) => serializer.serialize_i64(!below),
                Err(_) => Err(S::Error::custom(
                    "internal error: a negative number below the range of 64 bits was not rejected",
                )),
            },
            Value::Array(items) => serializer.collect_seq(items.map(Json)),
            Value::Map(map) => {
                serializer.collect_map(map.map(|(key, item)| (value::Json(key), Json(item))))
            }
            // `value::Json` serializes texts, bools, null and finite numbers in the same way.
            _ => value::Json(self.0).serialize(serializer),
        }
    }
}
