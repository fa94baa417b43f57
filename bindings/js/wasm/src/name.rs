//! The name of a file, which says what the file is to programs that go by names.

use std::io::{self, Write};
use std::path::Path;

use zten_formats::{Format, Recognition, Recognized};
use zten_report::finding::{Finding, format_name};

use crate::problem;
use crate::session::File;

/// Checks that `name`, which is empty if it is not known, is not that of another format than `file` has. Returns whether that
/// is so, and otherwise writes the finding, of the rule `format-name`.
///
/// # Errors
/// The errors of `out`.
pub fn check(file: &File, name: &str, out: &mut impl Write) -> io::Result<bool> {
    let format = format_name(file.manifest());
    let known = Format::ALL.into_iter().find(|known| known.name() == format);
    let kind = known.map_or(Recognized::ZTensor, Recognized::Read);
    let Err(error) = Recognition::from(kind).check_name(Path::new(name)) else { return Ok(true) };
    let finding = Finding { format: Some(format), ..error.finding() };
    problem::write(&finding, None, out)?;
    Ok(false)
}
