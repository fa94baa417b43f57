//! Validating the indices of a sparse object while its components are read, in one pass.

use alloc::vec::Vec;

use crate::codec::grow;
use crate::element::{ByteOrder, StorageType};
use crate::error::{BareError, ErrorKind};
use crate::index::Layout;
use crate::layout::{BadIndex, Below, Coords, Indptr, Widened};
use crate::limits::Limits;
use crate::num::{sort_by, u64_from_usize};
use crate::rules::{Limit, Rule};

/// The checks of the indices of a sparse object, for one component after another.
#[derive(Debug)]
pub(crate) struct Sparse<D> {
    format: Layout,
    shape: D,
    /// The number of values of the object; `None` if the number is unknown or the object is not sparse.
    nnz: Option<u64>,
    asked: IndexCheck<D>,
    storage: StorageType,
    kept: Kept,
}

/// The checks of the indices of the current component.
#[derive(Debug)]
enum IndexCheck<D> {
    Nothing,
    Indptr(Indptr),
    Below(Below),
    Coords(Coords<D>),
}

/// The indices that are kept for rules that need more than one index at a time: v2 §5.2.
#[derive(Debug)]
enum Kept {
    Nothing,
    Rows(Rows),
    Cells(Cells),
}

impl<D: Iterator<Item = u64> + Clone> Sparse<D> {
    /// Creates the checks of an object of layout `format` with `nnz` values. If `nnz` is `None`, nothing is checked.
    pub(crate) fn new(format: Layout, shape: D, nnz: Option<u64>) -> Self {
        let (asked, storage, kept) = (IndexCheck::Nothing, StorageType::U8, Kept::Nothing);
        Self { format, shape, nnz, asked, storage, kept }
    }

    /// Adds the checks that the indices of each row ascend, and that no cell has two values.
    ///
    /// # Errors
    /// `limit-decoded` if the cells of a list of coordinates would take more memory than the limit. For compressed rows, the limit
    /// is checked while the components are read.
    pub(crate) fn ask_for_single_cells(&mut self, limits: &Limits) -> Result<(), BadIndex> {
        let limit = limits.decoded();
        self.kept = match (self.nnz, self.format) {
            (Some(_), Layout::SparseCsr) => {
                let most = self.count("indptr").and_then(|ends| usize::try_from(ends).ok());
                Kept::Rows(Rows { most: most.unwrap_or(usize::MAX), limit, ..Rows::default() })
            }
            (Some(nnz), Layout::SparseCoo) => {
                let bytes = nnz.saturating_mul(8);
                let count = usize::try_from(nnz).ok().filter(|_| bytes <= limit);
                let over = BadIndex { kind: Limit::Decoded.into(), at: 0, found: bytes };
                Kept::Cells(Cells { all: Vec::new(), count: count.ok_or(over)? })
            }
            _ => Kept::Nothing,
        };
        Ok(())
    }

    /// Begins the component with the role `role`, whose elements have the type `storage`.
    ///
    /// # Errors
    /// An internal error if a matrix has no columns.
    pub(crate) fn begin(&mut self, role: &str, storage: StorageType) -> Result<(), BareError> {
        self.storage = storage;
        self.asked = match (self.nnz, self.format, role) {
            (Some(nnz), Layout::SparseCsr, "indptr") => {
                IndexCheck::Indptr(Indptr::new(storage, nnz))
            }
            (Some(_), Layout::SparseCsr, "indices") => IndexCheck::Below(Below::new(
                self.shape.clone().nth(1).ok_or(BareError::internal())?,
            )),
            (Some(nnz), Layout::SparseCoo, "coords") => {
                IndexCheck::Coords(Coords::new(self.shape.clone(), nnz))
            }
            _ => IndexCheck::Nothing,
        };
        Ok(())
    }

    /// Returns the number of values; `None` if the number is unknown or the object is not sparse.
    pub(crate) fn nnz(&self) -> Option<u64> {
        self.nnz
    }

    /// Returns whether the current component has indices to check.
    pub(crate) fn asks(&self) -> bool {
        !matches!(self.asked, IndexCheck::Nothing)
    }

    /// Validates `chunk`, a whole number of little-endian elements of the current component.
    pub(crate) fn validate(&mut self, chunk: &[u8]) -> Result<(), BadIndex> {
        let indices = Widened::new(chunk, self.storage, ByteOrder::Little);
        match (&mut self.asked, &mut self.kept) {
            (IndexCheck::Nothing, _) => Ok(()),
            (IndexCheck::Indptr(indptr), Kept::Rows(rows)) => indices.try_for_each(|end| {
                indptr.validate(end)?;
                rows.end(end)
            }),
            (IndexCheck::Indptr(indptr), _) => {
                indices.try_for_each(|pointer| indptr.validate(pointer))
            }
            (IndexCheck::Below(below), Kept::Rows(rows)) => indices.try_for_each(|index| {
                below.validate(index)?;
                rows.index(index)
            }),
            (IndexCheck::Below(below), _) => indices.try_for_each(|index| below.validate(index)),
            (IndexCheck::Coords(coords), Kept::Cells(cells)) => {
                cells.reserve(indices.len())?;
                indices.try_for_each(|index| {
                    coords.validate(index)?;
                    cells.add(coords, index);
                    Ok(())
                })
            }
            (IndexCheck::Coords(coords), _) => indices.try_for_each(|index| coords.validate(index)),
        }
    }

    /// Validates what can be checked only after the last index of the current component.
    pub(crate) fn finish(&mut self) -> Result<(), BadIndex> {
        match (&self.asked, &mut self.kept) {
            (IndexCheck::Indptr(indptr), kept) => {
                indptr.finish()?;
                if let Kept::Rows(rows) = kept { rows.finish() } else { Ok(()) }
            }
            (IndexCheck::Below(_), Kept::Rows(rows)) => rows.finish(),
            (IndexCheck::Coords(_), Kept::Cells(cells)) => cells.finish(),
            _ => Ok(()),
        }
    }

    /// Returns the number of elements that the component with the role `role` must have, if that follows from the
    /// number of values.
    pub(crate) fn count(&self, role: &str) -> Option<u64> {
        let nnz = self.nnz?;
        match (self.format, role) {
            (Layout::SparseCsr, "indptr") => self.shape.clone().next()?.checked_add(1),
            (Layout::SparseCsr, "indices") | (Layout::SparseCsr | Layout::SparseCoo, "values") => {
                Some(nnz)
            }
            (Layout::SparseCoo, "coords") => {
                nnz.checked_mul(u64_from_usize(self.shape.clone().count()))
            }
            _ => None,
        }
    }
}

/// The ends of rows, and the positions at which indices do not ascend: a row must end at each of these positions. Ends take 8 bytes
/// of memory for each row. If the indices come before the pointers, each position at which indices do not ascend takes 16 bytes
/// until the pointers have come; otherwise no position is kept.
#[derive(Debug, Default)]
struct Rows {
    ends: Vec<u64>,
    /// The number of ends of rows that lie before the current position among the indices.
    passed: usize,
    /// The positions at which indices do not ascend, each with its index, if the pointers have not come yet.
    breaks: Vec<(u64, u64)>,
    /// The number of pointers, which is the largest length of `ends`.
    most: usize,
    /// The largest size in bytes of `ends`, and of `breaks`.
    limit: u64,
    /// The number of indices that have come, which is the position of the next index.
    count: u64,
    /// The index that came last; `None` before the first index.
    last: Option<u64>,
    /// Whether the first of the two components, pointers or indices, is complete, so that the other one can be compared with it.
    half: bool,
}

impl Rows {
    fn end(&mut self, end: u64) -> Result<(), BadIndex> {
        keep(&mut self.ends, end, self.most, self.limit)
    }

    fn index(&mut self, index: u64) -> Result<(), BadIndex> {
        let place = self.count;
        let ascends = self.last.is_none_or(|last| last < index);
        (self.count, self.last) = (place.saturating_add(1), Some(index));
        if ascends {
            Ok(())
        } else if self.half {
            self.pass(place, index)
        } else {
            keep(&mut self.breaks, (place, index), usize::MAX, self.limit)
        }
    }

    /// Checks that a row ends right before position `place`, where `index` lies, which is not greater than the index before it.
    /// Positions must be passed in ascending order.
    fn pass(&mut self, place: u64, index: u64) -> Result<(), BadIndex> {
        let ends = self.ends.get(self.passed..).unwrap_or_default();
        let before = ends.iter().take_while(|end| **end < place).count();
        self.passed = self.passed.saturating_add(before);
        if self.ends.get(self.passed) == Some(&place) {
            return Ok(());
        }
        Err(BadIndex { kind: Rule::IndexOrder.into(), at: place, found: index })
    }

    /// Notes that all pointers, or all indices, have come. If both have come, the positions in `breaks` are checked. `indptr` has
    /// at least one entry, so `ends` is empty only until the pointers have come.
    fn finish(&mut self) -> Result<(), BadIndex> {
        self.half = true;
        if self.ends.is_empty() {
            return Ok(());
        }
        let breaks = core::mem::take(&mut self.breaks);
        breaks.iter().try_for_each(|(place, index)| self.pass(*place, *index))
    }
}

/// Adds `item` to `items`, which will have at most `most` items, unless `item` equals the last item.
///
/// # Errors
/// `limit-decoded` if `items` would take more than `limit` bytes; out of memory.
fn keep<T: PartialEq>(
    items: &mut Vec<T>,
    item: T,
    most: usize,
    limit: u64,
) -> Result<(), BadIndex> {
    if items.last() == Some(&item) {
        return Ok(());
    }
    let needed = items.len().saturating_add(1);
    let bytes = u64_from_usize(needed).saturating_mul(u64_from_usize(size_of::<T>()));
    if bytes > limit {
        return Err(BadIndex { kind: Limit::Decoded.into(), at: 0, found: bytes });
    }
    grow(items, needed, most).map_err(|_| NO_MEMORY)?;
    items.push(item);
    Ok(())
}

const NO_MEMORY: BadIndex = BadIndex { kind: ErrorKind::OutOfMemory, at: 0, found: 0 };

/// The cells of a list of coordinates, 8 bytes each. Memory grows with the coordinates that are read.
///
/// A cell is represented by its position in row-major order. The product of the shape is below 2^64, so each position
/// is a `u64`.
#[derive(Debug)]
struct Cells {
    all: Vec<u64>,
    count: usize,
}

impl Cells {
    /// Adds room for at most `more` cells, which the next coordinates may begin.
    fn reserve(&mut self, more: usize) -> Result<(), BadIndex> {
        let needed = self.all.len().saturating_add(more).min(self.count);
        grow(&mut self.all, needed, self.count).map_err(|_| NO_MEMORY)?;
        self.all.resize(needed, 0);
        Ok(())
    }

    /// Adds the coordinate `index` of the current dimension, which has been validated, to the position of its cell.
    fn add<D>(&mut self, coords: &Coords<D>, index: u64) {
        let (value, dimension) = coords.last();
        if let Some(cell) = self.all.get_mut(value) {
            *cell = cell.wrapping_mul(dimension).wrapping_add(index);
        }
    }

    /// Validates, after the last coordinate, that no two values of the tensor are in the same cell. If the cells do not ascend, a
    /// copy of them is sorted to find a repeated cell.
    fn finish(&self) -> Result<(), BadIndex> {
        if self.all.is_sorted_by(|cell, next| cell < next) {
            return Ok(());
        }
        let mut sorted = Vec::new();
        sorted.try_reserve_exact(self.all.len()).map_err(|_| NO_MEMORY)?;
        sorted.extend_from_slice(&self.all);
        sort_by(&mut sorted, Ord::cmp);
        let mut pairs = sorted.iter().zip(sorted.iter().skip(1));
        let Some((cell, _)) = pairs.find(|(cell, next)| cell == next) else { return Ok(()) };
        let mut same = (0..).zip(&self.all).filter(|(_, other)| *other == cell);
        let internal = BadIndex { kind: ErrorKind::Internal, at: 0, found: 0 };
        let (at, _) = same.nth(1).ok_or(internal)?;
        Err(BadIndex { kind: Rule::CellRepeated.into(), at, found: at })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{BadIndex, Sparse};
    use crate::element::StorageType;
    use crate::index::Layout;
    use crate::limits::Limits;
    use crate::rules::Rule;

    /// Checks that an index that does not ascend in its row is reported with its own value and position, whether the pointers or
    /// the indices come first.
    #[test]
    fn the_index_that_does_not_ascend_is_reported() {
        let (indices, pointers) = (("indices", [7_u64, 9, 5]), ("indptr", [0_u64, 1, 3]));
        for components in [[pointers, indices], [indices, pointers]] {
            let mut sparse = Sparse::new(Layout::SparseCsr, [2, 10].into_iter(), Some(3));
            sparse.ask_for_single_cells(&Limits::default()).unwrap();
            let checked = components.into_iter().try_for_each(|(role, numbers)| {
                let bytes: Vec<u8> = numbers.into_iter().flat_map(u64::to_le_bytes).collect();
                sparse.begin(role, StorageType::U64).unwrap();
                sparse.validate(&bytes)?;
                sparse.finish()
            });
            let wanted = BadIndex { kind: Rule::IndexOrder.into(), at: 2, found: 5 };
            assert_eq!(checked, Err(wanted), "{}", components[0].0);
        }
    }
}
