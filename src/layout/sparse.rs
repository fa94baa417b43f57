//! Sparse layouts: `sparse_csr` and `sparse_coo`. v1.1 III.2 and III.3, v1.2 §3.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::iter::{FusedIterator, Skip, StepBy};
use core::ops::Range;

use super::buffer::{Data, with_room};
use super::elements::{Elements, Widened};
use super::index::{Below, Coords, Indptr};
use super::view::View;
use crate::element::Element;
use crate::error::{BareError, Error, Misuse, OutOfMemory};
use crate::index::Product;
use crate::manifest::Tensor;
use crate::num::{sort_by, u64_from_usize};
use crate::rules::Rule;

/// A matrix of `rows` × `columns` in compressed sparse rows.
///
/// [`Tensor::csr`] returns a checked matrix: every row is a range of the entries, and every column is below
/// [`columns`](Self::columns). Row `i` has the entries at positions `indptr[i]..indptr[i + 1]` of `indices` and
/// `values`. In 1.x, columns may be in any order within a row, and may be repeated.
///
/// ```
/// let archive = zten::open("corpus/accept/1.2.3/csr_raw.zt")?;
/// let matrix = archive.tensor("csr_f32")?.csr()?;
/// for (row, column, value) in matrix.entries::<f32>()? {
///     println!("{row} {column} {value}");
/// }
/// let mut dense = [0_f32; 3 * 4];
/// matrix.to_dense(&mut dense)?;
/// # assert_eq!(dense, [-1.25, 0., -0.75, 0., 0., 0., 0., 0., 0., -0.25, 0., 0.25]);
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Debug)]
pub struct Csr<'a> {
    rows: u64,
    columns: u64,
    values: Data<'a>,
    indices: Data<'a>,
    indptr: Data<'a>,
}

impl<'a> Csr<'a> {
    pub(super) fn of(object: &Tensor<'a>) -> Result<Self, Error> {
        let &[rows, columns] = object.shape() else {
            return Err(BareError::internal().at(object.location()).into());
        };
        let part = |role| object.require(role)?.data();
        let (values, indices, indptr) = (part("values")?, part("indices")?, part("indptr")?);
        let csr = Self { rows, columns, values, indices, indptr };
        csr.parts().check()?;
        Ok(csr)
    }

    fn parts(&self) -> CsrParts<'_> {
        let Self { rows, columns, values, indices, indptr } = self;
        let (values, indices, indptr) = (values.view(), indices.view(), indptr.view());
        CsrParts { rows: *rows, columns: *columns, values, indices, indptr }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> u64 {
        self.columns
    }

    /// Returns the values: one logical element for each entry. For an unknown logical type these are storage elements,
    /// and it is not known how many of them make up an entry.
    pub fn values(&self) -> View<'_> {
        self.values.view()
    }

    /// Returns the column of each entry.
    pub fn indices(&self) -> View<'_> {
        self.indices.view()
    }

    /// Returns the position in `indices` at which each row begins, and the end of the last row: rows + 1 positions.
    pub fn indptr(&self) -> View<'_> {
        self.indptr.view()
    }

    /// Returns the number of entries, including repeated entries and stored zeros.
    pub fn nnz(&self) -> usize {
        self.indices.view().len()
    }

    /// Returns the positions of the entries of row `row`, or `None` if there is no such row.
    pub fn row_range(&self, row: u64) -> Option<Range<usize>> {
        self.parts().row_range(row)
    }

    /// Returns the rows, which can be iterated or looked up by number.
    ///
    /// # Errors
    /// [`Misuse::Type`] if there is not one value of type `T` for each entry; `bool-value`.
    pub fn by_row<T: Element>(&self) -> Result<ByRow<'_, T>, Error> {
        let csr = self.parts();
        Ok(ByRow { csr, values: csr.values.one_each(self.nnz())?, next: 0 })
    }

    /// Returns an iterator over the row, column and value of every entry, in the order in which entries are stored.
    ///
    /// # Errors
    /// The errors of [`by_row`](Self::by_row).
    pub fn entries<T: Element>(
        &self,
    ) -> Result<impl ExactSizeIterator<Item = (u64, u64, T)> + Clone + use<'_, T>, Error> {
        let entries = self.indices().widened().zip(self.values().one_each(self.nnz())?);
        // The first row begins at entry 0, so only the ends of the rows are needed.
        let mut ends = self.indptr().widened().skip(1);
        let (mut row, mut end) = (0_u64, ends.next().unwrap_or_default());
        Ok(entries.enumerate().map(move |(position, (column, value))| {
            // The last row ends after the last entry, so an entry has a row.
            while u64_from_usize(position) >= end {
                let Some(next) = ends.next() else { break };
                (row, end) = (row.saturating_add(1), next);
            }
            (row, column, value)
        }))
    }

    /// Fills `dense` with the matrix in row-major order, with zeros (`false`) in cells without an entry. Entries are written in
    /// the order in which they are stored. If several entries are for the same cell, the cell gets the value of the last entry;
    /// SciPy, in contrast, adds the values of these entries up. [`has_duplicates`](Self::has_duplicates) tells whether cells are
    /// repeated.
    ///
    /// # Errors
    /// The errors of [`by_row`](Self::by_row); [`Misuse::Buffer`] if the length of `dense` is not rows × columns.
    pub fn to_dense<T: Element>(&self, dense: &mut [T]) -> Result<(), Error> {
        let cells = self.entries::<T>()?.map(|(row, column, value)| {
            (row.checked_mul(self.columns).and_then(|at| at.checked_add(column)), value)
        });
        fill_dense(dense, self.rows.checked_mul(self.columns), cells, &self.values())
    }

    /// Returns whether the columns of every row are in ascending order, perhaps with repetitions. O(rows + nnz).
    pub fn is_sorted(&self) -> bool {
        let mut columns = self.indices().widened();
        self.row_lengths().all(|length| columns.by_ref().take(length).is_sorted())
    }

    /// Returns whether a cell has more than one entry. O(rows + nnz log nnz). Sorted rows take no memory; other rows
    /// are copied one at a time, with 8 bytes for each entry.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn has_duplicates(&self) -> Result<bool, Error> {
        let mut columns = self.indices().widened();
        let mut scratch: Vec<u64> = Vec::new();
        for length in self.row_lengths() {
            let row = columns.clone().take(length);
            let (mut last, mut sorted) = (None, true);
            for column in columns.by_ref().take(length) {
                if last == Some(column) {
                    return Ok(true);
                }
                sorted &= last < Some(column);
                last = Some(column);
            }
            if sorted {
                continue;
            }
            scratch.clear();
            let memory = BareError::from(OutOfMemory).at(self.indices().kind().location);
            scratch.try_reserve(length).map_err(|_| memory)?;
            scratch.extend(row);
            sort_by(&mut scratch, Ord::cmp);
            if !scratch.is_sorted_by(|one, next| one < next) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns an iterator over the number of entries of each row.
    fn row_lengths(&self) -> impl Iterator<Item = usize> + use<'_> {
        let bounds = self.indptr().widened().zip(self.indptr().widened().skip(1));
        // A length that exceeds `usize` is more than memory can hold, so any large number will do.
        bounds.map(|(start, end)| usize::try_from(end.abs_diff(start)).unwrap_or(usize::MAX))
    }
}

/// The borrowed components of a [`Csr`].
#[derive(Clone, Copy, Debug)]
struct CsrParts<'d> {
    rows: u64,
    columns: u64,
    values: View<'d>,
    indices: View<'d>,
    indptr: View<'d>,
}

impl CsrParts<'_> {
    fn check(&self) -> Result<(), BareError> {
        let Self { values, indices, indptr, .. } = self;
        let nnz = indices.len();
        let reject = |rule, view: &View<'_>| {
            BareError::nowhere(rule).found(u64_from_usize(view.len())).at(view.kind().location)
        };
        if !values.may_hold(nnz) {
            return Err(reject(Rule::CsrNnz, indices));
        }
        if Some(u64_from_usize(indptr.len())) != self.rows.checked_add(1) {
            return Err(reject(Rule::CsrIndptrSize, indptr));
        }
        let mut pointers = Indptr::new(indptr.storage_type(), u64_from_usize(nnz));
        let taken = indptr.widened().try_for_each(|pointer| pointers.validate(pointer));
        taken.and_then(|()| pointers.finish()).map_err(|bad| bad.error_in(indptr.kind()))?;
        let mut below = Below::new(self.columns);
        let taken = indices.widened().try_for_each(|index| below.validate(index));
        taken.map_err(|bad| bad.error_in(indices.kind()))
    }
}

impl CsrParts<'_> {
    fn row_range(&self, row: u64) -> Option<Range<usize>> {
        if row >= self.rows {
            return None;
        }
        let mut pointers = self.indptr.widened();
        let start = usize::try_from(pointers.nth(usize::try_from(row).ok()?)?).ok()?;
        Some(start..usize::try_from(pointers.next()?).ok()?)
    }
}

/// The rows of a [`Csr`], with values of type `T`.
#[derive(Clone, Debug)]
pub struct ByRow<'d, T> {
    csr: CsrParts<'d>,
    values: Elements<'d, T>,
    next: u64,
}

impl<'d, T: Element> ByRow<'d, T> {
    /// Returns row `row`, or `None` if there is no such row. O(1).
    pub fn get(&self, row: u64) -> Option<Row<'d, T>> {
        let range = self.csr.row_range(row)?;
        let columns = self.csr.indices.part(range.clone())?.widened();
        Some(Row { columns, values: self.values.part(range)? })
    }
}

impl<'d, T: Element> Iterator for ByRow<'d, T> {
    type Item = Row<'d, T>;

    fn next(&mut self) -> Option<Row<'d, T>> {
        let row = self.get(self.next)?;
        self.next = self.next.saturating_add(1);
        Some(row)
    }
}

impl<T: Element> FusedIterator for ByRow<'_, T> {}

/// An iterator over the columns and values of a row, in the order in which entries are stored.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Row<'d, T> {
    columns: Widened<'d>,
    values: Elements<'d, T>,
}

impl<T: Element> Iterator for Row<'_, T> {
    type Item = (u64, T);

    #[inline]
    fn next(&mut self) -> Option<(u64, T)> {
        Some((self.columns.next()?, self.values.next()?))
    }

    /// Folds over the entries. The type of the columns is looked up once, and not for each column.
    fn fold<B, F: FnMut(B, (u64, T)) -> B>(self, init: B, mut take: F) -> B {
        let mut values = self.values;
        self.columns.fold(init, |folded, column| match values.next() {
            Some(value) => take(folded, (column, value)),
            None => folded,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.columns.size_hint()
    }
}

impl<T: Element> ExactSizeIterator for Row<'_, T> {}
impl<T: Element> FusedIterator for Row<'_, T> {}

/// A tensor of rank 1 or more as a list of coordinates.
///
/// [`Tensor::coo`] returns a checked tensor: every coordinate is within the shape. Entry `i` has, in dimension `d`, the
/// coordinate at position `d × nnz + i` of `coords`. Entries may be in any order, and in 1.x may be repeated.
///
/// ```
/// # #[cfg(feature = "zstd")] {
/// let archive = zten::open("corpus/accept/1.2.3/coo_zstd_crc.zt")?;
/// let tensor = archive.tensor("coo3d")?.coo()?;
/// for (coordinate, value) in tensor.entries::<f32>()? {
///     println!("{:?} {value}", coordinate.collect::<Vec<u64>>());
/// }
/// let mut dense = [0_f32; 2 * 3 * 5];
/// tensor.to_dense(&mut dense)?;
/// # assert_eq!((dense[8], dense[29]), (-1.25, -0.75));
/// # }
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Debug)]
pub struct Coo<'a> {
    shape: &'a [u64],
    values: Data<'a>,
    coords: Data<'a>,
}

/// An iterator over the coordinates of an entry, one for each dimension, outermost first.
#[doc(hidden)]
pub type Coordinate<'d> = StepBy<Skip<Widened<'d>>>;

impl<'a> Coo<'a> {
    pub(super) fn of(object: &Tensor<'a>) -> Result<Self, Error> {
        let part = |role| object.require(role)?.data();
        let coo = Self { shape: object.shape(), values: part("values")?, coords: part("coords")? };
        coo.check()?;
        Ok(coo)
    }

    /// Returns the dimensions, outermost first: 1 or more.
    pub fn shape(&self) -> &'a [u64] {
        self.shape
    }

    /// Returns the values: one logical element for each entry. For an unknown logical type these are storage elements,
    /// and it is not known how many of them make up an entry.
    pub fn values(&self) -> View<'_> {
        self.values.view()
    }

    /// Returns all coordinates: nnz coordinates of the first dimension, then nnz of the second, and so on.
    pub fn coords(&self) -> View<'_> {
        self.coords.view()
    }

    fn check(&self) -> Result<(), BareError> {
        let (nnz, coords) = (self.nnz(), self.coords());
        if nnz.checked_mul(self.shape.len()) != Some(coords.len()) || !self.values().may_hold(nnz) {
            let found = u64_from_usize(coords.len());
            return Err(BareError::nowhere(Rule::CooNnz).found(found).at(coords.kind().location));
        }
        let mut check = Coords::new(self.shape.iter().copied(), u64_from_usize(nnz));
        let taken = coords.widened().try_for_each(|coordinate| check.validate(coordinate));
        taken.map_err(|bad| bad.error_in(coords.kind()))
    }

    /// Returns the number of entries, including repeated entries and stored zeros.
    pub fn nnz(&self) -> usize {
        self.coords().len().checked_div(self.shape.len()).unwrap_or_default()
    }

    /// Returns the coordinates of all entries in dimension `dimension`; 0 is the outermost. Returns `None` if the tensor has no
    /// such dimension.
    pub fn axis(&self, dimension: usize) -> Option<View<'_>> {
        let start = self.nnz().checked_mul(dimension).filter(|_| dimension < self.shape.len())?;
        self.coords().part(start..start.checked_add(self.nnz())?)
    }

    /// Returns the coordinates of entry `entry` in each dimension, or `None` if there is no such entry.
    pub fn coordinate(&self, entry: usize) -> Option<Coordinate<'_>> {
        (entry < self.nnz()).then(|| self.coordinate_of_entry()(entry))
    }

    /// Returns an iterator over the coordinates and the value of every entry, in the order in which entries are stored.
    ///
    /// # Errors
    /// [`Misuse::Type`] if there is not one value of type `T` for each entry; `bool-value`.
    pub fn entries<T: Element>(
        &self,
    ) -> Result<impl ExactSizeIterator<Item = (Coordinate<'_>, T)> + Clone + use<'_, T>, Error>
    {
        let (values, position) = (self.values().one_each(self.nnz())?, self.coordinate_of_entry());
        Ok(values.enumerate().map(move |(entry, value)| (position(entry), value)))
    }

    /// Fills `dense` with the tensor in row-major order, with zeros (`false`) in cells without an entry. Entries are written in
    /// the order in which they are stored. If several entries are for the same cell, the cell gets the value of the last entry;
    /// SciPy, in contrast, adds the values of these entries up. [`has_duplicates`](Self::has_duplicates) tells whether cells are
    /// repeated. Takes 8 bytes of memory for each dimension.
    ///
    /// # Errors
    /// The errors of [`entries`](Self::entries); [`Misuse::Buffer`] if the length of `dense` is not the product of the
    /// shape; [`OutOfMemory`].
    pub fn to_dense<T: Element>(&self, dense: &mut [T]) -> Result<(), Error> {
        let mut shape = with_room(self.shape.len(), self.coords().kind().location)?;
        shape.extend(self.shape);
        let cells = self.entries::<T>()?.map(|(coordinate, value)| {
            let at = coordinate.zip(&shape).try_fold(0_u64, |at, (position, dimension)| {
                at.checked_mul(*dimension)?.checked_add(position)
            });
            (at, value)
        });
        fill_dense(dense, Product::of(self.shape).elements(), cells, &self.values())
    }

    /// Returns whether the entries are in row-major order, perhaps with repetitions. O(rank × nnz).
    pub fn is_sorted(&self) -> bool {
        self.neighbors().all(Ordering::is_le)
    }

    /// Returns whether a cell has more than one entry. Sorted entries take O(rank × nnz) time and no memory. Other
    /// entries take O(rank × nnz log nnz) time, and a `usize` for each entry.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn has_duplicates(&self) -> Result<bool, Error> {
        let mut sorted = true;
        for order in self.neighbors() {
            if order.is_eq() {
                return Ok(true);
            }
            sorted &= order.is_lt();
        }
        if sorted {
            return Ok(false);
        }
        let mut entries = with_room(self.nnz(), self.coords().kind().location)?;
        entries.extend(0..self.nnz());
        let position = self.coordinate_of_entry();
        sort_by(&mut entries, |one, other| position(*one).cmp(position(*other)));
        Ok(!entries.is_sorted_by(|one, next| position(*one).lt(position(*next))))
    }

    /// Returns an iterator over the order of each entry and the next entry, in row-major order.
    fn neighbors(&self) -> impl Iterator<Item = Ordering> + use<'_> {
        let position = self.coordinate_of_entry();
        (1..self.nnz()).zip(0..).map(move |(next, entry)| position(entry).cmp(position(next)))
    }

    /// Returns a function from the ordinal of an entry, counted from 0, to the coordinates of that entry.
    fn coordinate_of_entry<'d>(&'d self) -> impl Fn(usize) -> Coordinate<'d> + Clone + use<'d> {
        let (coords, nnz) = (self.coords().widened(), self.nnz().max(1));
        move |entry| coords.clone().skip(entry).step_by(nnz)
    }
}

/// Fills `dense`, whose length must be `length`, with the values of `entries`, which are positions in `dense` with their values,
/// and with zeros elsewhere. Fails with [`Misuse::Buffer`] if `dense` has another length.
fn fill_dense<T: Element>(
    dense: &mut [T],
    length: Option<u64>,
    entries: impl Iterator<Item = (Option<u64>, T)>,
    values: &View<'_>,
) -> Result<(), Error> {
    if length != Some(u64_from_usize(dense.len())) {
        return Err(values.kind().misuse(Misuse::Buffer).into());
    }
    dense.fill(T::ZERO);
    for (at, value) in entries {
        // The indices have been checked, so the position is below the length of `dense`.
        let slot = at.and_then(|at| dense.get_mut(usize::try_from(at).ok()?));
        *slot.ok_or_else(|| BareError::internal().at(values.kind().location))? = value;
    }
    Ok(())
}
