//! The methods of errors without `std`. Such errors are small and `Copy`, so they hold no names, sentences or advice.
//! Methods that would set one of these fields do nothing, and methods that would return a field return `None` or false.

use alloc::string::String;
use core::ops::Range;

use super::full::{Error, Named};
use super::{BareError, ErrorKind, Misuse};
use crate::rules::Generation;

impl Error {
    /// Creates an error about a file of a format other than zTensor. The sentence is dropped. Unstable.
    #[doc(hidden)]
    pub fn of_format(kind: ErrorKind, _: String, offset: Option<u64>) -> Self {
        BareError::new(kind, offset).into()
    }

    /// Returns the error unchanged: without `std`, errors have no room for names and advice. Unstable.
    #[doc(hidden)]
    #[must_use]
    pub fn about(self, _: Option<String>, _: Option<String>) -> Self {
        self
    }

    /// Returns the error unchanged: without `std`, errors have no room for names and advice. Unstable.
    #[doc(hidden)]
    #[must_use]
    pub fn naming_its_tensor(self) -> Self {
        self
    }

    /// Returns the error unchanged: without `std`, errors have no room for names and advice. Unstable.
    #[doc(hidden)]
    #[must_use]
    pub fn advising(self, _: Option<&'static str>) -> Self {
        self
    }

    /// Returns the error unchanged, because errors without `std` hold no names.
    #[must_use]
    pub(crate) fn named(self, _: &Named<'_>) -> Self {
        self
    }

    /// Creates the error for a missing tensor. Without `std`, the error does not hold the two names.
    pub(crate) fn no_tensor(_: &str, _: Option<&str>) -> Self {
        Self::from(Misuse::NoTensor)
    }

    /// Returns `None`: without `std`, the error has no name of a tensor. Unstable.
    #[doc(hidden)]
    pub fn tensor(&self) -> Option<&str> {
        None
    }

    /// Returns `None`: without `std`, the error has no role of a component. Unstable.
    #[doc(hidden)]
    pub fn component(&self) -> Option<&str> {
        None
    }

    /// Returns `None`: without `std`, the error has no name of another file. Unstable.
    #[doc(hidden)]
    pub fn file(&self) -> Option<&str> {
        None
    }

    /// Returns `None`: without `std`, the error does not know the generation of the file. Unstable.
    #[doc(hidden)]
    pub fn generation(&self) -> Option<Generation> {
        None
    }

    /// Returns whether the error's sentence begins with the name of the tensor: never without `std`, because errors
    /// then have no sentences. Unstable.
    #[doc(hidden)]
    pub fn names_its_tensor(&self) -> bool {
        false
    }

    /// Returns `None`: without `std`, no advice is compiled in. Unstable.
    #[doc(hidden)]
    pub fn advice(&self) -> Option<&'static str> {
        None
    }

    /// Returns `None`: without `std`, the error does not know the range of a rejected manifest. Unstable.
    #[doc(hidden)]
    pub fn manifest_range(&self) -> Option<Range<u64>> {
        None
    }
}
