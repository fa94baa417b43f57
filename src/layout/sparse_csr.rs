//! `sparse_csr`: compressed sparse rows. v1.1 III.2, v1.2 §3.

mod entries;

use alloc::vec::Vec;
use core::ops::Range;

pub use entries::{ByRow, CsrEntries, Row};

use super::index::{Below, Indices, Indptr};
use super::{Decoded, View};
use crate::codec::{ReadAt, ReadError};
use crate::element::Element;
use crate::error::{Error, Misuse, OutOfMemory};
use crate::format::Format;
use crate::limits::Limits;
use crate::manifest::{Component, Object};
use crate::num::u64_from_usize;
use crate::rules::Rule;

/// A `sparse_csr` object: a matrix of `rows` × `columns`, and the components that hold it.
///
/// ```
/// # let file = std::fs::read("corpus/accept/1.2.3/csr_raw.zt").unwrap();
/// let archive = zten::Archive::open(file)?;
/// let matrix = archive.get("csr_f32").unwrap().sparse_csr()?.view()?;
/// for (row, column, value) in matrix.entries::<f32>()? {
///     println!("{row} {column} {value}");
/// }
/// let mut dense = [0_f32; 3 * 4];
/// matrix.to_dense(&mut dense)?;
/// # assert_eq!(dense, [-1.25, 0., -0.75, 0., 0., 0., 0., 0., 0., -0.25, 0., 0.25]);
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SparseCsr<'a> {
    rows: u64,
    columns: u64,
    values: Component<'a>,
    indices: Component<'a>,
    indptr: Component<'a>,
}

impl<'a> Object<'a> {
    /// The object as compressed sparse rows.
    ///
    /// # Errors
    /// [`Misuse::Format`] where it is of another format; `unsupported-layout` where a 0.1 layout
    /// is not known.
    pub fn sparse_csr(&self) -> Result<SparseCsr<'a>, Error> {
        let read = || {
            let mut shape = self.shape().iter();
            Some(SparseCsr {
                rows: shape.next()?,
                columns: shape.next()?,
                values: self.component("values")?,
                indices: self.component("indices")?,
                indptr: self.component("indptr")?,
            })
        };
        let csr = if self.format() == Format::SparseCsr { read() } else { None };
        csr.ok_or_else(|| self.other_format())
    }
}

impl<'a> SparseCsr<'a> {
    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> u64 {
        self.columns
    }

    /// The component `values`: nnz logical elements.
    pub fn values(&self) -> Component<'a> {
        self.values
    }

    /// The component `indices`: nnz columns.
    pub fn indices(&self) -> Component<'a> {
        self.indices
    }

    /// The component `indptr`: rows + 1 positions in `indices`.
    pub fn indptr(&self) -> Component<'a> {
        self.indptr
    }

    /// The matrix where it lies in the file, all of whose row pointers and indices are checked:
    /// O(rows + nnz) time, no memory. For objects of an [`Archive`](crate::Archive), which holds
    /// that file. Digests are not looked at.
    ///
    /// # Errors
    /// As [`Component::view`] and [`bind`](Self::bind).
    pub fn view(&self) -> Result<Csr<'a>, Error> {
        self.bind(self.values.file()?)
    }

    /// Binds the matrix to the file it is in, all of whose bytes are in `file`, and checks all
    /// row pointers and indices: O(rows + nnz) time, no memory. Digests are not looked at.
    ///
    /// # Errors
    /// As [`Component::bind`]; `csr-indptr-start`, `csr-indptr-order`, `csr-indptr-end`,
    /// `index-range`, at the byte of the file.
    pub fn bind<'d>(&self, file: &'d [u8]) -> Result<Csr<'d>, Error> {
        let values = self.values.bind(file)?;
        let indices = self.indices.bind(file)?;
        let indptr = self.indptr.bind(file)?;
        Csr::validate(self.rows, self.columns, values, indices, indptr)
    }

    /// Decodes the matrix, whatever its encoding, into memory of its own, and checks it.
    ///
    /// # Errors
    /// As [`Component::decode`] and [`bind`](Self::bind); `csr-nnz`, `csr-indptr-size` where
    /// the manifest does not give the sizes (zstd in 1.1).
    pub fn decode<R: ReadAt + ?Sized>(
        &self,
        source: &R,
        limits: &Limits,
    ) -> Result<DecodedCsr, ReadError<R::Error>> {
        let decoded = DecodedCsr {
            rows: self.rows,
            columns: self.columns,
            indptr: self.indptr.decode(source, limits)?,
            indices: self.indices.decode(source, limits)?,
            values: self.values.decode(source, limits)?,
        };
        let DecodedCsr { values, indices, indptr, .. } = &decoded;
        Csr::validate(self.rows, self.columns, values.view(), indices.view(), indptr.view())?;
        Ok(decoded)
    }
}

/// A decoded matrix that has been checked: what a [`Csr`] can borrow from.
#[derive(Debug)]
pub struct DecodedCsr {
    rows: u64,
    columns: u64,
    values: Decoded,
    indices: Decoded,
    indptr: Decoded,
}

impl DecodedCsr {
    /// The matrix. It was checked when it was decoded: this takes no time.
    pub fn csr(&self) -> Csr<'_> {
        Csr {
            rows: self.rows,
            columns: self.columns,
            values: self.values.view(),
            indices: Indices::over(self.indices.view()),
            indptr: Indices::over(self.indptr.view()),
        }
    }
}

/// A matrix in compressed sparse rows, whose row pointers and indices have been checked: every
/// row is a range of the entries, and every column is below [`columns`](Self::columns).
///
/// Row `i` has the entries at positions `indptr[i]..indptr[i + 1]` of `indices` and `values`.
/// Columns may be in any order within a row, and may be repeated.
#[derive(Clone, Copy, Debug)]
pub struct Csr<'d> {
    rows: u64,
    columns: u64,
    values: View<'d>,
    indices: Indices<'d>,
    indptr: Indices<'d>,
}

impl<'d> Csr<'d> {
    /// The one way to make one that has not been checked before.
    fn validate(
        rows: u64,
        columns: u64,
        values: View<'d>,
        indices: View<'d>,
        indptr: View<'d>,
    ) -> Result<Self, Error> {
        let nnz = indices.len();
        let refuse = |rule, view: &View<'_>| {
            Error::nowhere(rule).found(u64_from_usize(view.len())).at(view.kind().place)
        };
        if !values.may_hold(nnz) {
            return Err(refuse(Rule::CsrNnz, &indices));
        }
        if Some(u64_from_usize(indptr.len())) != rows.checked_add(1) {
            return Err(refuse(Rule::CsrIndptrSize, &indptr));
        }
        let csr = Self {
            rows,
            columns,
            values,
            indices: Indices::over(indices),
            indptr: Indices::over(indptr),
        };
        let mut pointers = Indptr::new(indptr.storage_type());
        let taken = csr.indptr.iter().each(|pointer| pointers.validate(pointer));
        taken
            .and_then(|()| pointers.finish(u64_from_usize(nnz)))
            .map_err(|bad| bad.error_in(&indptr))?;
        let mut below = Below::new(columns);
        let taken = csr.indices.iter().each(|index| below.validate(index));
        taken.map_err(|bad| bad.error_in(&indices))?;
        Ok(csr)
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> u64 {
        self.columns
    }

    /// The number of entries, repeated ones and stored zeros included.
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }

    /// The values, one logical element an entry. Of a logical type that is not known, these are
    /// storage elements, and how many make up an entry is not known either.
    pub fn values(&self) -> View<'d> {
        self.values
    }

    /// The column of each entry.
    pub fn indices(&self) -> Indices<'d> {
        self.indices
    }

    /// Where each row begins, and where the last one ends.
    pub fn indptr(&self) -> Indices<'d> {
        self.indptr
    }

    /// The positions of the entries of a row; none if there is no such row.
    pub fn row_range(&self, row: u64) -> Option<Range<usize>> {
        if row >= self.rows {
            return None;
        }
        let row = usize::try_from(row).ok()?;
        let pointer = |at| self.indptr.get(at).and_then(|pointer| usize::try_from(pointer).ok());
        Some(pointer(row)?..pointer(row.checked_add(1)?)?)
    }

    /// Fills `dense` with the matrix in row-major order, and zeros (`false`) where it has no
    /// entry. Entries are written in the order they are stored: where a place is repeated, the
    /// last one is what stays. [`has_duplicates`](Self::has_duplicates) tells whether that
    /// happens; SciPy adds such entries up.
    ///
    /// # Errors
    /// As [`by_row`](Self::by_row); [`Misuse::Buffer`] where `dense` has not exactly
    /// rows × columns elements.
    pub fn to_dense<T: Element>(&self, dense: &mut [T]) -> Result<(), Error> {
        let entries = self.entries::<T>()?;
        if self.rows.checked_mul(self.columns) != Some(u64_from_usize(dense.len())) {
            return Err(Error::misuse(Misuse::Buffer).at(self.values.kind().place));
        }
        dense.fill(T::ZERO);
        for (row, column, value) in entries {
            // Always below the length of `dense`: rows and columns have been checked.
            let at = row.checked_mul(self.columns).and_then(|at| at.checked_add(column));
            let at = at.and_then(|at| usize::try_from(at).ok());
            let slot = at.and_then(|at| dense.get_mut(at));
            *slot.ok_or_else(|| Error::internal().at(self.values.kind().place))? = value;
        }
        Ok(())
    }

    /// Whether the columns of every row never fall. O(rows + nnz).
    pub fn is_sorted(&self) -> bool {
        let mut columns = self.indices.iter();
        self.row_lengths().all(|length| columns.by_ref().take(length).is_sorted())
    }

    /// Whether a place has more than one entry. O(rows + nnz log nnz); sorted rows need no
    /// memory, others are copied one at a time, 8 bytes an entry.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn has_duplicates(&self) -> Result<bool, Error> {
        let mut columns = self.indices.iter();
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
            let memory = Error::from(OutOfMemory).at(self.indices.view().kind().place);
            scratch.try_reserve(length).map_err(|_| memory)?;
            scratch.extend(row);
            scratch.sort_unstable();
            if scratch.windows(2).any(|pair| matches!(pair, [one, next] if one == next)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// How many entries each row has.
    fn row_lengths(&self) -> impl Iterator<Item = usize> + use<'d> {
        let bounds = self.indptr.iter().zip(self.indptr.iter().skip(1));
        // More than memory has are as many as there are.
        bounds.map(|(start, end)| usize::try_from(end.abs_diff(start)).unwrap_or(usize::MAX))
    }
}
