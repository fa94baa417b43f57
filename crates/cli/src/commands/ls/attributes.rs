//! The list of the attributes of a file.

use std::io::{self, Write};

use zten::attributes::Attributes;

use crate::diagnostic;
use crate::escape::Name;

/// Columns of a line, and the smallest width of a value after a long key.
const LINE: usize = 80;
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
