//! Parsing the JSON of an index: `metadata`, and `weight_map`, which maps the names of tensors to the names of files.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::escape;
use crate::formats::cbor::Map;
use crate::formats::error::{FormatError, copied};
use crate::formats::json;
use crate::formats::json_text;
use crate::formats::limits::check_keys;
use crate::formats::ordered_map::OrderedMap;
use crate::formats::record::{self, FieldReader, NUMBER};
use crate::formats::rules::Rule;
use crate::limits::Limits;
use crate::num::u64_from_usize;
use crate::rules::Limit;
use crate::shards::Sibling;

/// The format of the files that an index (`.index.json`) names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartFormat {
    Safetensors,
    Torch,
}

impl PartFormat {
    /// Returns the format that the suffix of `name` means; `None` if an index cannot name files with this suffix.
    pub(crate) fn of(name: &str) -> Option<Self> {
        const TORCH: [&str; 3] = [".bin", ".pt", ".pth"];
        if name.ends_with(".safetensors") {
            return Some(Self::Safetensors);
        }
        TORCH.iter().any(|suffix| name.ends_with(suffix)).then_some(Self::Torch)
    }
}

/// The largest length in bytes of [`Weights::records`], which hold the name of each tensor and the number of its file. An index
/// of the largest allowed length needs less.
const MOST: usize = 128 << 20;

/// The parsed contents of an index file (`.index.json`).
#[derive(Debug, Default)]
pub(super) struct IndexHeader {
    pub(super) weights: Weights,
    /// The format of all files that the index names; `None` if it names no files.
    pub(super) part_format: Option<PartFormat>,
    /// The value of `total_size` in the metadata, the length in bytes of all tensors or of all files; `None` if the key is
    /// missing.
    pub(super) total_size: Option<Count>,
    /// The value of `total_parameters` in the metadata, the number of elements of all tensors; `None` if the key is missing.
    pub(super) total_parameters: Option<Count>,
    /// The entries of `metadata` as attributes, except `total_size`.
    pub(super) metadata: Map,
    /// The first key of the index that is neither `metadata` nor `weight_map`, and the number of such keys.
    pub(super) unknown_keys: Option<(String, u64)>,
}

/// The value of `total_size` or `total_parameters` in the metadata of an index. A wrong value is not an error but a note,
/// because programs that load the files do not use the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// The value, which is a whole number below 2^64.
    Number(u64),
    /// A value that is not a whole number, or is too large.
    Other,
}

impl Count {
    /// Parses `text`, a JSON value, as a whole number. Floats such as 1.23e10 are accepted if they are whole and below 9e15,
    /// because some writers store numbers so. Returns [`Count::Other`] for any other value.
    fn of(text: &str) -> Self {
        if let Ok(number) = text.parse() {
            return Self::Number(number);
        }
        // A JSON string such as "4" comes with its quotes, so `parse` rejects it.
        let float = text.parse::<f64>().ok();
        // Whole numbers below 9e15 are exact in a double, and are displayed without a point.
        let float = float.filter(|float| (0.0..9e15).contains(float));
        let number = float.and_then(|float| format!("{float}").parse().ok());
        number.map_or(Self::Other, Self::Number)
    }
}

impl IndexHeader {
    /// Parses `bytes`, the JSON text of an index, and checks that the keys of each map in it are unique.
    ///
    /// # Errors
    /// `index-json`, `index-duplicate-key`, `index-file-name`, the rule of a format that zten does not read (HDF5 or Flax), an
    /// exceeded limit, or out of memory.
    pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<Self, FormatError> {
        let (rejection, unknown_keys) = (None, Map::default());
        let mut reading = Reading { limits, header: Self::default(), rejection, unknown_keys };
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
        reading.unknown_keys.check_unique(|key| duplicate_key(key).about(key))?;
        header.metadata.check_unique(|key| duplicate_key(key).about("metadata"))?;
        header.weights.put_in_order()?;
        Ok(header)
    }
}

/// Returns the error for the key `key` that occurs twice in one map of the index.
fn duplicate_key(key: &str) -> FormatError {
    FormatError::violation(
        Rule::IndexDuplicateKey,
        format!("duplicate key {}", escape::quoted(key)),
    )
}

/// Returns the error for the key `duplicate` that occurs twice in one map within the value of `key`, a key of the metadata.
pub(super) fn duplicate_key_in(key: &str, duplicate: &str) -> FormatError {
    let (key, duplicate) = (escape::quoted(key), escape::quoted(duplicate));
    let sentence = format!("duplicate key {duplicate} in the value of {key}");
    FormatError::violation(Rule::IndexDuplicateKey, sentence).about("metadata")
}

/// The map `weight_map` of an index: which file contains each tensor.
#[derive(Debug, Default)]
pub(super) struct Weights {
    /// A [record](FieldReader) for each tensor: its name, and the number of its file.
    records: Vec<u8>,
    /// The offset in `records`, in bytes, of each tensor's record, sorted by the names of the tensors.
    starts: Vec<u32>,
    /// The files that the index names, in the form of a map from the name of a file to its number.
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

    /// Returns the name of the tensor and the number of the file in the record at offset `start` of `records`.
    fn entry(&self, start: u32) -> (&str, usize) {
        let mut record = self.record(start);
        (record.text(), usize::try_from(record.number()).unwrap_or(usize::MAX))
    }

    /// Returns a reader of the record at offset `start` of `records`.
    fn record(&self, start: u32) -> FieldReader<'_> {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        FieldReader(self.records.get(start..).unwrap_or_default())
    }

    /// Adds an entry to the map: the tensor `name` is in file number `number`. Fails with `limit-header` if the records would
    /// take more than [`MOST`] bytes.
    fn push(&mut self, name: &str, number: usize) -> Result<(), FormatError> {
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

    /// Adds the file `file`, which no earlier entry names, to the list of files, and returns its number, counted from 0. Fails
    /// with `limit-shards` if the index names more files than `limits` allows.
    fn push_file(&mut self, file: &str, limits: &Limits) -> Result<usize, FormatError> {
        let number = self.files.len();
        if u64_from_usize(number) >= limits.shards().into() {
            let most = limits.shards();
            return Err(FormatError::violation(
                Limit::Shards,
                format!("the index names more than {most} files"),
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

/// The state of parsing an index file: what has been parsed so far, and the error that ended parsing.
struct Reading<'l> {
    limits: &'l Limits,
    header: IndexHeader,
    /// The error that ended parsing; `None` if the JSON parser reports the error itself.
    rejection: Option<FormatError>,
    /// The keys of the index that are neither `metadata` nor `weight_map`, to find duplicates. The values are null.
    unknown_keys: Map,
}

impl Reading<'_> {
    /// Stores `error`, the error for the caller, and returns an error of the JSON parser, which makes the parser stop.
    fn reject<E: serde::de::Error>(&mut self, error: FormatError) -> E {
        self.rejection = Some(error);
        E::custom("rejected")
    }
}

/// A JSON parser for the outermost map of an index.
struct Top<'r, 'l>(&'r mut Reading<'l>);
/// A JSON parser for the map `metadata` of an index.
struct Metadata<'r, 'l>(&'r mut Reading<'l>);
/// A JSON parser for the map `weight_map` of an index.
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
    Metadata: "a map of texts to values",
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
                    // `RawValue` finds the end of the value without recursion, so nested values cannot exhaust the stack.
                    let value = map.next_value::<&RawValue>()?.get();
                    let unique = json_text::check_unique(value, duplicate_key);
                    unique.map_err(|error| self.0.reject(error.about(&key)))?;
                    let pushed = self.0.unknown_keys.put(&key, |out| Ok(out.null()?));
                    pushed.map_err(|error| self.0.reject(error))?;
                    let (_, count) = self.0.header.unknown_keys.get_or_insert((key, 0));
                    *count = count.saturating_add(1);
                    continue;
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
/// The key in the metadata for the number of elements of all tensors.
const TOTAL_PARAMETERS: &str = "total_parameters";

impl Metadata<'_, '_> {
    fn read<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(reading) = self;
        while let Some(key) = map.next_key::<String>()? {
            // Parsing as `RawValue` finds the end of the value without recursion, so nested values cannot exhaust the stack.
            // `json_text::put` converts the value, also without recursion.
            let value = map.next_value::<&RawValue>()?.get();
            let unique = json_text::check_unique(value, |twice| duplicate_key_in(&key, twice));
            unique.map_err(|error| reading.reject(error))?;
            if key == TOTAL_SIZE {
                if reading.header.total_size.replace(Count::of(value)).is_some() {
                    return Err(reading.reject(duplicate_key(&key).about("metadata")));
                }
                continue;
            }
            if key == TOTAL_PARAMETERS {
                reading.header.total_parameters = Some(Count::of(value));
            }
            let depth = reading.limits.depth();
            let put = reading.header.metadata.put(&key, |out| json_text::put(value, depth, out));
            put.map_err(|error| reading.reject(error))?;
            let keys = u64_from_usize(reading.header.metadata.len());
            let few = check_keys(keys, reading.limits, "the metadata");
            few.map_err(|error| reading.reject(error))?;
        }
        Ok(())
    }
}

impl WeightMap<'_, '_> {
    fn read<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(reading) = self;
        while let Some((name, file)) = map.next_entry::<String, String>()? {
            let pushed = reading.header.push(&name, &file, reading.limits);
            pushed.map_err(|error| reading.reject(error))?;
        }
        Ok(())
    }
}

/// Returns the rule and the name of the format of a file called `name`, if the suffix is that of a format that zten does not
/// read. The library `transformers` also writes indices of files of Keras and of Flax.
fn unread_format(name: &str) -> Option<(Rule, &'static str)> {
    match name.rsplit_once('.')?.1 {
        "h5" => Some((Rule::FormatHdf5, "Keras in HDF5")),
        "msgpack" => Some((Rule::FormatFlax, "Flax")),
        _ => None,
    }
}

impl IndexHeader {
    /// Adds an entry of `weight_map`: the tensor `name` is in the file `file`. Checks the name of the file, and that all
    /// files have one format.
    fn push(&mut self, name: &str, file: &str, limits: &Limits) -> Result<(), FormatError> {
        let number = if let Some(number) = self.weights.file(file) {
            number
        } else {
            let own = PartFormat::of(file).filter(|_| Sibling::is_name(file));
            let wrong = |sentence: &'static str| {
                FormatError::predicate(Rule::IndexFileName, sentence).about(file)
            };
            let own = own.ok_or_else(|| match unread_format(file) {
                Some((rule, what)) => {
                    FormatError::violation(rule, format_args!("the index names files of {what}"))
                }
                None => wrong(
                    "is an invalid file name: expected a name without a folder that ends in .safetensors, .bin, .pt or .pth",
                ),
            })?;
            if *self.part_format.get_or_insert(own) != own {
                let sentence = "has another format than the first file of the index";
                return Err(wrong(sentence));
            }
            self.weights.push_file(file, limits)?
        };
        self.weights.push(name, number)
    }
}
