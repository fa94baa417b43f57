//! Safetensors: the length of a header, a header in JSON, and the data.

mod dtype;
mod entries;
mod fault;
mod json;

use zten::element::ByteOrder;
use zten::front::{Blobs, Builder, FrontEnd, Parsed, RawComponent, RawObject, Rules};
use zten::rules::Limit;
use zten::source::SourceArchive;
use zten::{Encoding, Error, Format, Limits, Options, ReadAt, ReadError, StorageType};
use zten_num::{len_u32, u64_from_usize};
use zten_present::escape;

use super::cbor::Map;
use super::kind::Kind;
use super::rules::Rule;
use super::source::Source;
use super::trouble::Trouble;
use entries::{Entries, Entry, METADATA};

/// The longest header that the format allows.
const HEADER: u64 = 100_000_000;
/// Bytes of the header's length, which stands in front of it.
pub(crate) const LENGTH: u64 = 8;

/// The format, for the index that it fills.
static SAFETENSORS: FrontEnd = FrontEnd::new(
    "safetensors",
    Blobs::Disjoint,
    Rules {
        duplicate_name: Rule::SafetensorsDuplicateName.row(),
        bool_value: Some(Rule::TensorBoolValue.row()),
    },
);

/// The bytes of the header of a file of `length` bytes that begins with `start`.
pub(crate) fn header_length(start: &[u8], length: u64, limits: &Limits) -> Result<u64, Trouble> {
    let Some((first, _)) = start.split_first_chunk() else {
        let sentence = "the file ends before its header does";
        return Err(Trouble::refused_at(Rule::SafetensorsSize, sentence, length));
    };
    let header = u64::from_le_bytes(*first);
    if header > HEADER || LENGTH.saturating_add(header) > length {
        let most = HEADER.min(length.saturating_sub(LENGTH));
        let sentence = format!("the header is said to take {header} bytes, and {most} can be");
        return Err(Trouble::refused_at(Rule::SafetensorsHeaderLength, sentence, 0));
    }
    if header > limits.manifest() {
        let most = limits.manifest();
        let sentence = format!("the header takes {header} bytes, beyond the limit of {most}");
        return Err(Trouble::refused_at(Limit::Manifest, sentence, 0));
    }
    Ok(header)
}

/// Parses the header of a file of `length` bytes: its tensors, in the order of the header, and its metadata, in
/// which no key stands twice.
pub(crate) fn parse<'o>(
    header: &[u8],
    length: u64,
    options: &'o Options,
) -> Result<(Builder<'o>, Map), Trouble> {
    let data = LENGTH.saturating_add(u64_from_usize(header.len()));
    let refused = |error: Error| refusal(error, header, options.limit());
    let mut builder = Builder::new(&SAFETENSORS, LENGTH..data, length, options).map_err(refused)?;
    let mut entries = Entries::new(header, LENGTH, options.limit())?;
    // Most headers have their tensors in the order of the data, which needs no sorting then.
    let (mut end, mut in_order) = (0_u64, true);
    while let Some(entry) = entries.next()? {
        let (begin, bytes) = (entry.data_offsets.0, data_length(&entry)?);
        in_order &= begin == end;
        end = begin.saturating_add(bytes);
        if data.saturating_add(end) > length {
            // The rule for all tensors tells it, once all of them are known.
            in_order = false;
            continue;
        }
        builder.push(&object(&entry, &[component(&entry, data)])).map_err(refused)?;
    }
    if !in_order || data.saturating_add(end) != length {
        check_cover(header, length, options.limit())?;
    }
    let mut metadata = entries.into_metadata().unwrap_or_default();
    metadata.validate_unique().map_err(|key| twice(&key))?;
    Ok((builder, metadata))
}

/// Parses the header of a file of `length` bytes, with its metadata as attributes.
pub(crate) fn open(header: &[u8], length: u64, options: &Options) -> Result<Parsed, Trouble> {
    let refused = |error: Error| refusal(error, header, options.limit());
    let (mut builder, metadata) = parse(header, length, options)?;
    if metadata.len() > 0 {
        let map = metadata.finish().map_err(|key| twice(&key))?;
        builder.attributes(&map).map_err(refused)?;
    }
    builder.finish().map_err(refused)
}

/// Reads and parses the header of a file, and returns its metadata apart from it.
pub(crate) fn archive(
    source: &Source,
    options: &Options,
) -> Result<(SourceArchive<Source>, Map), Trouble> {
    let header = read(source, source.len(), options.limit())?;
    let (builder, metadata) = parse(&header, source.len(), options)?;
    let refused = |error: Error| refusal(error, &header, options.limit());
    let parsed = builder.finish().map_err(refused)?;
    Ok((SourceArchive::from_front(source.clone(), parsed), metadata))
}

/// Reads the header of a source of `length` bytes.
pub(crate) fn read<S: ReadAt>(source: &S, length: u64, limits: &Limits) -> Result<Vec<u8>, Trouble>
where
    Trouble: From<S::Error>,
{
    let mut start = [0; 8];
    let there = usize::try_from(length.min(LENGTH)).unwrap_or(start.len());
    let start = start.get_mut(..there).unwrap_or_default();
    source.read_at(0, start)?;
    let header = header_length(start, length, limits)?;
    let mut bytes = Vec::new();
    let read = source.append_range(LENGTH..LENGTH.saturating_add(header), &mut bytes);
    read.map_err(|error| match error {
        ReadError::Source(error) => error.into(),
        ReadError::Refused(error) => Trouble::of_library(&error),
    })?;
    Ok(bytes)
}

/// The tensor of an entry.
fn object<'a>(entry: &Entry<'a>, components: &'a [RawComponent<'a>]) -> RawObject<'a> {
    let Entry { name, shape, .. } = *entry;
    let layout = Format::Dense;
    RawObject { name, shape, layout, layout_name: None, attributes: None, components }
}

/// The only component of an entry, of a file whose data begins at `data`.
fn component(entry: &Entry<'_>, data: u64) -> RawComponent<'static> {
    let (begin, end) = entry.data_offsets;
    let (storage, logical) = match entry.kind {
        Kind::Logical(logical) => (logical.storage(), Some(logical)),
        Kind::Plain(storage) => (storage, None),
        // No dtype of the format stands for blocks.
        Kind::Verbatim(_) => (StorageType::U8, None),
    };
    RawComponent {
        role: "data",
        offset: data.saturating_add(begin),
        stored_length: end.saturating_sub(begin),
        decoded_length: None,
        storage,
        logical,
        byte_order: ByteOrder::Little,
        encoding: Encoding::Raw,
    }
}

/// Returns the bytes of the data of an entry, as many as its shape and type ask for.
fn data_length(entry: &Entry<'_>) -> Result<u64, Trouble> {
    let (begin, end) = entry.data_offsets;
    let bytes =
        end.checked_sub(begin).filter(|bytes| entry.kind.bytes(entry.shape) == Some(*bytes));
    bytes.ok_or_else(|| {
        let sentence = "its data is not as long as its shape and type ask";
        Trouble::refused_at(Rule::SafetensorsExtent, sentence, entry.data_offsets_at)
            .about(entry.name)
    })
}

/// Checks that the data of each tensor begins where that of the one before it ends, and the last ends with the file.
#[cold]
fn check_cover(header: &[u8], length: u64, limits: &Limits) -> Result<(), Trouble> {
    let data = LENGTH.saturating_add(u64_from_usize(header.len()));
    let mut extents = Vec::new();
    let mut entries = Entries::new(header, LENGTH, limits)?;
    while let Some(entry) = entries.next()? {
        let (begin, end) = entry.data_offsets;
        extents.try_reserve(1).map_err(|_| Trouble::memory())?;
        // Tensors without data take no place, and stay before one that begins where they do.
        extents.push((begin, end, len_u32(extents.len())));
    }
    extents.sort_unstable();
    let mut covered = 0;
    for (begin, end, ordinal) in &extents {
        if *begin != covered {
            let sentence = "its data does not begin where that of the tensor before it ends";
            let offset = data.saturating_add(*begin).min(length);
            let trouble = Trouble::refused(Rule::SafetensorsContiguous, sentence).or_at(offset);
            return Err(about(trouble, header, *ordinal, limits));
        }
        covered = *end;
    }
    let there = length.saturating_sub(data);
    if covered == there {
        return Ok(());
    }
    let sentence = format!("there are {there} bytes of data, and tensors for {covered}");
    Err(Trouble::refused_at(Rule::SafetensorsDataLength, sentence, data))
}

/// The same error, about the tensor of that ordinal in the header.
#[cold]
fn about(trouble: Trouble, header: &[u8], ordinal: u32, limits: &Limits) -> Trouble {
    match nth(header, ordinal, limits) {
        Ok(Some((name, _))) => trouble.about(&name),
        _ => trouble,
    }
}

/// The name of the tensor of that ordinal, and the byte of the file at which it stands.
#[cold]
fn nth(header: &[u8], ordinal: u32, limits: &Limits) -> Result<Option<(String, u64)>, Trouble> {
    let mut entries = Entries::new(header, LENGTH, limits)?;
    let mut left = ordinal;
    while let Some(entry) = entries.next()? {
        if left == 0 {
            return Ok(Some((entry.name.to_owned(), entry.name_at)));
        }
        left = left.saturating_sub(1);
    }
    Ok(None)
}

/// The refusal of a header that its index refused.
#[cold]
fn refusal(error: Error, header: &[u8], limits: &Limits) -> Trouble {
    let duplicate = Rule::SafetensorsDuplicateName;
    let place = error.place().object().map(|ordinal| nth(header, ordinal, limits));
    if let (true, Some(Ok(Some((name, at))))) = (error.id() == Some(duplicate.row().id), place) {
        let sentence = format!("there are two tensors of the name {}", escape::quoted(&name));
        return Trouble::refused_at(duplicate, sentence, at).about(&name);
    }
    Trouble::of_library(&error)
}

fn twice(key: &str) -> Trouble {
    let sentence = format!("the key {} stands there twice", escape::quoted(key));
    Trouble::refused(Rule::SafetensorsDuplicateKey, sentence).about(METADATA)
}
