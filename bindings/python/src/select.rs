//! Selects tensors by names and patterns.

use std::collections::HashSet;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use zten_report::glob::Glob;

use crate::source::Open;

/// Selects the tensors of `files` whose names are one of `texts` or match one of them as a pattern. A text that is the name of a
/// tensor is no pattern, because names of other programs have brackets. Returns the ordinals of each file, in the order of the
/// file.
///
/// # Errors
/// A `KeyError` if a text selects no tensor of any file.
pub(crate) fn select<const N: usize>(
    files: [&Open; N],
    texts: &[String],
) -> PyResult<[Vec<u32>; N]> {
    let is_name = |text: &str| files.iter().any(|open| open.manifest().get(text).is_some());
    let (names, patterns): (Vec<&str>, Vec<&str>) =
        texts.iter().map(String::as_str).partition(|text| is_name(text));
    let names: HashSet<_> = names.into_iter().collect();
    let mut globs: Vec<_> = patterns.iter().map(|text| (Glob::new(text), false)).collect();
    let ordinals = files.map(|open| {
        let mut ordinals = Vec::new();
        for tensor in open.manifest().tensors() {
            let mut is_selected = names.contains(tensor.name());
            for (glob, is_used) in &mut globs {
                let matches = glob.matches(tensor.name());
                (is_selected, *is_used) = (is_selected | matches, *is_used | matches);
            }
            if is_selected {
                ordinals.push(tensor.ordinal());
            }
        }
        ordinals
    });
    let unused = patterns.iter().zip(&globs).find(|(_, (_, is_used))| !is_used);
    match unused {
        Some((text, _)) => {
            Err(PyKeyError::new_err(format!("no name of a tensor matches {text:?}")))
        }
        None => Ok(ordinals),
    }
}
