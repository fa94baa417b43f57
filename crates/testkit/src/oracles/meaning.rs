//! The meaning of a CBOR item, by which oracles compare the results of different decoders.

use zten::attributes::{Attributes, Item, Value};

/// A CBOR item without the choices of its encoding, such as the length of a number: RFC 8949 §2.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Meaning {
    Integer(i128),
    Bytes(Vec<u8>),
    Text(String),
    Array(Vec<Self>),
    Map(Vec<(Self, Self)>),
    Tag(u64, Box<Self>),
    Bool(bool),
    Null,
    Undefined,
    Simple(u8),
    /// The bits of a double. All NaNs have the same bits.
    Float(u64),
}

impl Meaning {
    /// Converts an item that zten has decoded.
    pub(crate) fn from_item(item: &Item<'_>) -> Self {
        match item.value() {
            Value::Uint(number) => Self::Integer(number.into()),
            Value::Negative(number) => Self::Integer(-1 - i128::from(number)),
            Value::Bytes(chunks) => Self::Bytes(chunks.pieces().flatten().copied().collect()),
            Value::Text(chunks) => {
                let bytes = chunks.pieces().flatten().copied().collect();
                Self::Text(String::from_utf8(bytes).expect("text that was checked"))
            }
            Value::Array(items) => Self::Array(items.map(|item| Self::from_item(&item)).collect()),
            Value::Map(entries) => Self::Map(
                entries
                    .map(|(key, value)| (Self::from_item(&key), Self::from_item(&value)))
                    .collect(),
            ),
            Value::Tag(number, item) => Self::Tag(number, Box::new(Self::from_item(&item))),
            Value::Bool(value) => Self::Bool(value),
            Value::Null => Self::Null,
            Value::Undefined => Self::Undefined,
            Value::Float(value) => Self::float(value),
            Value::Simple(number) => Self::Simple(number),
            other => panic!("a value of another kind: {other:?}"),
        }
    }

    pub(crate) fn float(value: f64) -> Self {
        let value = if value.is_nan() { f64::NAN } else { value };
        Self::Float(value.to_bits())
    }

    /// Returns the same meaning with the entries of every map sorted.
    pub(crate) fn sorted(self) -> Self {
        match self {
            Self::Array(items) => Self::Array(items.into_iter().map(Self::sorted).collect()),
            Self::Tag(number, item) => Self::Tag(number, Box::new(item.sorted())),
            Self::Map(entries) => {
                let entries = entries.into_iter();
                let mut entries: Vec<_> =
                    entries.map(|(key, value)| (key.sorted(), value.sorted())).collect();
                entries.sort();
                Self::Map(entries)
            }
            other => other,
        }
    }

    /// Returns whether `is` returns true for this item or for any item inside it.
    pub(crate) fn any(&self, is: &impl Fn(&Self) -> bool) -> bool {
        is(self)
            || match self {
                Self::Array(items) => items.iter().any(|item| item.any(is)),
                Self::Tag(_, item) => item.any(is),
                Self::Map(entries) => {
                    entries.iter().any(|(key, value)| key.any(is) || value.any(is))
                }
                _ => false,
            }
    }

    /// Returns the item with every item inside it, and then the item itself, replaced by the result of `change`.
    pub(crate) fn map(self, change: &impl Fn(Self) -> Self) -> Self {
        change(match self {
            Self::Array(items) => {
                Self::Array(items.into_iter().map(|item| item.map(change)).collect())
            }
            Self::Tag(number, item) => Self::Tag(number, Box::new(item.map(change))),
            Self::Map(entries) => {
                let entries = entries.into_iter();
                Self::Map(
                    entries.map(|(key, value)| (key.map(change), value.map(change))).collect(),
                )
            }
            other => other,
        })
    }
}

/// Returns each key of `attributes` with the meaning of its value, sorted by the keys. The entries of maps are sorted, too.
pub(crate) fn all(attributes: Attributes<'_>) -> Vec<(String, Meaning)> {
    let mut all: Vec<_> = attributes
        .map(|(key, item)| (key.to_owned(), Meaning::from_item(&item).sorted()))
        .collect();
    all.sort();
    all
}
