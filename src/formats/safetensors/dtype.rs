//! The names of dtypes in the headers of safetensors files, such as `BF16`, and the element types that they mean.

use crate::element::{LogicalType, StorageType};
use crate::formats::kind::FormatDType;

/// All known names of safetensors dtypes, most frequent first, because the search begins at the start.
const NAMES: [Name; 20] = [
    Name::new("BF16", FormatDType::Plain(StorageType::Bf16)),
    Name::new("F16", FormatDType::Plain(StorageType::F16)),
    Name::new("F32", FormatDType::Plain(StorageType::F32)),
    Name::new("F8_E4M3", FormatDType::Logical(LogicalType::F8E4M3Fn)),
    Name::new("U8", FormatDType::Plain(StorageType::U8)),
    Name::new("I8", FormatDType::Plain(StorageType::I8)),
    Name::new("I32", FormatDType::Plain(StorageType::I32)),
    Name::new("I64", FormatDType::Plain(StorageType::I64)),
    Name::new("F4", FormatDType::Logical(LogicalType::F4E2M1)),
    Name::new("F8_E8M0", FormatDType::Logical(LogicalType::F8E8M0)),
    Name::new("F8_E5M2", FormatDType::Logical(LogicalType::F8E5M2)),
    Name::new("F64", FormatDType::Plain(StorageType::F64)),
    Name::new("BOOL", FormatDType::Plain(StorageType::Bool)),
    Name::new("U16", FormatDType::Plain(StorageType::U16)),
    Name::new("I16", FormatDType::Plain(StorageType::I16)),
    Name::new("U32", FormatDType::Plain(StorageType::U32)),
    Name::new("U64", FormatDType::Plain(StorageType::U64)),
    Name::new("C64", FormatDType::Logical(LogicalType::Complex64)),
    Name::new("F8_E4M3FNUZ", FormatDType::Logical(LogicalType::F8E4M3Fnuz)),
    Name::new("F8_E5M2FNUZ", FormatDType::Logical(LogicalType::F8E5M2Fnuz)),
];

/// The name of a dtype in a safetensors header, and the element type that it means.
struct Name {
    text: &'static str,
    kind: FormatDType,
    /// The bytes of the name and of the quote after the name as a little-endian number, if they take at most eight bytes;
    /// otherwise a number that matches nothing.
    word: u64,
    /// A bit mask of the bytes of `word` that the name and the quote take. It is 0 if they take more than eight bytes.
    mask: u64,
}

impl Name {
    const fn new(text: &'static str, kind: FormatDType) -> Self {
        // A name of eight bytes or more does not fit into the word with its quote. It keeps a mask of 0, and so never
        // matches: bytes masked with 0 are 0, and the word is not.
        let (mut word, mut mask) = (u64::MAX, 0);
        if text.len() < 8 {
            word = 0;
            let mut left = text.as_bytes();
            let mut shift = 0_u32;
            while let [byte, rest @ ..] = left {
                word |= u64::from_le_bytes([*byte, 0, 0, 0, 0, 0, 0, 0]).wrapping_shl(shift);
                shift = shift.wrapping_add(8);
                left = rest;
            }
            word |= u64::from_le_bytes([b'"', 0, 0, 0, 0, 0, 0, 0]).wrapping_shl(shift);
            mask = u64::MAX.wrapping_shr(56_u32.wrapping_sub(shift));
        }
        Self { text, kind, word, mask }
    }
}

/// Returns the element type of the dtype `name`, or `None` if zten has no such elements.
pub(super) fn kind(name: &str) -> Option<FormatDType> {
    NAMES.iter().find(|known| known.text == name).map(|known| known.kind)
}

/// Parses the name of a dtype and its closing quote at the start of `text`. Returns the text after the quote and the element
/// type; `None` if the name is unknown or has eight bytes or more.
#[inline]
pub(super) fn quoted_kind(text: &[u8]) -> Option<(&[u8], FormatDType)> {
    let word = u64::from_le_bytes(*text.first_chunk()?);
    let found = NAMES.iter().find(|known| word & known.mask == known.word)?;
    Some((text.get(found.text.len()..)?.get(1..)?, found.kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn names_are_found_in_both_ways() {
        for Name { text: name, kind: wanted, .. } in &NAMES {
            assert_eq!(kind(name), Some(*wanted), "{name}");
            let text = format!("{name}\",\"shape\"");
            let found = quoted_kind(text.as_bytes());
            let rest = (name.len() < 8).then_some((&b",\"shape\""[..], *wanted));
            assert_eq!(found, rest, "{name}");
        }
        for other in ["", "F", "F321", "f32", "F6_E2M3", "F32\\u0000"] {
            assert_eq!(kind(other), None, "{other}");
            assert_eq!(quoted_kind(format!("{other}\",\"shape\"").as_bytes()), None, "{other}");
        }
    }
}
