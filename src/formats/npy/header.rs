//! Parsing the Python literal that describes an array: a dictionary with three entries.

use alloc::vec::Vec;
use core::fmt;

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while};
use nom::character::complete::{char, digit1, multispace0};
use nom::combinator::{all_consuming, opt, value};
use nom::sequence::{delimited, terminated};
use nom::{IResult, Parser as _};

use crate::escape::Short;
use crate::formats::error::FormatError;
use crate::formats::limits::check_rank;
use crate::formats::rules::{DAMAGED, NUMPY_SCALAR, Rule};
use crate::limits::Limits;

use super::records::{self, Records};

/// The three entries of the dictionary in the header of a .npy file. The dictionary is spelled as a Python literal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Literal<'h> {
    /// The dtype of the elements.
    pub(super) descr: Descr<'h>,
    /// Whether the array is in column-major (Fortran) order.
    pub(super) columns_first: bool,
    /// The size of each dimension, outermost first.
    pub(super) shape: Vec<u64>,
}

/// The value of `descr`, the dtype in the header of a .npy file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Descr<'h> {
    /// The name of a dtype, such as `<f4`.
    Name(&'h str),
    /// The dtype of records, and the text that spells it.
    Records(Records, &'h str),
}

/// The result of a parser: the text that follows the parsed part of a header, and the parsed item.
pub(super) type Parse<'h, T> = IResult<&'h str, T>;

/// Parses `text`, the dictionary in the header of a .npy file with optional white space around it. `has_long` allows the suffix
/// `L` after a number: Python 2 wrote it in headers before version 3.0.
///
/// # Errors
/// `npy-header` if the text is no such dictionary, or has an unknown, duplicate or missing key; the limit on the number of
/// dimensions; out of memory.
pub(super) fn parse<'h>(
    text: &'h str,
    has_long: bool,
    limits: &'h Limits,
) -> Result<Literal<'h>, FormatError> {
    let (descr, columns_first, shape) = (None, None, None);
    let mut entries = Entries { descr, columns_first, shape, has_long, limits, fault: None };
    let read = all_consuming(delimited(multispace0, |rest| entries.read(rest), multispace0))
        .parse(text)
        .map(|_| ());
    match read {
        Ok(()) => entries.finish(),
        Err(error) => Err(entries.fault.unwrap_or_else(|| match error {
            nom::Err::Error(error) | nom::Err::Failure(error) => scalar(error.input)
                .unwrap_or_else(|| {
                    let rest = Short(error.input);
                    header_error(format_args!("invalid NumPy header at {rest}"))
                }),
            nom::Err::Incomplete(_) => {
                header_error("the NumPy header is cut off").advising(DAMAGED)
            }
        })),
    }
}

/// Returns the error for a header in which `rest`, the text that could not be parsed, begins with the `repr` of a NumPy
/// scalar, such as `np.int64(3)`. Returns `None` for any other text. Programs that format the shape themselves write such a
/// `repr` since NumPy 2.
fn scalar(rest: &str) -> Option<FormatError> {
    if !rest.starts_with("np.") && !rest.starts_with("numpy.") {
        return None;
    }
    let end = rest.find(')').map_or(rest.len(), |end| end.saturating_add(1));
    let scalar = Short(rest.get(..end)?);
    let sentence =
        format_args!("the NumPy header has {scalar} in place of a plain number, text or bool");
    Some(header_error(sentence).advising(NUMPY_SCALAR))
}

/// Creates an error of the rule `npy-header`.
fn header_error(sentence: impl fmt::Display) -> FormatError {
    FormatError::violation(Rule::NpyHeader, sentence)
}

/// A parser of the dictionary in the header of a .npy file, with the entries that have been parsed so far.
struct Entries<'h> {
    descr: Option<Descr<'h>>,
    columns_first: Option<bool>,
    shape: Option<Vec<u64>>,
    has_long: bool,
    limits: &'h Limits,
    /// The error for a dictionary that cannot be accepted although its syntax is right so far, such as one with an unknown key
    /// or too many dimensions, or the error for lack of memory; `None` if parsing failed because of the syntax, or did not
    /// fail.
    fault: Option<FormatError>,
}

impl<'h> Entries<'h> {
    /// Parses the dictionary at the start of `input` and keeps its entries. Returns the text that follows.
    fn read(&mut self, input: &'h str) -> IResult<&'h str, ()> {
        let (mut rest, _) = token('{').parse(input)?;
        loop {
            if let Ok((rest, _)) = char::<_, nom::error::Error<_>>('}').parse(rest) {
                return Ok((rest, ()));
            }
            let (after, key) = terminated(string, token(':')).parse(rest)?;
            let (after, again) = match key {
                "descr" => {
                    let (after, descr) = self.descr(after)?;
                    (after, self.descr.replace(descr).is_some())
                }
                "fortran_order" => {
                    let (after, order) = boolean(after)?;
                    (after, self.columns_first.replace(order).is_some())
                }
                "shape" => {
                    let (after, shape) = self.tuple(after)?;
                    (after, self.shape.replace(shape).is_some())
                }
                _ => {
                    let key = Short(key);
                    let sentence = format_args!("unknown key {key} in the NumPy header");
                    self.fault = Some(header_error(sentence));
                    return failed(rest);
                }
            };
            if again {
                let key = Short(key);
                self.fault =
                    Some(header_error(format_args!("duplicate key {key} in the NumPy header")));
                return failed(rest);
            }
            let (after, comma) =
                delimited(multispace0, opt(token(',')), multispace0).parse(after)?;
            if comma.is_none() && !after.starts_with('}') {
                return failed(after);
            }
            rest = after;
        }
    }

    /// Parses a dtype: its name, or the list of the fields of records.
    fn descr(&mut self, input: &'h str) -> Parse<'h, Descr<'h>> {
        if !input.starts_with('[') {
            let (after, name) = string(input)?;
            return Ok((after, Descr::Name(name)));
        }
        let (after, records) = records::parse(input, self.has_long)?;
        let length = input.len().saturating_sub(after.len());
        let text = input.get(..length).unwrap_or_default().trim_end();
        let Some(records) = records else {
            self.fault = Some(FormatError::memory());
            return failed(after);
        };
        if records.has_duplicates {
            self.fault = Some(header_error("two fields of the records have the same name"));
            return failed(after);
        }
        Ok((after, Descr::Records(records, text)))
    }

    /// Parses a shape: a tuple of numbers. A comma must follow a single number, since `(5)` is a number in Python.
    fn tuple(&mut self, input: &'h str) -> IResult<&'h str, Vec<u64>> {
        let mut numbers = Vec::new();
        let (mut rest, _) = terminated(char('('), multispace0).parse(input)?;
        loop {
            if let Ok((rest, _)) = char::<_, nom::error::Error<_>>(')').parse(rest) {
                return Ok((rest, numbers));
            }
            let (after, number) = number(rest, self.has_long)?;
            let (after, comma) =
                delimited(multispace0, opt(char(',')), multispace0).parse(after)?;
            if comma.is_none() && (numbers.is_empty() || !after.starts_with(')')) {
                return failed(after);
            }
            let room = match check_rank(numbers.len().saturating_add(1), self.limits, "the array") {
                Ok(()) => numbers.try_reserve(1).map_err(|_| FormatError::memory()),
                beyond => beyond,
            };
            if let Err(error) = room {
                self.fault = Some(error);
                return failed(after);
            }
            numbers.push(number);
            rest = after;
        }
    }

    /// Returns the three entries, or an error that names the first missing key.
    fn finish(self) -> Result<Literal<'h>, FormatError> {
        let missing = |key: &str| header_error(format_args!("the NumPy header lacks \"{key}\""));
        Ok(Literal {
            descr: self.descr.ok_or_else(|| missing("descr"))?,
            columns_first: self.columns_first.ok_or_else(|| missing("fortran_order"))?,
            shape: self.shape.ok_or_else(|| missing("shape"))?,
        })
    }
}

/// Returns a failure at the start of `input`, which no alternative parser can recover from.
pub(super) fn failed<T>(input: &str) -> IResult<&str, T> {
    Err(nom::Err::Failure(nom::error::Error::new(input, nom::error::ErrorKind::Verify)))
}

/// Returns a parser for the character `c` with optional white space around it.
pub(super) fn token<'h>(
    c: char,
) -> impl nom::Parser<&'h str, Output = char, Error = nom::error::Error<&'h str>> {
    delimited(multispace0, char(c), multispace0)
}

/// Parses a string in single or double quotes, without escapes.
fn string(input: &str) -> IResult<&str, &str> {
    let inside = |quote: char| take_while(move |c| c != quote && c != '\\' && c != '\n');
    let quoted = |quote: char| delimited(char(quote), inside(quote), char(quote));
    alt((quoted('\''), quoted('"'))).parse(input)
}

fn boolean(input: &str) -> IResult<&str, bool> {
    alt((value(true, tag("True")), value(false, tag("False")))).parse(input)
}

/// Parses a decimal number without leading zeros. `has_long` allows the suffix `L` of a long integer of Python 2.
pub(super) fn number(input: &str, has_long: bool) -> IResult<&str, u64> {
    let (rest, digits) = digit1(input)?;
    let rest = rest.strip_prefix('L').filter(|_| has_long).unwrap_or(rest);
    match digits.parse() {
        Ok(number) if digits == "0" || !digits.starts_with('0') => Ok((rest, number)),
        _ => failed(input),
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec;
    use std::sync::LazyLock;

    use crate::formats::tests::brief;

    use super::*;

    fn parse(text: &str, has_long: bool) -> Result<Literal<'_>, FormatError> {
        static LIMITS: LazyLock<Limits> = LazyLock::new(Limits::default);
        super::parse(text, has_long, &LIMITS)
    }

    fn shape(text: &str) -> Result<Vec<u64>, FormatError> {
        let literal = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {text}, }}\n");
        parse(&literal, true).map(|literal| literal.shape)
    }

    #[test]
    fn any_order_and_either_quotes() {
        let wanted = Literal { descr: Descr::Name("<f4"), columns_first: true, shape: vec![2, 3] };
        for text in [
            "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }          \n",
            "{\"shape\":(2,3),\"fortran_order\":True,\"descr\":\"<f4\"}",
            " { 'shape' : ( 2 , 3 , ) , 'descr' : '<f4' , 'fortran_order' : True , } ",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (2L, 3L)}\n",
        ] {
            assert_eq!(parse(text, true).unwrap(), wanted, "{text}");
        }
    }

    #[test]
    fn tuples() {
        assert!(shape("()").unwrap().is_empty());
        assert_eq!(shape("(0,)").unwrap(), [0]);
        assert_eq!(shape("(18446744073709551615,)").unwrap(), [u64::MAX]);
        for wrong in [
            "(5)",
            "5",
            "(,)",
            "(1,,2)",
            "(1 2)",
            "(-1,)",
            "(1.0,)",
            "(01,)",
            "(18446744073709551616,)",
            "[1, 2]",
            "(1, 2",
            "((1,),)",
            "(1,) + (2,)",
            "(1LL,)",
        ] {
            assert!(shape(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_not_a_header() {
        for (text, why) in [
            ("", "invalid NumPy header at "),
            ("{}", "lacks \"descr\""),
            ("{'descr': '<f4', 'shape': ()}", "lacks \"fortran_order\""),
            ("{'descr': '<f4', 'fortran_order': False}", "lacks \"shape\""),
            ("{'descr': '<f4', 'descr': '<f8'}", "duplicate key"),
            ("{'descr': '<f4', 'more': 1}", "unknown key"),
            ("{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': ()}", "invalid NumPy"),
            ("{'descr': [('a', '<f4'], 'fortran_order': False, 'shape': ()}", "invalid NumPy"),
            ("{'descr': '<f4' 'fortran_order': False, 'shape': ()}", "invalid NumPy header at "),
            ("{'descr': '<f4', 'fortran_order': false, 'shape': ()}", "invalid NumPy header at "),
            (
                "{'descr': '<\\x664', 'fortran_order': False, 'shape': ()}",
                "invalid NumPy header at ",
            ),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "invalid NumPy header at "),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (),,}", "invalid NumPy header at "),
        ] {
            let sentence = brief(&parse(text, true).unwrap_err().into());
            assert!(sentence.contains(why), "{text}: {sentence}");
        }
        // Only Python 2 wrote numbers with `L`, and it never wrote headers of version 3.0.
        let long = "{'descr': '<f4', 'fortran_order': True, 'shape': (2L, 3L)}";
        assert!(parse(long, true).is_ok());
        assert!(
            brief(&parse(long, false).unwrap_err().into()).contains("invalid NumPy header at ")
        );
    }
}
