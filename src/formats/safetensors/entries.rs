//! Parsing the entries of a safetensors header one by one.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::escape::Short;
use crate::formats::cbor::Map;
use crate::formats::error::FormatError;
use crate::formats::kind::FormatDType;
use crate::formats::limits::{too_many_dimensions, too_many_keys};
use crate::formats::rules::Rule;
use crate::limits::Limits;
use crate::num::{len_u32, u64_from_usize, usize_from_u32};

use super::dtype;
use super::fault::{Expected, Fault, Field, Input, Parsed, Why, fail};
use super::json::{self, Text};

/// The key of the header entry that holds the metadata, which is the only entry that does not describe a tensor.
pub(super) const METADATA: &str = "__metadata__";

/// A parser of a safetensors header that returns the entries of tensors one by one, in the order of the header, and collects
/// the metadata.
#[derive(Debug)]
pub(crate) struct Entries<'h> {
    limits: &'h Limits,
    /// The number of bytes of the file before the header.
    before: u64,
    /// The length in bytes of the whole header, whether it is UTF-8 or not.
    header: usize,
    /// The header up to the first byte that is not UTF-8. Parsing ends there.
    text: &'h str,
    rest: Input<'h>,
    is_first: bool,
    /// The position in the header of the name of the entry that is being parsed, which an error then names.
    name: Option<Text>,
    /// The name of the last tensor with its escapes decoded. It is used only if the name contains escapes.
    unescaped: String,
    dimensions: Dimensions,
    metadata: Option<Map>,
    /// The number of keys of the metadata. Keys beyond the limit `keys` are counted, for the error, but not stored.
    keys: u64,
}

/// The entry of a header that describes one tensor.
#[derive(Debug)]
pub(crate) struct TensorEntry<'e> {
    pub(crate) name: &'e str,
    pub(crate) kind: FormatDType,
    /// The size of each dimension, outermost first. The number of dimensions does not exceed the limit `rank`.
    pub(crate) shape: &'e [u64],
    /// The start and the end of the tensor's data in bytes, counted from the end of the header.
    pub(crate) data_offsets: (u64, u64),
    /// The offset in the header of the quote before the name.
    pub(crate) name_at: u32,
    /// The offset in the file of the bracket before the data offsets.
    pub(crate) data_offsets_at: u64,
}

/// A parsed entry of the header: the position of the tensor's name, the name with its escapes as the header spells it, and
/// the fields.
type Tensor<'h> = (Text, &'h str, Fields);

/// The fields of a tensor's entry in the header, except the sizes of its dimensions: the parser keeps those in
/// [`Dimensions`].
struct Fields {
    kind: FormatDType,
    data_offsets: (u64, u64),
    /// The position of the shape in the header, as the number of bytes from the shape to the end of the header.
    shape_left: usize,
    /// The position of the data offsets in the header, as the number of bytes from the data offsets to the end of the header.
    data_offsets_left: usize,
}

impl<'h> Entries<'h> {
    /// Creates a parser of `header`, which follows `before` bytes of its file. `header` has at most 100,000,000 bytes, as
    /// `header_end` has checked, so positions in it fit into 32 bits.
    pub(crate) fn new(
        header: &'h [u8],
        before: u64,
        limits: &'h Limits,
    ) -> Result<Self, FormatError> {
        let text = str::from_utf8(header).or_else(|error| {
            let valid = header.get(..error.valid_up_to()).unwrap_or_default();
            str::from_utf8(valid)
        });
        let text = text.unwrap_or_default();
        let Some(rest) = text.as_bytes().strip_prefix(b"{") else {
            let rule = Rule::SafetensorsHeaderStart;
            return Err(FormatError::violation_at(rule, rule.row().broken(), before));
        };
        Ok(Self {
            limits,
            before,
            header: header.len(),
            text,
            rest,
            is_first: true,
            name: None,
            unescaped: String::new(),
            dimensions: Dimensions::new(limits),
            metadata: None,
            keys: 0,
        })
    }

    /// Parses the next tensor. Returns `None` at the end of the header.
    pub(crate) fn next(&mut self) -> Result<Option<TensorEntry<'_>>, FormatError> {
        let (name, written, fields) = match self.tensor() {
            Ok(Some(tensor)) => tensor,
            Ok(None) => return Ok(None),
            Err(error) => return Err(self.format_error(&error)),
        };
        let Some(shape) = self.dimensions.all() else {
            return Err(self.format_error(&Fault::new(Why::Rank, fields.shape_left).into()));
        };
        Ok(Some(TensorEntry {
            name: if name.has_escapes { &self.unescaped } else { written },
            kind: fields.kind,
            shape,
            data_offsets: fields.data_offsets,
            name_at: len_u32(self.position(name.quote())),
            data_offsets_at: self.offset(fields.data_offsets_left),
        }))
    }

    /// Returns the entries of `__metadata__`; `None` if the header has no `__metadata__`. The caller must have parsed all
    /// tensors, because the metadata may be the last entry of the header.
    pub(crate) fn into_metadata(self) -> Option<Map> {
        self.metadata
    }

    /// Parses the entry of the next tensor. Returns `None` at the end of the header.
    #[inline]
    fn tensor(&mut self) -> Result<Option<Tensor<'h>>, nom::Err<Fault>> {
        match self.usual_tensor() {
            Some(tensor) => Ok(Some(tensor)),
            None => self.any_tensor(),
        }
    }

    /// Parses the next tensor if it has the form that most writers use: no white space, no escapes, and the fields in the order
    /// dtype, shape, `data_offsets`. Returns `None` for the first entry of the header, for the metadata, and for any other
    /// form, valid or not, which [`any_tensor`](Self::any_tensor) parses.
    #[inline]
    fn usual_tensor(&mut self) -> Option<Tensor<'h>> {
        let content = json::starts(self.rest, b",\"").filter(|_| !self.is_first)?;
        let (at, name) = json::plain_text(content)?;
        let written = written(self.text, name).ok().filter(|name| *name != METADATA)?;
        let at = json::starts(at, b":{\"dtype\":\"")?;
        let (at, kind) = dtype::quoted_kind(at)?;
        let shape = json::starts(at, b",\"shape\":")?;
        let at = self.dimensions.usual(json::starts(shape, b"[")?)?;
        let offsets = json::starts(at, b",\"data_offsets\":")?;
        let (at, begin) = json::digits(json::starts(offsets, b"[")?)?;
        let (at, end) = json::digits(json::starts(at, b",")?)?;
        self.rest = json::starts(at, b"]}")?;
        self.name = Some(name);
        let (shape_left, data_offsets_left) = (shape.len(), offsets.len());
        let fields = Fields { kind, data_offsets: (begin, end), shape_left, data_offsets_left };
        Some((name, written, fields))
    }

    /// Parses the entry of the next tensor in any valid form of JSON. If the metadata comes before it, parses and stores the
    /// metadata first. Returns `None` at the end of the header.
    #[inline(never)]
    fn any_tensor(&mut self) -> Result<Option<Tensor<'h>>, nom::Err<Fault>> {
        loop {
            self.name = None;
            let (rest, name) = json::next(self.rest, self.is_first, b'}', json::text)?;
            let Some(name) = name else { return self.end(rest) };
            self.is_first = false;
            self.name = Some(name);
            let written = written(self.text, name)?;
            let text = if name.has_escapes {
                unescape(written, name, &mut self.unescaped)?;
                &self.unescaped
            } else {
                written
            };
            if text == METADATA {
                (self.rest, ()) = self.read_metadata(name, rest)?;
                continue;
            }
            let (rest, fields) = self.fields(rest)?;
            self.rest = rest;
            return Ok(Some((name, written, fields)));
        }
    }

    /// Checks that only white space follows at `at`, after the brace that ends the header. Returns `None`, for the end of the
    /// tensors.
    fn end<O>(&self, at: Input<'h>) -> Result<Option<O>, nom::Err<Fault>> {
        let at = json::space(at);
        if at.is_empty() && self.is_whole() {
            return Ok(None);
        }
        Err(Fault::new(Why::Expected(Expected::Nothing), at.len()).into())
    }

    /// Returns whether the whole header is UTF-8. If it is not, `text` ends before the first invalid byte.
    fn is_whole(&self) -> bool {
        self.text.len() == self.header
    }

    /// Parses the fields of a tensor's entry in any order. `at` is the header from the end of the tensor's name on.
    fn fields(&mut self, at: Input<'h>) -> Parsed<'h, Fields> {
        let (at, ()) = json::byte(at, b':', Expected::Colon)?;
        let (mut at, ()) = json::byte(at, b'{', Expected::Entry)?;
        let (mut dtype, mut shape, mut data_offsets) = (None, None, None);
        let mut is_first = true;
        let mut unescaped = String::new();
        let end = loop {
            let (rest, key) = json::next(at, is_first, b'}', json::text)?;
            let Some(key) = key else {
                let brace = json::space(at);
                at = rest;
                break brace;
            };
            is_first = false;
            let field = Field::of(text(self.text, key, &mut unescaped)?);
            let field = field.ok_or_else(|| Fault::new(Why::UnknownField, key.quote()))?;
            let is_known = match field {
                Field::Dtype => dtype.is_some(),
                Field::Shape => shape.is_some(),
                Field::DataOffsets => data_offsets.is_some(),
            };
            if is_known {
                return Err(Fault::new(Why::DuplicateField, key.quote()).into());
            }
            let (value, ()) = json::byte(rest, b':', Expected::Colon)?;
            let value = json::space(value);
            at = match field {
                Field::Dtype => {
                    let (rest, read) = json::text(value)?;
                    dtype = Some(read);
                    rest
                }
                Field::Shape => {
                    let (rest, ()) = self.dimensions.read(value)?;
                    shape = Some(value.len());
                    rest
                }
                Field::DataOffsets => {
                    let (rest, read) = pair(value)?;
                    data_offsets = Some((read, value.len()));
                    rest
                }
            };
        };
        let missing = |field| Fault::new(Why::MissingField(field), end.len());
        let dtype = dtype.ok_or_else(|| missing(Field::Dtype))?;
        let shape_left = shape.ok_or_else(|| missing(Field::Shape))?;
        let (data_offsets, data_offsets_left) =
            data_offsets.ok_or_else(|| missing(Field::DataOffsets))?;
        let kind = dtype::kind(text(self.text, dtype, &mut unescaped)?);
        let kind = kind.ok_or_else(|| Fault::new(Why::Dtype, dtype.quote()))?;
        Ok((at, Fields { kind, data_offsets, shape_left, data_offsets_left }))
    }

    /// Parses the map of texts of the entry `__metadata__`, and stores it. `at` is the header from the end of that key on,
    /// and `name` the position of the key.
    fn read_metadata(&mut self, name: Text, at: Input<'h>) -> Parsed<'h, ()> {
        let (at, ()) = json::byte(at, b':', Expected::Colon)?;
        let start = json::space(at);
        let (mut at, ()) = json::byte(start, b'{', Expected::Metadata)?;
        let mut map = Map::default();
        let (mut keys, mut values) = (String::new(), String::new());
        self.keys = 0;
        loop {
            let (rest, key) = json::next(at, self.keys == 0, b'}', json::text)?;
            at = rest;
            let Some(key) = key else { break };
            let (rest, ()) = json::byte(at, b':', Expected::Colon)?;
            let (rest, value) = json::text(json::space(rest))?;
            at = rest;
            self.keys = self.keys.saturating_add(1);
            if self.keys <= self.limits.keys().into() {
                let value = text(self.text, value, &mut values)?;
                let key = text(self.text, key, &mut keys)?;
                let put = map.put(key, |out| Ok(out.text(value)?));
                put.map_err(|_| Fault::new(Why::Memory, start.len()))?;
            }
        }
        if self.keys > self.limits.keys().into() {
            return fail(Why::Keys, start);
        }
        if self.metadata.replace(map).is_some() {
            return Err(Fault::new(Why::DuplicateMetadata, name.quote()).into());
        }
        Ok((at, ()))
    }

    /// Converts a position in the header, given as the number of bytes from there to the end of the header, to an offset from
    /// the start of the header.
    #[inline]
    fn position(&self, left: usize) -> usize {
        self.text.len().saturating_sub(left)
    }

    /// Converts a position in the header, given as the number of bytes from there to the end of the header, to an offset from
    /// the start of the file.
    #[inline]
    fn offset(&self, left: usize) -> u64 {
        self.before.saturating_add(u64_from_usize(self.position(left)))
    }

    /// Adds the name of a tensor to `error`. `name_at` is the offset in the header of the quote before that name.
    #[cold]
    pub(crate) fn about(&self, error: FormatError, name_at: u32) -> FormatError {
        let at = self.text.get(usize_from_u32(name_at)..).unwrap_or_default();
        let mut unescaped = String::new();
        match json::text(at.as_bytes()).map(|(_, name)| text(at, name, &mut unescaped)) {
            Ok(Ok(name)) => error.about(name),
            Ok(Err(Fault { why: Why::Memory, .. })) => FormatError::memory(),
            _ => FormatError::internal("the header has no tensor name at the given offset"),
        }
    }

    /// Converts `error`, an error of the header parser, to the error of a rule, with its offset in the file and the name of
    /// the entry that is being parsed.
    #[cold]
    #[inline(never)]
    fn format_error(&self, error: &nom::Err<Fault>) -> FormatError {
        let fault = match error {
            nom::Err::Error(fault) | nom::Err::Failure(fault) => *fault,
            // The parsers work on complete input, so this case does not occur.
            nom::Err::Incomplete(_) => Fault::new(Why::End, 0),
        };
        let left = usize_from_u32(fault.left);
        let mut unescaped = String::new();
        let at = self.text.get(self.text.len().saturating_sub(left)..).unwrap_or_default();
        let error =
            match json::text(at.as_bytes()).map(|(_, found)| text(at, found, &mut unescaped)) {
                Ok(Ok(found)) => self.reason(fault.why, at, found),
                Ok(Err(Fault { why: Why::Memory, .. })) => return FormatError::memory(),
                _ => self.reason(fault.why, at, ""),
            };
        // An error at the end of the header points to its last byte.
        let is_end = left == 0 && self.is_whole();
        let error = error.or_at(self.offset(if is_end { 1 } else { left }));
        match self.name.map(|name| text(self.text, name, &mut unescaped)) {
            Some(Ok(name)) => error.about(name),
            Some(Err(Fault { why: Why::Memory, .. })) => FormatError::memory(),
            _ => error,
        }
    }

    /// Returns the error for the reason `why` at the start of `at`, the rest of the header. `found` is the unknown field or
    /// dtype, or the duplicate field; for other reasons it is not used.
    fn reason(&self, why: Why, at: &str, found: &str) -> FormatError {
        let found = Short(found);
        let json = |what: fmt::Arguments<'_>| {
            let sentence = format_args!("invalid header: {what}");
            FormatError::violation(Rule::SafetensorsJson, sentence)
        };
        match why {
            Why::End if !self.is_whole() => json(format_args!("text that is not UTF-8")),
            Why::End => json(format_args!("unexpected end")),
            Why::Expected(expected) => {
                let mut bytes = [0; 4];
                let found = at.chars().next().map(|found| &*found.encode_utf8(&mut bytes));
                let (expected, found) = (expected.description(), Short(found.unwrap_or_default()));
                json(format_args!("expected {expected}, found {found}"))
            }
            Why::Control => json(format_args!("unescaped control character in a string")),
            Why::Escape => json(format_args!("invalid escape in a string")),
            Why::Surrogate => json(format_args!("unpaired surrogate in a string")),
            Why::Utf8 => json(format_args!("string that is not UTF-8")),
            Why::UnknownField => json(format_args!("unknown field {found}")),
            Why::DuplicateField => json(format_args!("duplicate field {found}")),
            Why::MissingField(field) => json(format_args!("missing field `{}`", field.name())),
            Why::Dtype => {
                let sentence = format_args!("unsupported dtype {found}");
                FormatError::violation(Rule::SafetensorsDtype, sentence)
            }
            Why::Rank => too_many_dimensions(self.limits, "the shape"),
            Why::Keys => too_many_keys(self.keys, self.limits, "it"),
            Why::DuplicateMetadata => {
                FormatError::violation(Rule::SafetensorsDuplicateKey, "duplicate key")
            }
            Why::Memory => FormatError::memory(),
        }
    }
}

/// Returns the bytes of `string` in the header `whole`, between its quotes and with its escapes.
#[inline]
fn written(whole: &str, string: Text) -> Result<&str, Fault> {
    let start = whole.len().saturating_sub(string.left);
    let written = whole.get(start..start.saturating_add(string.length));
    written.ok_or_else(|| Fault::new(Why::Utf8, string.left))
}

/// Returns the decoded `string` of the header `whole`. A string with escapes is decoded into `unescaped`.
fn text<'t>(whole: &'t str, string: Text, unescaped: &'t mut String) -> Result<&'t str, Fault> {
    let written = written(whole, string)?;
    if !string.has_escapes {
        return Ok(written);
    }
    unescape(written, string, unescaped)?;
    Ok(unescaped)
}

/// Replaces `unescaped` by the string `written` with its escapes decoded. `string` is the position of the string, for an
/// error.
#[cold]
fn unescape(written: &str, string: Text, unescaped: &mut String) -> Result<(), Fault> {
    unescaped.clear();
    json::unescape(written, unescaped).map_err(|why| Fault::new(why, string.left))
}

/// Parses an array of two unsigned integers, such as `data_offsets`.
fn pair(at: Input<'_>) -> Parsed<'_, (u64, u64)> {
    let (at, ()) = json::byte(at, b'[', Expected::Offsets)?;
    let (at, begin) = json::number(json::space(at))?;
    let (at, ()) = json::byte(at, b',', Expected::Comma)?;
    let (at, end) = json::number(json::space(at))?;
    let (at, ()) = json::byte(at, b']', Expected::OffsetsEnd)?;
    Ok((at, (begin, end)))
}

/// The sizes of the dimensions of the tensor that is being parsed. Dimensions beyond the limit `rank` are counted but not
/// stored.
#[derive(Debug)]
struct Dimensions {
    numbers: Vec<u64>,
    /// The number of dimensions, including those that are not stored.
    rank: usize,
    limit: usize,
}

impl Dimensions {
    fn new(limits: &Limits) -> Self {
        Self { numbers: Vec::new(), rank: 0, limit: usize_from_u32(limits.rank()) }
    }

    /// Returns the sizes of all dimensions, outermost first; `None` if the number of dimensions exceeds the limit `rank`.
    fn all(&self) -> Option<&[u64]> {
        self.numbers.get(..self.rank)
    }

    /// Replaces the stored dimensions by those of the JSON array at `at`, in any form.
    fn read<'h>(&mut self, at: Input<'h>) -> Parsed<'h, ()> {
        let (mut at, ()) = json::byte(at, b'[', Expected::Shape)?;
        self.rank = 0;
        loop {
            let (rest, number) = json::next(at, self.rank == 0, b']', json::number)?;
            let Some(number) = number else { return Ok((rest, ())) };
            if self.push(number).is_none() {
                return fail(Why::Memory, at);
            }
            at = rest;
        }
    }

    /// Parses the dimensions of a JSON array without white space. `at` is the header after the opening bracket. Returns
    /// `None` for an array in any other form, valid or not.
    #[inline]
    fn usual<'h>(&mut self, mut at: Input<'h>) -> Option<Input<'h>> {
        self.rank = 0;
        if let Some(rest) = json::starts(at, b"]") {
            return Some(rest);
        }
        loop {
            let (rest, number) = json::digits(at)?;
            self.push(number)?;
            match rest {
                [b',', rest @ ..] => at = rest,
                [b']', rest @ ..] => return Some(rest),
                _ => return None,
            }
        }
    }

    /// Counts a dimension, and stores it if the number of dimensions is within the limit. Returns `None` if memory is out.
    #[inline]
    fn push(&mut self, number: u64) -> Option<()> {
        match self.numbers.get_mut(self.rank) {
            Some(stored) => *stored = number,
            None if self.rank < self.limit => self.store(number)?,
            None => {}
        }
        self.rank = self.rank.saturating_add(1);
        Some(())
    }

    #[cold]
    #[inline(never)]
    fn store(&mut self, number: u64) -> Option<()> {
        self.numbers.try_reserve(1).ok()?;
        self.numbers.push(number);
        Some(())
    }
}
