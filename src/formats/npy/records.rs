//! Parsing the dtype of records: a Python list of tuples, each the name of a field, its dtype, and perhaps the shape of an
//! array in the field.

use alloc::string::String;
use alloc::vec::Vec;

use nom::Parser as _;
use nom::branch::alt;
use nom::bytes::complete::take_while;
use nom::character::complete::{anychar, char};
use nom::combinator::{opt, recognize};
use nom::multi::many0_count;
use nom::sequence::{delimited, preceded, terminated};

use crate::num::sort_by;

use super::header::{Parse, failed, number, token};
use super::types::{Number, Type};
use crate::formats::error::copied;

/// The largest number of fields of an array of records that become tensors of their own. Further fields do not.
const FIELDS: usize = 256;

/// The parsed dtype of an array of records (a structured dtype of NumPy).
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Records {
    /// The size of a record in bytes; `None` if the size of one of its fields is not known, or the sum exceeds 64 bits.
    pub(super) size: Option<u64>,
    /// Whether two fields have the same name. Fields of nested records and fields without a name are not compared.
    pub(super) has_duplicates: bool,
    /// Whether some field, also one of a nested record, holds Python objects.
    pub(super) has_objects: bool,
    /// The fields that can become tensors, in the order of the dtype and at most [`FIELDS`]: fields of numbers or bools that have a
    /// known offset and a name without a backslash or bracket. Fields of nested records are not among them.
    pub(super) fields: Vec<NumberField>,
}

/// A field of records that holds a number or bool, or an array of numbers or bools.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NumberField {
    /// The name of the field, as the header spells it.
    pub(super) name: String,
    /// The type and byte order of the numbers or bools.
    pub(super) number: Number,
    /// The number of bytes from the start of a record to this field.
    pub(super) offset: u64,
    /// The shape of the array in the field; empty for a single number.
    pub(super) shape: Vec<u64>,
}

/// The progress of parsing one list of fields, whose closing bracket has not been reached yet.
#[derive(Default)]
struct OpenList<'h> {
    /// The total size in bytes of the fields that have been parsed, which is also the offset of the next field in the
    /// record; `None` if the size of one of these fields is not known, or the total exceeds 64 bits.
    size: Option<u64>,
    /// The name of the field that was parsed last, or whose dtype is being parsed; empty before the first field.
    name: &'h str,
}

/// Parses a list of fields. The dtype of a field may itself be a list of fields, to any depth, so the lists that have begun are
/// kept in a vector instead of recursing. `has_long` allows the suffix `L` after a number. The parsed item is `None` if memory
/// runs out.
pub(super) fn parse(input: &str, has_long: bool) -> Parse<'_, Option<Records>> {
    let mut records = Records::default();
    let mut open: Vec<OpenList<'_>> = Vec::new();
    let mut list = OpenList { size: Some(0), name: "" };
    let mut names = Vec::new();
    let (mut rest, _) = token('[').parse(input)?;
    loop {
        let (after, end) = opt(token(']')).parse(rest)?;
        rest = after;
        // The size in bytes of the dtype of the current field, and the type of its elements if they are numbers or bools.
        let (size, number) = if end.is_some() {
            let Some(outer) = open.pop() else {
                records.size = list.size;
                sort_by(&mut names, Ord::cmp);
                records.has_duplicates =
                    names.windows(2).any(|pair| matches!(pair, [one, other] if one == other));
                return Ok((rest, Some(records)));
            };
            let size = core::mem::replace(&mut list, outer).size;
            (size, None)
        } else {
            let (after, name) = preceded(token('('), name).parse(rest)?;
            let (after, _) = token(',').parse(after)?;
            list.name = name;
            // A field without a name is padding.
            if open.is_empty() && !name.is_empty() {
                if names.try_reserve(1).is_err() {
                    return Ok((after, None));
                }
                names.push(name);
            }
            if let (after, Some(_)) = opt(token('[')).parse(after)? {
                if open.try_reserve(1).is_err() {
                    return Ok((after, None));
                }
                let outer = core::mem::replace(&mut list, OpenList { size: Some(0), name: "" });
                open.push(outer);
                rest = after;
                continue;
            }
            let (after, descr) = string(after)?;
            rest = after;
            match Type::parse(descr) {
                Type::Known(number) => (Some(number.width()), Some(number)),
                Type::Opaque(size) => (Some(size), None),
                Type::Objects => {
                    records.has_objects = true;
                    (None, None)
                }
                Type::Unknown => (None, None),
            }
        };
        let (after, shape) = opt(preceded(token(','), |rest| tuple(rest, has_long))).parse(rest)?;
        let Some(shape) = shape.unwrap_or(Some(Vec::new())) else { return Ok((after, None)) };
        // A comma may follow the last item.
        let (after, _) = terminated(opt(token(',')), token(')')).parse(after)?;
        let (after, comma) = opt(token(',')).parse(after)?;
        if comma.is_none() && !after.starts_with(']') {
            return failed(after);
        }
        rest = after;
        let factor = shape.iter().try_fold(1_u64, |product, next| product.checked_mul(*next));
        let bytes = size.zip(factor).and_then(|(size, factor)| size.checked_mul(factor));
        let offset = list.size;
        list.size = offset.zip(bytes).and_then(|(offset, bytes)| offset.checked_add(bytes));
        let is_plain = !list.name.is_empty() && !list.name.contains(['\\', '[', ']']);
        if let (Some(number), Some(offset), true) = (number, offset, open.is_empty() && is_plain) {
            if records.fields.len() >= FIELDS {
                continue;
            }
            if records.fields.try_reserve(1).is_err() {
                return Ok((rest, None));
            }
            let Ok(name) = copied(list.name) else { return Ok((rest, None)) };
            records.fields.push(NumberField { name, number, offset, shape });
        }
    }
}

/// Parses the name of a field, or a tuple of the field's title and name, and returns the name as it is spelled.
fn name(input: &str) -> Parse<'_, &str> {
    let titled = delimited(token('('), preceded((string, token(',')), string), token(')'));
    alt((string, titled)).parse(input)
}

/// Parses a string in single or double quotes, and returns the text between them as it is spelled, with its escapes.
fn string(input: &str) -> Parse<'_, &str> {
    let inside = |quote: char| {
        let plain = take_while(move |c| c != quote && c != '\\' && c != '\n');
        let escape = preceded(char('\\'), anychar);
        recognize((
            plain,
            many0_count((escape, take_while(move |c| c != quote && c != '\\' && c != '\n'))),
        ))
    };
    let quoted = |quote: char| delimited(char(quote), inside(quote), char(quote));
    alt((quoted('\''), quoted('"'))).parse(input)
}

/// Parses the shape of the array in a field: a tuple of numbers, or one number. The parsed item is `None` if memory
/// runs out.
fn tuple(input: &str, has_long: bool) -> Parse<'_, Option<Vec<u64>>> {
    let mut numbers = Vec::new();
    let (mut rest, begins) = opt(token('(')).parse(input)?;
    loop {
        if begins.is_some()
            && let (after, Some(_)) = opt(token(')')).parse(rest)?
        {
            return Ok((after, Some(numbers)));
        }
        let (after, next) = number(rest, has_long)?;
        if numbers.try_reserve(1).is_err() {
            return Ok((after, None));
        }
        numbers.push(next);
        if begins.is_none() {
            return Ok((after, Some(numbers)));
        }
        let (after, comma) = opt(token(',')).parse(after)?;
        if comma.is_none() && !after.trim_start().starts_with(')') {
            return failed(after);
        }
        rest = after;
    }
}
