//! Tests of values as JSON: no information is lost, and no two different values have the same JSON, whichever parser reads it.

use std::collections::HashMap;

use serde_json::Value as Json;
use zten::Archive;
use zten::json::{self, value};
use zten::write::{Encoded, WriteOptions, Writer};

/// A value of the generic data model of CBOR (RFC 8949 §2), without the choices that an encoding has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Cbor {
    Uint(u64),
    Negative(u64),
    Bytes(Vec<u8>),
    Text(String),
    Array(Vec<Cbor>),
    Map(Vec<(Cbor, Cbor)>),
    Tag(u64, Box<Cbor>),
    Simple(u8),
    /// The bits of the value as a double.
    Float(u64),
}

/// A generator of random CBOR values, which also chooses among the encodings of each value.
struct Random(fastrand::Rng);

impl Random {
    fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    fn below(&mut self, most: u64) -> u64 {
        self.0.u64(..most)
    }

    fn one_of<T: Clone>(&mut self, values: &[T]) -> T {
        values[usize::try_from(self.below(values.len() as u64)).unwrap()].clone()
    }

    fn number(&mut self) -> u64 {
        let edge = self.one_of(&[0, 23, 255, 1 << 16, 1 << 32, 1 << 53, 1 << 63, u64::MAX]);
        edge.wrapping_add(self.below(5)).wrapping_sub(2)
    }

    fn text(&mut self) -> String {
        let words = [
            "",
            "a",
            "$",
            "$int",
            "$map",
            "$value",
            "\"\\",
            "\n\u{1b}",
            "重\u{200b}",
            "\u{1d173}",
            "1.0",
        ];
        (0..=self.below(2)).map(|_| self.one_of(&words)).collect()
    }

    fn float(&mut self) -> u64 {
        let payload = self.below(1 << 52).max(1);
        let values = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            1.5,
            0.1,
            1e-7,
            1e300,
            5e-324,
            f64::MAX,
            9_007_199_254_740_993.0,
            1e22,
            f64::INFINITY,
            f64::NEG_INFINITY,
            65504.0,
            0.099_975_585_937_5,
        ];
        match self.below(4) {
            0 => 0x7ff8 << 48,
            1 => 0x7ff0_0000_0000_0000 | payload | self.below(2) << 63,
            // A NaN whose payload fits in a single or a half.
            2 => 0x7ff0_0000_0000_0000 | (1 + self.below(1023)) << 42 | self.below(2) << 63,
            _ => self.one_of(&values).to_bits(),
        }
    }

    fn value(&mut self, depth: u64) -> Cbor {
        let kinds = if depth == 0 { 6 } else { 10 };
        match self.below(kinds) {
            0 => Cbor::Uint(self.number()),
            1 => Cbor::Negative(self.number()),
            2 => Cbor::Bytes(self.text().into_bytes()),
            3 => Cbor::Text(self.text()),
            4 => Cbor::Simple(self.one_of(&[0, 19, 20, 21, 22, 23, 32, 255])),
            5 => Cbor::Float(self.float()),
            6 => Cbor::Tag(self.number(), Box::new(self.value(depth - 1))),
            7 => Cbor::Array((0..self.below(4)).map(|_| self.value(depth - 1)).collect()),
            8 => Cbor::Map(
                (0..self.below(4))
                    .map(|_| (Cbor::Text(self.text()), self.value(depth - 1)))
                    .collect(),
            ),
            _ => Cbor::Map(
                (0..self.below(4))
                    .map(|_| (self.value(depth - 1), self.value(depth - 1)))
                    .collect(),
            ),
        }
    }

    /// Appends a CBOR head to `out`, sometimes a longer one than necessary.
    fn head(&mut self, major: u8, argument: u64, out: &mut Vec<u8>) {
        let least = match argument {
            0..24 => 0,
            24..0x100 => 1,
            0x100..0x1_0000 => 2,
            0x1_0000..0x1_0000_0000 => 3,
            _ => 4,
        };
        let width = self.below(5).max(least);
        let bytes = argument.to_be_bytes();
        match width {
            0 => out.push(major << 5 | bytes[7]),
            width => {
                let width = u8::try_from(width).unwrap();
                out.push(major << 5 | (23 + width));
                out.extend(&bytes[8 - (1 << (width - 1))..]);
            }
        }
    }

    fn string(&mut self, major: u8, pieces: &[&[u8]], out: &mut Vec<u8>) {
        if self.below(3) > 0 {
            let whole = pieces.concat();
            self.head(major, whole.len() as u64, out);
            return out.extend(whole);
        }
        out.push(major << 5 | 31);
        for piece in pieces {
            self.head(major, piece.len() as u64, out);
            out.extend(*piece);
        }
        out.push(0xff);
    }

    /// Appends the head of an array or a map to `out`. Returns true if the item has indefinite length, and needs a
    /// break at its end.
    fn entries(&mut self, major: u8, count: usize, out: &mut Vec<u8>) -> bool {
        let open = self.below(2) == 0;
        if open {
            out.push(major << 5 | 31);
        } else {
            self.head(major, count as u64, out);
        }
        open
    }

    /// Writes `value` in one of its possible encodings, chosen at random.
    fn spell(&mut self, value: &Cbor, out: &mut Vec<u8>) {
        match value {
            Cbor::Uint(number) => self.head(0, *number, out),
            Cbor::Negative(number) => self.head(1, *number, out),
            Cbor::Bytes(bytes) => {
                let (one, other) = bytes.split_at(bytes.len() / 2);
                self.string(2, &[one, other], out);
            }
            Cbor::Text(text) => {
                let pieces: Vec<_> = text.split_inclusive(' ').map(str::as_bytes).collect();
                self.string(3, &pieces, out);
            }
            Cbor::Array(items) => {
                let open = self.entries(4, items.len(), out);
                for item in items {
                    self.spell(item, out);
                }
                out.extend(open.then_some(0xff));
            }
            Cbor::Map(entries) => {
                let open = self.entries(5, entries.len(), out);
                for (key, value) in entries {
                    self.spell(key, out);
                    self.spell(value, out);
                }
                out.extend(open.then_some(0xff));
            }
            Cbor::Tag(tag, item) => {
                self.head(6, *tag, out);
                self.spell(item, out);
            }
            Cbor::Simple(number @ 0..24) => out.push(0xe0 | number),
            Cbor::Simple(number) => out.extend([0xf8, *number]),
            Cbor::Float(bits) => self.float_of(*bits, out),
        }
    }

    fn float_of(&mut self, bits: u64, out: &mut Vec<u8>) {
        let (sign, exponent, fraction) = (bits >> 63, bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
        let special = exponent == 0x7ff || bits << 1 == 0;
        // A NaN, infinity or zero can be written as a half or a single if its low bits are zero. Any other number can
        // be if converting it does not change it.
        if special && fraction.trailing_zeros() >= 42 && self.below(2) == 0 {
            let top = if exponent == 0 { 0 } else { 0x1f };
            let half = u16::try_from(sign << 15 | top << 10 | fraction >> 42).unwrap();
            out.push(0xf9);
            return out.extend(half.to_be_bytes());
        }
        if special && fraction.trailing_zeros() >= 29 && self.below(2) == 0 {
            let top = if exponent == 0 { 0 } else { 0xff };
            let single = u32::try_from(sign << 31 | top << 23 | fraction >> 29).unwrap();
            out.push(0xfa);
            return out.extend(single.to_be_bytes());
        }
        let value = f64::from_bits(bits);
        #[expect(clippy::cast_possible_truncation, reason = "asked whether it is the same")]
        let single = value as f32;
        if !special && f64::from(single).to_bits() == bits && self.below(2) == 0 {
            out.push(0xfa);
            return out.extend(single.to_be_bytes());
        }
        out.push(0xfb);
        out.extend(bits.to_be_bytes());
    }
}

/// Returns the value with the entries of its maps sorted by their keys, because their order has no meaning. Entries with equal
/// keys keep their order.
fn sorted(value: &Cbor) -> Cbor {
    match value {
        Cbor::Array(items) => Cbor::Array(items.iter().map(sorted).collect()),
        Cbor::Tag(tag, item) => Cbor::Tag(*tag, Box::new(sorted(item))),
        Cbor::Map(entries) => {
            let mut entries: Vec<_> =
                entries.iter().map(|(key, value)| (sorted(key), sorted(value))).collect();
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            Cbor::Map(entries)
        }
        other => other.clone(),
    }
}

/// Returns the value that `json` stands for, by the rules in `docs/json.md`.
fn read(json: &Json) -> Cbor {
    match json {
        Json::Null => Cbor::Simple(22),
        Json::Bool(value) => Cbor::Simple(20 + u8::from(*value)),
        Json::String(text) => Cbor::Text(text.clone()),
        Json::Array(items) => Cbor::Array(items.iter().map(read).collect()),
        Json::Number(number) => match number.as_i128() {
            Some(number) => integer(number),
            None => Cbor::Float(number.as_f64().unwrap().to_bits()),
        },
        Json::Object(map) => match map.iter().next() {
            Some((key, value)) if key.starts_with('$') => read_own(key, value, map.get("$value")),
            _ => Cbor::Map(
                map.iter().map(|(key, value)| (Cbor::Text(key.clone()), read(value))).collect(),
            ),
        },
    }
}

fn integer(number: i128) -> Cbor {
    match u64::try_from(number) {
        Ok(number) => Cbor::Uint(number),
        Err(_) => Cbor::Negative(u64::try_from(-1 - number).unwrap()),
    }
}

fn read_own(key: &str, value: &Json, second: Option<&Json>) -> Cbor {
    let text = || value.as_str().unwrap();
    match (key, second) {
        ("$int", None) => integer(text().parse().unwrap()),
        ("$float", None) => Cbor::Float(text().parse::<f64>().unwrap().to_bits()),
        ("$nan", None) => Cbor::Float(u64::from_str_radix(text(), 16).unwrap()),
        ("$simple", None) => Cbor::Simple(value.as_u64().unwrap().try_into().unwrap()),
        ("$bytes", None) => {
            let digits: Vec<_> = text().chars().map(|c| c.to_digit(16).unwrap()).collect();
            let bytes = digits.chunks(2).map(|two| u8::try_from(two[0] << 4 | two[1]).unwrap());
            Cbor::Bytes(bytes.collect())
        }
        ("$map", None) => {
            let items: Vec<_> = value.as_array().unwrap().iter().map(read).collect();
            Cbor::Map(items.chunks(2).map(|two| (two[0].clone(), two[1].clone())).collect())
        }
        ("$tag", Some(item)) => {
            let Cbor::Uint(tag) = read(value) else { panic!("{value}") };
            Cbor::Tag(tag, Box::new(read(item)))
        }
        other => panic!("{other:?}"),
    }
}

/// Returns `json` as a parser that tells integers from floats and ignores the order of keys would read it, as text.
fn as_read(json: &Json) -> String {
    match json {
        Json::Number(number) => number.to_string(),
        Json::Array(items) => {
            format!("[{}]", items.iter().map(as_read).collect::<Vec<_>>().join(","))
        }
        Json::Object(map) => {
            let entry = |(key, value): (&String, &Json)| format!("{key:?}:{}", as_read(value));
            format!("{{{}}}", map.iter().map(entry).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

/// Returns the JSON that zten writes for each of `values`, which are encoded in CBOR and pass through a file as
/// attributes.
fn written(values: &[Vec<u8>]) -> Vec<String> {
    let mut random = Random::new(0);
    let mut map = Vec::new();
    random.head(5, values.len() as u64, &mut map);
    for (n, value) in values.iter().enumerate() {
        random.head(3, 4, &mut map);
        map.extend(format!("{n:04}").bytes());
        map.extend(value);
    }
    let mut writer = Writer::new(Vec::new(), &WriteOptions::default()).unwrap();
    writer.attributes_encoded(&Encoded::from_cbor(map)).unwrap();
    let file = writer.finish().unwrap();
    let archive = Archive::from_bytes(&file).unwrap();
    let write = |item| {
        let mut out = Vec::new();
        json::to_writer(&mut out, &value::Json(item)).unwrap();
        String::from_utf8(out).unwrap()
    };
    archive.attributes().map(|(_, item)| write(item)).collect()
}

#[test]
fn values_are_read_back() {
    let mut random = Random::new(7);
    let mut seen: HashMap<String, Cbor> = HashMap::new();
    let mut own = 0;
    for _ in 0..20 {
        let values: Vec<_> = (0..2000).map(|_| random.value(4)).collect();
        let spelled: Vec<_> = values
            .iter()
            .map(|value| {
                let mut out = Vec::new();
                random.spell(value, &mut out);
                out
            })
            .collect();
        let texts = written(&spelled);
        assert_eq!(texts.len(), values.len());
        for (value, text) in values.iter().zip(texts) {
            let json: Json = serde_json::from_str(&text).unwrap();
            let wanted = sorted(value);
            assert_eq!(sorted(&read(&json)), wanted, "{text}");
            own += usize::from(text.contains("$map"));
            // JSON without `$map` must be different for different values.
            if !text.contains("$map") {
                let before = seen.entry(as_read(&json)).or_insert_with(|| wanted.clone());
                assert_eq!(*before, wanted, "{text}");
            }
        }
    }
    assert!(own > 1000 && seen.len() > 1000, "{own} {}", seen.len());
}

#[test]
fn each_kind_of_value_has_its_form() {
    let cases: [(&[u8], &str); 26] = [
        (b"\x00", "0"),
        (b"\x20", "-1"),
        (b"\x1b\x00\x1f\xff\xff\xff\xff\xff\xff", "9007199254740991"),
        (b"\x1b\x00\x20\x00\x00\x00\x00\x00\x00", r#"{"$int":"9007199254740992"}"#),
        (b"\x3b\x00\x1f\xff\xff\xff\xff\xff\xfe", "-9007199254740991"),
        (b"\x3b\x00\x1f\xff\xff\xff\xff\xff\xff", r#"{"$int":"-9007199254740992"}"#),
        (b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff", r#"{"$int":"-18446744073709551616"}"#),
        (b"\xf9\x3e\x00", "1.5"),
        (b"\xf9\x3c\x00", "1.0"),
        (b"\xf9\x80\x00", "-0.0"),
        (b"\xf9\xfc\x00", r#"{"$float":"-Infinity"}"#),
        (b"\xf9\x7e\x00", r#"{"$nan":"7ff8000000000000"}"#),
        (b"\xfa\xff\x80\x00\x01", r#"{"$nan":"fff0000020000000"}"#),
        (b"\xf6", "null"),
        (b"\xf5", "true"),
        (b"\xf7", r#"{"$simple":23}"#),
        (b"\xf8\xff", r#"{"$simple":255}"#),
        (b"\x42\x00\xff", r#"{"$bytes":"00ff"}"#),
        (b"\x5f\x41\x00\x41\xff\xff", r#"{"$bytes":"00ff"}"#),
        (b"\xa1\x66$bytes\x6400ff", r#"{"$map":["$bytes","00ff"]}"#),
        (b"\xa1\x65$cborA\x00", r#"{"$map":["$cbor",{"$bytes":"00"}]}"#),
        (b"\xa1\x00\x01", r#"{"$map":[0,1]}"#),
        (b"\xa2\x61z\x01\x61z\x02", r#"{"$map":["z",1,"z",2]}"#),
        (b"\xa2\x61z\x01\x7f\x61z\xff\x02", r#"{"$map":["z",1,"z",2]}"#),
        (b"\xa2\x61z\x01\x61a\x80", r#"{"z":1,"a":[]}"#),
        (b"\xc0\x63\xe2\x80\x8b", r#"{"$tag":0,"$value":"\u200b"}"#),
    ];
    let values: Vec<_> = cases.iter().map(|(cbor, _)| cbor.to_vec()).collect();
    let wanted: Vec<_> = cases.iter().map(|(_, text)| (*text).to_owned()).collect();
    assert_eq!(written(&values), wanted);
}

/// A map becomes a JSON object only after its keys have been checked for duplicates. A map with more than `ENTRIES` keys becomes a
/// list of keys and values, so that the check has a bounded cost.
#[test]
fn long_maps_are_lists() {
    let map = |count: u32| {
        let mut bytes = [&[0xba][..], &count.to_be_bytes()].concat();
        for n in (0..count).rev() {
            bytes.extend([&b"\x66"[..], format!("{n:06}").as_bytes(), &[0]].concat());
        }
        bytes
    };
    let limit = u32::try_from(value::ENTRIES).unwrap();
    let texts = written(&[map(limit), map(limit + 1)]);
    assert!(texts[0].starts_with("{\"004095\":0,"), "{:.40}", texts[0]);
    assert!(texts[1].starts_with("{\"$map\":[\"004096\",0,"), "{:.40}", texts[1]);
}
