//! The expected content of a file, with which the content that either program writes or reads is compared.

use std::collections::BTreeMap;

use ciborium::Value;
use zten::element::{LogicalType, StorageType};

/// Attributes of a file or an object.
pub(crate) type Attributes = BTreeMap<String, Value>;

/// The content of a whole file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    pub(crate) attributes: Option<Attributes>,
    pub(crate) objects: Vec<Object>,
}

/// The expected content of one object.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) shape: Vec<u64>,
    pub(crate) format: String,
    pub(crate) attributes: Option<Attributes>,
    pub(crate) parts: Vec<Part>,
    /// True if the object is to be compressed.
    pub(crate) packed: bool,
}

/// One component: its decoded little-endian bytes.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) role: String,
    pub(crate) storage: StorageType,
    /// The logical type, by its name in `type`.
    pub(crate) logical: Option<String>,
    pub(crate) bytes: Vec<u8>,
}

/// The checksum that the components of a file get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sum {
    None,
    Crc32c,
    Sha256,
}

impl Sum {
    pub(crate) const ALL: [Self; 3] = [Self::None, Self::Crc32c, Self::Sha256];

    /// Returns the prefix of a digest by this checksum in a manifest.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Crc32c => "crc32c:0x",
            Self::Sha256 => "sha256:",
        }
    }
}

impl Object {
    pub(crate) fn part(&self, role: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.role == role)
    }
}

impl Part {
    /// Returns the number of storage elements in a logical element.
    pub(crate) fn ratio(&self) -> u8 {
        self.known().map_or(1, LogicalType::ratio)
    }

    /// Returns the logical type, if it is one that 1.2 defines.
    pub(crate) fn known(&self) -> Option<LogicalType> {
        let name = self.logical.as_deref()?;
        LogicalType::V1_2.into_iter().find(|logical| logical.name() == name)
    }

    /// Returns the number of elements: logical elements if the logical type is known, otherwise storage elements.
    pub(crate) fn elements(&self) -> u64 {
        let each = u64::from(self.storage.width()) * u64::from(self.ratio());
        self.bytes.len() as u64 / each
    }
}

/// Returns the little-endian bytes of numbers.
pub(crate) fn le(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Returns whether two attribute values are equal: a NaN equals a NaN, and the entries of a map have no order.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => {
            a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
        }
        (Value::Tag(a, x), Value::Tag(b, y)) => a == b && same(x, y),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            let twin = |(key, value): &(Value, Value)| {
                b.iter().any(|(other, twin)| same(key, other) && same(value, twin))
            };
            a.len() == b.len() && a.iter().all(twin)
        }
        _ => a == b,
    }
}

/// Returns whether two sets of attributes are equal. No attributes equal an empty set.
pub(crate) fn same_attributes(a: Option<&Attributes>, b: Option<&Attributes>) -> bool {
    let none = Attributes::new();
    let (a, b) = (a.unwrap_or(&none), b.unwrap_or(&none));
    a.len() == b.len() && a.iter().zip(b).all(|((a, x), (b, y))| a == b && same(x, y))
}
