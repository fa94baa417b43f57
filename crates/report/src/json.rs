//! A JSON writer that holds nothing: one value follows another onto the output.

use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::ser::Formatter;

use crate::escape::runs;

/// The version of what the documents of the command say: `docs/json.md`.
pub const SCHEMA: u32 = 1;

/// Writes a value as JSON in which no character is hidden, and floats have the digits that `Debug` gives them.
///
/// # Errors
/// Those of `out`, and of a value that fails to serialize.
pub fn to_writer(out: &mut dyn Write, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(out, Visible);
    Ok(value.serialize(&mut serializer)?)
}

/// Writes a document: a value on a line of its own.
///
/// # Errors
/// Those of [`to_writer`].
pub fn to_line(out: &mut dyn Write, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    to_writer(out, value)?;
    out.write_all(b"\n")
}

/// The version of the schema, as the first key of each document: `schema: Schema`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Schema;

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(SCHEMA)
    }
}

/// A list that is never held: a function that returns an iterator over its items.
#[derive(Clone, Copy, Debug)]
pub struct List<F>(pub F);

impl<F: Fn() -> I, I: IntoIterator<Item: Serialize>> Serialize for List<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0())
    }
}

/// Serializes an integer: a number where every reader of JSON has it exactly, else `{"$int": "…"}`.
///
/// # Errors
/// Those of the serializer.
pub fn integer<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    if *value <= EXACT {
        serializer.serialize_u64(*value)
    } else {
        alone("$int", &Text(value), serializer)
    }
}

/// Serializes an integer, or null.
///
/// # Errors
/// Those of the serializer.
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

/// A string, as something displays itself. It is never held.
#[derive(Clone, Copy, Debug)]
pub struct Text<T>(pub T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Serializes an object of one key, for what JSON has no word for.
pub(crate) fn alone<S: Serializer>(
    key: &str,
    value: &(impl Serialize + ?Sized),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(key, value)?;
    map.end()
}

/// The form of strings and floats.
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

/// Integers up to this, and those below zero, are exact as the doubles that most readers of JSON have.
const EXACT: u64 = (1 << 53) - 1;

/// A negative integer as CBOR has it: -1 - `below`, of which `i64` holds a half.
#[derive(Clone, Copy, Debug)]
pub struct Negative {
    /// How far it is below -1.
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

/// Writes JSON. Commas come by themselves; brackets and keys are the caller's to match.
pub struct Json<'w, W> {
    out: &'w mut W,
    /// Whether a value stands before the next one.
    comma: bool,
}

impl<'w, W: Write> Json<'w, W> {
    /// Writes one document.
    pub fn new(out: &'w mut W) -> Self {
        Self { out, comma: false }
    }

    /// Begins a document of the command: an object that says which version of the schema it is of.
    pub fn document(out: &'w mut W) -> io::Result<Self> {
        let mut json = Self::new(out);
        json.open('{')?;
        json.key("schema")?;
        json.plain(SCHEMA)?;
        Ok(json)
    }

    fn separate(&mut self) -> io::Result<()> {
        if self.comma {
            self.out.write_all(b",")?;
        }
        self.comma = true;
        Ok(())
    }

    /// Opens an array or an object: `[` or `{`.
    pub fn open(&mut self, bracket: char) -> io::Result<()> {
        self.separate()?;
        self.comma = false;
        write!(self.out, "{bracket}")
    }

    /// Closes it: `]` or `}`.
    pub fn close(&mut self, bracket: char) -> io::Result<()> {
        self.comma = true;
        write!(self.out, "{bracket}")
    }

    /// The key of what follows.
    pub fn key(&mut self, key: &str) -> io::Result<()> {
        self.string(key)?;
        self.colon()
    }

    /// Makes the string that has just been written the key of what follows.
    pub fn colon(&mut self) -> io::Result<()> {
        self.comma = false;
        self.out.write_all(b":")
    }

    /// A string.
    pub fn string(&mut self, text: &str) -> io::Result<()> {
        self.quoted(|out| escaped(out, text))
    }

    /// A string, as something displays itself. It is never held.
    pub fn display(&mut self, value: &dyn Display) -> io::Result<()> {
        self.quoted(|out| {
            let mut text = Pieces { out, failed: Ok(()) };
            // The only error is the one that is kept.
            let _ = write!(text, "{value}");
            text.failed
        })
    }

    /// A string that comes in pieces of UTF-8.
    pub fn pieces<'p>(&mut self, pieces: impl Iterator<Item = &'p [u8]>) -> io::Result<()> {
        self.quoted(|out| {
            for piece in pieces {
                // Checked when the manifest was opened: nothing is copied.
                escaped(out, &String::from_utf8_lossy(piece))?;
            }
            Ok(())
        })
    }

    /// A string of hexadecimal digits.
    pub fn hex<'p>(&mut self, pieces: impl Iterator<Item = &'p [u8]>) -> io::Result<()> {
        self.quoted(|out| {
            for byte in pieces.flatten() {
                write!(out, "{byte:02x}")?;
            }
            Ok(())
        })
    }

    fn quoted(&mut self, write: impl FnOnce(&mut W) -> io::Result<()>) -> io::Result<()> {
        self.separate()?;
        self.out.write_all(b"\"")?;
        write(self.out)?;
        self.out.write_all(b"\"")
    }

    /// A string, or null.
    pub fn string_or_null(&mut self, text: Option<&str>) -> io::Result<()> {
        match text {
            Some(text) => self.string(text),
            None => self.null(),
        }
    }

    /// A number or literal, as it displays itself.
    pub fn plain(&mut self, value: impl Display) -> io::Result<()> {
        self.separate()?;
        write!(self.out, "{value}")
    }

    /// A number, or null.
    pub fn number_or_null(&mut self, value: Option<u64>) -> io::Result<()> {
        match value {
            Some(value) => self.plain(value),
            None => self.null(),
        }
    }

    /// An array of integers.
    pub fn integers(&mut self, values: impl IntoIterator<Item = u64>) -> io::Result<()> {
        self.open('[')?;
        for value in values {
            self.integer(value)?;
        }
        self.close(']')
    }

    /// An integer: a number where every reader of JSON has it exactly, else `{"$int": "…"}`.
    pub fn integer(&mut self, value: u64) -> io::Result<()> {
        self.whole(value, value <= EXACT)
    }

    /// The same of a negative one.
    pub fn negative(&mut self, value: Negative) -> io::Result<()> {
        self.whole(value, value.below < EXACT)
    }

    fn whole(&mut self, value: impl Display, exact: bool) -> io::Result<()> {
        if exact {
            return self.plain(value);
        }
        self.open('{')?;
        self.key("$int")?;
        self.display(&value)?;
        self.close('}')
    }

    /// An integer, or null.
    pub fn integer_or_null(&mut self, value: Option<u64>) -> io::Result<()> {
        match value {
            Some(value) => self.integer(value),
            None => self.null(),
        }
    }

    /// A value that has been written already.
    pub fn written(&mut self, value: &[u8]) -> io::Result<()> {
        self.separate()?;
        self.out.write_all(value)
    }

    /// `null`.
    pub fn null(&mut self) -> io::Result<()> {
        self.plain("null")
    }

    /// Ends the document's line.
    pub fn line(self) -> io::Result<()> {
        self.out.write_all(b"\n")
    }
}

/// Text on its way into a string, and what the output has failed with.
struct Pieces<'w, W> {
    out: &'w mut W,
    failed: io::Result<()>,
}

impl<W: Write> fmt::Write for Pieces<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.failed = escaped(self.out, text);
        if self.failed.is_ok() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// What stands between the quotes of a string.
fn escaped<W: Write>(out: &mut W, text: &str) -> io::Result<()> {
    for (run, own) in runs(text) {
        out.write_all(run.as_bytes())?;
        match own {
            Some('"') => out.write_all(b"\\\"")?,
            Some('\\') => out.write_all(b"\\\\")?,
            Some('\n') => out.write_all(b"\\n")?,
            Some(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
            None => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back() {
        let text = "a\"\\\n\0\u{9b}\u{2028}ä重\u{1f600}\u{1d173}\u{e0041}";
        let mut out = Vec::new();
        let mut json = Json::new(&mut out);
        json.open('{').unwrap();
        json.key(text).unwrap();
        json.open('[').unwrap();
        json.string(text).unwrap();
        json.plain(u64::MAX).unwrap();
        json.open('[').unwrap();
        json.close(']').unwrap();
        json.string_or_null(None).unwrap();
        json.close(']').unwrap();
        json.key("b").unwrap();
        json.plain(true).unwrap();
        json.close('}').unwrap();
        json.line().unwrap();
        let shown = std::str::from_utf8(&out).unwrap();
        assert!(!shown.trim_end().contains(crate::escape::is_hidden), "{shown:?}");
        assert!(shown.contains("\\ud834\\udd73"), "{shown:?}");
        let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let wanted = serde_json::json!({ text: [text, u64::MAX, [], null], "b": true });
        assert_eq!(read, wanted);
    }
}
