//! Byte ranges of the rows of a quantized tensor in its components.

use core::ops::Range;

use super::codes::row_bytes;
use super::plan::{Codes, ColumnPacking, Plan, Zeros};
use crate::manifest::Component;

/// Returns the range of bytes that holds the words `range` of an array of words of 4 bytes. Returns `None` if an offset exceeds 64
/// bits.
pub(super) fn words(range: &Range<u64>) -> Option<Range<u64>> {
    bytes(range, |words| words.checked_mul(4))
}

/// Returns the range of bytes that holds the rows `range`. `before` returns the number of bytes before a row, or `None` if the
/// number exceeds 64 bits.
fn bytes(range: &Range<u64>, before: impl Fn(u64) -> Option<u64>) -> Option<Range<u64>> {
    Some(before(range.start)?..before(range.end)?)
}

impl Plan<'_> {
    /// Returns the smallest number of rows whose codes fill whole words.
    pub(super) fn unit(&self) -> u64 {
        match self.codes {
            Codes::Columns(packing) => packing.unit(),
            _ => 1,
        }
    }

    /// Returns the number of rows of scales.
    pub(super) fn scale_rows(&self) -> Option<u64> {
        let (rows, period) = (self.rows(), self.period.max(1));
        let whole = rows.checked_div(period)?;
        let of_one = |rows: u64| rows.div_ceil(self.per_row.max(1));
        whole.checked_mul(of_one(period))?.checked_add(of_one(rows.checked_rem(period)?))
    }

    /// Returns the range of the rows of scales that belong to the rows `rows` of values. The range has no meaning if an index
    /// assigns the rows of scales.
    pub(super) fn scale_rows_of(&self, rows: &Range<u64>) -> Range<u64> {
        let (period, per_row) = (self.period.max(1), self.per_row.max(1));
        let scale_row = |row: u64| {
            let (outer, within) = (row.checked_div(period)?, row.checked_rem(period)?);
            let before = outer.checked_mul(period.div_ceil(per_row))?;
            before.checked_add(within.checked_div(per_row)?)
        };
        // The number of rows of scales of the whole tensor fits in 64 bits, so these numbers do.
        let start = scale_row(rows.start).unwrap_or_default();
        let last = rows.end.checked_sub(1).filter(|last| *last >= rows.start).and_then(scale_row);
        start..last.map_or(start, |last| last.saturating_add(1))
    }

    /// Returns the bytes of the codes of the rows `rows`, which begin and end with whole words. Returns `None` if an offset exceeds
    /// 64 bits.
    pub(super) fn data_bytes(&self, rows: &Range<u64>) -> Option<Range<u64>> {
        let values = |rows: u64| Some(rows.checked_mul(self.columns)?.min(self.elements));
        bytes(rows, |rows| match self.codes {
            Codes::Nibbles { .. } => Some(values(rows)?.div_ceil(2)),
            Codes::Bytes(_) => values(rows),
            Codes::Rows { order, bits } => rows.checked_mul(row_bytes(order, bits, self.columns)?),
            Codes::Columns(packing) => column_bytes(packing, rows, self.columns),
        })
    }

    /// Returns the range of bytes that holds the rows `rows` of scales. Returns `None` if an offset exceeds 64 bits.
    pub(super) fn scale_bytes(&self, rows: &Range<u64>) -> Option<Range<u64>> {
        let row = self.scale_columns.checked_mul(self.scale.width())?;
        bytes(rows, |rows| rows.checked_mul(row))
    }

    /// Returns the range of bytes that holds the zero points of the rows `rows` of scales. The range extends to whole words, so it
    /// may include zero points of adjacent rows. Returns `None` if an offset exceeds 64 bits.
    pub(super) fn zero_bytes(&self, form: Zeros, rows: &Range<u64>) -> Option<Range<u64>> {
        let columns = self.scale_columns;
        match form {
            Zeros::Numbers(number) => {
                let row = columns.checked_mul(number.width())?;
                bytes(rows, |rows| rows.checked_mul(row))
            }
            Zeros::Rows { order, bits, .. } => {
                let row = row_bytes(order, bits, columns)?;
                bytes(rows, |rows| rows.checked_mul(row))
            }
            Zeros::Columns { bits } => {
                let packing = ColumnPacking::words(bits);
                let start = rows.start.checked_div(packing.unit())?.checked_mul(packing.unit())?;
                let end = rows.end.div_ceil(packing.unit()).checked_mul(packing.unit())?;
                let end = end.min(self.scale_rows()?);
                bytes(&(start..end), |rows| column_bytes(packing, rows, columns))
            }
        }
    }

    /// Returns whether each component has the size that the shape asks for, and the rows and columns fill whole bytes and words.
    /// Returns `None` or false if a size exceeds 64 bits.
    pub(super) fn has_sizes(&self) -> Option<bool> {
        let (rows, columns, scale_rows) = (self.rows(), self.columns, self.scale_rows()?);
        let is = |component: &Component<'_>, bytes: Option<Range<u64>>| {
            bytes.is_some_and(|bytes| component.decoded_length() == Some(bytes.end))
        };
        let has_zeros = self.zeros.as_ref().is_none_or(|(component, form)| {
            is(component, self.zero_bytes(*form, &(0..scale_rows)))
        });
        let has_index = self.index.as_ref().is_none_or(|index| is(index, words(&(0..rows))));
        let has_columns = self.column_index.as_ref();
        let has_columns = has_columns.is_none_or(|index| is(index, words(&(0..columns))));
        let is_complete = match self.codes {
            Codes::Nibbles { .. } => columns.is_multiple_of(2),
            Codes::Columns(packing) => rows.is_multiple_of(packing.unit()),
            Codes::Bytes(_) | Codes::Rows { .. } => true,
        };
        let columns = self.scale_columns.checked_mul(self.per_column)?;
        Some(
            is_complete
                && columns >= self.columns
                && is(&self.data, self.data_bytes(&(0..rows)))
                && is(&self.scales, self.scale_bytes(&(0..scale_rows)))
                && has_zeros
                && has_index
                && has_columns,
        )
    }
}

/// Returns the number of bytes of `rows` rows of `columns` codes that are packed along the rows. Returns `None` if the number
/// exceeds 64 bits.
fn column_bytes(packing: ColumnPacking, rows: u64, columns: u64) -> Option<u64> {
    let word = u64::from(packing.word);
    let words = rows.checked_mul(packing.bits.into())?.div_ceil(word);
    words.checked_mul(columns)?.checked_mul(word >> 3)
}
