//! Safetensors: the length of a header, a header in JSON, and the data.
//!
//! The crate of that name knows the types. It keeps the last of two equal keys, and everything in
//! many bytes; so the map of the header is read here.

use std::fmt;
use std::mem;

use ::safetensors::tensor::Dtype;
use serde::Deserialize;
use serde::de::value::{Error as ValueError, MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer as _};
use serde::de::{MapAccess, SeqAccess, Visitor};
use zten::{Limits, LogicalType, StorageType};

use super::cbor::{self, Map};
use super::json;
use super::kind::Kind;
use super::limits::{validate_keys, validate_rank};
use super::listing::{Attributes, Listing, Tensors};
use super::place::Place;
use super::record::{self, Record};
use super::rules::Rule;
use super::source::Source;
use super::tensor::Tensor;
use super::trouble::Trouble;
use zten_num::u64_from_usize;
use zten_present::escape;

/// The longest header that the format allows.
const HEADER: u64 = 100_000_000;
/// Bytes of the header's length, which stands in front of it.
const LENGTH: u64 = 8;
/// The entry that is not a tensor.
const METADATA: &str = "__metadata__";

/// Reads the header.
pub(super) fn list(source: &Source, limits: &Limits) -> Result<Listing, Trouble> {
    let (metadata, tensors) = header(source, limits)?;
    let cbor = metadata.finish().map_err(|key| twice(&key))?;
    Ok(Listing { attributes: Attributes { cbor, other_nan: None }, tensors })
}

fn twice(key: &str) -> Trouble {
    let sentence = format!("the key {} stands there twice", escape::quoted(key));
    Trouble::refused(Rule::SafetensorsDuplicateKey, sentence).about(METADATA)
}

/// Reads the header: what the file says of itself, of which nothing stands there twice, and the
/// tensors, in the order of their data.
pub(super) fn header(source: &Source, limits: &Limits) -> Result<(Map, Tensors), Trouble> {
    let mut length = [0; 8];
    if source.read_up_to(0, &mut length)? < length.len() {
        return Err(Trouble::refused_at(
            Rule::SafetensorsSize,
            "the file ends before its header does",
            source.len(),
        ));
    }
    let length = u64::from_le_bytes(length);
    let data = LENGTH.saturating_add(length);
    if length > HEADER || data > source.len() {
        let most = HEADER.min(source.len().saturating_sub(LENGTH));
        let sentence = format!("the header is said to take {length} bytes, and {most} can be");
        return Err(Trouble::refused_at(Rule::SafetensorsHeaderLength, sentence, 0));
    }
    let header = Header::parse(&source.fetch(LENGTH, length)?, limits)?;
    let mut tensors = header.tensors;
    tensors.put_in_order(data);
    validate_cover(&tensors, data, source.len())?;
    let mut metadata = header.metadata.unwrap_or_default();
    metadata.validate_unique().map_err(|key| twice(&key))?;
    Ok((metadata, tensors))
}

/// Validates that each tensor begins where the one before it ends, and the last ends with the file.
fn validate_cover(tensors: &Tensors, data: u64, length: u64) -> Result<(), Trouble> {
    let mut end = data;
    for tensor in tensors.iter() {
        if tensor.place.offset() != end {
            let sentence = "its data does not begin where that of the tensor before it ends";
            return Err(Trouble::refused(Rule::SafetensorsContiguous, sentence)
                .or_at(tensor.place.offset().min(length))
                .about(&tensor.name));
        }
        end = end.saturating_add(tensor.bytes);
    }
    if end == length {
        return Ok(());
    }
    let (there, covered) = (length.saturating_sub(data), end.saturating_sub(data));
    let sentence = format!("there are {there} bytes of data, and tensors for {covered}");
    Err(Trouble::refused_at(Rule::SafetensorsDataLength, sentence, data))
}

/// What elements of a type are here; none where zTensor has nothing for them.
fn kind(dtype: Dtype) -> Option<Kind> {
    Some(match dtype {
        Dtype::BOOL => Kind::Plain(StorageType::Bool),
        Dtype::U8 => Kind::Plain(StorageType::U8),
        Dtype::I8 => Kind::Plain(StorageType::I8),
        Dtype::U16 => Kind::Plain(StorageType::U16),
        Dtype::I16 => Kind::Plain(StorageType::I16),
        Dtype::U32 => Kind::Plain(StorageType::U32),
        Dtype::I32 => Kind::Plain(StorageType::I32),
        Dtype::U64 => Kind::Plain(StorageType::U64),
        Dtype::I64 => Kind::Plain(StorageType::I64),
        Dtype::F16 => Kind::Plain(StorageType::F16),
        Dtype::BF16 => Kind::Plain(StorageType::Bf16),
        Dtype::F32 => Kind::Plain(StorageType::F32),
        Dtype::F64 => Kind::Plain(StorageType::F64),
        Dtype::F8_E4M3 => Kind::Logical(LogicalType::F8E4M3Fn),
        Dtype::F8_E5M2 => Kind::Logical(LogicalType::F8E5M2),
        Dtype::F8_E4M3FNUZ => Kind::Logical(LogicalType::F8E4M3Fnuz),
        Dtype::F8_E5M2FNUZ => Kind::Logical(LogicalType::F8E5M2Fnuz),
        Dtype::F8_E8M0 => Kind::Logical(LogicalType::F8E8M0),
        Dtype::F4 => Kind::Logical(LogicalType::F4E2M1),
        Dtype::C64 => Kind::Logical(LogicalType::Complex64),
        _ => return None,
    })
}

/// A tensor, as the header gives it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    dtype: String,
    shape: Shape,
    data_offsets: (usize, usize),
}

impl Entry {
    /// The tensor, without its name. Its place is counted from where the data begins.
    fn tensor(self, limits: &Limits) -> Result<Tensor, Trouble> {
        let unsupported = |dtype: &str| {
            let dtype = escape::quoted(dtype);
            Trouble::refused(Rule::SafetensorsDtype, format!("its dtype {dtype} is not supported"))
        };
        let deserializer: StrDeserializer<'_, ValueError> = self.dtype.as_str().into_deserializer();
        let dtype = Dtype::deserialize(deserializer).map_err(|_| unsupported(&self.dtype))?;
        let kind = kind(dtype).ok_or_else(|| unsupported(&self.dtype))?;
        validate_rank(self.shape.rank, limits, "it")?;
        let shape = self.shape.dimensions();
        let (begin, end) = self.data_offsets;
        let bytes = end.checked_sub(begin).map(u64_from_usize);
        let bytes = bytes.filter(|bytes| kind.bytes(&shape) == Some(*bytes)).ok_or_else(|| {
            Trouble::refused(
                Rule::SafetensorsExtent,
                "its data is not as long as its shape and type ask",
            )
        })?;
        let place = Place::Extent(u64_from_usize(begin));
        Ok(Tensor { name: String::new(), shape, kind, bytes, place })
    }
}

/// Dimensions, of which there may be more than there can be.
struct Shape {
    /// As a record has them.
    numbers: Vec<u8>,
    rank: usize,
}

impl Shape {
    fn dimensions(&self) -> Vec<u64> {
        let mut record = Record(&self.numbers);
        (0..self.rank).map(|_| record.number()).collect()
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfNumbers;

        impl<'de> Visitor<'de> for OfNumbers {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of dimensions")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Shape, A::Error> {
                let mut shape = Shape { numbers: Vec::new(), rank: 0 };
                while let Some(dimension) = array.next_element::<usize>()? {
                    record::number(&mut shape.numbers, u64_from_usize(dimension));
                    shape.rank = shape.rank.saturating_add(1);
                }
                Ok(shape)
            }
        }

        deserializer.deserialize_seq(OfNumbers)
    }
}

/// An entry that is a map: what is derived for [`Entry`] takes an array, too.
struct Keyed(Entry);

impl<'de> Deserialize<'de> for Keyed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfEntry;

        impl<'de> Visitor<'de> for OfEntry {
            type Value = Keyed;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of `dtype`, `shape` and `data_offsets`")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Keyed, A::Error> {
                Entry::deserialize(MapAccessDeserializer::new(map)).map(Keyed)
            }
        }

        deserializer.deserialize_map(OfEntry)
    }
}

/// The header, while it is read.
struct Header<'l> {
    limits: &'l Limits,
    metadata: Option<Map>,
    tensors: Tensors,
    /// The entry that is being read.
    entry: String,
    /// What is wrong with that entry, where it is not its JSON.
    refusal: Option<Trouble>,
}

impl<'l> Header<'l> {
    fn parse(bytes: &[u8], limits: &'l Limits) -> Result<Self, Trouble> {
        if bytes.first() != Some(&b'{') {
            return Err(Trouble::refused_at(
                Rule::SafetensorsHeaderStart,
                "the header does not begin with a brace",
                LENGTH,
            ));
        }
        let entry = String::new();
        let tensors = Tensors::default();
        let mut header = Self { limits, metadata: None, tensors, entry, refusal: None };
        let mut json = serde_json::Deserializer::from_slice(bytes);
        let parsed = header.deserialize(&mut json).and_then(|()| json.end());
        match parsed {
            Ok(()) => Ok(header),
            Err(error) => Err(header.fault(bytes, &error)),
        }
    }

    /// What is wrong, where the parser was when it was found.
    fn fault(&mut self, bytes: &[u8], error: &serde_json::Error) -> Trouble {
        let refusal = self.refusal.take().unwrap_or_else(|| {
            let message = json::message(error);
            let sentence = format!("the header is not as it should be: {message}");
            Trouble::refused(Rule::SafetensorsJson, sentence)
        });
        let trouble = refusal.or_at(LENGTH.saturating_add(json::offset(bytes, error)));
        match self.entry.as_str() {
            "" => trouble,
            entry => trouble.about(entry),
        }
    }

    fn refuse<E: serde::de::Error>(&mut self, trouble: Trouble) -> E {
        self.refusal = Some(trouble);
        E::custom("refused")
    }
}

impl<'de> DeserializeSeed<'de> for &mut Header<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Header<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key()? {
            self.entry = key;
            if self.entry == METADATA {
                let Texts(texts) = map.next_value()?;
                validate_keys(u64_from_usize(texts.len()), self.limits, "it")
                    .map_err(|trouble| self.refuse(trouble))?;
                if self.metadata.replace(texts).is_some() {
                    return Err(self.refuse(Trouble::refused(
                        Rule::SafetensorsDuplicateKey,
                        "it stands there twice",
                    )));
                }
                self.entry.clear();
                continue;
            }
            let Keyed(entry) = map.next_value()?;
            let mut tensor = entry.tensor(self.limits).map_err(|trouble| self.refuse(trouble))?;
            tensor.name = mem::take(&mut self.entry);
            self.tensors.push(&tensor).map_err(|trouble| self.refuse(trouble))?;
        }
        Ok(())
    }
}

/// A map of texts to texts.
struct Texts(Map);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfTexts;

        impl<'de> Visitor<'de> for OfTexts {
            type Value = Texts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Texts, A::Error> {
                let mut texts = Map::default();
                while let Some((key, value)) = map.next_entry::<String, String>()? {
                    texts.put(&key, |out| cbor::text(out, &value));
                }
                Ok(Texts(texts))
            }
        }

        deserializer.deserialize_map(OfTexts)
    }
}
