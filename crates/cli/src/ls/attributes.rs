//! The attributes of a file.

use std::io::{self, Write};

use zten::attributes::Attributes;

use crate::diagnostic;
use crate::escape::Name;

/// Columns of a line, and of a value that has little room on it.
const LINE: usize = 80;
const VALUE: usize = 24;

/// Lists attributes, a line each, and an empty line behind them.
pub(super) fn list(out: &mut dyn Write, attributes: Attributes<'_>) -> io::Result<()> {
    let mut any = false;
    for (key, item) in attributes {
        let room = LINE.saturating_sub(Name(key).columns().saturating_add(3)).max(VALUE);
        // No character takes more columns than bytes; what is cut ends in one.
        let value = diagnostic::cut(&item, room.saturating_sub(1));
        writeln!(out, "{} = {value}", Name(key))?;
        any = true;
    }
    if any { writeln!(out) } else { Ok(()) }
}
