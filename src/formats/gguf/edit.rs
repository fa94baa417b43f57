//! Editing the header of a GGUF file: changing metadata and the names of tensors, while the data of the tensors stays as it
//! is.
//!
//! What is not changed is copied byte by byte, so every value keeps its type and every tensor its description. A changed
//! value also keeps its type, because loaders look for a key and a type.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::cbor::{Array, Attributes, Chunks, Encoder, Item, Value};
use crate::element::ByteOrder;
use crate::error::{Error, OutOfMemory};
use crate::escape;
use crate::formats::error::FormatError;
use crate::formats::rules::Rule;
use crate::formats::write::{Inexpressible, WriteFailure};
use crate::limits::{Limits, OpenOptions};
use crate::num::u64_from_usize;
use crate::read_at::ReadAt;

use super::header::{ALIGNMENT, ALIGNMENT_KEY, GgufHeader, info, read_alignment, read_version};
use super::input::{Input, Stop};
use super::{File, MAGIC, value};

/// The prefix of the keys that describe how the files of a split model belong together.
const SPLIT: &str = "split.";
/// The largest alignment in bytes of a file that can be edited, if its header needs padding. The padding is kept in memory,
/// and can be as long as the alignment.
const MOST_ALIGNMENT: u64 = 64 << 20;

/// The changes to make in the header of a GGUF file.
#[derive(Clone, Copy)]
pub struct HeaderEdit<'e> {
    /// All attributes that the new file will have. An attribute with the same value as in the old file is copied byte by
    /// byte.
    pub attributes: &'e Attributes<'e>,
    /// Returns the new name of a tensor, or `None` if it keeps its name.
    pub new_name: &'e dyn Fn(&str) -> Option<&'e str>,
}

impl core::fmt::Debug for HeaderEdit<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HeaderEdit").field("attributes", self.attributes).finish_non_exhaustive()
    }
}

/// The header of an edited GGUF file.
#[derive(Debug)]
pub struct EditedHeader {
    /// The header, with its padding if the old file reaches the offset of its data. The bytes of the old file from the offset
    /// `data` follow.
    pub bytes: Vec<u8>,
    /// The offset in the old file at which its data begins, or the length of the old file if it ends before that offset.
    pub data: u64,
}

/// Returns the header of the GGUF file `source` of `length` bytes with the changes of `edit`. A value that is changed gets the
/// type of the old value. A new value gets the type that loaders look for most: `u32`, or `i32` if it is negative, for
/// integers, and `u64` or `i64` if they do not fit; `f32` for floats, rounded, and `f64` if they are too large or not finite.
/// In a new array, integers are `i32` if they fit.
///
/// # Errors
/// The file is invalid, exceeds a limit of `options`, or cannot be read; or GGUF cannot hold a value, a value is not of the
/// type of the old value, the alignment or a key of a split changes, the alignment exceeds 64 MiB in a file that is not shorter
/// than the offset of its data, or the reader would reject the new header.
pub fn edit_header(
    source: &dyn ReadAt,
    length: u64,
    options: &OpenOptions,
    edit: &HeaderEdit<'_>,
) -> Result<EditedHeader, WriteFailure<Error>> {
    let failed = |error: FormatError| WriteFailure::Source(Error::from(error));
    let start = crate::formats::start(source, length).map_err(failed)?;
    let file = File { source, length, options };
    let limits = options.limit();
    let edited = file.parse_header(start, &mut |start| {
        let input = Input::new(start, length, limits);
        match rewrite((input, limits), edit) {
            Ok(edited) => Ok(Some(Ok(edited))),
            Err(Refusal::Stop(Stop::More)) => Ok(None),
            Err(Refusal::Stop(Stop::Failed(error))) => Err(error),
            Err(Refusal::Inexpressible(why)) => Ok(Some(Err(why))),
        }
    });
    let EditedHeader { bytes, data } =
        edited.map_err(failed)?.map_err(WriteFailure::Inexpressible)?;
    // A file without data may end before the offset at which its data would begin.
    let edited = EditedHeader { bytes, data: data.min(length) };
    let rest = length.saturating_sub(edited.data);
    let new_length = u64_from_usize(edited.bytes.len()).saturating_add(rest);
    match GgufHeader::parse(Input::new(&edited.bytes, new_length, limits), limits) {
        Ok(_) => Ok(edited),
        Err(Stop::Failed(error)) => {
            let sentence = format!("the new header would be invalid: {}", Error::from(error));
            Err(WriteFailure::Inexpressible(Inexpressible::file(sentence)))
        }
        Err(Stop::More) => {
            Err(failed(FormatError::internal("the edited header of a GGUF file is not complete")))
        }
    }
}

/// The reason why the header cannot be edited: the old header cannot be parsed, or the new one cannot hold what was asked
/// for.
enum Refusal {
    Stop(Stop),
    Inexpressible(Inexpressible),
}

impl<E: Into<Stop>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Stop(error.into())
    }
}

fn refused(key: &str, sentence: impl core::fmt::Display) -> Refusal {
    Refusal::Inexpressible(Inexpressible::attribute(key, sentence))
}

/// Returns the header of the edited file: the header that `input` holds, with the attributes and tensor names of `edit`. `input`
/// begins at the first byte of the old file.
fn rewrite(
    (mut input, limits): (Input<'_>, &Limits),
    edit: &HeaderEdit<'_>,
) -> Result<EditedHeader, Refusal> {
    if input.bytes::<4>()? != *MAGIC {
        let sentence = Rule::GgufMagic.row().broken();
        return Err(FormatError::violation_at(Rule::GgufMagic, sentence, 0).into());
    }
    read_version(&mut input)?;
    let mut out = Output { bytes: Vec::new(), byte_order: input.byte_order() };
    out.raw(input.since(0))?;
    let start = input.at();
    let (tensors, keys) = (input.u64()?, input.u64()?);
    out.raw(input.since(start))?;
    let mut entries = Entries::new(edit.attributes)?;
    let (mut kept, mut alignment) = (0_u64, ALIGNMENT);
    for _ in 0..keys {
        let start = input.at();
        let key = input.text("a key of the metadata")?;
        let behind_key = input;
        let mut old = Encoder::default();
        value::copy(&mut input, &mut old)?;
        if key == ALIGNMENT_KEY {
            alignment = read_alignment(behind_key)?;
        }
        let new = entries.take(key);
        if new.as_ref().is_some_and(|new| new.as_bytes() == old.as_bytes()) {
            out.raw(input.since(start))?;
            kept = kept.saturating_add(1);
            continue;
        }
        check_key(key)?;
        let Some(new) = new else { continue };
        out.text(key)?;
        out.value(&new, Some(types(behind_key)?)).map_err(|why| why.about(key))?;
        kept = kept.saturating_add(1);
    }
    for (key, new) in entries.rest() {
        check_key(key)?;
        out.text(key)?;
        out.value(&new, None).map_err(|why| why.about(key))?;
        kept = kept.saturating_add(1);
    }
    // Now that the keys are counted, their number is written into the header, after the number of tensors.
    let count = out.in_order(kept.to_le_bytes());
    let count_start = usize::try_from(start.saturating_add(8)).unwrap_or(usize::MAX);
    if let Some(count_bytes) =
        count_start.checked_add(8).and_then(|end| out.bytes.get_mut(count_start..end))
    {
        count_bytes.copy_from_slice(&count);
    }
    for _ in 0..tensors {
        let start = input.at();
        let mut behind_name = input;
        behind_name.text("the name of a tensor")?;
        let name = info(&mut input, alignment, limits)?.name;
        if let Some(name) = (edit.new_name)(name) {
            out.text(name)?;
            out.raw(input.since(behind_name.at()))?;
        } else {
            out.raw(input.since(start))?;
        }
    }
    let data = input.at().checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
    // The header is padded only if the old file reaches the offset `data`. A file without data may end before that offset,
    // and may claim an alignment of 2 GiB: padding its new header would take as much memory.
    if data <= input.file_length() {
        if alignment > MOST_ALIGNMENT {
            let sentence = format_args!(
                "is {alignment}, and zten edits files with an alignment of at most {MOST_ALIGNMENT}"
            );
            return Err(refused(ALIGNMENT_KEY, sentence));
        }
        out.pad(alignment)?;
    }
    Ok(EditedHeader { bytes: out.bytes, data })
}

/// Checks that an edit may change, add or remove the metadata key `key`: the alignment and the keys of split models must stay
/// as they are.
fn check_key(key: &str) -> Result<(), Refusal> {
    if key == ALIGNMENT_KEY {
        return Err(refused(
            key,
            "cannot be changed: the offsets of all tensors depend on it, and an edit does not move their data",
        ));
    }
    if key.starts_with(SPLIT) {
        return Err(refused(
            key,
            "cannot be changed: it says how the files of a split model belong together",
        ));
    }
    Ok(())
}

/// Reads the GGUF number of the type of a metadata value, and of the type of its elements if it is an array. `input` begins
/// at the type of the value.
fn types(mut input: Input<'_>) -> Result<(u32, Option<u32>), Stop> {
    let kind = input.u32()?;
    let element = if kind == value::ARRAY { Some(input.u32()?) } else { None };
    Ok((kind, element))
}

/// The attributes of the new file that have not been written yet, sorted by key.
struct Entries<'e> {
    sorted: Vec<(&'e str, usize, Option<Item<'e>>)>,
}

impl<'e> Entries<'e> {
    fn new(attributes: &'e Attributes<'e>) -> Result<Self, OutOfMemory> {
        let mut sorted = Vec::new();
        for (at, (key, item)) in attributes.clone().enumerate() {
            sorted.try_reserve(1).map_err(|_| OutOfMemory)?;
            sorted.push((key, at, Some(item)));
        }
        sorted.sort_unstable_by_key(|(key, at, _)| (*key, *at));
        Ok(Self { sorted })
    }

    /// Removes the attribute `key` from the list, and returns its value; `None` if the list has no such attribute, or it has
    /// been removed.
    fn take(&mut self, key: &str) -> Option<Item<'e>> {
        let found = self.sorted.binary_search_by_key(&key, |(own, ..)| own).ok()?;
        self.sorted.get_mut(found)?.2.take()
    }

    /// Returns the attributes that have not been taken, in the order in which the edit gives them.
    fn rest(mut self) -> impl Iterator<Item = (&'e str, Item<'e>)> {
        self.sorted.sort_unstable_by_key(|(_, at, _)| *at);
        self.sorted.into_iter().filter_map(|(key, _, item)| Some((key, item?)))
    }
}

/// The reason why an attribute cannot be written as a GGUF value.
enum Unfit {
    Memory,
    /// The value does not fit. The text is the rest of a sentence whose subject is the key of the attribute, and begins with
    /// a verb.
    Value(String),
}

impl From<OutOfMemory> for Unfit {
    fn from(_: OutOfMemory) -> Self {
        Self::Memory
    }
}

impl Unfit {
    fn about(self, key: &str) -> Refusal {
        match self {
            Self::Memory => OutOfMemory.into(),
            Self::Value(sentence) => refused(key, sentence),
        }
    }
}

/// The bytes of the new header, while it is being written.
struct Output {
    bytes: Vec<u8>,
    byte_order: ByteOrder,
}

impl Output {
    fn raw(&mut self, bytes: &[u8]) -> Result<(), OutOfMemory> {
        self.bytes.try_reserve(bytes.len()).map_err(|_| OutOfMemory)?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns `bytes`, a little-endian number, in the byte order of the file.
    fn in_order<const N: usize>(&self, mut bytes: [u8; N]) -> [u8; N] {
        if self.byte_order == ByteOrder::Big {
            bytes.reverse();
        }
        bytes
    }

    fn number<const N: usize>(&mut self, bytes: [u8; N]) -> Result<(), OutOfMemory> {
        self.raw(&self.in_order(bytes))
    }

    fn text(&mut self, text: &str) -> Result<(), OutOfMemory> {
        self.number(u64_from_usize(text.len()).to_le_bytes())?;
        self.raw(text.as_bytes())
    }

    fn chunks(&mut self, text: &Chunks<'_>) -> Result<(), OutOfMemory> {
        let length = text.pieces().fold(0, |sum: usize, piece| sum.saturating_add(piece.len()));
        self.number(u64_from_usize(length).to_le_bytes())?;
        text.pieces().try_for_each(|piece| self.raw(piece))
    }

    /// Appends zeros until the length of the header is a multiple of `alignment`, in bytes.
    fn pad(&mut self, alignment: u64) -> Result<(), OutOfMemory> {
        let length = u64_from_usize(self.bytes.len());
        let end = length.checked_next_multiple_of(alignment).ok_or(OutOfMemory)?;
        let end = usize::try_from(end).map_err(|_| OutOfMemory)?;
        let more = end.saturating_sub(self.bytes.len());
        self.bytes.try_reserve(more).map_err(|_| OutOfMemory)?;
        self.bytes.resize(end, 0);
        Ok(())
    }

    /// Appends the type and the value of `item`. `old` is the type of the old value that `item` replaces, and the type of the
    /// old value's elements if it is an array; `None` for a new key.
    fn value(&mut self, item: &Item<'_>, old: Option<(u32, Option<u32>)>) -> Result<(), Unfit> {
        let value = item.value();
        let Value::Array(array) = value else {
            let kind = match old {
                Some((kind, _)) => kind,
                None => type_of(&value)?,
            };
            self.number(kind.to_le_bytes())?;
            if self.scalar(&value, kind)? {
                return Ok(());
            }
            let (name, shown, quotes) = (name(kind), shown(&value), quotes(kind));
            return Err(Unfit::Value(format!("is {name} in the file, and {shown} is not{quotes}")));
        };
        let kind = match old {
            Some((value::ARRAY, Some(element))) => element,
            Some((kind, _)) => {
                return Err(Unfit::Value(format!("is {} in the file, and no array", name(kind))));
            }
            None => element_type_of(array.clone())?,
        };
        if kind == value::ARRAY {
            let sentence = "is an array of arrays in the file, which zten does not change";
            return Err(Unfit::Value(sentence.into()));
        }
        self.number(value::ARRAY.to_le_bytes())?;
        self.number(kind.to_le_bytes())?;
        self.number(u64_from_usize(array.clone().count()).to_le_bytes())?;
        for element in array {
            let element = element.value();
            if !self.scalar(&element, kind)? {
                let (name, shown, quotes) = (name(kind), shown(&element), quotes(kind));
                let sentence = format!(
                    "is an array in the file, of which each element is {name}, and {shown} is not{quotes}"
                );
                return Err(Unfit::Value(sentence));
            }
        }
        Ok(())
    }

    /// Appends `value` as the GGUF type with the number `kind`. Numbers are rounded to the nearest float if `kind` is a type of
    /// floats. Returns false, and appends nothing, if this type cannot hold the value. An array cannot be held by any type
    /// here, and `f32` holds finite numbers only.
    fn scalar(&mut self, value: &Value<'_>, kind: u32) -> Result<bool, OutOfMemory> {
        let integer = integer(value);
        /// Appends the integer `value` as the given integer type, if this type can hold it.
        macro_rules! integer {
            ($type:ty) => {
                match integer.and_then(|number| <$type>::try_from(number).ok()) {
                    Some(number) => self.number(number.to_le_bytes())?,
                    None => return Ok(false),
                }
            };
        }
        match (kind, value) {
            (value::U8, _) => integer!(u8),
            (value::I8, _) => integer!(i8),
            (value::U16, _) => integer!(u16),
            (value::I16, _) => integer!(i16),
            (value::U32, _) => integer!(u32),
            (value::I32, _) => integer!(i32),
            (value::U64, _) => integer!(u64),
            (value::I64, _) => integer!(i64),
            (value::F32, value) => match number(value).map(narrowed) {
                Some(number) if number.is_finite() => self.number(number.to_le_bytes())?,
                _ => return Ok(false),
            },
            (value::F64, value) => match number(value) {
                Some(number) => self.number(number.to_le_bytes())?,
                None => return Ok(false),
            },
            (value::BOOL, Value::Bool(own)) => self.raw(&[u8::from(*own)])?,
            (value::STRING, Value::Text(text)) => self.chunks(text)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Returns the end of the message about a value that is not of the type `kind`: the advice to put the value between
/// quotes if `kind` is the string type, and nothing otherwise.
fn quotes(kind: u32) -> &'static str {
    if kind == value::STRING { ": put the value between quotes" } else { "" }
}

/// Returns `value` as an integer if it is one, and `None` otherwise.
fn integer(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Uint(number) => Some((*number).into()),
        Value::Negative(below) => Some(!i128::from(*below)),
        _ => None,
    }
}

/// Returns `value` as the nearest double if it is a number, and `None` otherwise.
#[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "rounded to the nearest")]
fn number(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        value => integer(value).map(|number| number as f64),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::as_conversions,
    reason = "rounded to the nearest"
)]
fn narrowed(number: f64) -> f32 {
    number as f32
}

/// Returns the GGUF number of the type in which `value`, the value of a new key that is not an array, is written.
fn type_of(value: &Value<'_>) -> Result<u32, Unfit> {
    Ok(match value {
        Value::Text(_) => value::STRING,
        Value::Bool(_) => value::BOOL,
        Value::Float(number) if narrowed(*number).is_finite() => value::F32,
        Value::Float(_) => value::F64,
        Value::Uint(number) if u32::try_from(*number).is_ok() => value::U32,
        Value::Uint(_) => value::U64,
        Value::Negative(below) if *below < 1 << 31 => value::I32,
        Value::Negative(below) if i64::try_from(*below).is_ok() => value::I64,
        _ => {
            return Err(Unfit::Value(format!(
                "holds {}, which GGUF does not support",
                shown(value)
            )));
        }
    })
}

/// Returns the GGUF number of the element type in which `array`, the value of a new key, is written: one type for all elements.
/// Integers among floats are rounded to the nearest float. Fails for an empty array, an array in it, and elements without a
/// common type, such as texts and numbers.
fn element_type_of(array: Array<'_>) -> Result<u32, Unfit> {
    let mut kind = None;
    for element in array {
        let value = element.value();
        // Loaders read arrays of integers as `i32`, so this is the type of all integers that fit in it.
        let own = match integer(&value) {
            Some(number) if i32::try_from(number).is_ok() => value::I32,
            Some(number) if i64::try_from(number).is_ok() => value::I64,
            _ => type_of(&value)?,
        };
        kind = Some(match (kind, own) {
            (None, own) => own,
            (Some(kind), own) if kind == own => own,
            (Some(value::I32 | value::I64), value::I32 | value::I64) => value::I64,
            (Some(value::I32 | value::F32), value::I32 | value::F32) => value::F32,
            (Some(value::I32 | value::F32 | value::F64), value::I32 | value::F32 | value::F64) => {
                value::F64
            }
            _ => return Err(Unfit::Value("holds an array of values of several types".into())),
        });
    }
    kind.ok_or_else(|| Unfit::Value("holds an empty array, whose elements have no type".into()))
}

/// Returns the name of the GGUF value type with the number `kind` and its article, for messages: "a u8", "an i8".
fn name(kind: u32) -> &'static str {
    match kind {
        value::U8 => "a u8",
        value::I8 => "an i8",
        value::U16 => "a u16",
        value::I16 => "an i16",
        value::U32 => "a u32",
        value::I32 => "an i32",
        value::U64 => "a u64",
        value::I64 => "an i64",
        value::F32 => "an f32",
        value::F64 => "an f64",
        value::BOOL => "a bool",
        value::STRING => "a string",
        _ => "an array",
    }
}

/// Returns `value` as error messages show it: a number or text, shortened, or the kind of the value.
fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => match text.as_str() {
            Some(text) => escape::quoted(text),
            None => "a text".into(),
        },
        Value::Bool(own) => own.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Null => "null".into(),
        Value::Array(_) => "an array".into(),
        Value::Map(_) => "a map".into(),
        value => integer(value)
            .map_or_else(|| "a CBOR value that JSON does not have".into(), |own| own.to_string()),
    }
}
