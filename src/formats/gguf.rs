//! Reading of GGUF files of the versions 2 and 3: the metadata, the descriptions of tensors, and the data of tensors.

#[cfg_attr(
    not(feature = "dequantize"),
    expect(dead_code, reason = "the sizes of blocks are those of their records")
)]
pub(super) mod dequantize;
#[cfg(all(feature = "std", feature = "gguf", feature = "write"))]
pub(super) mod edit;
mod header;
mod input;
mod known;
mod layout;
mod split;
pub(super) mod types;
mod value;

use alloc::string::String;
use alloc::vec::Vec;

use crate::archive::Archive;
use crate::element::{ByteOrder, OPAQUE_BLOCKS, StorageType};
use crate::index::{
    Blobs, Builder, FileFormat, Parsed, RawComponent, RawElements, RawObject, Rules,
};
use crate::limits::OpenOptions;
use crate::num::u64_from_usize;
use crate::read_at::ReadAt;

use super::builder_error::{self, format_error};
use super::error::{FormatError, copied};
use super::in_memory;
use super::rules::Rule;

use header::{GgufHeader, TensorInfo};
use input::{Input, Stop};
use layout::Layout;
use types::Type;

pub(super) use split::{FirstName, Split};

/// The magic number of GGUF files, their first four bytes.
pub(super) const MAGIC: &[u8] = b"GGUF";
/// The number of bytes at the start of a file that are read together, after the few bytes that tell the format. If the header
/// is longer, more bytes are read. The number is half of the memory that opening a small file may take.
const FIRST: u64 = 32 << 10;

/// GGUF as a file format: its name, and the rules that are checked while the index of its tensors is built and read.
static GGUF: FileFormat = FileFormat::new(
    "GGUF",
    Blobs::Disjoint,
    Rules {
        duplicate_name: Rule::GgufDuplicateName.row(),
        bool_value: None,
        stream: None,
        pickles: None,
        quantized: Some(&super::rules::QUANTIZED),
    },
);

/// Reads and parses the header of the GGUF file `source` of `length` bytes, and returns its archive.
fn archive<'s>(
    source: &'s dyn ReadAt,
    length: u64,
    options: &OpenOptions,
) -> Result<Archive<&'s dyn ReadAt>, FormatError> {
    let start = super::start(source, length)?;
    if !start.starts_with(MAGIC) {
        return Err(FormatError::violation_at(Rule::GgufMagic, Rule::GgufMagic.row().broken(), 0));
    }
    let parsed = open(source, length, start, options)?;
    Ok(Archive::from_parsed(source, parsed))
}

/// Reads and parses the header of the GGUF file `source` of `length` bytes. `start` holds the first bytes of the file.
pub(crate) fn open(
    source: &dyn ReadAt,
    length: u64,
    start: Vec<u8>,
    options: &OpenOptions,
) -> Result<Parsed, FormatError> {
    let file = File { source, length, options };
    file.parse_header(start, &mut |start| parse(source, length, start, options))
}

/// The result of parsing a header from the first bytes of a file. `None` means that the header extends beyond these bytes, so
/// more bytes have to be read.
type Attempt<T> = Result<Option<T>, FormatError>;

/// Returns the offset at which the data of the last tensor ends in the GGUF file `source`, counted from the start of the file.
/// Without tensors that have data, this is the end of the header. Only the header is read, so the offset may be beyond the end
/// of the file, which has `length` bytes. Returns `None` if a tensor has a type that zten does not read, because the header
/// does not tell the length of its data.
pub(crate) fn data_end(
    source: &dyn ReadAt,
    length: u64,
    options: &OpenOptions,
) -> Result<Option<u64>, FormatError> {
    let start = super::start(source, length)?;
    let file = File { source, length, options };
    file.parse_header(start, &mut |start| {
        let input = Input::new(start, length, options.limit());
        let (header, _, extents) = match GgufHeader::parse(input, options.limit()) {
            Ok(parsed) => parsed,
            Err(Stop::More) => return Ok(None),
            Err(Stop::Failed(error)) => return Err(error),
        };
        let ends = extents.iter().filter(|extent| extent.bytes != Some(0)).map(|extent| {
            let start = header.data.saturating_add(extent.offset);
            Some(start.saturating_add(extent.bytes?))
        });
        let end = ends.reduce(|one, other| Some(one?.max(other?)));
        Ok(Some(end.unwrap_or(Some(header.end))))
    })
}

/// A GGUF file whose header is being read from a source, and the options for opening it.
struct File<'f> {
    source: &'f dyn ReadAt,
    length: u64,
    options: &'f OpenOptions,
}

impl File<'_> {
    /// Passes the first bytes of the file to `parse`, and returns its result. `start` holds bytes of the file that have been
    /// read. If `parse` returns `None`, because the header is longer, 32 KiB or twice as many bytes are read, whichever is
    /// more, and `parse` is called again. A file in memory is passed as a whole.
    fn parse_header<T>(
        &self,
        mut start: Vec<u8>,
        parse: &mut dyn FnMut(&[u8]) -> Attempt<T>,
    ) -> Result<T, FormatError> {
        if let Some(bytes) = in_memory(self.source, self.length) {
            let parsed = parse(bytes)?;
            return parsed.ok_or_else(|| {
                FormatError::internal("a GGUF header extends beyond the end of its file")
            });
        }
        loop {
            if let Some(parsed) = parse(&start)? {
                return Ok(parsed);
            }
            let there = u64_from_usize(start.len());
            let most = Input::new(&start, self.length, self.options.limit()).end();
            let end = FIRST.max(there.saturating_mul(2)).min(most);
            if end <= there {
                return Err(FormatError::internal(
                    "the parser asks for more bytes than a GGUF header can have",
                ));
            }
            self.source.append_range(there..end, &mut start)?;
        }
    }
}

/// Parses the header of the GGUF file `source` of `length` bytes, checks the extents of tensor data, and builds the index of an
/// archive. `start` holds the first bytes of the file. Returns `None` if the header extends beyond `start`.
fn parse(
    source: &dyn ReadAt,
    length: u64,
    start: &[u8],
    options: &OpenOptions,
) -> Result<Option<Parsed>, FormatError> {
    let input = Input::new(start, length, options.limit());
    let (header, metadata, extents) = match GgufHeader::parse(input, options.limit()) {
        Ok(parsed) => parsed,
        Err(Stop::More) => return Ok(None),
        Err(Stop::Failed(error)) => return Err(error),
    };
    let lengths = Layout { source, length, start, header: &header }.check(extents)?;
    let mut builder = Builder::new(&GGUF, 0..header.end, length, options).map_err(format_error)?;
    // Without a reservation, vectors that double their capacity could exceed the memory that a header may take.
    let text = header.text.saturating_add(metadata.len());
    builder.reserve(header.tensors, text).map_err(format_error)?;
    if !metadata.is_empty() {
        builder.attributes(&metadata).map_err(format_error)?;
    }
    header.check_known(&mut |error| builder.found(error.into()))?;
    // The note on the first tensor that exceeds the limits of ggml, and the number of such tensors.
    let mut beyond_ggml: Option<(FormatError, u64)> = None;
    for info in header.infos() {
        let info = info?;
        if info.exceeds_ggml() {
            let (_, count) = beyond_ggml.get_or_insert_with(|| (info.limits_note(), 0));
            *count = count.saturating_add(1);
        }
        let (layout, blocks) = match info.kind {
            Type::Plain(_) | Type::Unread(_) => (crate::index::Layout::Dense, None),
            Type::Blocks(block) => {
                let mut layout = block.layout()?;
                if header.byte_order == ByteOrder::Big && !block.has_byte_order(&layout) {
                    append(&mut layout, OPAQUE_BLOCKS)?;
                }
                (crate::index::Layout::Unknown, Some((layout, block.attributes()?)))
            }
        };
        let type_name = match info.kind {
            Type::Unread(unknown) => Some(copied(unknown)?),
            Type::Plain(_) | Type::Blocks(_) => None,
        };
        let bytes = info.bytes.unwrap_or_else(|| lengths.of(info.description_offset));
        let mut component = component(&info, &header, (bytes, length));
        if let Some(type_name) = &type_name {
            let reason = Rule::GgufTensorType.row();
            component.elements = RawElements::Unread { type_name, reason };
        }
        let object = RawObject {
            name: info.name,
            shape: info.shape()?,
            layout,
            layout_name: blocks.as_ref().map(|(name, _)| &**name),
            attributes: blocks.as_ref().map(|(_, attributes)| &**attributes),
            components: &[component],
            source_offset: info.description_offset,
        };
        builder.push(&object).map_err(format_error)?;
    }
    if let Some((first, count)) = beyond_ggml {
        builder.found_times(first.into(), count);
    }
    builder_error::finish(builder, Rule::GgufDuplicateName).map(Some)
}

/// Returns the index record of the data of the tensor `info`, which has `bytes` bytes, in a file of `length` bytes with the
/// header `header`.
fn component<'a>(
    info: &TensorInfo<'_>,
    header: &GgufHeader<'_>,
    (bytes, length): (u64, u64),
) -> RawComponent<'a> {
    let (storage, byte_order) = match info.kind {
        Type::Plain(storage) => (storage, header.byte_order),
        Type::Blocks(_) => (StorageType::U8, header.byte_order),
        Type::Unread(_) => (StorageType::U8, ByteOrder::Little),
    };
    // A tensor without data may have any offset, even one beyond the end of the file.
    let offset = header.data.saturating_add(info.offset).min(length.saturating_sub(bytes));
    RawComponent { byte_order, ..RawComponent::raw(storage, offset, bytes) }
}

/// Appends `more` to `text`. Returns an error instead of aborting if memory is out.
fn append(text: &mut String, more: &str) -> Result<(), FormatError> {
    text.try_reserve_exact(more.len()).map_err(|_| FormatError::memory())?;
    text.push_str(more);
    Ok(())
}
