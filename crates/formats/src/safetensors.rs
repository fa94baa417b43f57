//! Safetensors: the length of a header, a header in JSON, and the data.

mod dtype;
mod entries;
mod fault;
mod json;

use zten::Limits;

use super::cbor::Map;
use super::listing::{Attributes, Listing, Tensors};
use super::place::Place;
use super::rules::Rule;
use super::source::Source;
use super::tensor::Tensor;
use super::trouble::Trouble;
use entries::{Entries, Entry, METADATA};
use zten_present::escape;

/// The longest header that the format allows.
const HEADER: u64 = 100_000_000;
/// Bytes of the header's length, which stands in front of it.
const LENGTH: u64 = 8;

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
    let header = source.fetch(LENGTH, length)?;
    let (metadata, mut tensors) = parse(&header, limits)?;
    tensors.put_in_order(data);
    validate_cover(&tensors, data, source.len())?;
    let mut metadata = metadata.unwrap_or_default();
    metadata.validate_unique().map_err(|key| twice(&key))?;
    Ok((metadata, tensors))
}

/// Parses a header, whose tensors are in no order yet.
pub(super) fn parse(header: &[u8], limits: &Limits) -> Result<(Option<Map>, Tensors), Trouble> {
    let mut entries = Entries::new(header, LENGTH, limits)?;
    let mut tensors = Tensors::default();
    while let Some(entry) = entries.next()? {
        let pushed = tensors.push(&tensor(&entry)?);
        pushed.map_err(|trouble| trouble.or_at(entry.name_at).about(entry.name))?;
    }
    Ok((entries.into_metadata(), tensors))
}

/// Parses a header, and counts its tensors.
pub(super) fn count(header: &[u8], limits: &Limits) -> Result<usize, Trouble> {
    let mut entries = Entries::new(header, LENGTH, limits)?;
    let mut count = 0_usize;
    while let Some(entry) = entries.next()? {
        std::hint::black_box(&entry);
        count = count.saturating_add(1);
    }
    Ok(count)
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

/// The tensor that an entry describes. Its place is counted from where the data begins.
fn tensor(entry: &Entry<'_>) -> Result<Tensor, Trouble> {
    let Entry { kind, data_offsets: (begin, end), .. } = *entry;
    let bytes = end.checked_sub(begin).filter(|bytes| kind.bytes(entry.shape) == Some(*bytes));
    let bytes = bytes.ok_or_else(|| {
        let sentence = "its data is not as long as its shape and type ask";
        Trouble::refused_at(Rule::SafetensorsExtent, sentence, entry.data_offsets_at)
            .about(entry.name)
    })?;
    let (name, shape) = (entry.name.to_owned(), entry.shape.to_vec());
    Ok(Tensor { name, shape, kind, bytes, place: Place::Extent(begin) })
}
