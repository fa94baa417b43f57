//! A JSON writer that holds nothing: one value follows another onto the output.

use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};

use crate::escape::is_hidden;

/// The version of what the documents of the command say: `docs/json.md`.
pub const SCHEMA: u32 = 1;

/// Integers up to this, and those below zero, are exact as the doubles that most readers of JSON have.
const EXACT: u128 = (1 << 53) - 1;

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
            let mut text = Text { out, failed: Ok(()) };
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
            self.integer(value.into())?;
        }
        self.close(']')
    }

    /// An integer: a number where every reader of JSON has it exactly, else `{"$int": "…"}`.
    pub fn integer(&mut self, value: i128) -> io::Result<()> {
        if value.unsigned_abs() <= EXACT {
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
            Some(value) => self.integer(value.into()),
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
struct Text<'w, W> {
    out: &'w mut W,
    failed: io::Result<()>,
}

impl<W: Write> fmt::Write for Text<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.failed = escaped(self.out, text);
        if self.failed.is_ok() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// What is hidden is escaped beyond what JSON asks for, lest a terminal obeys it.
fn must_escape(c: char) -> bool {
    matches!(c, '"' | '\\') || is_hidden(c)
}

/// What stands between the quotes of a string.
fn escaped<W: Write>(out: &mut W, text: &str) -> io::Result<()> {
    let mut rest = text;
    while let Some(at) = rest.find(must_escape) {
        let (before, from) = rest.split_at(at);
        out.write_all(before.as_bytes())?;
        let mut chars = from.chars();
        match chars.next() {
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
        rest = chars.as_str();
    }
    out.write_all(rest.as_bytes())
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
        assert!(!shown.trim_end().contains(is_hidden), "{shown:?}");
        assert!(shown.contains("\\ud834\\udd73"), "{shown:?}");
        let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let wanted = serde_json::json!({ text: [text, u64::MAX, [], null], "b": true });
        assert_eq!(read, wanted);
    }
}
