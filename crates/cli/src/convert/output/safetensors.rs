//! Safetensors: the length of a header, a header in JSON, and the data.
//!
//! The form is that of the crate `safetensors`: tensors in the order of their types, the widest first, so that
//! all data is aligned, and then of their names; the header padded to a multiple of 8 bytes.

use std::io::{self, Write};
use std::ops::Range;

use ::safetensors::tensor::Dtype;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use zten::attributes::{Attributes, Item, Value};
use zten::num::u64_from_usize;

use super::array::{self, Array, Failure, Source};
use super::element;
use crate::json;
use crate::value;

/// The longest header that the format allows.
const HEADER: u64 = 100_000_000;
/// Bytes of which the header takes a multiple.
const UNIT: u64 = 8;
/// The entry that is not a tensor.
const METADATA: &str = "__metadata__";

/// Writes all arrays, and the attributes of the source that are texts.
pub(super) fn write(source: &mut dyn Source, out: &mut impl Write) -> Result<(), Failure> {
    check_texts(&source.attributes())?;
    let entries = entries(source)?;
    write_header(&source.attributes(), tensors(source, &entries), 0, out)?;
    for entry in entries {
        array::copy(source, entry.at, entry.bytes, &mut |chunk| out.write_all(chunk))?;
    }
    Ok(())
}

/// Checks that attributes are texts, as the format has no others.
fn check_texts(attributes: &Attributes<'_>) -> Result<(), Failure> {
    let is_other = |(_, item): &(_, Item<'_>)| !matches!(item.value(), Value::Text(_));
    let Some((key, _)) = attributes.clone().find(is_other) else { return Ok(()) };
    Err(Failure::attribute(key, "is not text, and a .safetensors file holds only text"))
}

/// The tensors of a header, in the order of their data.
fn tensors<'a>(
    source: &'a dyn Source,
    entries: &'a [Entry],
) -> impl Iterator<Item = Result<Tensor<'a>, Failure>> + Clone {
    entries.iter().scan(0_u64, |begin, entry| {
        let tensor = begin.checked_add(entry.bytes).ok_or_else(|| Failure::file(TOO_LARGE));
        Some(tensor.and_then(|end| {
            let data = *begin..end;
            *begin = end;
            let (name, shape) = (source.name(entry.at), array::array(source, entry.at)?.shape);
            Ok(Tensor { name, dtype: entry.dtype, shape, data })
        }))
    })
}

/// A tensor, in its place.
struct Entry {
    dtype: Dtype,
    at: usize,
    bytes: u64,
}

/// All tensors, in the order of their data.
fn entries(source: &dyn Source) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    let memory = |_| io::Error::from(io::ErrorKind::OutOfMemory);
    entries.try_reserve_exact(source.count()).map_err(memory)?;
    for at in 0..source.count() {
        let array = array::array(source, at)?;
        let rejected = |sentence: String| Failure::object(source.name(at), sentence);
        check_name(source.name(at))?;
        let dtype = element::safetensors(array.dtype).ok_or_else(|| {
            let name = array.dtype;
            rejected(format!("a .safetensors file cannot hold the type {name}"))
        })?;
        let bytes = bytes(dtype, &array).map_err(|why| rejected(why.to_owned()))?;
        entries.push(Entry { dtype, at, bytes });
    }
    let name = |entry: &Entry| source.name(entry.at);
    entries.sort_unstable_by(|a, b| b.dtype.cmp(&a.dtype).then_with(|| name(a).cmp(name(b))));
    Ok(entries)
}

/// Checks that a tensor may have that name.
pub(crate) fn check_name(name: &str) -> Result<(), Failure> {
    if name != METADATA {
        return Ok(());
    }
    let sentence =
        "a .safetensors file cannot hold a tensor of that name: it is the key of the metadata";
    Err(Failure::object(name, sentence))
}

/// Bytes of all elements. Readers multiply all dimensions, and then the bits of an element.
fn bytes(dtype: Dtype, array: &Array) -> Result<u64, &'static str> {
    let elements = array.shape.iter().try_fold(1_u64, |product, side| product.checked_mul(*side));
    let bits = elements.and_then(|elements| elements.checked_mul(u64_from_usize(dtype.bitsize())));
    let bits = bits.ok_or(
        "the product of its shape exceeds 64 bits, zeros or not, as readers of .safetensors files compute it",
    )?;
    if bits.checked_rem(8) == Some(0) {
        Ok(bits / 8)
    } else {
        Err("its last element is half a byte; a .safetensors file holds whole bytes")
    }
}

/// Attributes that are all texts, as a map in any case.
struct Texts<'a>(Attributes<'a>);

impl Serialize for Texts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.clone().map(|(key, item)| (key, value::Json(item))))
    }
}

/// A tensor of a header: its name, type and shape, and the bytes of its data.
pub(crate) struct Tensor<'a> {
    pub(crate) name: &'a str,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<u64>,
    pub(crate) data: Range<u64>,
}

/// Writes the length of a header and the header, padded to `least` bytes or more.
pub(crate) fn write_header<'a>(
    attributes: &Attributes<'_>,
    tensors: impl Iterator<Item = Result<Tensor<'a>, Failure>> + Clone,
    least: u64,
    out: &mut impl Write,
) -> Result<(), Failure> {
    check_texts(attributes)?;
    let mut length = Length(0);
    header(attributes, tensors.clone(), &mut length)?;
    let Length(length) = length;
    let padded = length.next_multiple_of(UNIT).max(least);
    if padded > HEADER {
        return Err(Failure::file(format!(
            "its header of {padded} bytes exceeds the maximum of {HEADER} bytes"
        )));
    }
    out.write_all(&padded.to_le_bytes())?;
    header(attributes, tensors, out)?;
    for _ in length..padded {
        out.write_all(b" ")?;
    }
    Ok(())
}

/// Writes a header, without what pads it.
fn header<'a>(
    attributes: &Attributes<'_>,
    tensors: impl Iterator<Item = Result<Tensor<'a>, Failure>>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Fields {
        dtype: String,
        shape: Vec<u64>,
        data_offsets: [u64; 2],
    }
    let failed = |error: serde_json::Error| io::Error::from(error);
    let mut serializer = json::serializer(out);
    let mut header = serializer.serialize_map(None).map_err(failed)?;
    if attributes.clone().next().is_some() {
        header.serialize_entry(METADATA, &Texts(attributes.clone())).map_err(failed)?;
    }
    for tensor in tensors {
        let Tensor { name, dtype, shape, data } = tensor?;
        let (dtype, data_offsets) = (dtype.to_string(), [data.start, data.end]);
        let fields = Fields { dtype, shape, data_offsets };
        header.serialize_entry(name, &fields).map_err(failed)?;
    }
    Ok(header.end().map_err(failed)?)
}

const TOO_LARGE: &str = "its data takes more bytes than a file can have";

/// Counts what is written.
struct Length(u64);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(u64_from_usize(bytes.len()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
