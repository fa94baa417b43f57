//! Elements of NumPy types other than records, by the names of their types.

use std::io::{self, Write};

use zten::element::StorageType;

use super::date::{self, Unit};
use super::extended;
use crate::escape::Quoted;
use crate::json;
use crate::number::{NumberKind, Style};

/// The names of numbers and bools without their byte order, and their types. Fields of records have these types.
const NUMBERS: [(&str, NumberKind); 15] = [
    ("?", NumberKind::Plain(StorageType::Bool)),
    ("b1", NumberKind::Plain(StorageType::Bool)),
    ("i1", NumberKind::Plain(StorageType::I8)),
    ("i2", NumberKind::Plain(StorageType::I16)),
    ("i4", NumberKind::Plain(StorageType::I32)),
    ("i8", NumberKind::Plain(StorageType::I64)),
    ("u1", NumberKind::Plain(StorageType::U8)),
    ("u2", NumberKind::Plain(StorageType::U16)),
    ("u4", NumberKind::Plain(StorageType::U32)),
    ("u8", NumberKind::Plain(StorageType::U64)),
    ("f2", NumberKind::Plain(StorageType::F16)),
    ("f4", NumberKind::Plain(StorageType::F32)),
    ("f8", NumberKind::Plain(StorageType::F64)),
    ("c8", NumberKind::Complex(StorageType::F32)),
    ("c16", NumberKind::Complex(StorageType::F64)),
];

/// The size in bytes of a character of NumPy text, which is UTF-32.
const CHARACTER: usize = 4;

/// The NumPy type of an element, or of a field of records, that is not made of records or arrays itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    Number {
        kind: NumberKind,
        is_big: bool,
    },
    /// Text of `characters` UTF-32 characters, padded with zeros at the end.
    Text {
        characters: usize,
        is_big: bool,
    },
    /// A byte string of this length, padded with zeros at the end (NumPy's `S`).
    Bytes(usize),
    /// This number of bytes without a meaning (NumPy's `V`).
    Void(usize),
    /// A point in time.
    Date {
        unit: Unit,
        is_big: bool,
    },
    /// A length of time.
    Duration {
        unit: Unit,
        is_big: bool,
    },
    /// A number in the extended precision of x86, in this number of bytes.
    Extended(usize),
    /// A complex number in the extended precision of x86. Its real and imaginary parts have this number of bytes each.
    ExtendedPair(usize),
}

impl Scalar {
    /// Parses the name of a NumPy type, such as `<U7`. Returns `None` for other types.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (is_big, name) = match name.strip_prefix(['<', '>', '|']) {
            Some(rest) => (name.starts_with('>'), rest),
            None => (false, name),
        };
        if let Some((_, kind)) = NUMBERS.iter().find(|(own, _)| *own == name) {
            return Some(Self::Number { kind: *kind, is_big });
        }
        match (name, is_big) {
            ("f10", false) => return Some(Self::Extended(10)),
            ("f12", false) => return Some(Self::Extended(12)),
            ("f16", false) => return Some(Self::Extended(16)),
            ("c20", false) => return Some(Self::ExtendedPair(10)),
            ("c24", false) => return Some(Self::ExtendedPair(12)),
            ("c32", false) => return Some(Self::ExtendedPair(16)),
            // Only the long doubles of x86 are known, and x86 is little-endian. So big-endian long doubles, which another
            // machine wrote, are printed as bytes.
            ("f10" | "f12" | "f16" | "c20" | "c24" | "c32", true) => {
                return name.get(1..)?.parse().ok().map(Self::Void);
            }
            _ => {}
        }
        let letter = name.chars().next()?;
        let rest = name.get(letter.len_utf8()..)?;
        let count = || if rest.is_empty() { Some(0) } else { rest.parse::<usize>().ok() };
        match letter {
            'U' => Some(Self::Text { characters: count()?, is_big }),
            'S' | 'a' => Some(Self::Bytes(count()?)),
            'V' => Some(Self::Void(count()?)),
            'M' => Some(Self::Date { unit: Unit::parse(rest)?, is_big }),
            'm' => Some(Self::Duration { unit: Unit::parse(rest)?, is_big }),
            _ => None,
        }
    }

    /// Returns the size in bytes of an element of this type.
    pub(super) fn width(self) -> usize {
        match self {
            Self::Number { kind, .. } => kind.width(),
            Self::Text { characters, .. } => characters.saturating_mul(CHARACTER),
            Self::Bytes(width) | Self::Void(width) | Self::Extended(width) => width,
            Self::Date { .. } | Self::Duration { .. } => 8,
            Self::ExtendedPair(width) => width.saturating_mul(2),
        }
    }

    /// Writes the element in `bytes`, which has the width of an element.
    pub(super) fn write(self, out: &mut dyn Write, bytes: &[u8], style: Style) -> io::Result<()> {
        match self {
            Self::Number { kind, is_big } => number(out, kind, bytes, is_big, style),
            Self::Text { is_big, .. } => text(out, bytes, is_big, style),
            Self::Bytes(_) => byte_text(out, bytes, style),
            Self::Void(_) => hexadecimal(out, bytes, style),
            Self::Date { unit, is_big } => {
                let shown = date::date(integer(bytes, is_big), unit);
                quoted_in_json(out, &shown, style)
            }
            Self::Duration { unit, is_big } => {
                let shown = date::duration(integer(bytes, is_big), unit);
                quoted_in_json(out, &shown, style)
            }
            Self::Extended(_) => extended_number(out, bytes, style),
            Self::ExtendedPair(width) => {
                let (real, imaginary) = bytes.split_at(width.min(bytes.len()));
                let (before, after) = match style {
                    Style::Text => ("(", "j)"),
                    Style::Json => ("[", "]"),
                };
                out.write_all(before.as_bytes())?;
                extended_number(out, real, style)?;
                out.write_all(super::separator(style).as_bytes())?;
                extended_number(out, imaginary, style)?;
                out.write_all(after.as_bytes())
            }
        }
    }
}

/// Writes a number or bool.
fn number(
    out: &mut dyn Write,
    kind: NumberKind,
    bytes: &[u8],
    is_big: bool,
    style: Style,
) -> io::Result<()> {
    // The widest number has 16 bytes.
    let mut little = [0; 16];
    let width =
        if matches!(kind, NumberKind::Complex(_)) { kind.width() / 2 } else { kind.width() };
    let parts = little.chunks_mut(width.max(1)).zip(bytes.chunks(width.max(1)));
    for (to, from) in parts {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        if is_big {
            to.reverse();
        }
    }
    kind.write(out, little.get(..kind.width()).unwrap_or_default(), style)
}

/// Writes UTF-32 text without the zeros at its end, or all bytes in hexadecimal if 32 bits are no Unicode character.
fn text(out: &mut dyn Write, bytes: &[u8], is_big: bool, style: Style) -> io::Result<()> {
    let (units, _) = bytes.as_chunks::<CHARACTER>();
    let code = |unit: &[u8; CHARACTER]| {
        if is_big { u32::from_be_bytes(*unit) } else { u32::from_le_bytes(*unit) }
    };
    let end =
        units.iter().rposition(|unit| code(unit) != 0).map_or(0, |last| last.saturating_add(1));
    let units = units.get(..end).unwrap_or_default();
    let text: Option<String> = units.iter().map(|unit| char::from_u32(code(unit))).collect();
    match (text, style) {
        (Some(text), Style::Text) => write!(out, "{}", Quoted(&text)),
        (Some(text), Style::Json) => json::to_writer(out, &text),
        (None, _) => hexadecimal(out, bytes, style),
    }
}

/// Writes a byte string without the zeros at its end. JSON output has a string if the bytes are UTF-8, and otherwise hexadecimal.
fn byte_text(out: &mut dyn Write, bytes: &[u8], style: Style) -> io::Result<()> {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1));
    let bytes = bytes.get(..end).unwrap_or_default();
    match style {
        Style::Text => write!(out, "b\"{}\"", bytes.escape_ascii()),
        Style::Json => match str::from_utf8(bytes) {
            Ok(text) => json::to_writer(out, text),
            Err(_) => hexadecimal(out, bytes, style),
        },
    }
}

/// Writes bytes in hexadecimal.
fn hexadecimal(out: &mut dyn Write, bytes: &[u8], style: Style) -> io::Result<()> {
    let (before, after) = match style {
        Style::Text => ("0x", ""),
        Style::Json => ("{\"$bytes\":\"", "\"}"),
    };
    out.write_all(before.as_bytes())?;
    bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))?;
    out.write_all(after.as_bytes())
}

/// Writes a number in the extended precision of x86, or its bytes if another machine may have written it.
fn extended_number(out: &mut dyn Write, bytes: &[u8], style: Style) -> io::Result<()> {
    match (extended::shown(bytes), style) {
        (None, _) => hexadecimal(out, bytes, style),
        (Some(shown), Style::Text) => out.write_all(shown.as_bytes()),
        (Some(shown), Style::Json) => match &*shown {
            "NaN" => out.write_all(b"{\"$float\":\"NaN\"}"),
            "inf" => out.write_all(b"{\"$float\":\"Infinity\"}"),
            "-inf" => out.write_all(b"{\"$float\":\"-Infinity\"}"),
            shown => out.write_all(shown.as_bytes()),
        },
    }
}

fn integer(bytes: &[u8], is_big: bool) -> i64 {
    let bytes = bytes.first_chunk().copied().unwrap_or_default();
    if is_big { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) }
}

/// Writes `shown` as it is, or as a JSON string if the output is JSON.
fn quoted_in_json(out: &mut dyn Write, shown: &str, style: Style) -> io::Result<()> {
    match style {
        Style::Text => out.write_all(shown.as_bytes()),
        Style::Json => json::to_writer(out, shown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(name: &str, bytes: &[u8]) -> [String; 2] {
        let scalar = Scalar::parse(name).unwrap();
        assert_eq!(scalar.width(), bytes.len(), "{name}");
        [Style::Text, Style::Json].map(|style| {
            let mut out = Vec::new();
            scalar.write(&mut out, bytes, style).unwrap();
            String::from_utf8(out).unwrap()
        })
    }

    #[test]
    fn texts() {
        let units: Vec<u32> = vec![u32::from('é'), 0, 0x1b, u32::from('"'), 0, 0];
        let little: Vec<_> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<_> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        let wanted = [r#""é\u{0}\u{1b}\u{22}""#, r#""é\u0000\u001b\"""#];
        assert_eq!(printed("<U6", &little), wanted);
        assert_eq!(printed(">U6", &big), wanted);
        assert_eq!(printed("<U0", &[]), ["\"\"", "\"\""]);
        // A surrogate is no character, so the element is printed as bytes. So is a number beyond Unicode.
        assert_eq!(printed("<U1", &[0, 0xd8, 0, 0]), ["0x00d80000", r#"{"$bytes":"00d80000"}"#]);
        assert_eq!(printed("<U1", &[0; 4]), ["\"\"", "\"\""]);
    }

    #[test]
    fn bytes() {
        assert_eq!(printed("|S4", b"a\"\0\0"), [r#"b"a\"""#, r#""a\"""#]);
        assert_eq!(printed("|S2", "é".as_bytes()), [r#"b"\xc3\xa9""#, "\"é\""]);
        assert_eq!(printed("|S2", b"\xff\n"), [r#"b"\xff\n""#, r#"{"$bytes":"ff0a"}"#]);
        assert_eq!(printed("|V3", &[0, 1, 0xfe]), ["0x0001fe", r#"{"$bytes":"0001fe"}"#]);
    }

    #[test]
    fn numbers() {
        for (name, bytes, shown) in [
            ("<f4", &1.5_f32.to_le_bytes()[..], "1.5"),
            (">f4", &1.5_f32.to_be_bytes(), "1.5"),
            (">i2", &(-2_i16).to_be_bytes(), "-2"),
            ("|b1", &[7], "true"),
        ] {
            assert_eq!(printed(name, bytes), [shown, shown], "{name}");
        }
        let complex = [1.0_f64.to_be_bytes(), (-2.0_f64).to_be_bytes()].concat();
        assert_eq!(printed(">c16", &complex), ["1.0-2.0j", "[1.0,-2.0]"]);
    }

    #[test]
    fn long_doubles() {
        let mut one = [0; 16];
        one[7..10].copy_from_slice(&[0x80, 0xff, 0x3f]);
        assert_eq!(printed("<f16", &one), ["1.0", "1.0"]);
        assert_eq!(printed("<f12", &one[..12]), ["1.0", "1.0"]);
        assert_eq!(printed("<c32", &[one, one].concat()), ["(1.0, 1.0j)", "[1.0,1.0]"]);
        one[7..10].copy_from_slice(&[0x80, 0xff, 0xff]);
        assert_eq!(printed("<f10", &one[..10]), ["-inf", r#"{"$float":"-Infinity"}"#]);
        // A number of four times the precision, as on AArch64.
        let quadruple = 1.0_f64.to_le_bytes();
        let bytes = [[0; 8], quadruple].concat();
        assert!(printed("<f16", &bytes)[0].starts_with("0x0000"));
        assert!(printed(">f16", &bytes)[0].starts_with("0x0000"));
    }

    #[test]
    fn times() {
        let bytes = 1_600_000_000_123_456_789_i64.to_le_bytes();
        let shown = "2020-09-13T12:26:40.123456789";
        assert_eq!(printed("<M8[ns]", &bytes), [shown.to_owned(), format!("\"{shown}\"")]);
        assert_eq!(printed(">m8[25us]", &3_i64.to_be_bytes()), ["75 us", "\"75 us\""]);
        assert_eq!(printed("<m8[s]", &i64::MIN.to_le_bytes()), ["NaT", "\"NaT\""]);
    }
}
