//! The attributes of a file.

use std::io::{self, Write as _};

use zten::attributes::Attributes;

use crate::app::App;
use crate::diagnostic;
use crate::escape::Name;

/// Bytes of an attribute's value, at most.
const VALUE: usize = 120;

/// Lists attributes, a line each, and an empty line behind them.
pub(super) fn list(app: &mut App, attributes: Attributes<'_>) -> io::Result<()> {
    let mut any = false;
    for (key, item) in attributes {
        writeln!(app.out, "{} = {}", Name(key), diagnostic::cut(&item, VALUE))?;
        any = true;
    }
    if any { writeln!(app.out) } else { Ok(()) }
}
