//! Validating the indices of a sparse object as they stream by.

use crate::element::{ByteOrder, StorageType};
use crate::error::Error;
use crate::format::Format;
use crate::layout::{BadIndex, Below, Coords, Indptr, Widened};
use crate::manifest::{Dimensions, Object};
use crate::num::u64_from_usize;

/// What the indices of a sparse object are held against.
#[derive(Clone, Debug)]
pub(crate) struct Sparse<D> {
    pub(crate) format: Format,
    pub(crate) shape: D,
    /// How many values it has; none if it is not sparse.
    pub(crate) nnz: Option<u64>,
}

impl<'a> Sparse<Dimensions<'a>> {
    /// The indices of an object whose values have not been counted: nothing is asked of them.
    pub(crate) fn uncounted(object: &Object<'a>) -> Self {
        Self { format: object.format(), shape: object.shape().iter(), nnz: None }
    }
}

impl<D: Iterator<Item = u64> + Clone> Sparse<D> {
    /// What is asked of the component of that role, which is stored as that type.
    ///
    /// # Errors
    /// An internal one where a matrix has no columns.
    pub(crate) fn check(&self, role: &str, storage: StorageType) -> Result<Check<D>, Error> {
        let asked = match (self.nnz, self.format, role) {
            (Some(nnz), Format::SparseCsr, "indptr") => Asked::Indptr(Indptr::new(storage), nnz),
            (Some(_), Format::SparseCsr, "indices") => {
                Asked::Below(Below::new(self.shape.clone().nth(1).ok_or(Error::internal())?))
            }
            (Some(nnz), Format::SparseCoo, "coords") => {
                Asked::Coords(Coords::new(self.shape.clone(), nnz))
            }
            _ => Asked::Nothing,
        };
        Ok(Check { asked, storage })
    }

    /// How many elements the component of that role has, if the number of values says so.
    pub(crate) fn count(&self, role: &str) -> Option<u64> {
        let nnz = self.nnz?;
        match (self.format, role) {
            (Format::SparseCsr, "indptr") => self.shape.clone().next()?.checked_add(1),
            (Format::SparseCsr, "indices") | (Format::SparseCsr | Format::SparseCoo, "values") => {
                Some(nnz)
            }
            (Format::SparseCoo, "coords") => {
                nnz.checked_mul(u64_from_usize(self.shape.clone().count()))
            }
            _ => None,
        }
    }
}

/// Validates the indices of one component.
#[derive(Clone, Debug)]
pub(crate) struct Check<D> {
    asked: Asked<D>,
    storage: StorageType,
}

#[derive(Clone, Debug)]
enum Asked<D> {
    Nothing,
    Indptr(Indptr, u64),
    Below(Below),
    Coords(Coords<D>),
}

impl<D: Iterator<Item = u64>> Check<D> {
    /// Takes some of its little-endian bytes: a whole number of elements.
    pub(crate) fn validate(&mut self, chunk: &[u8]) -> Result<(), BadIndex> {
        let indices = Widened::new(chunk, self.storage, ByteOrder::Little);
        match &mut self.asked {
            Asked::Nothing => Ok(()),
            Asked::Indptr(indptr, _) => indices.each(|index| indptr.validate(index)),
            Asked::Below(below) => indices.each(|index| below.validate(index)),
            Asked::Coords(coords) => indices.each(|index| coords.validate(index)),
        }
    }

    /// Validates what only the last index shows.
    pub(crate) fn finish(&self) -> Result<(), BadIndex> {
        match &self.asked {
            Asked::Indptr(indptr, nnz) => indptr.finish(*nnz),
            _ => Ok(()),
        }
    }

    /// Whether it asks for anything.
    #[cfg(feature = "write")]
    pub(crate) fn asks(&self) -> bool {
        !matches!(self.asked, Asked::Nothing)
    }
}
