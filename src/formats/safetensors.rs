//! Reading of safetensors files: the length of the header, the header in JSON, and the data.

mod dtype;
mod entries;
mod fault;
mod json;

use alloc::vec::Vec;

use crate::archive::Archive;
use crate::element::StorageType;
use crate::escape::Short;
use crate::finding::counted;
use crate::index::Layout;
use crate::index::{Blobs, Builder, FileFormat, Parsed, RawComponent, RawObject, Rules};
use crate::limits::{Limits, OpenOptions};
use crate::num::{sort_by, u64_from_usize};
use crate::read_at::ReadAt;

use super::builder_error::{self, format_error};
use super::cbor::Map;
use super::error::{FormatError, follow};
use super::in_memory;
use super::json_text;
use super::kind::FormatDType;
use super::limits::check_length;
use super::rules::{APPENDED_TO_TENSORS, NO_HEADER, Rule};

use entries::{Entries, METADATA, TensorEntry};

/// The length in bytes of the longest header that the format allows.
const HEADER: u64 = 100_000_000;
/// The width in bytes of the length field before the header.
const LENGTH: u64 = 8;
/// The width in bytes of the length field before the header, as [`LENGTH`] but as the size of an array.
const LENGTH_BYTES: usize = 8;
/// The width in bytes of the widest element that a safetensors file can have, a complex number of 128 bits.
const WIDEST: u64 = 16;

/// The rules of safetensors that the index builder checks for all tensors together, after the header has been parsed.
pub(crate) const RULES: Rules = Rules {
    duplicate_name: Rule::SafetensorsDuplicateName.row(),
    bool_value: Some(Rule::TensorBoolValue.row()),
    stream: None,
    pickles: None,
    quantized: Some(&super::rules::QUANTIZED),
};

/// The safetensors format: its name, and the rules that are checked while the index of its tensors is built and read.
static SAFETENSORS: FileFormat = FileFormat::new("safetensors", Blobs::Disjoint, RULES);

/// Returns the JSON header of a file of `length` bytes. `start` holds the first bytes of the file, up to the end of the
/// header or further.
fn header<'s>(start: &'s [u8], length: u64, limits: &Limits) -> Result<&'s [u8], FormatError> {
    let end = usize::try_from(header_end(start, length, limits)?).ok();
    let header = end.and_then(|end| start.get(LENGTH_BYTES..end));
    header.ok_or_else(|| FormatError::internal("the given bytes do not hold the whole header"))
}

/// Checks the length field of a file of `length` bytes that begins with `start`, and returns the offset at which the header
/// ends.
fn header_end(start: &[u8], length: u64, limits: &Limits) -> Result<u64, FormatError> {
    let Some(first) = start.first_chunk::<LENGTH_BYTES>() else {
        let sentence = "the file ends before its header does";
        return Err(FormatError::violation_at(Rule::SafetensorsSize, sentence, length));
    };
    let header = u64::from_le_bytes(*first);
    let end = LENGTH.saturating_add(header);
    let rule = Rule::SafetensorsHeaderLength;
    if header > HEADER {
        // The first eight bytes of most files of other formats are a huge number, so the advice is about a wrong format.
        let sentence = format_args!("header length {header} exceeds the maximum of {HEADER} bytes");
        return Err(FormatError::violation_at(rule, sentence, 0).advising(NO_HEADER));
    }
    if end > length {
        let rest = length.saturating_sub(LENGTH);
        let (bytes, follow) = (counted(rest, "byte"), if rest == 1 { "follows" } else { "follow" });
        let sentence = format_args!("header length {header} exceeds the {bytes} that {follow} it");
        return Err(FormatError::violation_at(rule, sentence, 0));
    }
    check_length(header, limits, "the header").map_err(|error| error.or_at(0))?;
    Ok(end)
}

/// Appends bytes of `source`, which has `length` bytes, to `start`, its first bytes, until `start` holds the whole header.
fn read(
    source: &dyn ReadAt,
    length: u64,
    start: &mut Vec<u8>,
    limits: &Limits,
) -> Result<(), FormatError> {
    let read_to = |end: u64, start: &mut Vec<u8>| {
        let from = u64_from_usize(start.len());
        source.append_range(from..end.min(length).max(from), start)
    };
    read_to(LENGTH, start)?;
    let end = header_end(start, length, limits)?;
    Ok(read_to(end, start)?)
}

/// Reads and parses the header of a source of `length` bytes that begins with `start`. The metadata becomes the attributes of
/// the archive.
pub(crate) fn open(
    source: &dyn ReadAt,
    length: u64,
    mut start: Vec<u8>,
    options: &OpenOptions,
) -> Result<Parsed, FormatError> {
    let start = if let Some(bytes) = in_memory(source, length) {
        bytes
    } else {
        read(source, length, &mut start, options.limit())?;
        &start
    };
    let header = header(start, length, options.limit())?;
    let (mut builder, mut metadata) = parse(header, length, options)?;
    json_text::decode(&mut metadata, options.limit().depth(), duplicate_key_in)?;
    if metadata.len() > 0 {
        builder.attributes(&metadata.finish(duplicate_key)?).map_err(format_error)?;
    }
    finish(builder)
}

/// Returns the offset at which the data of the last tensor ends in the safetensors file `source`, counted from the start of
/// the file. Without tensors, this is the end of the header. Only the header is read, so the offset may be beyond the end of
/// the file, which has `length` bytes.
pub(crate) fn data_end(
    source: &dyn ReadAt,
    length: u64,
    options: &OpenOptions,
) -> Result<u64, FormatError> {
    let mut start = Vec::new();
    read(source, length, &mut start, options.limit())?;
    let header = header(&start, length, options.limit())?;
    let (mut entries, mut end) = (Entries::new(header, LENGTH, options.limit())?, 0);
    while let Some(entry) = entries.next()? {
        end = entry.data_offsets.1.max(end);
    }
    Ok(LENGTH.saturating_add(u64_from_usize(header.len())).saturating_add(end))
}

/// Reads and parses the header of a source of `length` bytes. Returns an archive without attributes, and the entries of
/// `__metadata__` as texts that have not been decoded.
pub(crate) fn archive<'s>(
    source: &'s dyn ReadAt,
    length: u64,
    options: &OpenOptions,
) -> Result<(Archive<&'s dyn ReadAt>, Map), FormatError> {
    let mut start = Vec::new();
    read(source, length, &mut start, options.limit())?;
    let header = header(&start, length, options.limit())?;
    let (builder, metadata) = parse(header, length, options)?;
    json_text::check_listed(&metadata, duplicate_key_in)?;
    Ok((Archive::from_parsed(source, finish(builder)?), metadata))
}

/// Parses `header`, the header of a safetensors file of `length` bytes. Returns a builder with all tensors in the order of the
/// header, and the metadata, whose keys are unique.
fn parse<'o>(
    header: &[u8],
    length: u64,
    options: &'o OpenOptions,
) -> Result<(Builder<'o>, Map), FormatError> {
    let data = LENGTH.saturating_add(u64_from_usize(header.len()));
    let mut builder =
        Builder::new(&SAFETENSORS, LENGTH..data, length, options).map_err(format_error)?;
    let mut entries = Entries::new(header, LENGTH, options.limit())?;
    // Most headers list tensors in the order of their data. Only other headers take the time and memory to sort the extents.
    let (mut end, mut in_order) = (0_u64, true);
    // The note on the first tensor that is not aligned, and the number of such tensors.
    let mut unaligned: Option<(FormatError, u64)> = None;
    while let Some(entry) = entries.next()? {
        let (begin, bytes) = (entry.data_offsets.0, data_length(&entry)?);
        in_order &= begin == end;
        end = begin.saturating_add(bytes);
        if data.saturating_add(end) > length {
            // The data of this tensor ends after the end of the file, so the tensor is not added. `in_order` is set so that
            // `check_cover` is called after the loop. It rejects the file, and compares all tensors to say what is wrong.
            in_order = false;
            continue;
        }
        if !is_aligned(&entry, data) {
            if let Some((_, count)) = &mut unaligned {
                *count = count.saturating_add(1);
            } else {
                let (rule, at) = (Rule::SafetensorsAlignment, entry.data_offsets_at);
                let note = FormatError::violation_at(rule, rule.row().broken(), at);
                unaligned = Some((note.about(entry.name), 1));
            }
        }
        builder.push(&object(&entry, &[component(&entry, data)])).map_err(format_error)?;
    }
    if let Some((first, count)) = unaligned {
        builder.found_times(first.into(), count);
    }
    if !in_order || data.saturating_add(end) != length {
        check_cover(header, length, options.limit()).or_else(|error| {
            // Two tensors with the same name often have the same data. The duplicate name is the more helpful error.
            check_names(header, length, options)?;
            Err(error)
        })?;
    }
    let mut metadata = entries.into_metadata().unwrap_or_default();
    metadata.check_unique(duplicate_key)?;
    Ok((builder, metadata))
}

/// Returns the index record of the tensor that `entry` of the header describes. `components` are the components of the
/// tensor.
fn object<'a>(entry: &TensorEntry<'a>, components: &'a [RawComponent<'a>]) -> RawObject<'a> {
    let TensorEntry { name, shape, name_at, .. } = *entry;
    RawObject {
        name,
        shape,
        layout: Layout::Dense,
        layout_name: None,
        attributes: None,
        components,
        source_offset: name_at,
    }
}

/// Returns whether the elements of `entry` begin in the file at a multiple of their width. `data` is the offset of the file's
/// data. For a complex number, the width of its real part counts, because compilers align complex numbers so.
/// A tensor without elements is aligned.
fn is_aligned(entry: &TensorEntry<'_>, data: u64) -> bool {
    let (begin, end) = entry.data_offsets;
    let width = match entry.kind {
        FormatDType::Plain(storage) => storage.width(),
        FormatDType::Logical(logical) => logical.storage().width(),
    };
    begin == end || data.saturating_add(begin).is_multiple_of(width.into())
}

/// Returns the index record of the bytes of the tensor `entry`. The data of the file begins at offset `data`.
fn component(entry: &TensorEntry<'_>, data: u64) -> RawComponent<'static> {
    let (begin, end) = entry.data_offsets;
    let (storage, logical) = match entry.kind {
        FormatDType::Logical(logical) => (logical.storage(), Some(logical)),
        FormatDType::Plain(storage) => (storage, None),
    };
    let (offset, length) = (data.saturating_add(begin), end.saturating_sub(begin));
    RawComponent { logical, ..RawComponent::raw(storage, offset, length) }
}

/// Returns the number of bytes between the two data offsets of `entry`, and checks that its shape and dtype need as many
/// bytes.
fn data_length(entry: &TensorEntry<'_>) -> Result<u64, FormatError> {
    let (begin, end) = entry.data_offsets;
    let needed = entry.kind.bytes(entry.shape);
    let bytes = end.checked_sub(begin).filter(|bytes| needed == Some(*bytes));
    bytes.ok_or_else(|| wrong_length(entry, needed))
}

/// Returns the error for a tensor whose data is not as long as its shape and dtype need. `needed` is the length in bytes that
/// they need; `None` if there is no such length.
#[cold]
fn wrong_length(entry: &TensorEntry<'_>, needed: Option<u64>) -> FormatError {
    let (begin, end) = entry.data_offsets;
    let rule = Rule::SafetensorsExtent;
    let error = match (end.checked_sub(begin), needed) {
        (None, _) => FormatError::predicate(
            rule,
            format_args!("has data_offsets [{begin}, {end}], which end before they begin"),
        ),
        (Some(_), None) => {
            let elements =
                entry.shape.iter().try_fold(1_u64, |product, size| product.checked_mul(*size));
            let sentence = match elements.and_then(|elements| elements.checked_mul(WIDEST)) {
                // Two elements of 4 bits share a byte, so an odd number of them leaves half a byte.
                Some(_) => "has an odd number of 4-bit elements, which do not fill whole bytes",
                None => "has a shape whose bytes cannot be counted in 64 bits",
            };
            FormatError::predicate(rule, sentence)
        }
        (Some(found), Some(needed)) => {
            let found = counted(found, "byte");
            FormatError::predicate(
                rule,
                format_args!("has {found} of data, but its shape and dtype need {needed}"),
            )
        }
    };
    error.or_at(entry.data_offsets_at).about(entry.name)
}

/// Checks that the data of each tensor begins where the data of the tensor before it ends, and that the last data ends with the
/// file.
#[cold]
fn check_cover(header: &[u8], length: u64, limits: &Limits) -> Result<(), FormatError> {
    let data = LENGTH.saturating_add(u64_from_usize(header.len()));
    let mut extents = Vec::new();
    let mut entries = Entries::new(header, LENGTH, limits)?;
    while let Some(entry) = entries.next()? {
        let (begin, end) = entry.data_offsets;
        extents.try_reserve(1).map_err(|_| FormatError::memory())?;
        extents.push((begin, end, entry.name_at));
    }
    // A tensor without data sorts before a tensor with data at the same offset, so that each begins where the one before ends.
    let place = |(begin, end, name_at): &(u64, u64, u32)| (*begin, end > begin, *name_at);
    sort_by(&mut extents, |one, other| place(one).cmp(&place(other)));
    let mut covered = 0;
    for (begin, end, name_at) in &extents {
        if *begin != covered {
            let sentence = format_args!(
                "begins at data offset {begin}, expected {covered}, where the tensor before it ends"
            );
            let offset = data.saturating_add(*begin).min(length);
            let error = FormatError::predicate(Rule::SafetensorsContiguous, sentence);
            return Err(entries.about(error.or_at(offset), *name_at));
        }
        covered = *end;
    }
    let data_length = length.saturating_sub(data);
    if covered == data_length {
        return Ok(());
    }
    let rule = Rule::SafetensorsDataLength;
    Err(if let Some(more) = data_length.checked_sub(covered) {
        let sentence = follow(more, "the last tensor");
        FormatError::violation_at(rule, sentence, data).advising(APPENDED_TO_TENSORS)
    } else {
        let sentence = format_args!("expected {covered} bytes of data, found {data_length}");
        FormatError::violation_at(rule, sentence, data)
    })
}

/// Parses `header`, and checks only that the names of its tensors are unique. The data offsets are not checked.
#[cold]
fn check_names(header: &[u8], length: u64, options: &OpenOptions) -> Result<(), FormatError> {
    let data = LENGTH.saturating_add(u64_from_usize(header.len()));
    let mut builder =
        Builder::new(&SAFETENSORS, LENGTH..data, length, options).map_err(format_error)?;
    let mut entries = Entries::new(header, LENGTH, options.limit())?;
    while let Some(entry) = entries.next()? {
        let components = [RawComponent::raw(StorageType::U8, data, 0)];
        let object = RawObject { shape: &[0], ..object(&entry, &components) };
        builder.push(&object).map_err(format_error)?;
    }
    finish(builder).map(drop)
}

/// Checks the tensors of `builder` against each other, and returns the parsed header with their index.
fn finish(builder: Builder<'_>) -> Result<Parsed, FormatError> {
    builder_error::finish(builder, Rule::SafetensorsDuplicateName)
}

/// Returns the error for the key `key` that occurs twice in the metadata.
fn duplicate_key(key: &str) -> FormatError {
    let key = Short(key);
    let sentence = format_args!("duplicate key {key}");
    FormatError::violation(Rule::SafetensorsDuplicateKey, sentence).about(METADATA)
}

/// Returns the error for the key `duplicate` that occurs twice in one map of the JSON text of the metadata key `key`.
fn duplicate_key_in(key: &str, duplicate: &str) -> FormatError {
    let (key, duplicate) = (Short(key), Short(duplicate));
    let sentence = format_args!("duplicate key {duplicate} in the JSON text of {key}");
    FormatError::violation(Rule::SafetensorsDuplicateKey, sentence).about(METADATA)
}
