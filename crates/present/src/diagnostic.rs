//! Attribute values: as CBOR diagnostic notation (RFC 8949 §8), and as JSON where it can say so.

use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::io;

use zten::{Chunks, Item, Map, Value};

use crate::escape;
use crate::json::Json;

/// A value in diagnostic notation, escaped, and cut after so many bytes.
pub fn cut(item: &Item<'_>, limit: usize) -> String {
    let mut text = Limited { text: String::new(), limit };
    // The only error is that the limit is reached.
    if notate(item, &mut text).is_err() {
        text.text.push('…');
    }
    text.text
}

/// A value in diagnostic notation, in full.
fn whole(item: &Item<'_>) -> String {
    cut(item, usize::MAX)
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

fn notate(item: &Item<'_>, out: &mut Limited) -> fmt::Result {
    match item.value() {
        Value::Uint(number) => write!(out, "{number}"),
        Value::Negative(below) => write!(out, "{}", -1 - i128::from(below)),
        Value::Bytes(chunks) => {
            out.write_str("h'")?;
            for byte in chunks.pieces().flatten() {
                write!(out, "{byte:02x}")?;
            }
            out.write_str("'")
        }
        Value::Text(chunks) => {
            out.write_str("\"")?;
            for piece in chunks.pieces() {
                for c in String::from_utf8_lossy(piece).chars() {
                    out.write_str(&escape::whole(c.encode_utf8(&mut [0; 4])))?;
                }
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
        Value::Float(float) if float.is_infinite() => {
            out.write_str(if float > 0.0 { "Infinity" } else { "-Infinity" })
        }
        Value::Float(float) => write!(out, "{float:?}"),
        Value::Simple(number) => write!(out, "simple({number})"),
        _ => out.write_str("undefined"),
    }
}

/// A value as JSON; what JSON has no word for as an object of one key, `$cbor`, and the
/// diagnostic notation.
pub fn json<W: io::Write>(item: &Item<'_>, out: &mut Json<'_, W>) -> io::Result<()> {
    match item.value() {
        Value::Uint(number) => out.plain(number),
        Value::Negative(below) => out.plain(-1 - i128::from(below)),
        Value::Text(chunks) => out.string(&text(&chunks)),
        Value::Array(array) => {
            out.open('[')?;
            for item in array {
                json(&item, out)?;
            }
            out.close(']')
        }
        Value::Map(map) if is_object(&map) => {
            out.open('{')?;
            for (key, value) in map {
                if let Value::Text(chunks) = key.value() {
                    out.key(&text(&chunks))?;
                    json(&value, out)?;
                }
            }
            out.close('}')
        }
        Value::Bool(value) => out.plain(value),
        Value::Null => out.null(),
        Value::Float(float) if float.is_finite() => out.plain(format_args!("{float:?}")),
        _ => {
            out.open('{')?;
            out.key("$cbor")?;
            out.string(&whole(item))?;
            out.close('}')
        }
    }
}

/// Whether all keys are texts, and stand there once.
fn is_object(map: &Map<'_>) -> bool {
    let mut seen = HashSet::new();
    map.clone().all(|(key, _)| match key.value() {
        Value::Text(chunks) => seen.insert(text(&chunks)),
        _ => false,
    })
}

/// A text, its chunks joined.
fn text(chunks: &Chunks<'_>) -> String {
    chunks.pieces().map(String::from_utf8_lossy).collect()
}
