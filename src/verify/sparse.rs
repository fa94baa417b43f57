//! Validating the indices of a sparse object as they stream by, each of them once.

use alloc::vec::Vec;

use crate::codec::grow;
use crate::element::{ByteOrder, StorageType};
use crate::error::{BareError, ErrorKind};
use crate::format::Layout;
use crate::layout::{BadIndex, Below, Coords, Indptr, Widened};
use crate::limits::Limits;
use crate::num::{sort_by, u64_from_usize};
use crate::rules::{Limit, Rule};

/// The checks of the indices of a sparse object, component after component.
#[derive(Debug)]
pub(crate) struct Sparse<D> {
    format: Layout,
    shape: D,
    /// The number of its values; none if it is not sparse.
    nnz: Option<u64>,
    asked: Asked<D>,
    storage: StorageType,
    kept: Kept,
}

/// The checks of the indices of the current component.
#[derive(Debug)]
enum Asked<D> {
    Nothing,
    Indptr(Indptr),
    Below(Below),
    Coords(Coords<D>),
}

/// The indices that are kept, where more is asked than they show one by one: v2 §5.2.
#[derive(Debug)]
enum Kept {
    Nothing,
    Rows(Rows),
    Cells(Cells),
}

impl<D: Iterator<Item = u64> + Clone> Sparse<D> {
    /// The object of that format and shape; without the number of its values nothing is asked.
    pub(crate) fn new(format: Layout, shape: D, nnz: Option<u64>) -> Self {
        let (asked, storage, kept) = (Asked::Nothing, StorageType::U8, Kept::Nothing);
        Self { format, shape, nnz, asked, storage, kept }
    }

    /// Asks that rows are sorted, and that cells have one value each.
    ///
    /// # Errors
    /// `limit-decoded` for more cells than there may be memory for.
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

    /// Begins the component of that role, which is stored as that type.
    ///
    /// # Errors
    /// An internal one where a matrix has no columns.
    pub(crate) fn begin(&mut self, role: &str, storage: StorageType) -> Result<(), BareError> {
        self.storage = storage;
        self.asked = match (self.nnz, self.format, role) {
            (Some(nnz), Layout::SparseCsr, "indptr") => Asked::Indptr(Indptr::new(storage, nnz)),
            (Some(_), Layout::SparseCsr, "indices") => {
                Asked::Below(Below::new(self.shape.clone().nth(1).ok_or(BareError::internal())?))
            }
            (Some(nnz), Layout::SparseCoo, "coords") => {
                Asked::Coords(Coords::new(self.shape.clone(), nnz))
            }
            _ => Asked::Nothing,
        };
        Ok(())
    }

    /// The number of values; none if it is not known, or if the object is not sparse.
    pub(crate) fn nnz(&self) -> Option<u64> {
        self.nnz
    }

    /// Returns whether anything is asked of the current component.
    pub(crate) fn asks(&self) -> bool {
        !matches!(self.asked, Asked::Nothing)
    }

    /// Takes some of its little-endian bytes: a whole number of elements.
    pub(crate) fn validate(&mut self, chunk: &[u8]) -> Result<(), BadIndex> {
        let indices = Widened::new(chunk, self.storage, ByteOrder::Little);
        match (&mut self.asked, &mut self.kept) {
            (Asked::Nothing, _) => Ok(()),
            (Asked::Indptr(indptr), Kept::Rows(rows)) => indices.try_for_each(|end| {
                indptr.validate(end)?;
                rows.end(end)
            }),
            (Asked::Indptr(indptr), _) => indices.try_for_each(|pointer| indptr.validate(pointer)),
            (Asked::Below(below), Kept::Rows(rows)) => indices.try_for_each(|index| {
                below.validate(index)?;
                rows.index(index)
            }),
            (Asked::Below(below), _) => indices.try_for_each(|index| below.validate(index)),
            (Asked::Coords(coords), Kept::Cells(cells)) => {
                cells.reserve(indices.len())?;
                indices.try_for_each(|index| {
                    coords.validate(index)?;
                    cells.add(coords, index);
                    Ok(())
                })
            }
            (Asked::Coords(coords), _) => indices.try_for_each(|index| coords.validate(index)),
        }
    }

    /// Validates what only the last index of the current component shows.
    pub(crate) fn finish(&mut self) -> Result<(), BadIndex> {
        match (&self.asked, &mut self.kept) {
            (Asked::Indptr(indptr), kept) => {
                indptr.finish()?;
                if let Kept::Rows(rows) = kept { rows.finish() } else { Ok(()) }
            }
            (Asked::Below(_), Kept::Rows(rows)) => rows.finish(),
            (Asked::Coords(_), Kept::Cells(cells)) => cells.finish(),
            _ => Ok(()),
        }
    }

    /// The number of elements of the component of that role, if the number of values says so.
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

/// The ends of rows, and the places where indices do not ascend, which is where a row has to end. The ends are kept in 8
/// bytes a row; the places, too, where indices come first.
#[derive(Debug, Default)]
struct Rows {
    ends: Vec<u64>,
    /// The number of them that have been passed.
    passed: usize,
    breaks: Vec<u64>,
    /// The number of pointers, and bytes of each list at most.
    most: usize,
    limit: u64,
    /// The number of indices that have come, and the last of them.
    count: u64,
    last: Option<u64>,
    /// True if all of one component have come.
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
            keep(&mut self.breaks, place, usize::MAX, self.limit)
        }
    }

    /// Checks that a row ends before the index at that place. Places come in order.
    fn pass(&mut self, place: u64, index: u64) -> Result<(), BadIndex> {
        let ends = self.ends.get(self.passed..).unwrap_or_default();
        let before = ends.iter().take_while(|end| **end < place).count();
        self.passed = self.passed.saturating_add(before);
        if self.ends.get(self.passed) == Some(&place) {
            return Ok(());
        }
        Err(BadIndex { kind: Rule::IndexOrder.into(), at: place, found: index })
    }

    /// Ends one of the two components. There are ends as soon as pointers have come.
    fn finish(&mut self) -> Result<(), BadIndex> {
        self.half = true;
        if self.ends.is_empty() {
            return Ok(());
        }
        let breaks = core::mem::take(&mut self.breaks);
        breaks.iter().try_for_each(|place| self.pass(*place, *place))
    }
}

/// Keeps a place, unless it is the last already.
fn keep(places: &mut Vec<u64>, place: u64, most: usize, limit: u64) -> Result<(), BadIndex> {
    if places.last() == Some(&place) {
        return Ok(());
    }
    let needed = places.len().saturating_add(1);
    let bytes = u64_from_usize(needed).saturating_mul(8);
    if bytes > limit {
        return Err(BadIndex { kind: Limit::Decoded.into(), at: 0, found: bytes });
    }
    grow(places, needed, most).map_err(|_| NO_MEMORY)?;
    places.push(place);
    Ok(())
}

const NO_MEMORY: BadIndex = BadIndex { kind: ErrorKind::OutOfMemory, at: 0, found: 0 };

/// The cells of a list of coordinates, as those come: 8 bytes each, which grow as bytes do.
///
/// A cell is its place in row-major order. The product of the shape is below 2^64, so that any cell
/// is a `u64`.
#[derive(Debug)]
struct Cells {
    all: Vec<u64>,
    count: usize,
}

impl Cells {
    /// Makes room for the cells that the next coordinates begin, which are at most `more`.
    fn reserve(&mut self, more: usize) -> Result<(), BadIndex> {
        let needed = self.all.len().saturating_add(more).min(self.count);
        grow(&mut self.all, needed, self.count).map_err(|_| NO_MEMORY)?;
        self.all.resize(needed, 0);
        Ok(())
    }

    /// Takes a coordinate that has been validated.
    fn add<D>(&mut self, coords: &Coords<D>, index: u64) {
        let (value, dimension) = coords.last();
        if let Some(cell) = self.all.get_mut(value) {
            *cell = cell.wrapping_mul(dimension).wrapping_add(index);
        }
    }

    /// Validates that no two cells are the same, once all have come. They are sorted apart, if they do not ascend.
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
