//! Attribute values in CBOR diagnostic notation (RFC 8949 §8), for people to read.

use std::fmt::{self, Write as _};

use zten::attributes::{Item, Value};

use zten::escape::{Escaped, is_hidden};
use zten::json::Negative;
use zten::json::value::{ONE_NAN, nan};

/// Returns the value `item` in the diagnostic notation of CBOR, with hidden characters escaped. If the notation has more than
/// `limit` bytes, it is cut to at most `limit` bytes, and an ellipsis is appended.
pub fn cut(item: &Item<'_>, limit: usize) -> String {
    let mut text = Limited { text: String::new(), limit };
    // Writing fails only if the limit is reached.
    if notate(item, &mut text).is_err() {
        text.text.push('…');
    }
    text.text
}

/// A text that is written up to `limit` bytes, after which writing fails.
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

/// Returns whether the text that consists of `pieces` is printed between single quotes without escapes. It is if the text has
/// double quotes, but no single quotes and no hidden characters. Backslashes are allowed.
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

/// Appends the value `item` in diagnostic notation to `out`. Fails if `out` has reached its limit.
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
        // A text with double quotes, such as JSON, is more readable between single quotes without escapes.
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
