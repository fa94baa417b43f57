//! The description of the changes: the attribute `zten.patch` of a patch.

use std::collections::HashSet;
use std::hash::Hash;

use zten::Error;
use zten::attributes::{Array, Attributes, Encoder, Item, Map, Value};
use zten::num::u64_from_usize;
use zten::write::Encoded;
use zten_report::catalog::{PATCH_FILE, PATCH_RECORD, PATCH_VERSION};

use crate::Sha256;
use crate::failure::{broken, no_memory};
use crate::streams::{Positions, STREAMS};

/// The version of the format of patches that this package reads and writes.
pub const VERSION: u64 = 1;

/// The key of the attribute of a patch file that describes the changes.
pub(crate) const KEY: &str = "zten.patch";
/// The key of the attribute of a patch file whose value is a map of the attributes of the result. A patch that does not change the
/// attributes of the base does not have this key.
pub(crate) const ATTRIBUTES: &str = "attributes";

/// A component whose content changes, and whose type and shape stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change<'a> {
    /// The name of the tensor.
    pub name: &'a str,
    /// The role of the component.
    pub role: &'a str,
    /// The type of the elements and the shape of the tensor, as `zten hash` prints them, such as `f32[2,3]`.
    pub kind: &'a str,
    /// The SHA-256 of the decoded bytes of the component before the change.
    pub base: Sha256,
    /// The SHA-256 of the decoded bytes of the component after the change.
    pub result: Sha256,
    /// For each stream, the number of its bytes that encode this change.
    pub(crate) lengths: Positions,
}

/// The description of all changes, which a patch file stores in its attribute [`KEY`].
#[derive(Clone, Debug, Default)]
pub(crate) struct PatchRecord<'a> {
    /// The identity of the tensors of the base, a SHA-256.
    pub(crate) base: Sha256,
    /// The identity of the tensors of the result, a SHA-256.
    pub(crate) result: Sha256,
    /// The name of the format of the new model's file when the patch was made, such as `safetensors` or `zTensor 2`.
    pub(crate) format: &'a str,
    pub(crate) changed: Vec<Change<'a>>,
    pub(crate) removed: Vec<&'a str>,
    /// The old and the new name of each tensor that is renamed.
    pub(crate) renamed: Vec<[&'a str; 2]>,
    /// The order of the tensors of the result: for each tensor, its position in the order that the other changes of the patch lead
    /// to. `None` if both orders are the same.
    pub(crate) order: Option<Vec<u32>>,
}

/// Returns the error that the description of the changes is invalid. In the message, `why` follows the name of the attribute, as in "has
/// no version".
fn wrong(why: &str) -> Error {
    broken(&PATCH_RECORD, format!("the attribute {KEY} {why}"))
}

impl<'a> PatchRecord<'a> {
    /// Reads the description of the changes from the attributes of a patch file.
    pub(crate) fn read(attributes: &Attributes<'a>) -> Result<Self, Error> {
        let Some(Value::Map(map)) = attributes.item(KEY).map(|item| item.value()) else {
            let sentence =
                "this is not a patch: the file has no attribute zten.patch that is a map";
            return Err(broken(&PATCH_FILE, sentence));
        };
        match entry(&map, "version") {
            Some(Value::Uint(VERSION)) => {}
            Some(Value::Uint(version)) => {
                let sentence = format!("the version of the patch is {version}, expected {VERSION}");
                return Err(broken(&PATCH_VERSION, sentence));
            }
            _ => return Err(wrong("has no version")),
        }
        let mut record = Self::default();
        let mut required = 0_u32;
        // A name is noted before it is stored, so a list that repeats one name millions of times takes no memory.
        let (mut components, mut old_names, mut new_names) =
            (HashSet::new(), HashSet::new(), HashSet::new());
        for (key, item) in map {
            let key = text(&key.value()).ok_or_else(|| wrong("has a key that is not text"))?;
            let value = item.value();
            match key {
                "version" => {}
                "base" => record.base = digest(&value)?,
                "result" => record.result = digest(&value)?,
                "format" => record.format = required_text(&value)?,
                "changed" => {
                    record.changed = list(&value, |item| {
                        let change = Change::read(item)?;
                        once(&mut components, (change.name, change.role), change.name)?;
                        Ok(change)
                    })?;
                }
                "removed" => {
                    record.removed = list(&value, |item| {
                        let name = required_text(&item.value())?;
                        once(&mut old_names, name, name)?;
                        Ok(name)
                    })?;
                }
                "renamed" => {
                    record.renamed = list(&value, |item| {
                        let [old, new] = pair(item)?;
                        once(&mut old_names, old, old)?;
                        once(&mut new_names, new, new)?;
                        Ok([old, new])
                    })?;
                }
                "order" => record.order = Some(list(&value, position)?),
                _ => {
                    return Err(wrong(&format!(
                        "has the unknown key {}",
                        zten::escape::quoted(key)
                    )));
                }
            }
            required = required.saturating_add(u32::from(!matches!(key, "order")));
        }
        // A key is in a map of generation 2 once, so these are all.
        if required != 7 {
            return Err(wrong("lacks a key"));
        }
        Ok(record)
    }

    /// Returns all attributes of a patch file as CBOR: this record, and `attributes`, the CBOR of the attributes of the result, if the patch
    /// changes them.
    pub(crate) fn write(&self, attributes: Option<&[u8]>) -> Result<Encoded, Error> {
        let mut out = Encoder::default();
        out.map(if attributes.is_some() { 2 } else { 1 })?;
        if let Some(attributes) = attributes {
            out.text(ATTRIBUTES)?;
            out.raw(attributes)?;
        }
        out.text(KEY)?;
        out.map(if self.order.is_some() { 8 } else { 7 })?;
        // The keys are in the order that deterministic CBOR gives them.
        out.text("base")?;
        out.bytes(&self.base)?;
        if let Some(order) = &self.order {
            out.text("order")?;
            out.array(u64_from_usize(order.len()))?;
            order.iter().try_for_each(|at| out.uint((*at).into()))?;
        }
        out.text("format")?;
        out.text(self.format)?;
        out.text("result")?;
        out.bytes(&self.result)?;
        out.text("changed")?;
        out.array(u64_from_usize(self.changed.len()))?;
        self.changed.iter().try_for_each(|change| change.write(&mut out))?;
        out.text("removed")?;
        out.array(u64_from_usize(self.removed.len()))?;
        self.removed.iter().try_for_each(|name| out.text(name))?;
        out.text("renamed")?;
        out.array(u64_from_usize(self.renamed.len()))?;
        for names in &self.renamed {
            out.array(2)?;
            names.iter().try_for_each(|name| out.text(name))?;
        }
        out.text("version")?;
        out.uint(VERSION)?;
        Ok(Encoded::from_cbor(out.into_bytes()))
    }
}

impl<'a> Change<'a> {
    /// Returns the number of bytes that encode this change, in all streams of the patch together and before compression.
    pub fn bytes(&self) -> u64 {
        self.lengths.iter().fold(0, |sum, length| sum.saturating_add(*length))
    }

    fn read(item: &Item<'a>) -> Result<Self, Error> {
        let Value::Map(map) = item.value() else {
            return Err(wrong("has a change that is not a map"));
        };
        let (mut base, mut result, mut lengths) = (None, None, None);
        let [mut name, mut role, mut kind] = [None; 3];
        for (key, item) in map {
            let value = item.value();
            match text(&key.value()) {
                Some("name") => name = Some(required_text(&value)?),
                Some("role") => role = Some(required_text(&value)?),
                Some("kind") => kind = Some(required_text(&value)?),
                Some("base") => base = Some(digest(&value)?),
                Some("result") => result = Some(digest(&value)?),
                Some("lengths") => lengths = Some(positions(&value)?),
                _ => return Err(wrong("has a change with an unknown key")),
            }
        }
        match (name, role, kind, base, result, lengths) {
            (Some(name), Some(role), Some(kind), Some(base), Some(result), Some(lengths)) => {
                Ok(Self { name, role, kind, base, result, lengths })
            }
            _ => Err(wrong("has a change that lacks a key")),
        }
    }

    fn write(&self, out: &mut Encoder) -> Result<(), Error> {
        out.map(6)?;
        for (key, text) in [("kind", self.kind), ("name", self.name), ("role", self.role)] {
            if key == "kind" {
                out.text("base")?;
                out.bytes(&self.base)?;
            }
            out.text(key)?;
            out.text(text)?;
        }
        out.text("result")?;
        out.bytes(&self.result)?;
        out.text("lengths")?;
        let used = self.lengths.iter().rposition(|length| *length > 0);
        let used = used.map_or(0, |last| last.saturating_add(1));
        out.array(u64_from_usize(used))?;
        self.lengths.iter().take(used).try_for_each(|length| out.uint(*length))?;
        Ok(())
    }
}

/// Adds `key` to the set `seen`. Fails if the set has `key` already, with an error that says that the record names `name` twice.
fn once<T: Eq + Hash>(seen: &mut HashSet<T>, key: T, name: &str) -> Result<(), Error> {
    seen.try_reserve(1).map_err(|_| no_memory())?;
    if seen.insert(key) {
        return Ok(());
    }
    Err(wrong(&format!("names {} twice", zten::escape::quoted(name))))
}

/// Returns the value of the first entry of `map` whose key is the text `key`, or `None` if there is no such entry.
fn entry<'a>(map: &Map<'a>, key: &str) -> Option<Value<'a>> {
    let is_key = |(own, _): &(Item<'a>, Item<'a>)| text(&own.value()) == Some(key);
    map.clone().find(is_key).map(|(_, item)| item.value())
}

fn text<'a>(value: &Value<'a>) -> Option<&'a str> {
    match value {
        Value::Text(text) => text.as_str(),
        _ => None,
    }
}

fn required_text<'a>(value: &Value<'a>) -> Result<&'a str, Error> {
    text(value).ok_or_else(|| wrong("has a value that is not text"))
}

fn digest(value: &Value<'_>) -> Result<Sha256, Error> {
    let bytes = match value {
        Value::Bytes(bytes) => bytes.as_bytes().and_then(|bytes| bytes.try_into().ok()),
        _ => None,
    };
    bytes.ok_or_else(|| wrong("has a value that is not a SHA-256"))
}

fn array<'a>(value: &Value<'a>) -> Result<Array<'a>, Error> {
    match value {
        Value::Array(array) => Ok(array.clone()),
        _ => Err(wrong("has a value that is not an array")),
    }
}

/// Reads all items of the CBOR array `value` with the function `read`. Fails if `value` is no array, or `read` fails.
fn list<'a, T>(
    value: &Value<'a>,
    mut read: impl FnMut(&Item<'a>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let mut all = Vec::new();
    for item in array(value)? {
        let item = read(&item)?;
        all.try_reserve(1).map_err(|_| no_memory())?;
        all.push(item);
    }
    Ok(all)
}

fn pair<'a>(item: &Item<'a>) -> Result<[&'a str; 2], Error> {
    let mut items = array(&item.value())?;
    match (items.next(), items.next(), items.next()) {
        (Some(old), Some(new), None) => {
            Ok([required_text(&old.value())?, required_text(&new.value())?])
        }
        _ => Err(wrong("has a renaming that is not a pair of names")),
    }
}

fn position(item: &Item<'_>) -> Result<u32, Error> {
    match item.value() {
        Value::Uint(at) => u32::try_from(at).ok(),
        _ => None,
    }
    .ok_or_else(|| wrong("has an order that is not a list of positions"))
}

fn positions(value: &Value<'_>) -> Result<Positions, Error> {
    let mut all = [0; STREAMS];
    let mut places = all.iter_mut();
    for item in array(value)? {
        let (Value::Uint(length), Some(place)) = (item.value(), places.next()) else {
            return Err(wrong("has lengths that are not a list of at most 18 numbers"));
        };
        *place = length;
    }
    Ok(all)
}
