//! Parsing the JSON of an index: `metadata`, and `weight_map`, which maps the names of tensors to the names of files.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};

use crate::escape;
use crate::formats::cbor::{Map, int};
use crate::formats::error::{FormatError, copied};
use crate::formats::json;
use crate::formats::limits::check_keys;
use crate::formats::ordered_map::OrderedMap;
use crate::formats::record::{self, NUMBER, Record};
use crate::formats::rules::Rule;
use crate::limits::Limits;
use crate::num::u64_from_usize;
use crate::rules::Limit;
use crate::shards::Sibling;

/// The suffix of the files that an index names.
pub(crate) const PARTS: &str = ".safetensors";
/// The largest number of bytes of all records. An index within its largest length never needs as many.
const MOST: usize = 128 << 20;

/// The content of an index.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) weights: Weights,
    /// The value of `total_size`, the length of all tensors or files in bytes.
    pub(super) total_size: Option<u64>,
    /// The other entries of the metadata.
    pub(super) metadata: Map,
}

impl Header {
    /// Parses an index, and checks that all keys are unique.
    pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<Self, FormatError> {
        let mut reading = Reading { limits, header: Self::default(), rejection: None };
        let mut json = serde_json::Deserializer::from_slice(bytes);
        let parsed = Top(&mut reading).deserialize(&mut json).and_then(|()| json.end());
        if let Err(error) = parsed {
            let at = json::offset(bytes, &error);
            let rejection = reading.rejection.take();
            return Err(rejection
                .unwrap_or_else(|| {
                    FormatError::violation(
                        Rule::IndexJson,
                        format!("invalid index: {}", json::message(&error)),
                    )
                })
                .or_at(at));
        }
        let mut header = reading.header;
        header.metadata.check_unique(|key| duplicate_key(key).about("metadata"))?;
        header.weights.put_in_order()?;
        Ok(header)
    }
}

/// Returns the error for the duplicate key `key`.
fn duplicate_key(key: &str) -> FormatError {
    FormatError::violation(
        Rule::IndexDuplicateKey,
        format!("duplicate key {}", escape::quoted(key)),
    )
}

/// The file of each tensor.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// A [`Record`] for each tensor: its name, and the number of its file.
    records: Vec<u8>,
    /// The position of each record in `records`, sorted by the names of tensors.
    starts: Vec<u32>,
    /// The number of each file, by its name.
    files: OrderedMap<String, usize>,
    /// The number of tensors in each file, by the number of the file.
    counts: Vec<usize>,
}

impl Weights {
    /// Returns the names of all files, in no particular order.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Returns the number of the file `name`; `None` if the index does not name this file.
    pub(super) fn file(&self, name: &str) -> Option<usize> {
        self.files.get(name).copied()
    }

    /// Returns the number of tensors in file number `file`.
    pub(super) fn count(&self, file: usize) -> usize {
        self.counts.get(file).copied().unwrap_or_default()
    }

    /// Returns the number of the file that contains the tensor `name`; `None` if the index does not name this tensor.
    pub(super) fn of_tensor(&self, name: &str) -> Option<usize> {
        let at = self.starts.binary_search_by(|start| self.record(*start).text().cmp(name)).ok()?;
        Some(self.entry(*self.starts.get(at)?).1)
    }

    /// Returns the names of the tensors in file number `file`.
    pub(super) fn in_file(&self, file: usize) -> impl Iterator<Item = &str> {
        let entries = self.starts.iter().map(|start| self.entry(*start));
        entries.filter(move |(_, number)| *number == file).map(|(name, _)| name)
    }

    /// Returns the name of the tensor and the number of the file in the record at position `start`.
    fn entry(&self, start: u32) -> (&str, usize) {
        let mut record = self.record(start);
        (record.text(), usize::try_from(record.number()).unwrap_or(usize::MAX))
    }

    /// Returns the record at position `start`.
    fn record(&self, start: u32) -> Record<'_> {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        Record(self.records.get(start..).unwrap_or_default())
    }

    /// Adds the tensor `name` in the file `file`.
    fn push(&mut self, name: &str, file: &str, limits: &Limits) -> Result<(), FormatError> {
        let number = match self.files.get(file) {
            Some(number) => *number,
            None => self.push_file(file, limits)?,
        };
        let start = self.records.len();
        let most = name.len().saturating_add(2 * NUMBER);
        if start.saturating_add(most) > MOST {
            return Err(FormatError::violation(
                Rule::LimitHeader,
                format!("the names of the tensors take more than {MOST} bytes"),
            ));
        }
        self.records.try_reserve(most).map_err(|_| FormatError::memory())?;
        self.starts.try_reserve(1).map_err(|_| FormatError::memory())?;
        record::text(&mut self.records, name);
        record::number(&mut self.records, u64_from_usize(number));
        self.starts.push(u32::try_from(start).unwrap_or(u32::MAX));
        if let Some(count) = self.counts.get_mut(number) {
            *count = count.saturating_add(1);
        }
        Ok(())
    }

    /// Adds the file `file`, and returns its number.
    fn push_file(&mut self, file: &str, limits: &Limits) -> Result<usize, FormatError> {
        let is_name = file.ends_with(PARTS) && Sibling::is_name(file);
        let is_torch = [".bin", ".pt", ".pth"].iter().any(|suffix| file.ends_with(suffix));
        if is_torch {
            let rule = Rule::FormatTorchIndex;
            return Err(FormatError::violation(rule, rule.row().broken()));
        }
        if !is_name {
            let sentence = format!(
                "invalid file name: expected one in the folder of the index that ends in {PARTS}"
            );
            return Err(FormatError::violation(Rule::IndexFileName, sentence).about(file));
        }
        let number = self.files.len();
        if u64_from_usize(number) >= limits.shards().into() {
            let most = limits.shards();
            return Err(FormatError::violation(
                Limit::Shards,
                format!("it names more than {most} files"),
            ));
        }
        self.counts.try_reserve(1).map_err(|_| FormatError::memory())?;
        self.files.insert(copied(file)?, number)?;
        self.counts.push(0);
        Ok(number)
    }

    /// Sorts the records by the names of tensors, and checks that the names are unique.
    fn put_in_order(&mut self) -> Result<(), FormatError> {
        let mut starts = core::mem::take(&mut self.starts);
        starts.sort_unstable_by(|a, b| self.record(*a).text().cmp(self.record(*b).text()));
        let name = |start: &u32| self.record(*start).text();
        let mut pairs = starts.iter().zip(starts.iter().skip(1));
        if let Some((first, _)) = pairs.find(|(a, b)| name(a) == name(b)) {
            return Err(duplicate_key(name(first)).about("weight_map"));
        }
        self.starts = starts;
        Ok(())
    }
}

/// The state of parsing an index.
struct Reading<'l> {
    limits: &'l Limits,
    header: Header,
    /// The error that ended parsing; `None` if the JSON parser reports the error itself.
    rejection: Option<FormatError>,
}

impl Reading<'_> {
    /// Stores `error`, and returns an error that ends the JSON parser.
    fn reject<E: serde::de::Error>(&mut self, error: FormatError) -> E {
        self.rejection = Some(error);
        E::custom("rejected")
    }
}

/// A parser for the outermost map.
struct Top<'r, 'l>(&'r mut Reading<'l>);
/// A parser for the map `metadata`.
struct Metadata<'r, 'l>(&'r mut Reading<'l>);
/// A parser for the map `weight_map`.
struct WeightMap<'r, 'l>(&'r mut Reading<'l>);

macro_rules! maps {
    ($($map:ident: $what:literal),*) => {$(
        impl<'de> DeserializeSeed<'de> for $map<'_, '_> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                deserializer.deserialize_map(self)
            }
        }

        impl<'de> Visitor<'de> for $map<'_, '_> {
            type Value = ();

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($what)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
                self.read(map)
            }
        }
    )*};
}

maps! {
    Top: "a map of `metadata` and `weight_map`",
    Metadata: "a map of texts, numbers and the like",
    WeightMap: "a map of the names of tensors to those of files"
}

impl Top<'_, '_> {
    fn read<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut metadata, mut weights) = (false, false);
        while let Some(key) = map.next_key::<String>()? {
            let again = match key.as_str() {
                "metadata" => core::mem::replace(&mut metadata, true),
                "weight_map" => core::mem::replace(&mut weights, true),
                _ => {
                    let sentence = "unknown key in the index";
                    return Err(self
                        .0
                        .reject(FormatError::violation(Rule::IndexJson, sentence).about(&key)));
                }
            };
            if again {
                return Err(self.0.reject(duplicate_key(&key)));
            }
            if key == "metadata" {
                map.next_value_seed(Metadata(&mut *self.0))?;
            } else {
                map.next_value_seed(WeightMap(&mut *self.0))?;
            }
        }
        if weights { Ok(()) } else { Err(A::Error::missing_field("weight_map")) }
    }
}

/// The key in the metadata for the length of all tensors or files in bytes.
const TOTAL_SIZE: &str = "total_size";

impl Metadata<'_, '_> {
    fn read<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(reading) = self;
        while let Some(key) = map.next_key::<String>()? {
            let value: Scalar = map.next_value()?;
            if key == TOTAL_SIZE {
                let Some(total) = value.as_byte_count() else {
                    let error = FormatError::violation(
                        Rule::IndexTotalSize,
                        "expected a whole number of bytes",
                    )
                    .about(&key);
                    return Err(reading.reject(error));
                };
                if reading.header.total_size.replace(total).is_some() {
                    return Err(reading.reject(duplicate_key(&key).about("metadata")));
                }
                continue;
            }
            let put = value.put(&mut reading.header.metadata, &key);
            put.map_err(|error| reading.reject(error))?;
            let keys = u64_from_usize(reading.header.metadata.len());
            let few = check_keys(keys, reading.limits, "the metadata");
            few.map_err(|error| reading.reject(error))?;
        }
        Ok(())
    }
}

/// A value of the metadata that is neither an array nor a map.
enum Scalar {
    Text(String),
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfScalar;

        impl Visitor<'_> for OfScalar {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true or false")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar::Bool(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
                Ok(Scalar::Unsigned(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar::Signed(value))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
                Ok(Scalar::Float(value))
            }

            fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(value.to_owned()))
            }

            fn visit_string<E>(self, value: String) -> Result<Scalar, E> {
                Ok(Scalar::Text(value))
            }
        }

        deserializer.deserialize_any(OfScalar)
    }
}

impl Scalar {
    /// Adds this value to `map` under the key `key`.
    fn put(&self, map: &mut Map, key: &str) -> Result<(), FormatError> {
        map.put(key, |out| match self {
            Self::Text(text) => Ok(out.text(text)?),
            Self::Bool(is) => Ok(out.bool(*is)?),
            Self::Unsigned(number) => Ok(out.uint(*number)?),
            Self::Signed(number) => Ok(int(out, *number)?),
            Self::Float(number) => Ok(out.float(*number)?),
        })
    }

    /// Returns the value as a number of bytes. Some writers store `total_size` as a float.
    fn as_byte_count(&self) -> Option<u64> {
        match self {
            Self::Unsigned(number) => Some(*number),
            // Whole numbers below 9e15 are exact in a double, and are displayed without a point.
            Self::Float(float) if (0.0..9e15).contains(float) => format!("{float}").parse().ok(),
            _ => None,
        }
    }
}

impl WeightMap<'_, '_> {
    fn read<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(reading) = self;
        while let Some((name, file)) = map.next_entry::<String, String>()? {
            let pushed = reading.header.weights.push(&name, &file, reading.limits);
            pushed.map_err(|error| reading.reject(error))?;
        }
        Ok(())
    }
}
