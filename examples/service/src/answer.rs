//! What a worker answers: eight bytes, little-endian, that say how much follows, and so much JSON.
//! The memory file, if there is one, comes with the eight bytes.

use serde::{Deserialize, Serialize};

/// Components begin at multiples of so many bytes in the memory file: enough for any element.
pub const ALIGNMENT: u64 = 64;

/// What a worker has to say of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Answer {
    /// It keeps every rule, and all of its content has been verified.
    Valid(Facts),
    /// It does not, or cannot be read.
    Refused(Refusal),
}

/// What the manifest says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The version of the format: `1.2`.
    pub generation: String,
    /// In the order of the manifest.
    pub objects: Vec<Object>,
}

/// One object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// Any text.
    pub name: String,
    /// As the file spells it.
    pub format: String,
    /// Its dimensions, the slowest first.
    pub shape: Vec<u64>,
    /// In the order of the manifest.
    pub components: Vec<Component>,
}

/// One component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// `data`, `indices`, ...
    pub role: String,
    /// What its elements are stored as, as the file spells it.
    pub dtype: String,
    /// Bytes in the file.
    pub stored: u64,
    /// Where in the memory file its decoded little-endian bytes are, and how many; none where
    /// only facts were asked for.
    pub place: Option<(u64, u64)>,
}

/// Why a file is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// The rule, limit or unsupported feature, by its id. None where there is no memory for the
    /// file, or it could not be read.
    pub rule: Option<String>,
    /// The byte of the file, where there is one to point at.
    pub offset: Option<u64>,
    /// For people.
    pub message: String,
}
