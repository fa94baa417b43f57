//! How strict to be, as Python gives it.

use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use zten::{Limits, Options, Tolerance};

/// `limits`, `tolerate`, `canonical`, `shards`.
#[derive(FromPyObject)]
pub(crate) struct Strictness(HashMap<String, u64>, Vec<String>, bool, bool);

impl Strictness {
    /// What the library takes.
    pub(crate) fn options(&self) -> PyResult<Options> {
        let options = self.any_form()?;
        Ok(if self.2 { options.canonical() } else { options })
    }

    /// The same, accepting any form.
    pub(crate) fn any_form(&self) -> PyResult<Options> {
        let mut limits = Limits::default();
        for (name, value) in &self.0 {
            limits = limits.with_named(name, *value).map_err(|error| {
                let names = Limits::NAMES.join(", ");
                let sentence = error.sentence();
                PyValueError::new_err(format!(
                    "limit {name:?} = {value}: {sentence}; there are {names}"
                ))
            })?;
        }
        let mut options = Options::default().limits(limits);
        for name in &self.1 {
            options = options.tolerate_named(name).map_err(|error| {
                let names: Vec<_> = Tolerance::ALL.iter().map(|known| known.name()).collect();
                let (sentence, names) = (error.sentence(), names.join(", "));
                PyValueError::new_err(format!("tolerance {name:?}: {sentence}; there are {names}"))
            })?;
        }
        Ok(options)
    }

    /// Whether the canonical form is asked for.
    pub(crate) fn canonical(&self) -> bool {
        self.2
    }

    /// Whether files are looked for that are not named.
    pub(crate) fn shards(&self) -> bool {
        self.3
    }
}
