//! Types and functions for the JSON documents that zten writes, with `serde`. Values are streamed to the output without being
//! kept in memory.

#[cfg(feature = "std")]
mod output;
pub mod value;

use core::fmt::{self, Display};

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

#[cfg(feature = "std")]
pub use output::{serializer, to_line, to_shown, to_writer};

/// The version number of the schema of the JSON documents that zten writes: see `docs/json.md`.
pub const SCHEMA: u32 = 2;

/// The version of the schema, as the first key of each document: `schema: Schema`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Schema;

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(SCHEMA)
    }
}

/// A list that is serialized without being kept in memory: a function that returns an iterator over its items.
#[derive(Clone, Copy, Debug)]
pub struct List<F>(pub F);

impl<F: Fn() -> I, I: IntoIterator<Item: Serialize>> Serialize for List<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0())
    }
}

/// Serializes an integer: as a number if every JSON reader represents it exactly, and as `{"$int": "…"}` otherwise.
///
/// # Errors
/// The serializer fails.
pub fn integer<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    if *value <= EXACT {
        serializer.serialize_u64(*value)
    } else {
        single_key("$int", &Text(value), serializer)
    }
}

/// Serializes `value` as [`integer`] does, or as null if it is `None`.
///
/// # Errors
/// The serializer fails.
pub fn integer_or_null<S: Serializer>(
    value: &Option<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => integer(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// An integer, as [`integer`] writes it.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct Integer(#[serde(serialize_with = "integer")] pub u64);

/// A string that is the `Display` output of a value. It is streamed without being kept in memory.
#[derive(Clone, Copy, Debug)]
pub struct Text<T>(pub T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Serializes the object `{key: value}`. Values that JSON cannot express are written as such objects, with a key that begins
/// with `$`.
pub(crate) fn single_key<S: Serializer>(
    key: &str,
    value: &(impl Serialize + ?Sized),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(key, value)?;
    map.end()
}

/// The largest integer that is written as a JSON number: up to this magnitude all integers are exact as doubles, which most
/// JSON readers use.
pub(crate) const EXACT: u64 = (1 << 53) - 1;

/// A negative integer in the form of CBOR: −1 − `below`. `i64` holds only half of these integers.
#[derive(Clone, Copy, Debug)]
pub struct Negative {
    /// The number `n` for the integer −1 − `n`.
    pub below: u64,
}

impl Display for Negative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.below.checked_add(1) {
            Some(size) => write!(f, "-{size}"),
            None => f.write_str("-18446744073709551616"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact() {
        let line = |value: u64| serde_json::to_string(&Integer(value)).unwrap();
        assert_eq!(line((1 << 53) - 1), "9007199254740991");
        assert_eq!(line(1 << 53), r#"{"$int":"9007199254740992"}"#);
    }
}
