//! A map of attributes in the order of deterministic CBOR: RFC 8949 §4.2.1. The library takes attributes in any order
//! and encodes what is in them; the keys of other formats are checked and sorted here.

use zten::attributes::{Attributes, Encoder};
use zten::error::OutOfMemory;

use zten::num::{sort_by, u64_from_usize, usize_from_u32};

use super::error::FormatError;

/// Bytes of the longest head.
const HEAD: usize = 9;

/// The result of appending to memory that may be out.
pub(super) type Written = Result<(), FormatError>;

/// Writes a number that may be negative.
pub(super) fn int(out: &mut Encoder, value: i64) -> Result<(), OutOfMemory> {
    match u64::try_from(value) {
        Ok(value) => out.uint(value),
        // −1 − n of a negative number is its complement.
        Err(_) => out.negative((!value).unsigned_abs()),
    }
}

/// Returns attributes as the map that they are read from; none if there are none.
pub(super) fn copy(attributes: Attributes<'_>) -> Result<Option<Vec<u8>>, FormatError> {
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

/// A map with text keys, which is put in order when it is complete.
#[derive(Debug, Default)]
pub(super) struct Map {
    entries: Encoder,
    spans: Vec<Span>,
}

/// The bytes of an entry: a key and a value.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    value: u32,
    end: u32,
}

/// Returns a place among entries, of which 32 bits can count the bytes.
fn place(at: usize) -> Result<u32, FormatError> {
    u32::try_from(at).map_err(|_| FormatError::memory())
}

impl Map {
    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Adds an entry, whose value is written into the buffer that `value` gets.
    pub(super) fn put(
        &mut self,
        key: &str,
        value: impl FnOnce(&mut Encoder) -> Written,
    ) -> Written {
        self.try_put(key, value)
    }

    /// The same, where writing the value may fail with another error.
    pub(super) fn try_put<E: From<FormatError>>(
        &mut self,
        key: &str,
        value: impl FnOnce(&mut Encoder) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = place(self.entries.as_bytes().len())?;
        self.entries.text(key).map_err(FormatError::from)?;
        let after = place(self.entries.as_bytes().len())?;
        value(&mut self.entries)?;
        let end = place(self.entries.as_bytes().len())?;
        self.spans.try_reserve(1).map_err(|_| FormatError::memory())?;
        self.spans.push(Span { start, value: after, end });
        Ok(())
    }

    /// Adds all entries of another map. Entries that are in both are kept once; a key whose values differ stands there
    /// twice.
    pub(super) fn append(&mut self, other: Self) -> Written {
        let by = place(self.entries.as_bytes().len())?;
        self.entries.raw(other.entries.as_bytes())?;
        // No place is behind this one.
        place(self.entries.as_bytes().len())?;
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

    /// Puts the map in order, and checks that no key stands there twice.
    pub(super) fn check_unique(&mut self, twice: impl FnOnce(&str) -> FormatError) -> Written {
        self.put_in_order();
        let key = |span: &Span| part(self.entries.as_bytes(), span.start, span.value);
        let mut pairs = self.spans.iter().zip(self.spans.iter().skip(1));
        let Some((span, _)) = pairs.find(|(a, b)| key(a) == key(b)) else { return Ok(()) };
        Err(twice(text(key(span)).unwrap_or_default()))
    }

    /// Returns the value of `key`, if it is a text. The map has been put in order.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        let entries = self.entries.as_bytes();
        let found = self
            .spans
            .iter()
            .find(|span| text(part(entries, span.start, span.value)) == Some(key))?;
        text(part(entries, found.value, found.end))
    }

    /// Returns the entries of a map that was put in order with other values. For each whose value is a text, `change` gets the
    /// key, the value, and a buffer for another value, and returns whether the entry is kept with that value, or left out;
    /// `None` keeps the entry as it is.
    pub(super) fn rewritten(
        &self,
        mut change: impl FnMut(&str, &str, &mut Encoder) -> Option<bool>,
    ) -> Result<Self, FormatError> {
        let mut new = Self::default();
        for span in &self.spans {
            let item = |from, to| part(self.entries.as_bytes(), from, to);
            let (key, value) = (item(span.start, span.value), item(span.value, span.end));
            let mut other = Encoder::default();
            let changed = text(key).zip(text(value));
            let changed = changed.and_then(|(key, value)| change(key, value, &mut other));
            let value = match changed {
                Some(true) => other.as_bytes(),
                Some(false) => continue,
                None => value,
            };
            let start = place(new.entries.as_bytes().len())?;
            new.entries.raw(key)?;
            let after = place(new.entries.as_bytes().len())?;
            new.entries.raw(value)?;
            let end = place(new.entries.as_bytes().len())?;
            new.spans.try_reserve(1).map_err(|_| FormatError::memory())?;
            new.spans.push(Span { start, value: after, end });
        }
        Ok(new)
    }

    fn put_in_order(&mut self) {
        let entries = self.entries.as_bytes();
        // Of one key, those that are the same beside each other.
        let both = |span: &Span| {
            (part(entries, span.start, span.value), part(entries, span.value, span.end))
        };
        sort_by(&mut self.spans, |a, b| both(a).cmp(&both(b)));
    }

    /// The map; nothing if it has no entries. `twice` makes the error for a key that stands there twice.
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

/// Returns the text that an item holds; `None` if it is another item.
fn text(item: &[u8]) -> Option<&str> {
    let first = *item.first()?;
    if first >> 5 != 3 {
        return None;
    }
    // The head of a text: its length is in the first byte, or in so many behind it.
    let head = match first & 0x1f {
        info @ 24..28 => 1_usize.wrapping_shl(u32::from(info.wrapping_sub(24))).wrapping_add(1),
        _ => 1,
    };
    str::from_utf8(item.get(head..)?).ok()
}

/// The bytes between two places.
fn part(entries: &[u8], from: u32, to: u32) -> &[u8] {
    entries.get(usize_from_u32(from)..usize_from_u32(to)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twice(key: &str) -> FormatError {
        FormatError::internal(&format!("{key} twice"))
    }

    #[test]
    fn negative_numbers() {
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
            let error = map.finish(twice).unwrap_err().to_string();
            assert!(error.ends_with(&format!(" {key} twice")), "{length}");
        }
    }
}
