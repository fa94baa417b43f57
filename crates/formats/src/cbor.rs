//! Writing deterministic CBOR: RFC 8949 §4.2.1.

use std::convert::Infallible;

use half::f16;

use zten_num::u64_from_usize;

/// Major types.
const UINT: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
/// Bytes of the longest head.
const HEAD: usize = 9;

/// Adds a head with the shortest argument. The library writes attributes from values in memory, by
/// serde; those of other formats go from the file into CBOR piece by piece, every bit of a NaN with
/// them, and are longer than what may be held twice.
fn head(out: &mut Vec<u8>, major: u8, argument: u64) {
    let bytes = argument.to_be_bytes();
    let (info, skipped) = match argument {
        0..24 => (bytes.last().copied().unwrap_or_default(), 8),
        24..0x100 => (24, 7),
        0x100..0x1_0000 => (25, 6),
        0x1_0000..0x1_0000_0000 => (26, 4),
        _ => (27, 0),
    };
    out.push(major << 5 | info);
    out.extend_from_slice(bytes.get(skipped..).unwrap_or_default());
}

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
    head(out, TEXT, u64_from_usize(text.len()));
    out.extend_from_slice(text.as_bytes());
}

/// A text of `length` bytes, which `fill` appends; a byte string where they are not UTF-8.
pub(super) fn text_or_bytes<E>(
    out: &mut Vec<u8>,
    length: u64,
    fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let at = out.len();
    head(out, TEXT, length);
    let start = out.len();
    fill(out)?;
    let is_text = str::from_utf8(out.get(start..).unwrap_or_default()).is_ok();
    if let Some(initial) = out.get_mut(at).filter(|_| !is_text) {
        *initial ^= (TEXT ^ BYTES) << 5;
    }
    Ok(())
}

/// `true` or `false`.
pub(super) fn bool(out: &mut Vec<u8>, value: bool) {
    out.push(if value { 0xf5 } else { 0xf4 });
}

/// A float, in the fewest bits that keep it.
pub(super) fn float(out: &mut Vec<u8>, value: f64) {
    let half = f16::from_f64(value);
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "the value is held against what it was"
    )]
    let single = value as f32;
    if value.is_nan() {
        nan(out, value.to_bits());
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

/// A NaN of those bits. Converting it between types would set a bit; a shorter one is the same
/// NaN where only zeros are left out behind it.
fn nan(out: &mut Vec<u8>, bits: u64) {
    let sign = bits >> 63;
    let shortened = |bits_left: u32, exponent: u64| {
        let fraction = bits & FRACTION;
        let out = 52_u32.saturating_sub(bits_left);
        let whole = fraction.trailing_zeros() >= out;
        whole.then_some(
            sign << bits_left.saturating_add(exponent.count_ones())
                | exponent << bits_left
                | fraction >> out,
        )
    };
    let half = shortened(10, 0x1f).and_then(|half| u16::try_from(half).ok());
    let single = shortened(23, 0xff).and_then(|single| u32::try_from(single).ok());
    match (half, single) {
        (Some(half), _) => {
            out.push(0xf9);
            out.extend(half.to_be_bytes());
        }
        (None, Some(single)) => {
            out.push(0xfa);
            out.extend(single.to_be_bytes());
        }
        (None, None) => {
            out.push(0xfb);
            out.extend(bits.to_be_bytes());
        }
    }
}

/// The bits of an `f64` behind its exponent.
const FRACTION: u64 = (1 << 52) - 1;

/// The same number as an `f64`, a NaN with the same bits and zeros behind them.
pub(super) fn widened(value: f32) -> f64 {
    if !value.is_nan() {
        return value.into();
    }
    let bits = u64::from(value.to_bits());
    f64::from_bits(bits >> 31 << 63 | 0x7ff << 52 | (bits & 0x7f_ffff) << 29)
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
    /// How many entries it has.
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

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

    /// All entries of another map, too. What both say alike is kept once; what they do not stands there
    /// twice.
    pub(super) fn append(&mut self, other: Self) {
        let by = self.entries.len();
        self.entries.extend_from_slice(&other.entries);
        let moved = |at: usize| at.saturating_add(by);
        self.spans.extend(other.spans.into_iter().map(|Span { start, text, value, end }| Span {
            start: moved(start),
            text: moved(text),
            value: moved(value),
            end: moved(end),
        }));
        self.put_in_order();
        let entries = &self.entries;
        let whole = |span: &Span| entries.get(span.start..span.end).unwrap_or_default();
        self.spans.dedup_by(|a, b| whole(a) == whole(b));
    }

    /// Whether no key stands there twice; or one that does.
    pub(super) fn validate_unique(&mut self) -> Result<(), String> {
        self.put_in_order();
        let key = |span: &Span| self.part(span.start, span.value);
        let mut pairs = self.spans.iter().zip(self.spans.iter().skip(1));
        match pairs.find(|(a, b)| key(a) == key(b)) {
            None => Ok(()),
            Some((span, _)) => {
                Err(String::from_utf8_lossy(self.part(span.text, span.value)).into_owned())
            }
        }
    }

    fn put_in_order(&mut self) {
        let entries = &self.entries;
        let part = |from: usize, to: usize| entries.get(from..to).unwrap_or_default();
        // Of one key, those that are the same beside each other.
        let both = |span: &Span| (part(span.start, span.value), part(span.value, span.end));
        self.spans.sort_unstable_by(|a, b| both(a).cmp(&both(b)));
    }

    fn part(&self, from: usize, to: usize) -> &[u8] {
        self.entries.get(from..to).unwrap_or_default()
    }

    /// The map; nothing if it has no entries. Or a key that it has twice.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, String> {
        if self.spans.is_empty() {
            return Ok(Vec::new());
        }
        self.entries.shrink_to_fit();
        self.validate_unique()?;
        let mut out = Vec::with_capacity(self.entries.len().saturating_add(HEAD));
        head(&mut out, MAP, u64_from_usize(self.spans.len()));
        for span in &self.spans {
            out.extend_from_slice(self.part(span.start, span.end));
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
            (f64::from(1e-5_f32), &[0xfa, 0x37, 0x27, 0xc5, 0xac]),
        ] {
            assert_eq!(written(|out| float(out, value)), wanted, "{value}");
        }
    }

    #[test]
    fn every_bit_of_a_nan_is_kept() {
        for (bits, wanted) in [
            (0x7ff8_0000_0000_0000, &[0xf9, 0x7e, 0][..]),
            (0xfff8_0000_0000_0000, &[0xf9, 0xfe, 0]),
            (0x7ff0_0400_0000_0000, &[0xf9, 0x7c, 1]),
            (0x7ff8_0200_0000_0000, &[0xfa, 0x7f, 0xc0, 0x10, 0]),
            (0xfff0_0000_2000_0000, &[0xfa, 0xff, 0x80, 0, 1]),
            (0x7ff0_0000_1000_0000, &[0xfb, 0x7f, 0xf0, 0, 0, 0x10, 0, 0, 0]),
            (0xfff8_0000_0000_0001, &[0xfb, 0xff, 0xf8, 0, 0, 0, 0, 0, 1]),
            (0x7fff_ffff_ffff_ffff, &[0xfb, 0x7f, 255, 255, 255, 255, 255, 255, 255]),
        ] {
            assert_eq!(written(|out| float(out, f64::from_bits(bits))), wanted, "{bits:#x}");
        }
        for bits in [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xffff_ffff, 0x3f80_0000, 0xff80_0000] {
            let wide = widened(f32::from_bits(bits)).to_bits();
            // Sign, the end of the exponent, and the fraction are those of the narrower one.
            assert_eq!(
                (wide >> 63, wide >> 29 & 0x7f_ffff),
                ((bits >> 31).into(), (bits & 0x7f_ffff).into())
            );
            assert_eq!(f64::from_bits(wide).is_nan(), f32::from_bits(bits).is_nan(), "{bits:#x}");
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
        let either = |bytes: &[u8]| {
            written(|out| {
                let length = u64_from_usize(bytes.len());
                let Ok(()) = text_or_bytes::<Infallible>(out, length, |out| {
                    out.extend_from_slice(bytes);
                    Ok(())
                });
            })
        };
        assert_eq!(written(|out| text(out, "ä")), b"\x62\xc3\xa4");
        assert_eq!(either(b"\xc3\xa4"), b"\x62\xc3\xa4");
        assert_eq!(either(b"\xc3"), b"\x41\xc3");
        assert_eq!(either(&[0xff; 300])[..3], *b"\x59\x01\x2c");
        assert_eq!(written(|out| array(out, 300)), b"\x99\x01\x2c");
    }
}
