//! A JSON writer that holds nothing: one value follows another onto the output.

use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};

use crate::escape::runs;

/// The version of what the documents of the command say: `docs/json.md`.
pub const SCHEMA: u32 = 1;

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
