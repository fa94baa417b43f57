//! The list of the attributes of a file, and single values.

use std::io::{self, Write};

use zten::attributes::{Attributes, Value};

use crate::args::nearest::no_attribute;
use crate::diagnostic;
use crate::escape::{self, Name};
use crate::json::to_line;
use crate::output::progress;
use crate::value::Json;

/// The number of terminal columns of a line, into which a value is cut to fit.
const LINE: usize = 80;
/// The smallest number of terminal columns that a value gets, even after a long key.
const VALUE: usize = 24;

/// Prints one line for each attribute, followed by an empty line if there are any.
pub(super) fn list(out: &mut dyn Write, attributes: Attributes<'_>) -> io::Result<()> {
    let mut any = false;
    for (key, item) in attributes {
        let room = LINE.saturating_sub(Name(key).columns().saturating_add(3)).max(VALUE);
        // No character takes more columns than bytes, and the ellipsis of a cut value takes one column.
        let value = diagnostic::cut(&item, room.saturating_sub(1));
        writeln!(out, "{} = {value}", Name(key))?;
        any = true;
    }
    if any { writeln!(out) } else { Ok(()) }
}

/// Prints the value of the attribute `key`. A value that is not text is printed as a line of JSON. A text that goes to a file or a
/// program is printed as it is, without a newline of ours, so that the bytes are those of the value. On a terminal, hidden
/// characters except newlines and tabs are escaped, because a file could use them to move the cursor and overwrite what the
/// terminal shows.
///
/// Returns a message if the file has no such attribute.
pub(super) fn value(
    out: &mut dyn Write,
    attributes: Attributes<'_>,
    key: &str,
) -> io::Result<Result<(), String>> {
    let Some((_, item)) = attributes.clone().find(|(own, _)| *own == key) else {
        return Ok(Err(no_attribute(key, attributes.map(|(own, _)| own))));
    };
    let Value::Text(text) = item.value() else { return to_line(out, &Json(item)).map(Ok) };
    if !progress::output_is_terminal() {
        return text.pieces().try_for_each(|piece| out.write_all(piece)).map(Ok);
    }
    for piece in text.pieces() {
        for c in String::from_utf8_lossy(piece).chars() {
            if matches!(c, '\n' | '\t') || !escape::is_hidden(c) {
                write!(out, "{c}")?;
            } else {
                write!(out, "{}", c.escape_unicode())?;
            }
        }
    }
    // The prompt of a shell begins on a line of its own.
    writeln!(out).map(Ok)
}
