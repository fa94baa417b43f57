//! Writing deterministic CBOR: RFC 8949 §4.2.1.

use std::convert::Infallible;

use half::f16;

use super::wide;
use crate::head::head;

/// Major types.
const UINT: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;

/// A number that is not negative.
pub(super) fn uint(out: &mut Vec<u8>, value: u64) {
    head(out, UINT, value);
}

/// A number.
pub(super) fn int(out: &mut Vec<u8>, value: i64) {
    match u64::try_from(value) {
        Ok(value) => head(out, UINT, value),
        // −1 − n of a negative number is its complement.
        Err(_) => head(out, NEGATIVE, (!value).unsigned_abs()),
    }
}

/// A text.
pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    head(out, TEXT, wide(text.len()));
    out.extend_from_slice(text.as_bytes());
}

/// A text, or a byte string where the bytes are not UTF-8.
pub(super) fn text_or_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let major = if std::str::from_utf8(bytes).is_ok() { TEXT } else { BYTES };
    head(out, major, wide(bytes.len()));
    out.extend_from_slice(bytes);
}

/// `true` or `false`.
pub(super) fn bool(out: &mut Vec<u8>, value: bool) {
    out.push(if value { 0xf5 } else { 0xf4 });
}

/// A float, in the fewest bits that keep its value. There is one NaN.
pub(super) fn float(out: &mut Vec<u8>, value: f64) {
    let half = f16::from_f64(value);
    #[expect(clippy::cast_possible_truncation, reason = "the value is held against what it was")]
    let single = value as f32;
    if value.is_nan() {
        out.extend([0xf9, 0x7e, 0x00]);
    } else if half.to_f64().to_bits() == value.to_bits() {
        out.push(0xf9);
        out.extend(half.to_be_bytes());
    } else if f64::from(single).to_bits() == value.to_bits() {
        out.push(0xfa);
        out.extend(single.to_be_bytes());
    } else {
        out.push(0xfb);
        out.extend(value.to_be_bytes());
    }
}

/// The head of an array, whose elements are to follow.
pub(super) fn array(out: &mut Vec<u8>, length: u64) {
    head(out, ARRAY, length);
}

/// A map with text keys, which is put in order when it is complete.
#[derive(Debug, Default)]
pub(super) struct Map {
    entries: Vec<u8>,
    spans: Vec<Span>,
}

/// Where an entry lies: a key, of which the last bytes are its text, and a value.
#[derive(Debug)]
struct Span {
    start: usize,
    text: usize,
    value: usize,
    end: usize,
}

impl Map {
    /// One more entry, whose value cannot fail to be written.
    pub(super) fn put(&mut self, key: &str, value: impl FnOnce(&mut Vec<u8>)) {
        let Ok(()) = self.entry::<Infallible>(key, |out| {
            value(out);
            Ok(())
        });
    }

    /// One more entry, whose value is written into the buffer that `value` gets.
    pub(super) fn entry<E>(
        &mut self,
        key: &str,
        value: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.entries.len();
        text(&mut self.entries, key);
        let after = self.entries.len();
        value(&mut self.entries)?;
        let text = after.saturating_sub(key.len());
        self.spans.push(Span { start, text, value: after, end: self.entries.len() });
        Ok(())
    }

    /// The map; nothing if it has no entries. Or a key that it has twice.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, String> {
        if self.spans.is_empty() {
            return Ok(Vec::new());
        }
        let part = |from: usize, to: usize| self.entries.get(from..to).unwrap_or_default();
        let key = |span: &Span| part(span.start, span.value);
        self.spans.sort_unstable_by(|a, b| key(a).cmp(key(b)));
        let mut out = Vec::new();
        head(&mut out, MAP, wide(self.spans.len()));
        let mut before = None;
        for span in &self.spans {
            if before.replace(key(span)) == Some(key(span)) {
                let text = part(span.text, span.value);
                return Err(String::from_utf8_lossy(text).into_owned());
            }
            out.extend_from_slice(part(span.start, span.end));
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    #[test]
    fn shortest_heads() {
        for (value, wanted) in [
            (0, &[0x00][..]),
            (23, &[0x17]),
            (24, &[0x18, 24]),
            (255, &[0x18, 255]),
            (256, &[0x19, 1, 0]),
            (65535, &[0x19, 255, 255]),
            (65536, &[0x1a, 0, 1, 0, 0]),
            (u32::MAX.into(), &[0x1a, 255, 255, 255, 255]),
            (1 << 32, &[0x1b, 0, 0, 0, 1, 0, 0, 0, 0]),
            (u64::MAX, &[0x1b, 255, 255, 255, 255, 255, 255, 255, 255]),
        ] {
            assert_eq!(written(|out| uint(out, value)), wanted);
        }
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
            assert_eq!(written(|out| int(out, value)), wanted);
        }
    }

    #[test]
    fn shortest_floats() {
        for (value, wanted) in [
            (0.0, &[0xf9, 0, 0][..]),
            (-0.0, &[0xf9, 0x80, 0]),
            (1.5, &[0xf9, 0x3e, 0]),
            (65504.0, &[0xf9, 0x7b, 0xff]),
            (5.960_464_477_539_063e-8, &[0xf9, 0, 1]),
            (100_000.0, &[0xfa, 0x47, 0xc3, 0x50, 0]),
            (1.1, &[0xfb, 0x3f, 0xf1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a]),
            (f64::INFINITY, &[0xf9, 0x7c, 0]),
            (f64::NEG_INFINITY, &[0xf9, 0xfc, 0]),
            (f64::from_bits(0xfff8_0000_0000_0001), &[0xf9, 0x7e, 0]),
            (f64::from(1e-5_f32), &[0xfa, 0x37, 0x27, 0xc5, 0xac]),
        ] {
            assert_eq!(written(|out| float(out, value)), wanted, "{value}");
        }
    }

    #[test]
    fn maps_are_put_in_order() {
        let mut map = Map::default();
        for key in ["bb", "a", "", "b"] {
            map.put(key, |out| bool(out, true));
        }
        assert_eq!(map.finish().unwrap(), b"\xa4\x60\xf5\x61a\xf5\x61b\xf5\x62bb\xf5");
        assert_eq!(Map::default().finish().unwrap(), b"");
    }

    #[test]
    fn maps_have_no_key_twice() {
        let mut map = Map::default();
        for key in ["a", "b", "a"] {
            map.put(key, |_| ());
        }
        assert_eq!(map.finish().unwrap_err(), "a");
    }

    #[test]
    fn strings() {
        assert_eq!(written(|out| text(out, "ä")), b"\x62\xc3\xa4");
        assert_eq!(written(|out| text_or_bytes(out, b"\xc3\xa4")), b"\x62\xc3\xa4");
        assert_eq!(written(|out| text_or_bytes(out, b"\xc3")), b"\x41\xc3");
        assert_eq!(written(|out| array(out, 300)), b"\x99\x01\x2c");
    }
}
