//! Converts the options with which Python opens a file to those of the library.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use zten::{Limits, OpenOptions, Tolerance};

/// The options with which a file is opened: those of the library, and whether other files are opened with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// The limits and tolerances, and whether the file has to be canonical.
    pub(crate) options: OpenOptions,
    /// True if the shards and sibling files that the file lists are opened.
    pub(crate) shards: bool,
}

/// The arguments `limits`, `tolerate`, `canonical` and `shards` of a Python function that opens a file, in this order.
#[derive(FromPyObject)]
pub(crate) struct Strictness(HashMap<String, u64>, Vec<String>, bool, bool);

impl Strictness {
    /// Converts these arguments to the options with which a file is opened.
    ///
    /// # Errors
    /// A `ValueError` for an unknown limit or tolerance, and for a limit that is out of range.
    pub(crate) fn opening(&self) -> PyResult<Opening> {
        let opening = self.any_form()?;
        let options = if self.2 { opening.options.canonical() } else { opening.options };
        Ok(Opening { options, ..opening })
    }

    /// Converts these arguments as [`opening`](Self::opening) does, but ignores `canonical`: the file need not be in the
    /// canonical form.
    pub(crate) fn any_form(&self) -> PyResult<Opening> {
        let mut limits = Limits::default();
        for (name, value) in &self.0 {
            limits = limits.with_named(name, *value).map_err(|error| {
                let names = Limits::NAMES.join(", ");
                let sentence = error.sentence();
                PyValueError::new_err(format!(
                    "limit {name:?} = {value}: {sentence}; expected one of {names}"
                ))
            })?;
        }
        let mut options = OpenOptions::default().limits(limits);
        for name in &self.1 {
            options = options.tolerate_named(name).map_err(|error| {
                let names: Vec<_> = Tolerance::ALL.iter().map(|known| known.name()).collect();
                let (sentence, names) = (error.sentence(), names.join(", "));
                PyValueError::new_err(format!(
                    "tolerance {name:?}: {sentence}; expected one of {names}"
                ))
            })?;
        }
        Ok(Opening { options, shards: self.3 })
    }

    /// Returns the argument `canonical`: whether the file has to be in the canonical form.
    pub(crate) fn canonical(&self) -> bool {
        self.2
    }
}
