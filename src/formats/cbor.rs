//! A map of attributes in deterministic CBOR (RFC 8949 §4.2.1): the keys of safetensors and GGUF metadata are sorted and
//! checked for duplicates here.

use alloc::vec::Vec;

use crate::cbor::{Attributes, Encoder, Item, Value};
use crate::error::OutOfMemory;
use crate::num::{sort_by, u64_from_usize, usize_from_u32};

use super::error::FormatError;

/// The length in bytes of the longest head of a CBOR item.
const HEAD: usize = 9;

/// The result of appending CBOR items to a buffer, which fails if memory is out.
pub(super) type Written = Result<(), FormatError>;

/// Appends the signed integer `value` to `out` as CBOR.
pub(super) fn int(out: &mut Encoder, value: i64) -> Result<(), OutOfMemory> {
    match u64::try_from(value) {
        Ok(value) => out.uint(value),
        // CBOR encodes a negative number n as −1 − n, which is the bitwise complement of n.
        Err(_) => out.negative((!value).unsigned_abs()),
    }
}

/// Encodes `attributes` as a CBOR map, in the order in which they are stored. Returns `None` if there are no attributes.
pub(crate) fn copy(attributes: Attributes<'_>) -> Result<Option<Vec<u8>>, FormatError> {
    let entries = u64_from_usize(attributes.clone().count());
    if entries == 0 {
        return Ok(None);
    }
    let mut out = Encoder::default();
    out.map(entries)?;
    for (key, item) in attributes {
        out.text(key)?;
        out.raw(item.as_bytes())?;
    }
    Ok(Some(out.into_bytes()))
}

/// A CBOR map with text keys in any order. The entries are sorted when the map is complete.
#[derive(Debug, Default)]
pub(super) struct Map {
    /// The encoded entries, in the order in which they were added.
    entries: Encoder,
    /// The positions of each entry in `entries`.
    spans: Vec<Span>,
}

/// Positions of an entry in the buffer of a map, in bytes: the key begins at `start`, the value at `value`, and the entry
/// ends at `end`.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    value: u32,
    end: u32,
}

/// Converts a position in the buffer of entries to 32 bits. An attribute map of 4 GiB or more counts as out of memory.
fn position_u32(position: usize) -> Result<u32, FormatError> {
    u32::try_from(position).map_err(|_| FormatError::memory())
}

impl Map {
    /// Returns the number of entries of the map.
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Adds an entry with the key `key`. The callback `value` appends the value to the buffer.
    pub(super) fn put(
        &mut self,
        key: &str,
        value: impl FnOnce(&mut Encoder) -> Written,
    ) -> Written {
        self.try_put(key, value)
    }

    /// Adds an entry as [`put`](Self::put) does, with a callback that may fail with an error of another type.
    pub(super) fn try_put<E: From<FormatError>>(
        &mut self,
        key: &str,
        value: impl FnOnce(&mut Encoder) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = position_u32(self.entries.as_bytes().len())?;
        self.entries.text(key).map_err(FormatError::from)?;
        let after = position_u32(self.entries.as_bytes().len())?;
        value(&mut self.entries)?;
        let end = position_u32(self.entries.as_bytes().len())?;
        self.spans.try_reserve(1).map_err(|_| FormatError::memory())?;
        self.spans.push(Span { start, value: after, end });
        Ok(())
    }

    /// Adds all entries of `other`. Entries that are equal in both maps are kept once. A key with two different values is
    /// kept twice, so that [`check_unique`](Self::check_unique) finds it.
    pub(super) fn append(&mut self, other: Self) -> Written {
        let by = position_u32(self.entries.as_bytes().len())?;
        self.entries.raw(other.entries.as_bytes())?;
        // If the end of the buffer fits into 32 bits, every position in it does.
        position_u32(self.entries.as_bytes().len())?;
        self.spans.try_reserve(other.spans.len()).map_err(|_| FormatError::memory())?;
        let moved = |at: u32| at.saturating_add(by);
        self.spans.extend(other.spans.into_iter().map(|Span { start, value, end }| Span {
            start: moved(start),
            value: moved(value),
            end: moved(end),
        }));
        self.put_in_order();
        let entries = self.entries.as_bytes();
        let whole = |span: &Span| part(entries, span.start, span.end);
        self.spans.dedup_by(|a, b| whole(a) == whole(b));
        Ok(())
    }

    /// Sorts the map and checks that its keys are unique. `twice` makes the error for a duplicate key.
    pub(super) fn check_unique(&mut self, twice: impl FnOnce(&str) -> FormatError) -> Written {
        self.put_in_order();
        let key = |span: &Span| part(self.entries.as_bytes(), span.start, span.value);
        let mut pairs = self.spans.iter().zip(self.spans.iter().skip(1));
        let Some((span, _)) = pairs.find(|(a, b)| key(a) == key(b)) else { return Ok(()) };
        Err(twice(text(key(span)).unwrap_or_default()))
    }

    /// Returns the value of `key` if the map has the key and the value is a text.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        let entries = self.entries.as_bytes();
        let span = self
            .spans
            .iter()
            .find(|span| text(part(entries, span.start, span.value)) == Some(key))?;
        text(part(entries, span.value, span.end))
    }

    /// Returns the keys and values of the entries whose value is a text.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let entries = self.entries.as_bytes();
        self.spans.iter().filter_map(|span| {
            let key = text(part(entries, span.start, span.value));
            key.zip(text(part(entries, span.value, span.end)))
        })
    }

    /// Returns a copy of the map in which `change` has replaced or removed entries whose value is a text. For each such
    /// entry, `change` gets the key, the value and an empty buffer. It returns `Some(true)` to replace the value by the item in
    /// the buffer, `Some(false)` to remove the entry, and `None` to keep the entry as it is.
    pub(super) fn rewritten(
        &self,
        mut change: impl FnMut(&str, &str, &mut Encoder) -> Option<bool>,
    ) -> Result<Self, FormatError> {
        let mut new = Self::default();
        for span in &self.spans {
            let item = |from, to| part(self.entries.as_bytes(), from, to);
            let (key, value) = (item(span.start, span.value), item(span.value, span.end));
            let mut replacement = Encoder::default();
            let changed = text(key).zip(text(value));
            let changed = changed.and_then(|(key, value)| change(key, value, &mut replacement));
            let value = match changed {
                Some(true) => replacement.as_bytes(),
                Some(false) => continue,
                None => value,
            };
            let start = position_u32(new.entries.as_bytes().len())?;
            new.entries.raw(key)?;
            let after = position_u32(new.entries.as_bytes().len())?;
            new.entries.raw(value)?;
            let end = position_u32(new.entries.as_bytes().len())?;
            new.spans.try_reserve(1).map_err(|_| FormatError::memory())?;
            new.spans.push(Span { start, value: after, end });
        }
        Ok(new)
    }

    /// Sorts the entries by their encoded keys, and equal keys by their values.
    fn put_in_order(&mut self) {
        let entries = self.entries.as_bytes();
        // Equal entries must be neighbors, since `dedup_by` in `append` compares neighbors only.
        let both = |span: &Span| {
            (part(entries, span.start, span.value), part(entries, span.value, span.end))
        };
        sort_by(&mut self.spans, |a, b| both(a).cmp(&both(b)));
    }

    /// Returns the encoded map, or no bytes if the map has no entries. `twice` makes the error for a duplicate key.
    pub(super) fn finish(
        mut self,
        twice: impl FnOnce(&str) -> FormatError,
    ) -> Result<Vec<u8>, FormatError> {
        self.check_unique(twice)?;
        let mut out = Encoder::default();
        if self.spans.is_empty() {
            return Ok(out.into_bytes());
        }
        out.reserve(self.entries.as_bytes().len().saturating_add(HEAD))?;
        out.map(u64_from_usize(self.spans.len()))?;
        for span in &self.spans {
            out.raw(part(self.entries.as_bytes(), span.start, span.end))?;
        }
        Ok(out.into_bytes())
    }
}

/// Decodes the CBOR `item` if it is a text of definite length.
fn text(item: &[u8]) -> Option<&str> {
    match Item::of_encoder(item).value() {
        Value::Text(chunks) => chunks.as_str(),
        _ => None,
    }
}

/// Returns the bytes of `entries` from the position `from` to the position `to`.
fn part(entries: &[u8], from: u32, to: u32) -> &[u8] {
    entries.get(usize_from_u32(from)..usize_from_u32(to)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::brief;

    use super::*;
    use alloc::format;

    fn twice(key: &str) -> FormatError {
        FormatError::internal(&format!("{key} twice"))
    }

    #[test]
    fn a_negative_number_is_encoded_as_its_complement() {
        for (value, wanted) in [
            (-1, &[0x20][..]),
            (-24, &[0x37]),
            (-25, &[0x38, 24]),
            (i64::MIN, &[0x3b, 0x7f, 255, 255, 255, 255, 255, 255, 255]),
            (i64::MAX, &[0x1b, 0x7f, 255, 255, 255, 255, 255, 255, 255]),
        ] {
            let mut out = Encoder::default();
            int(&mut out, value).unwrap();
            assert_eq!(out.as_bytes(), wanted);
        }
    }

    #[test]
    fn maps_are_put_in_order() {
        let mut map = Map::default();
        for key in ["bb", "a", "", "b"] {
            map.put(key, |out| Ok(out.bool(true)?)).unwrap();
        }
        let wanted = b"\xa4\x60\xf5\x61a\xf5\x61b\xf5\x62bb\xf5";
        assert_eq!(map.finish(twice).unwrap(), wanted);
        assert_eq!(Map::default().finish(twice).unwrap(), b"");
    }

    #[test]
    fn maps_have_no_key_twice() {
        for length in [0, 1, 23, 24, 255, 256, 65535, 65536] {
            let key = "a".repeat(length);
            let mut map = Map::default();
            for key in [&*key, "b", &key] {
                map.put(key, |out| Ok(out.uint(7)?)).unwrap();
            }
            let error = brief(&map.finish(twice).unwrap_err().into());
            assert!(error.ends_with(&format!(" {key} twice")), "{length}");
        }
    }
}
