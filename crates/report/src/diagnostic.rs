//! Attribute values as CBOR diagnostic notation (RFC 8949 §8), which is for people.

use std::fmt::{self, Write as _};

use zten::attributes::{Item, Value};

use crate::escape::{Escaped, is_hidden};
use crate::json::Negative;
use crate::value::{ONE_NAN, nan};

/// A value in diagnostic notation, escaped, and cut after so many bytes.
pub fn cut(item: &Item<'_>, limit: usize) -> String {
    let mut text = Limited { text: String::new(), limit };
    // The only error is that the limit is reached.
    if notate(item, &mut text).is_err() {
        text.text.push('…');
    }
    text.text
}

/// Text that takes no more than so many bytes.
struct Limited {
    text: String,
    limit: usize,
}

impl fmt::Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if self.text.len().saturating_add(c.len_utf8()) > self.limit {
                return Err(fmt::Error);
            }
            self.text.push(c);
        }
        Ok(())
    }
}

/// Returns whether a text has double quotes, no single ones, and nothing that needs an escape but those and backslashes.
fn is_raw<'p>(pieces: impl Iterator<Item = &'p [u8]>) -> bool {
    let mut has_quotes = false;
    for piece in pieces {
        let Ok(text) = str::from_utf8(piece) else { return false };
        if text.contains(|c| c == '\'' || is_hidden(c)) {
            return false;
        }
        has_quotes |= text.contains('"');
    }
    has_quotes
}

fn notate(item: &Item<'_>, out: &mut Limited) -> fmt::Result {
    match item.value() {
        Value::Uint(number) => write!(out, "{number}"),
        Value::Negative(below) => write!(out, "{}", Negative { below }),
        Value::Bytes(chunks) => {
            out.write_str("h'")?;
            for byte in chunks.pieces().flatten() {
                write!(out, "{byte:02x}")?;
            }
            out.write_str("'")
        }
        // Text with quotes in it, such as JSON, stands as it is between single quotes: no character of it is escaped then.
        Value::Text(chunks) if is_raw(chunks.pieces()) => {
            out.write_str("'")?;
            for piece in chunks.pieces() {
                out.write_str(&String::from_utf8_lossy(piece))?;
            }
            out.write_str("'")
        }
        Value::Text(chunks) => {
            out.write_str("\"")?;
            for piece in chunks.pieces() {
                write!(out, "{}", Escaped(&String::from_utf8_lossy(piece)))?;
            }
            out.write_str("\"")
        }
        Value::Array(array) => {
            let mut before = "[";
            for item in array {
                out.write_str(before)?;
                notate(&item, out)?;
                before = ", ";
            }
            out.write_str(if before == "[" { "[]" } else { "]" })
        }
        Value::Map(map) => {
            let mut before = "{";
            for (key, value) in map {
                out.write_str(before)?;
                notate(&key, out)?;
                out.write_str(": ")?;
                notate(&value, out)?;
                before = ", ";
            }
            out.write_str(if before == "{" { "{}" } else { "}" })
        }
        Value::Tag(tag, item) => {
            write!(out, "{tag}(")?;
            notate(&item, out)?;
            out.write_str(")")
        }
        Value::Bool(value) => write!(out, "{value}"),
        Value::Null => out.write_str("null"),
        Value::Float(float) if float.is_nan() => match nan(item.as_bytes()) {
            ONE_NAN => out.write_str("NaN"),
            bits => write!(out, "float'{bits:016x}'"),
        },
        Value::Float(float) if float.is_infinite() => {
            out.write_str(if float > 0.0 { "Infinity" } else { "-Infinity" })
        }
        Value::Float(float) => write!(out, "{float:?}"),
        Value::Simple(number) => write!(out, "simple({number})"),
        _ => out.write_str("undefined"),
    }
}
