//! Reading of NumPy files, and of NumPy arrays that are members of an archive.

mod header;
mod records;
pub(in crate::formats) mod types;

use alloc::string::String;
use alloc::vec::Vec;

use crate::element::ByteOrder;
use crate::element::StorageType;
use crate::error::ErrorKind;
use crate::index::Layout;
use crate::index::{
    Blobs, Builder, Encoding, FileFormat, Parsed, PickleRules, RawComponent, RawElements,
    RawObject, RecordField, Rules,
};
use crate::limits::{Limits, OpenOptions};
use crate::num::u64_from_usize;
use crate::read_at::ReadAt;

use super::builder_error::{self, format_error};
use super::error::{FormatError, copied, follow};
use super::limits::{check_length, check_rank};
use super::rules::{APPENDED, DAMAGED, Rule, SECOND_ARRAY};
use crate::file_name::FileName;

use header::Descr;
use records::NumberField;
use types::{Number, Type};

/// The magic: the first bytes of NumPy files.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// The length in bytes of the magic and the two bytes of the version at the start of a NumPy file.
const START: usize = 8;
/// The length in bytes of the longest Python literal in a header that zten reads: the largest length that version 1.0 can state.
/// Versions 2.0 and 3.0 can state larger lengths, which only arrays of records with many fields need.
const LITERAL: u32 = 0xffff;
/// The name of an array whose file has no name. `numpy.savez` gives this name to an array without a name.
const NAME: &str = "arr_0";

/// The check of arrays of Python objects, which are pickles; `None` without the feature `torch`.
#[cfg(feature = "torch")]
pub(super) const PICKLES: Option<&PickleRules> = Some(&super::torch::OBJECTS);
#[cfg(not(feature = "torch"))]
pub(super) const PICKLES: Option<&PickleRules> = None;

/// The .npy format: its name, and the rules that are checked while the index of the file is built and while the array is read.
static NPY: FileFormat = FileFormat::new(
    ".npy",
    Blobs::Disjoint,
    Rules {
        // A `.npy` file has only one array, so no file breaks this rule.
        duplicate_name: Rule::NpzDuplicateName.row(),
        bool_value: Some(Rule::TensorBoolValue.row()),
        stream: None,
        pickles: PICKLES,
        quantized: Some(&super::rules::QUANTIZED),
    },
);

/// The parsed header of an array.
#[derive(Debug)]
pub(super) struct NpyHeader {
    /// The length of the header in bytes.
    pub(super) length: u64,
    /// The type of the elements.
    elements: Type,
    /// The dtype as the header spells it; empty if the elements are numbers or bools.
    type_name: String,
    /// The record fields that hold numbers, if the elements are records (a structured dtype).
    fields: Vec<NumberField>,
    /// Whether the array is in column-major (Fortran) order.
    columns_first: bool,
    /// The size of each dimension, outermost first.
    shape: Vec<u64>,
    /// The length of all elements in bytes; `None` for Python objects and elements of an unknown size.
    bytes: Option<u64>,
}

/// Where the bytes of an array are in the file, and how they are encoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    /// The component that holds the bytes of the array. Its storage type is `u8` until the type of the elements replaces it.
    pub(super) component: RawComponent<'static>,
    /// The range of the file that the checksum of the component covers; `None` without a checksum. If the range is deflated,
    /// the checksum is that of the decoded bytes.
    pub(super) range: Option<[u64; 2]>,
}

impl NpyHeader {
    /// Parses the header of an array, whose first bytes are in `start`. `extend` appends bytes of the file or archive member to
    /// `start` until it has the given length in bytes, or the file or member ends.
    ///
    /// # Errors
    /// `npy-magic`, `npy-version`, `npy-header`, `npy-shape`; a limit on the length of the header or the number of dimensions;
    /// the errors of `extend`.
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
            let sentence = format_args!("the NumPy header exceeds the maximum of {LITERAL} bytes");
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
        // Headers before version 3.0 are Latin-1. Only such headers may have integers with the suffix `L`, because Python
        // 2, which wrote the suffix, never wrote version 3.0.
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
                    "the NumPy header is not UTF-8",
                ));
            }
        };
        let header::Literal { descr, columns_first, shape } = header::parse(text, is_old, limits)?;
        let (elements, fields, spelled) = match descr {
            Descr::Name(name) => (Type::parse(name), Vec::new(), name),
            Descr::Records(records, text) => {
                let elements = match records.size {
                    _ if records.has_objects => Type::Objects,
                    Some(size) => Type::Opaque(size),
                    None => Type::Unknown,
                };
                (elements, records.fields, text)
            }
        };
        let (width, is_number) = match elements {
            Type::Known(number) => (Some(number.width()), true),
            Type::Opaque(size) => (Some(size), false),
            Type::Objects | Type::Unknown => (None, false),
        };
        // NumPy computes the size in signed 64-bit integers, and skips dimensions that are 0.
        let most = shape
            .iter()
            .filter(|dimension| **dimension > 0)
            .try_fold(width.unwrap_or(1), |bytes, dimension| bytes.checked_mul(*dimension))
            .filter(|bytes| i64::try_from(*bytes).is_ok());
        let Some(most) = most else {
            return Err(FormatError::violation(Rule::NpyShape, Rule::NpyShape.row().broken()));
        };
        let bytes = width.map(|_| if shape.contains(&0) { 0 } else { most });
        let type_name = if is_number { String::new() } else { copied(spelled)? };
        Ok(Self { length, elements, type_name, fields, columns_first, shape, bytes })
    }

    /// Returns whether the elements are records with fields of numbers.
    pub(super) fn has_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Checks that `found`, the number of bytes after the header, is the length of all elements. Any number is accepted if
    /// the size of an element is not known.
    pub(super) fn check_length(&self, found: u64) -> Result<(), FormatError> {
        match self.bytes {
            Some(needed) if needed != found => Err(wrong_length(needed, found)),
            _ => Ok(()),
        }
    }

    /// Adds the array at `stored` to `builder` as a tensor called `name`. If the elements are records of a known size, also
    /// adds a tensor for each of their [`fields`](Self::fields) that zten reads, unless the array is a matrix in column-major
    /// order or `room` has too little memory for these tensors. `source_offset` is the offset of the array's description in the
    /// header of the file.
    pub(super) fn push(
        &self,
        builder: &mut Builder<'_>,
        stored: &Stored,
        (name, source_offset): (&str, u32),
        room: &mut Room,
    ) -> Result<(), FormatError> {
        let plain = RawComponent { column_major: self.columns_first, ..stored.component };
        let type_name = room.type_name(&self.type_name);
        let component = match self.elements {
            Type::Known(number) => of_number(number, plain),
            Type::Opaque(size) => {
                RawComponent { elements: RawElements::Opaque { type_name, size }, ..plain }
            }
            Type::Objects | Type::Unknown => {
                let is_objects = self.elements == Type::Objects;
                let rule = if is_objects { Rule::NpyObjects } else { Rule::NpyDtype };
                RawComponent {
                    elements: RawElements::Unread { type_name, reason: rule.row() },
                    column_major: false,
                    ..plain
                }
            }
        };
        let object = RawObject {
            name,
            shape: &self.shape,
            layout: Layout::Dense,
            layout_name: None,
            attributes: None,
            components: &[component],
            source_offset,
        };
        builder.push(&object).map_err(format_error)?;
        // Each field of the records becomes a tensor too, if the records are in row-major order. A tensor that is a field has its
        // elements in the order of the records, and cannot be read in another order.
        let is_in_order = !self.columns_first || self.shape.len() < 2;
        let Type::Opaque(record) = self.elements else { return Ok(()) };
        if is_in_order && room.take_fields(name, &self.fields) {
            for field in &self.fields {
                field.push(builder, stored, &object, record)?;
            }
        }
        Ok(())
    }
}

/// The memory that the names of dtypes and the tensors of record fields may still take in the index of a file. A deflated
/// header of a few bytes may decompress to the longest dtype, so without this bound an archive could take far more memory
/// than its size.
#[derive(Debug)]
pub(super) struct Room {
    /// The number of bytes of memory that may still be taken.
    bytes: u64,
    /// Whether fields of records may become tensors.
    pub(super) has_fields: bool,
}

impl Room {
    /// The number of bytes of memory that every file may take, however short its headers are.
    const LEAST: u64 = 24 << 10;
    /// The number of bytes of memory that a file may take for each byte of its uncompressed headers, beyond [`LEAST`](Self::LEAST).
    const FACTOR: u64 = 4;
    /// The number of bytes of memory that a field of records takes if it becomes a tensor, besides the bytes of its name:
    /// the size of the tensor's entries in the index.
    const FIELD: u64 = 224;
    /// The length in bytes up to which the name of a dtype is not counted. A longer name is cut to this length if too little
    /// memory is left.
    const SHORT: usize = 64;

    /// Computes the memory for a file with `headers` bytes of uncompressed headers.
    pub(super) fn new(headers: u64) -> Self {
        let mut room = Self { bytes: Self::LEAST, has_fields: true };
        room.add(headers);
        room
    }

    /// Adds the memory that a file may take for a further uncompressed header of `bytes` bytes.
    pub(super) fn add(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes.saturating_mul(Self::FACTOR));
    }

    /// Subtracts `bytes` from the memory that is left, in bytes. Returns false, and subtracts nothing, if less memory is left.
    fn take(&mut self, bytes: u64) -> bool {
        match self.bytes.checked_sub(bytes) {
            Some(left) => {
                self.bytes = left;
                true
            }
            None => false,
        }
    }

    /// Returns `name`, the name of a dtype, and subtracts its length from the memory that is left if it exceeds
    /// [`SHORT`](Self::SHORT). If too little memory is left, returns at most the first `SHORT` bytes of `name` instead.
    fn type_name<'n>(&mut self, name: &'n str) -> &'n str {
        if name.len() <= Self::SHORT || self.take(u64_from_usize(name.len())) {
            return name;
        }
        let ends = (0..=Self::SHORT).rev();
        ends.map(|end| name.get(..end)).find_map(|start| start).unwrap_or_default()
    }

    /// Subtracts the memory for the tensors of `fields`, the fields of the array of records `name`, from the memory that is
    /// left. Returns false if too little memory is left, or if fields may not become tensors.
    fn take_fields(&mut self, name: &str, fields: &[NumberField]) -> bool {
        let each = u64_from_usize(name.len()).saturating_add(Self::FIELD);
        let bytes = fields.iter().fold(0_u64, |bytes, field| {
            let own = u64_from_usize(field.name.len()).saturating_add(each);
            bytes.saturating_add(own)
        });
        self.has_fields && self.take(bytes)
    }
}

impl NumberField {
    /// Adds this field of the records at `stored` to `builder` as a tensor of its own. `records` is the tensor of the
    /// records, and `record` is the size of one record in bytes. Three kinds of fields are left out: bools, because NumPy
    /// takes any byte for a bool; fields without bytes; and fields with more dimensions than the limit.
    fn push(
        &self,
        builder: &mut Builder<'_>,
        stored: &Stored,
        records: &RawObject<'_>,
        record: u64,
    ) -> Result<(), FormatError> {
        let rank = records.shape.len().saturating_add(self.shape.len());
        let size = self
            .shape
            .iter()
            .try_fold(self.number.width(), |bytes, dimension| bytes.checked_mul(*dimension));
        // The product of the dimensions before a zero may exceed 64 bits. Such a field has no bytes, and is left out.
        let Some(size) = size else { return Ok(()) };
        if check_rank(rank, builder.limits(), "the field").is_err()
            || self.number.storage == StorageType::Bool
            || size == 0
        {
            return Ok(());
        }
        let mut shape = Vec::new();
        shape.try_reserve_exact(rank).map_err(|_| FormatError::memory())?;
        shape.extend(records.shape);
        shape.extend(&self.shape);
        let name = copied(format_args!("{}[\"{}\"]", records.name, self.name))?;
        let component = RawComponent {
            field: Some(RecordField { record, offset: self.offset, size }),
            checksum_range: stored.range,
            // The range of a stored member already includes the header of the array in front of the elements.
            prefix: match stored.component.encoding {
                Encoding::Raw => 0,
                _ => stored.component.prefix,
            },
            ..of_number(self.number, stored.component)
        };
        let field = RawObject { name: &name, shape: &shape, components: &[component], ..*records };
        builder.push(&field).map_err(format_error)
    }
}

/// Returns `component` with elements of the type `number`.
fn of_number(number: Number, component: RawComponent<'_>) -> RawComponent<'_> {
    let Number { storage, logical, is_big } = number;
    RawComponent {
        storage,
        logical,
        byte_order: if is_big { ByteOrder::Big } else { ByteOrder::Little },
        ..component
    }
}

/// Returns the error for an array that has `found` bytes of data, although its shape and dtype need `needed` bytes.
#[cold]
fn wrong_length(needed: u64, found: u64) -> FormatError {
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

/// Returns the first `N` bytes of `start`, the part of a header that has been read. Fails if the header is shorter.
fn first<const N: usize>(start: &[u8]) -> Result<[u8; N], FormatError> {
    start.first_chunk().copied().ok_or_else(cut)
}

/// Returns the error for a file or archive member that ends within the header of its array.
fn cut() -> FormatError {
    let sentence = "the NumPy header is cut off";
    FormatError::violation(Rule::NpyHeader, sentence).advising(DAMAGED)
}

/// Decodes `bytes` as Latin-1.
fn latin1(bytes: &[u8]) -> Result<String, FormatError> {
    let mut text = String::new();
    // Each character of Latin-1 takes at most two bytes in UTF-8.
    text.try_reserve_exact(bytes.len().saturating_mul(2)).map_err(|_| FormatError::memory())?;
    text.extend(bytes.iter().copied().map(char::from));
    Ok(text)
}

/// Reads the header of a .npy file of `length` bytes whose first bytes are `start`. The tensor of the file is called [`NAME`]
/// if the file has no name, that is if `name` is empty. Otherwise the tensor is called `name` without its suffix.
///
/// # Errors
/// The header is invalid; `npy-size` if other bytes follow the array or bytes of it are missing; `name` is not Unicode; an
/// exceeded limit; the source cannot be read.
pub(super) fn open(
    source: &dyn ReadAt,
    length: u64,
    mut start: Vec<u8>,
    name: FileName<'_>,
    options: &OpenOptions,
) -> Result<Parsed, FormatError> {
    let header = NpyHeader::read(&mut start, options.limit(), |start, end| {
        let from = u64_from_usize(start.len());
        let end = u64_from_usize(end).min(length).max(from);
        Ok(source.append_range(from..end, start)?)
    })
    .map_err(|error| error.or_at(0))?;
    let data = length.saturating_sub(header.length);
    if let Err(error) = header.check_length(data) {
        let end = header.length.saturating_add(header.bytes.unwrap_or(data));
        let error = if is_array_at(source, end, length)? {
            let sentence = "a second array follows the first";
            FormatError::violation(Rule::NpySize, sentence).advising(SECOND_ARRAY)
        } else {
            error
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
    let component = RawComponent::raw(StorageType::U8, header.length, data);
    let mut room = Room::new(header.length);
    header.push(&mut builder, &Stored { component, range: None }, (name, 0), &mut room)?;
    builder_error::finish(builder, Rule::NpzDuplicateName)
}
