//! A JSON writer that holds nothing: one value follows another onto the output.

use std::fmt::Display;
use std::io::{self, Write};

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
        self.comma = false;
        self.out.write_all(b":")
    }

    /// A string.
    pub fn string(&mut self, text: &str) -> io::Result<()> {
        self.separate()?;
        self.out.write_all(b"\"")?;
        let mut rest = text;
        while let Some(at) = rest.find(must_escape) {
            let (before, from) = rest.split_at(at);
            self.out.write_all(before.as_bytes())?;
            let mut chars = from.chars();
            match chars.next() {
                Some('"') => self.out.write_all(b"\\\"")?,
                Some('\\') => self.out.write_all(b"\\\\")?,
                Some('\n') => self.out.write_all(b"\\n")?,
                Some(c) => write!(self.out, "\\u{:04x}", u32::from(c))?,
                None => {}
            }
            rest = chars.as_str();
        }
        self.out.write_all(rest.as_bytes())?;
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

    /// `null`.
    pub fn null(&mut self) -> io::Result<()> {
        self.plain("null")
    }

    /// Ends the document's line.
    pub fn line(self) -> io::Result<()> {
        self.out.write_all(b"\n")
    }
}

/// Control characters are escaped beyond what JSON asks for, lest a terminal obeys them.
fn must_escape(c: char) -> bool {
    c.is_control() || matches!(c, '"' | '\\' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back() {
        let text = "a\"\\\n\0\u{9b}\u{2028}ä重\u{1f600}";
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
        let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let wanted = serde_json::json!({ text: [text, u64::MAX, [], null], "b": true });
        assert_eq!(read, wanted);
    }
}
