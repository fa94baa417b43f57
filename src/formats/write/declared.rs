//! The list of arrays of a new file, whose names and shapes are declared before the elements are known.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

use crate::cbor::Attributes;
use crate::write::Encoded;

use super::array::{Array, ArrayList};

/// The names, dtypes and shapes of all arrays of a new file, and the attributes of the file. The elements are passed to a
/// [`Draft`](super::Draft).
#[derive(Debug, Default)]
pub struct DeclaredArrays {
    /// The name of each array, and its dtype and shape. The names are unique.
    pub arrays: Vec<(String, Array)>,
    /// The attributes of the file; `None` for a file without attributes.
    pub attributes: Option<Encoded>,
}

impl ArrayList for DeclaredArrays {
    fn count(&self) -> usize {
        self.arrays.len()
    }

    fn name(&self, at: usize) -> &str {
        self.arrays.get(at).map_or("", |(name, _)| name)
    }

    fn array(&self, at: usize) -> Result<Array, String> {
        let array = self.arrays.get(at).map(|(_, array)| array.clone());
        array.ok_or_else(|| "no such array".to_owned())
    }

    fn attributes(&self) -> Attributes<'_> {
        self.attributes.as_ref().map_or_else(Attributes::default, Encoded::entries)
    }
}
