//! JSON output of anything that `serde` serializes. Values are streamed to the output without being kept in memory.

pub mod value;

use core::fmt::{self, Display};
use std::io::{self, Write};

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::ser::{CharEscape, Formatter};

#[cfg(doc)]
use crate::escape::Escaped;
use crate::escape::runs;

/// The version of the schema of JSON documents: see `docs/json.md`.
pub const SCHEMA: u32 = 2;

/// Writes a value as JSON. Hidden characters are escaped, and floats have the digits that `Debug` gives them.
///
/// # Errors
/// The output fails, or the value fails to serialize.
pub fn to_writer(out: &mut dyn Write, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    Ok(value.serialize(&mut serializer(out))?)
}

/// Returns the serializer of [`to_writer`].
pub fn serializer(out: &mut dyn Write) -> serde_json::Serializer<&mut dyn Write, impl Formatter> {
    serde_json::Serializer::with_formatter(out, Visible)
}

/// Writes a document: a value on a line of its own.
///
/// # Errors
/// The same as of [`to_writer`].
pub fn to_line(out: &mut dyn Write, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    to_writer(out, value)?;
    out.write_all(b"\n")
}

/// Writes a value as [`to_writer`] does, with each string in [`Escaped`] form, as in text output.
///
/// # Errors
/// The same as of [`to_writer`].
pub fn to_shown(out: &mut dyn Write, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(out, Shown);
    Ok(value.serialize(&mut serializer)?)
}

/// The version of the schema, as the first key of each document: `schema: Schema`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Schema;

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(SCHEMA)
    }
}

/// A list that is serialized without being kept in memory: a function that returns an iterator over its items.
#[derive(Clone, Copy, Debug)]
pub struct List<F>(pub F);

impl<F: Fn() -> I, I: IntoIterator<Item: Serialize>> Serialize for List<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0())
    }
}

/// Serializes an integer: as a number if every JSON reader represents it exactly, and as `{"$int": "…"}` otherwise.
///
/// # Errors
/// The serializer fails.
pub fn integer<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    if *value <= EXACT {
        serializer.serialize_u64(*value)
    } else {
        single_key("$int", &Text(value), serializer)
    }
}

/// Serializes an integer, or null.
///
/// # Errors
/// The serializer fails.
pub fn integer_or_null<S: Serializer>(
    value: &Option<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => integer(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// An integer, as [`integer`] writes it.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct Integer(#[serde(serialize_with = "integer")] pub u64);

/// A string that is the `Display` output of a value. It is streamed without being kept in memory.
#[derive(Clone, Copy, Debug)]
pub struct Text<T>(pub T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Serializes an object with one key, for a value that JSON cannot express.
pub(crate) fn single_key<S: Serializer>(
    key: &str,
    value: &(impl Serialize + ?Sized),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(key, value)?;
    map.end()
}

/// The formatter of [`to_writer`] for strings and floats.
#[derive(Clone, Copy, Debug)]
struct Visible;

impl Formatter for Visible {
    fn write_f32<W: ?Sized + Write>(&mut self, out: &mut W, value: f32) -> io::Result<()> {
        write!(out, "{value:?}")
    }

    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        write!(out, "{value:?}")
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // Quotes, backslashes and ASCII control characters do not come here.
        for (run, hidden) in runs(fragment) {
            out.write_all(run.as_bytes())?;
            if let Some(c) = hidden {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

/// The formatter of [`to_shown`] for strings.
#[derive(Clone, Copy, Debug)]
struct Shown;

impl Formatter for Shown {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        Visible.write_f64(out, value)
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        for (run, hidden) in runs(fragment) {
            out.write_all(run.as_bytes())?;
            hidden.map_or(Ok(()), |c| write!(out, "\\{}", c.escape_unicode()))?;
        }
        Ok(())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        let byte = match escape {
            CharEscape::Quote => b'"',
            CharEscape::ReverseSolidus => b'\\',
            CharEscape::Solidus => b'/',
            CharEscape::Backspace => 0x08,
            CharEscape::FormFeed => 0x0c,
            CharEscape::LineFeed => b'\n',
            CharEscape::CarriageReturn => b'\r',
            CharEscape::Tab => b'\t',
            CharEscape::AsciiControl(byte) => byte,
        };
        write!(out, "\\{}", char::from(byte).escape_unicode())
    }
}

/// The largest magnitude up to which all integers are exact as doubles, which most JSON readers use for numbers.
pub(crate) const EXACT: u64 = (1 << 53) - 1;

/// A negative integer in the form of CBOR: −1 − `below`. `i64` holds only half of these integers.
#[derive(Clone, Copy, Debug)]
pub struct Negative {
    /// The distance from -1.
    pub below: u64,
}

impl Display for Negative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.below.checked_add(1) {
            Some(size) => write!(f, "-{size}"),
            None => f.write_str("-18446744073709551616"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::String;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn reads_back() {
        let text = "a\"\\\n\0\t\u{7f}\u{9b}\u{2028}ä重\u{1f600}\u{1d173}\u{e0041}";
        let value = serde_json::json!({ text: [text, u64::MAX, [], null, 1.0, 1e300], "b": {} });
        let mut out = Vec::new();
        to_line(&mut out, &value).unwrap();
        to_line(&mut out, &Text(text)).unwrap();
        let shown = std::str::from_utf8(&out).unwrap();
        assert!(shown.contains("\\ud834\\udd73") && shown.contains("1.0,1e300"), "{shown:?}");
        for (line, wanted) in shown.lines().zip([&value, &text.into()]) {
            assert!(!line.contains(crate::escape::is_hidden), "{line:?}");
            assert_eq!(&serde_json::from_str::<serde_json::Value>(line).unwrap(), wanted);
        }
    }

    #[test]
    fn strings_are_shown_as_names_are() {
        let text = "a\"\\\n\0\u{8}\t\u{c}\r\u{7f}/\u{2028}ä重\u{1d173}";
        let mut out = Vec::new();
        to_shown(&mut out, text).unwrap();
        let shown: String = serde_json::from_slice(&out).unwrap();
        assert_eq!(shown, crate::escape::escape_all(text));
    }

    #[test]
    fn integers_are_exact() {
        let line = |value: u64| serde_json::to_string(&Integer(value)).unwrap();
        assert_eq!(line((1 << 53) - 1), "9007199254740991");
        assert_eq!(line(1 << 53), r#"{"$int":"9007199254740992"}"#);
    }

    #[test]
    fn an_output_that_fails_fails_with_its_error() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let error = to_line(&mut Full, &List(|| [Text("a")])).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
