//! Reading of NumPy files, and of NumPy arrays that are members of an archive.

mod header;
mod types;

use alloc::string::String;
use alloc::vec::Vec;

use crate::codec::ReadAt;
use crate::element::ByteOrder;
use crate::error::ErrorKind;
use crate::index::Layout;
use crate::index::{Blobs, Builder, FileFormat, Parsed, RawComponent, RawObject, Rules};
use crate::limits::{Limits, OpenOptions};
use crate::num::u64_from_usize;

use super::builder_error::{self, format_error};
use super::error::{FormatError, follow};
use super::limits::check_length;
use super::rules::{APPENDED, DAMAGED, Rule, SECOND_ARRAY};
use crate::file_name::FileName;

use types::Type;

/// The first bytes of NumPy files.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// The length in bytes of the magic and the version.
const START: usize = 8;
/// The length in bytes of the longest literal: the largest length in version 1.0. Only arrays of records need a longer one.
const LITERAL: u32 = 0xffff;
/// The name of an array whose file has no name. `numpy.savez` gives this name to an array without a name.
const NAME: &str = "arr_0";

/// The format's name and rules for the index of an archive.
static NPY: FileFormat = FileFormat::new(
    ".npy",
    Blobs::Disjoint,
    Rules {
        // There is one array.
        duplicate_name: Rule::NpzDuplicateName.row(),
        bool_value: Some(Rule::TensorBoolValue.row()),
        stream: None,
    },
);

/// The parsed header of an array.
#[derive(Debug)]
pub(super) struct Header {
    /// The length of the header in bytes.
    pub(super) length: u64,
    elements: Type,
    /// Whether the array is in column-major (Fortran) order.
    columns_first: bool,
    shape: Vec<u64>,
    /// The length of all elements in bytes.
    pub(super) bytes: u64,
}

impl Header {
    /// Parses the header at the beginning of `start`. `extend` reads more bytes until `start` has the given length, or the
    /// input ends.
    pub(super) fn read(
        start: &mut Vec<u8>,
        limits: &Limits,
        mut extend: impl FnMut(&mut Vec<u8>, usize) -> Result<(), FormatError>,
    ) -> Result<Self, FormatError> {
        extend(start, START)?;
        let [magic @ .., major, minor] = first::<START>(start)?;
        if magic != MAGIC {
            return Err(FormatError::violation(Rule::NpyMagic, "missing NumPy array"));
        }
        let (prefix, length) = match (major, minor) {
            (1, 0) => {
                extend(start, 10)?;
                let [.., low, high] = first::<10>(start)?;
                (10, u16::from_le_bytes([low, high]).into())
            }
            (2 | 3, 0) => {
                extend(start, 12)?;
                let [.., a, b, c, d] = first::<12>(start)?;
                (12, u32::from_le_bytes([a, b, c, d]))
            }
            _ => {
                let sentence =
                    format_args!("unsupported version {major}.{minor} of the NumPy format");
                return Err(FormatError::violation(Rule::NpyVersion, sentence));
            }
        };
        if length > LITERAL {
            let sentence = format_args!("NumPy header exceeds the maximum of {LITERAL} bytes");
            return Err(FormatError::violation(Rule::LimitHeader, sentence));
        }
        let all = u64::from(length).saturating_add(u64_from_usize(prefix));
        check_length(all, limits, "the NumPy header")?;
        let end = usize::try_from(all).unwrap_or(usize::MAX);
        extend(start, end)?;
        let literal = start.get(prefix..end).ok_or_else(cut)?;
        Self::parse(literal, all, major, limits)
    }

    /// Parses the Python literal of a header that is `length` bytes long and has the major version `major`.
    fn parse(literal: &[u8], length: u64, major: u8, limits: &Limits) -> Result<Self, FormatError> {
        // Before version 3.0, headers are Latin-1, and Python 2 wrote some.
        let is_old = major < 3;
        let decoded;
        let text = match str::from_utf8(literal) {
            Ok(text) if text.is_ascii() || !is_old => text,
            _ if is_old => {
                decoded = latin1(literal)?;
                &decoded
            }
            _ => {
                return Err(FormatError::violation(
                    Rule::NpyHeader,
                    "the NumPy header is not text",
                ));
            }
        };
        let literal = header::parse(text, is_old, limits)?;
        let elements = Type::parse(literal.descr)?;
        let shape = literal.shape;
        // NumPy computes the size in signed 64-bit integers, and skips dimensions that are 0.
        let most = shape
            .iter()
            .filter(|dimension| **dimension > 0)
            .try_fold(elements.width(), |bytes, dimension| bytes.checked_mul(*dimension))
            .filter(|bytes| i64::try_from(*bytes).is_ok());
        let Some(most) = most else {
            return Err(FormatError::violation(
                Rule::NpyShape,
                "the bytes of the array cannot be counted",
            ));
        };
        let bytes = if shape.contains(&0) { 0 } else { most };
        Ok(Self { length, elements, columns_first: literal.columns_first, shape, bytes })
    }

    /// Returns the component of the array, whose elements begin at `offset` in the file.
    pub(super) fn component(&self, offset: u64) -> RawComponent<'static> {
        let Type { storage, logical, is_big } = self.elements;
        RawComponent {
            logical,
            byte_order: if is_big { ByteOrder::Big } else { ByteOrder::Little },
            column_major: self.columns_first,
            ..RawComponent::raw(storage, offset, self.bytes)
        }
    }

    /// Returns the array as a tensor called `name`, whose description begins at `source_offset` of the header of the file.
    pub(super) fn object<'a>(
        &'a self,
        name: &'a str,
        components: &'a [RawComponent<'a>],
        source_offset: u32,
    ) -> RawObject<'a> {
        RawObject {
            name,
            shape: &self.shape,
            layout: Layout::Dense,
            layout_name: None,
            attributes: None,
            components,
            source_offset,
        }
    }
}

/// Returns the error for an array with `found` bytes of data whose shape and dtype need `needed` bytes.
#[cold]
pub(super) fn wrong_length(needed: u64, found: u64) -> FormatError {
    if let Some(more) = found.checked_sub(needed) {
        FormatError::violation(Rule::NpySize, follow(more, "the array")).advising(APPENDED)
    } else {
        let sentence = format_args!("expected {needed} bytes of data, found {found}");
        FormatError::violation(Rule::NpySize, sentence)
    }
}

/// Returns whether another array begins at `offset` of a file of `length` bytes. `numpy.save` appends a second array if it is
/// called twice with the same open file.
fn is_array_at(source: &dyn ReadAt, offset: u64, length: u64) -> Result<bool, FormatError> {
    let end = offset.saturating_add(u64_from_usize(MAGIC.len()));
    if end > length {
        return Ok(false);
    }
    let mut start = Vec::new();
    source.append_range(offset..end, &mut start)?;
    Ok(start == MAGIC)
}

fn first<const N: usize>(start: &[u8]) -> Result<[u8; N], FormatError> {
    start.first_chunk().copied().ok_or_else(cut)
}

fn cut() -> FormatError {
    let sentence = "the NumPy header is cut off";
    FormatError::violation(Rule::NpyHeader, sentence).advising(DAMAGED)
}

/// Decodes `bytes` as Latin-1.
fn latin1(bytes: &[u8]) -> Result<String, FormatError> {
    let mut text = String::new();
    // Each character takes at most two bytes in UTF-8.
    text.try_reserve_exact(bytes.len().saturating_mul(2)).map_err(|_| FormatError::memory())?;
    text.extend(bytes.iter().copied().map(char::from));
    Ok(text)
}

/// Reads the header of a file of `length` bytes that begins with `start`. The file is one array, which is named after the file.
/// `name` is empty for a file without a name.
pub(super) fn open(
    source: &dyn ReadAt,
    length: u64,
    mut start: Vec<u8>,
    name: FileName<'_>,
    options: &OpenOptions,
) -> Result<Parsed, FormatError> {
    let header = Header::read(&mut start, options.limit(), |start, end| {
        let from = u64_from_usize(start.len());
        let end = u64_from_usize(end).min(length).max(from);
        Ok(source.append_range(from..end, start)?)
    })
    .map_err(|error| error.or_at(0))?;
    let data = length.saturating_sub(header.length);
    if data != header.bytes {
        let end = header.length.saturating_add(header.bytes);
        let error = if is_array_at(source, end, length)? {
            let sentence = "a second array follows the first";
            FormatError::violation(Rule::NpySize, sentence).advising(SECOND_ARRAY)
        } else {
            wrong_length(header.bytes, data)
        };
        return Err(error.or_at(header.length));
    }
    let name = if name.is_empty() { Some(NAME) } else { name.stem() };
    let name = name.ok_or_else(|| {
        let sentence =
            format_args!("the name of the file, which is that of the array, is not Unicode");
        FormatError::library(ErrorKind::Read, sentence)
    })?;
    let mut builder =
        Builder::new(&NPY, 0..header.length, length, options).map_err(format_error)?;
    let component = header.component(header.length);
    builder.push(&header.object(name, &[component], 0)).map_err(format_error)?;
    builder_error::finish(builder, Rule::NpzDuplicateName)
}
