//! Writing deterministic CBOR: RFC 8949 §4.2.1.

use half::f16;

use zten::num::{u64_from_usize, usize_from_u32};

use super::trouble::Trouble;

/// Major types.
const UINT: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
/// Bytes of the longest head.
const HEAD: usize = 9;

/// The result of appending to memory that may be out.
pub(super) type Written = Result<(), Trouble>;

/// Appends bytes.
fn raw(out: &mut Vec<u8>, bytes: &[u8]) -> Written {
    out.try_reserve(bytes.len()).map_err(|_| Trouble::memory())?;
    out.extend_from_slice(bytes);
    Ok(())
}

/// Adds a head with the shortest argument. The library writes attributes from values in memory, by
/// serde; those of other formats go from the file into CBOR piece by piece, every bit of a NaN with
/// them, and are longer than what may be held twice.
fn head(out: &mut Vec<u8>, major: u8, argument: u64) -> Written {
    let bytes = argument.to_be_bytes();
    let (info, skipped) = match argument {
        0..24 => (bytes.last().copied().unwrap_or_default(), 8),
        24..0x100 => (24, 7),
        0x100..0x1_0000 => (25, 6),
        0x1_0000..0x1_0000_0000 => (26, 4),
        _ => (27, 0),
    };
    raw(out, &[major << 5 | info])?;
    raw(out, bytes.get(skipped..).unwrap_or_default())
}

/// A number that is not negative.
pub(super) fn uint(out: &mut Vec<u8>, value: u64) -> Written {
    head(out, UINT, value)
}

/// A number.
pub(super) fn int(out: &mut Vec<u8>, value: i64) -> Written {
    match u64::try_from(value) {
        Ok(value) => head(out, UINT, value),
        // −1 − n of a negative number is its complement.
        Err(_) => head(out, NEGATIVE, (!value).unsigned_abs()),
    }
}

/// A text.
pub(super) fn text(out: &mut Vec<u8>, text: &str) -> Written {
    head(out, TEXT, u64_from_usize(text.len()))?;
    raw(out, text.as_bytes())
}

/// A text of `length` bytes, which `fill` appends; a byte string where they are not UTF-8.
pub(super) fn text_or_bytes(
    out: &mut Vec<u8>,
    length: u64,
    fill: impl FnOnce(&mut Vec<u8>) -> Written,
) -> Written {
    let at = out.len();
    head(out, TEXT, length)?;
    let start = out.len();
    fill(out)?;
    let is_text = str::from_utf8(out.get(start..).unwrap_or_default()).is_ok();
    if let Some(initial) = out.get_mut(at).filter(|_| !is_text) {
        *initial ^= (TEXT ^ BYTES) << 5;
    }
    Ok(())
}

/// `true` or `false`.
pub(super) fn bool(out: &mut Vec<u8>, value: bool) -> Written {
    raw(out, &[if value { 0xf5 } else { 0xf4 }])
}

/// A float, in the fewest bits that keep it.
pub(super) fn float(out: &mut Vec<u8>, value: f64) -> Written {
    let half = f16::from_f64(value);
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "the value is held against what it was"
    )]
    let single = value as f32;
    if value.is_nan() {
        nan(out, value.to_bits())
    } else if half.to_f64().to_bits() == value.to_bits() {
        bits_16(out, half.to_bits())
    } else if f64::from(single).to_bits() == value.to_bits() {
        bits_32(out, single.to_bits())
    } else {
        bits_64(out, value.to_bits())
    }
}

fn bits_16(out: &mut Vec<u8>, bits: u16) -> Written {
    raw(out, &[0xf9])?;
    raw(out, &bits.to_be_bytes())
}

fn bits_32(out: &mut Vec<u8>, bits: u32) -> Written {
    raw(out, &[0xfa])?;
    raw(out, &bits.to_be_bytes())
}

fn bits_64(out: &mut Vec<u8>, bits: u64) -> Written {
    raw(out, &[0xfb])?;
    raw(out, &bits.to_be_bytes())
}

/// A NaN of those bits. Converting it between types would set a bit; a shorter one is the same
/// NaN where only zeros are left out behind it.
fn nan(out: &mut Vec<u8>, bits: u64) -> Written {
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
        (Some(half), _) => bits_16(out, half),
        (None, Some(single)) => bits_32(out, single),
        (None, None) => bits_64(out, bits),
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
pub(super) fn array(out: &mut Vec<u8>, length: u64) -> Written {
    head(out, ARRAY, length)
}

/// A map with text keys, which is put in order when it is complete.
#[derive(Debug, Default)]
pub(super) struct Map {
    entries: Vec<u8>,
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
fn place(at: usize) -> Result<u32, Trouble> {
    u32::try_from(at).map_err(|_| Trouble::memory())
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
        value: impl FnOnce(&mut Vec<u8>) -> Written,
    ) -> Written {
        let start = place(self.entries.len())?;
        text(&mut self.entries, key)?;
        let after = place(self.entries.len())?;
        value(&mut self.entries)?;
        let end = place(self.entries.len())?;
        self.spans.try_reserve(1).map_err(|_| Trouble::memory())?;
        self.spans.push(Span { start, value: after, end });
        Ok(())
    }

    /// Adds all entries of another map. Entries that are in both are kept once; a key whose values differ stands there
    /// twice.
    pub(super) fn append(&mut self, other: Self) -> Written {
        let by = place(self.entries.len())?;
        raw(&mut self.entries, &other.entries)?;
        // No place is behind this one.
        place(self.entries.len())?;
        self.spans.try_reserve(other.spans.len()).map_err(|_| Trouble::memory())?;
        let moved = |at: u32| at.saturating_add(by);
        self.spans.extend(other.spans.into_iter().map(|Span { start, value, end }| Span {
            start: moved(start),
            value: moved(value),
            end: moved(end),
        }));
        self.put_in_order();
        let entries = &self.entries;
        let whole = |span: &Span| part(entries, span.start, span.end);
        self.spans.dedup_by(|a, b| whole(a) == whole(b));
        Ok(())
    }

    /// Puts the map in order, and checks that no key stands there twice.
    pub(super) fn check_unique(&mut self, twice: impl FnOnce(&str) -> Trouble) -> Written {
        self.put_in_order();
        let key = |span: &Span| part(&self.entries, span.start, span.value);
        let mut pairs = self.spans.iter().zip(self.spans.iter().skip(1));
        let Some((span, _)) = pairs.find(|(a, b)| key(a) == key(b)) else { return Ok(()) };
        let item = key(span);
        // The head of a text: its length is in the first byte, or in so many behind it.
        let head = match item.first().map_or(0, |first| first & 0x1f) {
            info @ 24..28 => 1_usize.wrapping_shl(u32::from(info.wrapping_sub(24))).wrapping_add(1),
            _ => 1,
        };
        Err(twice(str::from_utf8(item.get(head..).unwrap_or_default()).unwrap_or_default()))
    }

    fn put_in_order(&mut self) {
        let entries = &self.entries;
        // Of one key, those that are the same beside each other.
        let both = |span: &Span| {
            (part(entries, span.start, span.value), part(entries, span.value, span.end))
        };
        self.spans.sort_unstable_by(|a, b| both(a).cmp(&both(b)));
    }

    /// The map; nothing if it has no entries. `twice` makes the error for a key that stands there twice.
    pub(super) fn finish(
        mut self,
        twice: impl FnOnce(&str) -> Trouble,
    ) -> Result<Vec<u8>, Trouble> {
        self.check_unique(twice)?;
        let mut out = Vec::new();
        if self.spans.is_empty() {
            return Ok(out);
        }
        let most = self.entries.len().saturating_add(HEAD);
        out.try_reserve_exact(most).map_err(|_| Trouble::memory())?;
        head(&mut out, MAP, u64_from_usize(self.spans.len()))?;
        for span in &self.spans {
            raw(&mut out, part(&self.entries, span.start, span.end))?;
        }
        Ok(out)
    }
}

/// The bytes between two places.
fn part(entries: &[u8], from: u32, to: u32) -> &[u8] {
    entries.get(usize_from_u32(from)..usize_from_u32(to)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>) -> Written) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        out
    }

    fn twice(key: &str) -> Trouble {
        Trouble::internal(&format!("{key} twice"))
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
            map.put(key, |out| bool(out, true)).unwrap();
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
                map.put(key, |out| uint(out, 7)).unwrap();
            }
            let error = map.finish(twice).unwrap_err().to_string();
            assert!(error.ends_with(&format!(" {key} twice")), "{length}");
        }
    }

    #[test]
    fn strings() {
        let either = |bytes: &[u8]| {
            written(|out| {
                let length = u64_from_usize(bytes.len());
                text_or_bytes(out, length, |out| raw(out, bytes))
            })
        };
        assert_eq!(written(|out| text(out, "ä")), b"\x62\xc3\xa4");
        assert_eq!(either(b"\xc3\xa4"), b"\x62\xc3\xa4");
        assert_eq!(either(b"\xc3"), b"\x41\xc3");
        assert_eq!(either(&[0xff; 300])[..3], *b"\x59\x01\x2c");
        assert_eq!(written(|out| array(out, 300)), b"\x99\x01\x2c");
    }
}
