//! Parsing the names of NumPy dtypes.

use crate::escape::Short;
use crate::formats::error::FormatError;
use crate::formats::rules::{OBJECTS, Rule};
use crate::tools::{LogicalType, StorageType};

/// An element type and its byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub(super) storage: StorageType,
    pub(super) logical: Option<LogicalType>,
    pub(super) is_big: bool,
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

impl Type {
    /// Parses the name `descr` of a dtype, such as `<f4`.
    pub(super) fn parse(descr: &str) -> Result<Self, FormatError> {
        let (order, name) = match descr.chars().next() {
            Some(order @ ('<' | '>' | '|')) => (Some(order), descr.get(1..).unwrap_or_default()),
            _ => (None, descr),
        };
        let quoted = Short(descr);
        let Some((_, storage, logical)) = TYPES.iter().find(|(known, ..)| *known == name) else {
            let what = unsupported(name);
            let sentence = format_args!("unsupported dtype {quoted}: {what}");
            let error = FormatError::violation(Rule::NpyDtype, sentence);
            // The advice about pickles fits objects only.
            return Err(if name == "O" { error.advising(OBJECTS) } else { error });
        };
        if order == Some('|') && storage.width() > 1 {
            let sentence = format_args!("dtype {quoted} without a byte order");
            return Err(FormatError::violation(Rule::NpyDtype, sentence));
        }
        Ok(Self { storage: *storage, logical: *logical, is_big: order == Some('>') })
    }

    /// The width of an element in bytes.
    pub(super) fn width(self) -> u64 {
        let parts = self.logical.map_or(1, LogicalType::ratio);
        u64::from(self.storage.width()).saturating_mul(parts.into())
    }
}

/// Describes the unsupported dtype `name`, which has no byte order, for an error.
fn unsupported(name: &str) -> &'static str {
    let rest = name.get(1..).unwrap_or_default();
    match name.chars().next() {
        Some('O') => "Python objects",
        Some('V') => "bytes without a type",
        Some('S' | 'U' | 'a') => "text",
        Some('M' | 'm') => "times",
        Some('f' | 'c') if matches!(rest, "10" | "12" | "16" | "20" | "24" | "32") => {
            "long doubles"
        }
        _ => "not supported",
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::brief;

    use super::*;
    use alloc::format;

    #[test]
    fn every_type() {
        for (name, storage, logical) in TYPES {
            for order in ["<", ">", ""] {
                let this = Type::parse(&format!("{order}{name}")).unwrap();
                assert_eq!(this, Type { storage, logical, is_big: order == ">" });
                assert!(logical.is_none_or(|logical| logical.storage() == storage));
                let digits = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
                assert_eq!(this.width(), digits.parse().unwrap_or(1), "{name}");
            }
            let bare = Type::parse(&format!("|{name}"));
            assert_eq!(bare.is_ok(), matches!(name, "?" | "b1" | "i1" | "u1"), "{name}");
        }
    }

    #[test]
    fn rejected_by_name() {
        for (descr, why) in [
            ("|O", "objects"),
            ("|V2", "without a type"),
            ("<U7", ": text"),
            ("|S3", ": text"),
            ("<M8[ns]", "times"),
            ("<m8[s]", "times"),
            ("<f16", "long doubles"),
            ("<c32", "long doubles"),
            ("=f4", "not supported"),
            ("<f3", "not supported"),
            ("<", "not supported"),
            ("", "not supported"),
            ("é", "not supported"),
            ("<f4 ", "not supported"),
            ("|f4", "without a byte order"),
        ] {
            let sentence = brief(&Type::parse(descr).unwrap_err().into());
            assert!(sentence.contains(why), "{descr}: {sentence}");
        }
    }
}
