//! What NumPy calls its types.

use zten::{LogicalType, StorageType};

use crate::kind::Kind;
use zten_present::escape;

/// A type, and the order of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub(super) kind: Kind,
    pub(super) is_big: bool,
}

/// Names without their byte order, and bytes of the parts that have one.
const TYPES: [(&str, Kind); 15] = [
    ("?", Kind::Plain(StorageType::Bool)),
    ("b1", Kind::Plain(StorageType::Bool)),
    ("i1", Kind::Plain(StorageType::I8)),
    ("i2", Kind::Plain(StorageType::I16)),
    ("i4", Kind::Plain(StorageType::I32)),
    ("i8", Kind::Plain(StorageType::I64)),
    ("u1", Kind::Plain(StorageType::U8)),
    ("u2", Kind::Plain(StorageType::U16)),
    ("u4", Kind::Plain(StorageType::U32)),
    ("u8", Kind::Plain(StorageType::U64)),
    ("f2", Kind::Plain(StorageType::F16)),
    ("f4", Kind::Plain(StorageType::F32)),
    ("f8", Kind::Plain(StorageType::F64)),
    ("c8", Kind::Logical(LogicalType::Complex64)),
    ("c16", Kind::Logical(LogicalType::Complex128)),
];

impl Type {
    /// The type of that name: `<f4`.
    pub(super) fn parse(descr: &str) -> Result<Self, String> {
        let (order, name) = match descr.chars().next() {
            Some(order @ ('<' | '>' | '|')) => (Some(order), descr.get(1..).unwrap_or_default()),
            _ => (None, descr),
        };
        let quoted = escape::quoted(descr);
        let Some((_, kind)) = TYPES.iter().find(|(known, _)| *known == name) else {
            return Err(format!("the dtype {quoted} is {}", unsupported(name)));
        };
        let this = Self { kind: *kind, is_big: order == Some('>') };
        if order == Some('|') && this.part() > 1 {
            return Err(format!("the dtype {quoted} does not tell the order of its bytes"));
        }
        Ok(this)
    }

    /// Bytes of one element.
    pub(super) fn width(self) -> usize {
        match self.kind {
            Kind::Logical(logical) => self.part().saturating_mul(logical.ratio().into()),
            Kind::Plain(_) => self.part(),
        }
    }

    /// Bytes of what has an order of bytes: a number, or either part of a complex one.
    fn part(self) -> usize {
        match self.kind {
            Kind::Plain(storage) => storage.width().into(),
            Kind::Logical(logical) => logical.storage().width().into(),
        }
    }

    /// Turns whole elements into little-endian ones.
    pub(super) fn make_little(self, bytes: &mut [u8]) {
        if !self.is_big {
            return;
        }
        match self.part() {
            2 => bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|part| part.reverse()),
            4 => bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|part| part.reverse()),
            8 => bytes.as_chunks_mut::<8>().0.iter_mut().for_each(|part| part.reverse()),
            _ => {}
        }
    }
}

/// What a type is that zTensor has nothing for.
fn unsupported(name: &str) -> &'static str {
    let rest = name.get(1..).unwrap_or_default();
    match name.chars().next() {
        Some('O') => "of Python objects, and not supported",
        Some('V') => "of bytes without a type, and not supported",
        Some('S' | 'U' | 'a') => "of texts, and not supported",
        Some('M' | 'm') => "of times, and not supported",
        Some('f' | 'c') if matches!(rest, "10" | "12" | "16" | "20" | "24" | "32") => {
            "of long doubles, and not supported"
        }
        _ => "not supported",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type() {
        for (name, kind) in TYPES {
            for order in ["<", ">", ""] {
                let this = Type::parse(&format!("{order}{name}")).unwrap();
                assert_eq!(this, Type { kind, is_big: order == ">" });
                let bytes = kind.bytes(&[1]).unwrap();
                assert_eq!(u64::try_from(this.width()).unwrap(), bytes);
            }
            let bare = Type::parse(&format!("|{name}"));
            assert_eq!(bare.is_ok(), matches!(name, "?" | "b1" | "i1" | "u1"), "{name}");
        }
    }

    #[test]
    fn refused_by_name() {
        for (descr, why) in [
            ("|O", "objects"),
            ("|V2", "without a type"),
            ("<U7", "texts"),
            ("|S3", "texts"),
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
            ("|f4", "order of its bytes"),
        ] {
            let sentence = Type::parse(descr).unwrap_err();
            assert!(sentence.contains(why), "{descr}: {sentence}");
        }
    }

    #[test]
    fn parts_are_turned_one_by_one() {
        for (descr, wanted) in [
            (">u1", [0, 1, 2, 3, 4, 5, 6, 7]),
            ("<u4", [0, 1, 2, 3, 4, 5, 6, 7]),
            (">u2", [1, 0, 3, 2, 5, 4, 7, 6]),
            (">f4", [3, 2, 1, 0, 7, 6, 5, 4]),
            (">c8", [3, 2, 1, 0, 7, 6, 5, 4]),
            (">f8", [7, 6, 5, 4, 3, 2, 1, 0]),
        ] {
            let mut bytes = [0, 1, 2, 3, 4, 5, 6, 7];
            Type::parse(descr).unwrap().make_little(&mut bytes);
            assert_eq!(bytes, wanted, "{descr}");
        }
    }
}
