//! Parsing the names of NumPy dtypes.

use crate::element::{LogicalType, StorageType};

/// A dtype, as far as zten interprets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::formats) enum Type {
    /// Numbers or bools.
    Known(Number),
    /// Elements of this size in bytes that zten does not interpret: text, bytes, dates, or numbers of other widths.
    Opaque(u64),
    /// Python objects, which are pickled.
    Objects,
    /// A name that NumPy does not write. The size of an element is not known.
    Unknown,
}

/// The type of numbers or bools, and their byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::formats) struct Number {
    /// The type in which a number is stored; for a complex number, the type of its real and imaginary part.
    pub(in crate::formats) storage: StorageType,
    /// The type of a complex number; `None` for other numbers and bools.
    pub(in crate::formats) logical: Option<LogicalType>,
    /// Whether the bytes of a number are in big-endian order.
    pub(in crate::formats) is_big: bool,
}

/// The names of dtypes without their byte order, and their element types.
const TYPES: [(&str, StorageType, Option<LogicalType>); 15] = [
    ("?", StorageType::Bool, None),
    ("b1", StorageType::Bool, None),
    ("i1", StorageType::I8, None),
    ("i2", StorageType::I16, None),
    ("i4", StorageType::I32, None),
    ("i8", StorageType::I64, None),
    ("u1", StorageType::U8, None),
    ("u2", StorageType::U16, None),
    ("u4", StorageType::U32, None),
    ("u8", StorageType::U64, None),
    ("f2", StorageType::F16, None),
    ("f4", StorageType::F32, None),
    ("f8", StorageType::F64, None),
    ("c8", StorageType::F32, Some(LogicalType::Complex64)),
    ("c16", StorageType::F64, Some(LogicalType::Complex128)),
];

/// The long doubles of the machines that NumPy runs on: their names and sizes in bytes.
const LONG_DOUBLES: [(&str, u64); 6] =
    [("f10", 10), ("f12", 12), ("f16", 16), ("c20", 20), ("c24", 24), ("c32", 32)];

/// The units of dates and durations.
const UNITS: [&str; 14] =
    ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as"];

impl Type {
    /// Parses the name `descr` of a dtype, such as `<f4`. A name that zten does not know is [`Type::Objects`] if NumPy might take
    /// it for Python objects, and [`Type::Unknown`] otherwise.
    pub(in crate::formats) fn parse(descr: &str) -> Self {
        match Self::parse_written(descr) {
            // NumPy takes other spellings than those that it writes, such as `=O`, `object` and `f4,O`, and unpickles the
            // elements. All of these spellings have this letter.
            Self::Unknown if descr.contains(['O', 'o']) => Self::Objects,
            known => known,
        }
    }

    /// Parses the name of a dtype as NumPy writes it.
    fn parse_written(descr: &str) -> Self {
        let (order, name) = match descr.chars().next() {
            Some(order @ ('<' | '>' | '|')) => (Some(order), descr.get(1..).unwrap_or_default()),
            _ => (None, descr),
        };
        if let Some((_, storage, logical)) = TYPES.iter().find(|(known, ..)| *known == name) {
            if order == Some('|') && storage.width() > 1 {
                return Self::Unknown;
            }
            let is_big = order == Some('>');
            return Self::Known(Number { storage: *storage, logical: *logical, is_big });
        }
        if let Some((_, size)) = LONG_DOUBLES.iter().find(|(known, _)| *known == name) {
            return Self::Opaque(*size);
        }
        let (letter, rest) = match name.chars().next() {
            Some(letter) => (letter, name.get(letter.len_utf8()..).unwrap_or_default()),
            None => return Self::Unknown,
        };
        let size = match letter {
            'O' => return Self::Objects,
            // Byte strings, which NumPy fills with zeros at their end, and bytes without a type.
            'S' | 'a' | 'V' => number(rest),
            // A text has characters of four bytes each.
            'U' => number(rest).and_then(|characters| characters.checked_mul(4)),
            'M' | 'm' => is_unit(rest).then_some(8),
            _ => None,
        };
        size.map_or(Self::Unknown, Self::Opaque)
    }
}

impl Number {
    /// Returns the size of an element in bytes.
    pub(in crate::formats) fn width(self) -> u64 {
        let parts = self.logical.map_or(1, LogicalType::ratio);
        u64::from(self.storage.width()).saturating_mul(parts.into())
    }
}

/// Parses a decimal number without a sign. An empty text is 0, as for NumPy. Returns `None` if `digits` has another character, or
/// if the number exceeds 64 bits.
fn number(digits: &str) -> Option<u64> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    match digits {
        "" => Some(0),
        _ if is_number => digits.parse().ok(),
        _ => None,
    }
}

/// Returns whether `rest` is what follows the letter of a date or duration: 8, and usually the unit in brackets, which may have
/// a factor, as in `8[25us]`.
fn is_unit(rest: &str) -> bool {
    let Some(unit) = rest.strip_prefix('8') else { return false };
    let Some(unit) = unit.strip_prefix('[').and_then(|unit| unit.strip_suffix(']')) else {
        return unit.is_empty();
    };
    let unit = unit.trim_start_matches(|letter: char| letter.is_ascii_digit());
    unit == "generic" || UNITS.contains(&unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn every_number() {
        for (name, storage, logical) in TYPES {
            for order in ["<", ">", ""] {
                let Type::Known(this) = Type::parse(&format!("{order}{name}")) else {
                    panic!("{order}{name}")
                };
                assert_eq!(this, Number { storage, logical, is_big: order == ">" });
                assert!(logical.is_none_or(|logical| logical.storage() == storage));
                let digits = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
                assert_eq!(this.width(), digits.parse().unwrap_or(1), "{name}");
            }
            let is_known = matches!(Type::parse(&format!("|{name}")), Type::Known(_));
            assert_eq!(is_known, matches!(name, "?" | "b1" | "i1" | "u1"), "{name}");
        }
    }

    #[test]
    fn every_other_type() {
        for (descr, size) in [
            ("|V2", 2),
            ("|V0", 0),
            ("<V1", 1),
            ("<U7", 28),
            (">U1", 4),
            ("<U0", 0),
            ("|S3", 3),
            ("|S", 0),
            ("|a5", 5),
            ("<M8[ns]", 8),
            (">M8[25us]", 8),
            ("<m8[s]", 8),
            ("<m8", 8),
            ("<m8[generic]", 8),
            ("<f16", 16),
            ("<f12", 12),
            ("<c32", 32),
        ] {
            assert_eq!(Type::parse(descr), Type::Opaque(size), "{descr}");
        }
        assert_eq!(Type::parse("|O"), Type::Objects);
        for descr in ["|O8", "=O", "object", "object_", "f4,O", "@O"] {
            assert_eq!(Type::parse(descr), Type::Objects, "{descr}");
        }
        for descr in [
            "=f4",
            "<f3",
            "<",
            "",
            "é",
            "<f4 ",
            "|f4",
            "<U-1",
            "<U+1",
            "<U99999999999999999999",
            "<U9999999999999999999",
            "<M8[x]",
            "<M8[ns",
            "<M4[ns]",
            "<m8[2]",
        ] {
            assert_eq!(Type::parse(descr), Type::Unknown, "{descr}");
        }
    }
}
