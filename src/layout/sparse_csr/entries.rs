//! Going through the entries of a [`Csr`].

use core::iter::FusedIterator;

use super::Csr;
use crate::element::Element;
use crate::error::Error;
use crate::layout::Elements;
use crate::layout::index::Widened;

impl<'d> Csr<'d> {
    /// The rows, one after another or by their number.
    ///
    /// # Errors
    /// [`Misuse::Type`](crate::error::Misuse::Type) where the values are not one `T` an entry;
    /// `bool-value`.
    pub fn by_row<T: Element>(&self) -> Result<ByRow<'d, T>, Error> {
        let values = self.values().one_each(self.nnz())?;
        Ok(ByRow { csr: *self, values, next: 0 })
    }

    /// Row, column and value of every entry, in the order they are stored.
    ///
    /// # Errors
    /// As [`by_row`](Self::by_row).
    pub fn entries<T: Element>(&self) -> Result<CsrEntries<'d, T>, Error> {
        let mut ends = self.indptr().iter();
        // The first row begins at 0.
        ends.next();
        Ok(CsrEntries {
            end: ends.next().unwrap_or_default(),
            ends,
            row: 0,
            position: 0,
            columns: self.indices().iter(),
            values: self.values().one_each(self.nnz())?,
        })
    }
}

/// The rows of a [`Csr`], with values of type `T`.
#[derive(Clone, Debug)]
pub struct ByRow<'d, T> {
    csr: Csr<'d>,
    values: Elements<'d, T>,
    next: u64,
}

impl<'d, T: Element> ByRow<'d, T> {
    /// The row of that number; none if there is no such row. O(1).
    pub fn get(&self, row: u64) -> Option<Row<'d, T>> {
        let range = self.csr.row_range(row)?;
        let columns = self.csr.indices().part(range.clone())?.iter();
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

    fn size_hint(&self) -> (usize, Option<usize>) {
        // There are more row pointers than rows, and those are in memory.
        let left = self.csr.rows().saturating_sub(self.next);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}

impl<T: Element> ExactSizeIterator for ByRow<'_, T> {}
impl<T: Element> FusedIterator for ByRow<'_, T> {}

/// The entries of one row: column and value, in the order they are stored.
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

    /// Which type the columns are of is asked once, and not for each of them.
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

/// The entries of a [`Csr`]: row, column and value, in the order they are stored.
#[derive(Clone, Debug)]
pub struct CsrEntries<'d, T> {
    ends: Widened<'d>,
    end: u64,
    row: u64,
    position: u64,
    columns: Widened<'d>,
    values: Elements<'d, T>,
}

impl<T: Element> Iterator for CsrEntries<'_, T> {
    type Item = (u64, u64, T);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64, T)> {
        let (column, value) = (self.columns.next()?, self.values.next()?);
        // The last row ends after the last entry, so an entry has a row.
        while self.position >= self.end {
            self.end = self.ends.next()?;
            self.row = self.row.saturating_add(1);
        }
        self.position = self.position.saturating_add(1);
        Some((self.row, column, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.columns.size_hint()
    }
}

impl<T: Element> ExactSizeIterator for CsrEntries<'_, T> {}
impl<T: Element> FusedIterator for CsrEntries<'_, T> {}
