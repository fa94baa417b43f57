//! Checks that the suffix of a file's name fits its format: programs that choose a reader by the suffix would misread the file.

use std::io::{self, Write};
use std::path::Path;

use zten::finding::format_name;
use zten::formats::{Format, Recognition, Recognized};

use crate::problem;
use crate::session::File;

/// Checks that the suffix of `name` is not the suffix of another format than that of `file`. An empty name stands for an
/// unknown name, and fits each format. Returns true if the name fits; otherwise writes a finding of the rule `format-name` to
/// `out`, and returns false.
///
/// # Errors
/// The errors of `out`.
pub fn check(file: &File, name: &str, out: &mut impl Write) -> io::Result<bool> {
    let format = format_name(file.manifest());
    let known = Format::ALL.into_iter().find(|known| known.name() == format);
    let kind = known.map_or(Recognized::ZTensor, Recognized::Read);
    let Some(finding) = Recognition::from(kind).misnamed(Path::new(name)) else { return Ok(true) };
    problem::write(&finding, None, out)?;
    Ok(false)
}
