//! What generation 2 asks of the content of an object that its indices show only together: rows that are
//! sorted, and cells that have one value each. v2 §5.2.

use alloc::vec::Vec;
use core::iter::Copied;
use core::slice::Iter;

use super::declare::NewObject;
use super::settings::Target;
use crate::element::{ByteOrder, StorageType};
use crate::error::{Error, ErrorKind, OutOfMemory};
use crate::format::Format;
use crate::layout::Widened;
use crate::limits::Limits;
use crate::num::u64_from_usize;
use crate::rules::{Limit, Rule};
use crate::verify::CellList;

/// What has come of an object.
pub(super) enum Content<'a> {
    /// Nothing is asked.
    Free,
    Rows(Rows),
    Cells(CellList<Copied<Iter<'a, u64>>>),
}

impl<'a> Content<'a> {
    /// What is asked of an object of `nnz` values, if it is sparse.
    ///
    /// # Errors
    /// `limit-decoded` for more cells, or rows, than readers have memory for.
    pub(super) fn new(
        object: &NewObject<'a>,
        target: &Target,
        nnz: Option<u64>,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let writing = target.writing;
        let Some(nnz) = nnz.filter(|_| writing.dialect.single_cells) else { return Ok(Self::Free) };
        match object.format(writing) {
            Format::SparseCsr => {
                Ok(Self::Rows(Rows { limit: limits.decoded(), ..Rows::default() }))
            }
            Format::SparseCoo => {
                let coords = object.components().iter().find(|own| own.role == "coords");
                let coords = coords.and_then(|coords| coords.resolve(writing));
                let storage = coords.map_or(StorageType::U64, |coords| coords.storage);
                CellList::new(object.shape.iter().copied(), storage, nnz, limits).map(Self::Cells)
            }
            _ => Ok(Self::Free),
        }
    }

    /// Takes some of the little-endian indices of a component: a whole number.
    ///
    /// # Errors
    /// `csr-index-order`; [`OutOfMemory`].
    pub(super) fn add(
        &mut self,
        role: &str,
        storage: StorageType,
        chunk: &[u8],
    ) -> Result<(), Error> {
        let mut indices = Widened::new(chunk, storage, ByteOrder::Little);
        match (self, role) {
            (Self::Rows(rows), "indptr") => Ok(indices.try_for_each(|end| rows.end(end))?),
            (Self::Rows(rows), "indices") => Ok(indices.try_for_each(|index| rows.index(index))?),
            (Self::Cells(cells), "coords") => Ok(cells.add(chunk)?),
            _ => Ok(()),
        }
    }

    /// Validates what only the last index of a component shows.
    ///
    /// # Errors
    /// `csr-index-order`, `coo-cell-repeated`.
    pub(super) fn finish(&mut self, role: &str) -> Result<(), Error> {
        match (self, role) {
            (Self::Rows(rows), "indptr") => rows.ended(),
            (Self::Rows(rows), "indices") => {
                rows.indices_are_over = true;
                Ok(())
            }
            (Self::Cells(cells), "coords") => match cells.repeated() {
                Some(_) => Err(Error::nowhere(Rule::CellRepeated)),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// Whether the indices of each row are sorted, whichever comes first: indices or the ends of rows.
///
/// What comes first is kept as far as it is needed: where rows end, or where indices do not ascend, which
/// is where a row has to end. That is 8 bytes a row.
#[derive(Debug, Default)]
pub(super) struct Rows {
    kept: Vec<u64>,
    /// How many of them have been passed.
    passed: usize,
    limit: u64,
    /// Of the indices: how many have come, and the last of them.
    count: u64,
    last: Option<u64>,
    ends_are_over: bool,
    indices_are_over: bool,
}

impl Rows {
    fn keep(&mut self, place: u64) -> Result<(), Refused> {
        if self.kept.last() == Some(&place) {
            return Ok(());
        }
        let bytes = u64_from_usize(self.kept.len()).saturating_add(1).saturating_mul(8);
        if bytes > self.limit {
            return Err(Refused(Limit::Decoded.into(), bytes));
        }
        self.kept.try_reserve(1).map_err(|_| Refused(OutOfMemory.into(), 0))?;
        self.kept.push(place);
        Ok(())
    }

    /// The next place that is kept, up to `place`: whether it is that one.
    fn passes(&mut self, place: u64) -> bool {
        while let Some(next) = self.kept.get(self.passed) {
            if *next >= place {
                return *next == place;
            }
            self.passed = self.passed.saturating_add(1);
        }
        false
    }

    fn end(&mut self, end: u64) -> Result<(), Refused> {
        if !self.indices_are_over {
            return self.keep(end);
        }
        // What lies before this end, and is no end, is passed over in the next row.
        match self.kept.get(self.passed) {
            Some(next) if *next < end => Err(Refused(Rule::IndexOrder.into(), *next)),
            Some(next) if *next == end => {
                self.passed = self.passed.saturating_add(1);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn ended(&mut self) -> Result<(), Error> {
        self.ends_are_over = true;
        match self.kept.get(self.passed) {
            Some(next) if self.indices_are_over => {
                Err(Error::nowhere(Rule::IndexOrder).found(*next))
            }
            _ => Ok(()),
        }
    }

    fn index(&mut self, index: u64) -> Result<(), Refused> {
        let place = self.count;
        let ascends = self.last.is_none_or(|last| last < index);
        (self.count, self.last) = (place.saturating_add(1), Some(index));
        if ascends {
            return Ok(());
        }
        if !self.ends_are_over {
            return self.keep(place);
        }
        if self.passes(place) { Ok(()) } else { Err(Refused(Rule::IndexOrder.into(), index)) }
    }
}

/// Why an index is refused, and what was found.
struct Refused(ErrorKind, u64);

impl From<Refused> for Error {
    fn from(Refused(kind, found): Refused) -> Self {
        Self::nowhere(kind).found(found)
    }
}

/// Whether a component of an object of `nnz` values holds an odd number of elements, two a byte.
pub(super) fn is_odd(
    object: &NewObject<'_>,
    target: &Target,
    nnz: Option<u64>,
    role: &str,
) -> bool {
    let count = match (object.format(target.writing), role) {
        (Format::Dense | Format::Mx, "data") => {
            // An odd product has odd factors only.
            return object.shape.iter().all(|dimension| dimension & 1 == 1);
        }
        (Format::SparseCsr | Format::SparseCoo, "values") => nnz,
        _ => None,
    };
    count.is_some_and(|count| count & 1 == 1)
}
