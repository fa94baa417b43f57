//! Values of quantized tensors whose scales and zero points belong to rows, computed while their components are read.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use super::codes::{row_bytes, unpack, unpack_columns};
use super::pieces::{Digests, Pieces};
use super::plan::{Codes, ColumnPacking, Formula, Global, Plan, Zeros, row_of};
use super::sizes::words;
use crate::error::{BareError, Error, OutOfMemory};
use crate::manifest::Component;
use crate::num::u64_from_usize;
use crate::rules::Limit;

/// The largest number of values that are computed at a time, unless a row, or the rows whose codes share words, have more: few
/// enough to stay in the first cache of a processor.
const PIECE: u64 = 1 << 12;

/// For each value of a byte, the numbers for which the two codes in the byte stand.
type Pairs = [[f32; 2]; 256];

/// Returns the two numbers of the codes in each byte, so that one look-up decodes two codes. For codes that do not share bytes, the
/// table is not used.
fn pairs(codes: &Codes) -> Box<Pairs> {
    let mut pairs = Box::new([[f32::NAN; 2]; 256]);
    if let Codes::Nibbles { table, high_first } = codes {
        let number = |code: u8| table.get(usize::from(code & 15)).copied().unwrap_or(f32::NAN);
        for (pair, byte) in pairs.iter_mut().zip(0..=u8::MAX) {
            *pair = [number(byte), number(byte >> 4)];
            if *high_first {
                pair.reverse();
            }
        }
    }
    pairs
}

/// The roles of components from which no value is computed: they hold shapes and formats.
const OTHERS: [&str; 3] = ["shape", "quant_state", "weight_format"];

/// The scales and zero points of one or more rows.
#[derive(Debug, Default)]
struct Factors {
    scales: Vec<f32>,
    zeros: Vec<f32>,
}

impl Factors {
    /// Appends the factors of another row.
    fn append(&mut self, row: &Self) -> Result<(), OutOfMemory> {
        for (own, row) in [(&mut self.scales, &row.scales), (&mut self.zeros, &row.zeros)] {
            own.try_reserve(row.len()).map_err(|_| OutOfMemory)?;
            own.extend_from_slice(row);
        }
        Ok(())
    }
}

/// The scales and zero points of a tensor that has an index, which assigns a row of scales to each row of values.
#[derive(Debug)]
struct Indexed<'a> {
    /// The factors of `groups`, one row of scales after the other.
    factors: Factors,
    /// The ordinals of the rows of scales in `factors`, in ascending order. `None` if `factors` has all rows of scales.
    groups: Option<Vec<usize>>,
    /// The reader of the component that stores, for each row of values, the ordinal of its row of scales.
    index: Pieces<'a>,
    /// The number of all rows of scales.
    count: u64,
}

impl Indexed<'_> {
    /// Returns the position in `factors` of the row of scales `group`. Returns `None` if `groups` does not list this row.
    fn position(&self, group: usize) -> Option<usize> {
        match &self.groups {
            None => Some(group),
            Some(groups) => groups.binary_search(&group).ok(),
        }
    }
}

/// The reader of `absmax`, the scales of the scales of bitsandbytes.
#[derive(Debug)]
struct NestedAbsmax<'a> {
    pieces: Pieces<'a>,
    /// The number of further scales to which `absmax` applies.
    left: u64,
    absmax: f32,
}

/// A quantized tensor that is read row by row.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    plan: Plan<'a>,
    data: Pieces<'a>,
    scales: Pieces<'a>,
    zeros: Option<Pieces<'a>>,
    nested: Option<NestedAbsmax<'a>>,
    is_whole: bool,
    /// The ordinal of the next row of values.
    row: u64,
    /// The ordinal of the row of values after the last row that is read.
    end: u64,
    /// The ordinal of the next row of scales.
    scale_row: u64,
    /// The number of further rows to which `factors` applies.
    left: u64,
    factors: Factors,
    /// The zero points of the rows of scales that are in the same words, if they are packed along the rows.
    held_zeros: Vec<f32>,
    /// If a tensor such as `g_idx` assigns a row of scales to each row of values: the factors of all rows of scales, or for a
    /// part of the tensor, of those that its rows of values refer to.
    indexed: Option<Indexed<'a>>,
    /// For each column of values, the ordinal of its column of scales, if an index assigns them. Empty without an index, or if the
    /// index has the entry -1.
    columns: Vec<usize>,
    pairs: Box<Pairs>,
    values: Vec<f32>,
}

/// Converts a size in bytes, which has been compared with the length of a component, to `usize`.
fn size(bytes: u64) -> Result<usize, Error> {
    Ok(usize::try_from(bytes).map_err(|_| OutOfMemory)?)
}

/// Converts an entry of an index of `count` rows or columns of scales. An entry that refers to none of them becomes `usize::MAX`:
/// no row or column has this ordinal, and the values without scales are NaN.
fn index_of(entry: [u8; 4], count: u64) -> usize {
    row_of(entry, count).and_then(|row| usize::try_from(row).ok()).unwrap_or(usize::MAX)
}

impl<'a> Rows<'a> {
    /// Creates a reader of all values, which verifies all components.
    pub(super) fn whole(plan: Plan<'a>) -> Result<Self, Error> {
        let rows = 0..plan.rows();
        Self::new(plan, rows, true)
    }

    /// Creates a reader of the rows with the values `range`, and of the rows whose codes share words with them. Of components that
    /// are not compressed, only what these rows need is read; an index of columns is read whole. Returns the reader, and the
    /// number of values that it returns before those of `range`.
    pub(super) fn part(plan: Plan<'a>, range: &Range<u64>) -> Result<(Self, u64), Error> {
        let columns = plan.columns.max(1);
        let unit = plan.unit();
        let first = range.start.checked_div(columns).and_then(|row| row.checked_div(unit));
        let first = first.unwrap_or_default().saturating_mul(unit);
        let end = if range.is_empty() {
            first
        } else {
            range.end.div_ceil(columns).div_ceil(unit).saturating_mul(unit)
        };
        let (skip, end) = (first.saturating_mul(columns), end.min(plan.rows()));
        let rows = Self::new(plan, first..end, false)?;
        Ok((rows, range.start.saturating_sub(skip)))
    }

    /// Creates a reader of the values in `rows`. If `is_whole`, all components are read whole, so that their digests are compared.
    fn new(plan: Plan<'a>, rows: Range<u64>, is_whole: bool) -> Result<Self, Error> {
        let pieces = |component: &Component<'a>, needed: Option<Range<u64>>| {
            if is_whole {
                return Pieces::whole(component);
            }
            Pieces::part(component, needed.ok_or(OutOfMemory)?)
        };
        // With an index, any row of values may need any row of scales. So no range is read here, but `read_indexed` finds
        // the rows that are needed.
        let scale_rows = if plan.index.is_some() { 0..0 } else { plan.scale_rows_of(&rows) };
        let data = pieces(&plan.data, plan.data_bytes(&rows))?;
        let scales = pieces(&plan.scales, plan.scale_bytes(&scale_rows))?;
        let zeros = plan.zeros.as_ref();
        let zeros = zeros.map(|(zeros, form)| pieces(zeros, plan.zero_bytes(*form, &scale_rows)));
        let nested = plan.nested.as_ref();
        let nested = nested.map(|nested| {
            let first = scale_rows.start.checked_div(nested.size).unwrap_or_default();
            let needed = words(&(first..scale_rows.end.div_ceil(nested.size.max(1))));
            let pieces = pieces(&nested.absmax, needed)?;
            Ok::<_, Error>(NestedAbsmax { pieces, left: 0, absmax: f32::NAN })
        });
        let index = plan.index.as_ref().map(|index| pieces(index, words(&rows)));
        let (zeros, nested, index) = (zeros.transpose()?, nested.transpose()?, index.transpose()?);
        let pairs = pairs(&plan.codes);
        let mut own = Self {
            plan,
            pairs,
            data,
            scales,
            zeros,
            nested,
            is_whole,
            row: rows.start,
            end: rows.end,
            scale_row: scale_rows.start,
            left: 0,
            factors: Factors::default(),
            held_zeros: Vec::new(),
            indexed: None,
            columns: Vec::new(),
            values: Vec::new(),
        };
        if let Some(index) = &own.plan.column_index {
            let (mut reader, mut has_order) = (index.reader()?, true);
            let count = own.plan.scale_columns;
            while let Some(chunk) = reader.next_chunk()? {
                let (numbers, _) = chunk.as_chunks::<4>();
                has_order &= !numbers.iter().any(|number| i32::from_le_bytes(*number) == -1);
                own.columns.try_reserve(numbers.len()).map_err(|_| OutOfMemory)?;
                own.columns.extend(numbers.iter().map(|number| index_of(*number, count)));
            }
            // compressed-tensors fills a new index with -1, and ignores an index with this number.
            if !has_order {
                own.columns.clear();
            }
        }
        own.indexed = index.map(|index| own.read_indexed(index)).transpose()?;
        Ok(own)
    }

    /// Reads the factors of the rows of scales to which `index` refers.
    fn read_indexed(&mut self, mut index: Pieces<'a>) -> Result<Indexed<'a>, Error> {
        let count = self.plan.scale_rows().ok_or(OutOfMemory)?;
        let mut factors = Factors::default();
        if self.is_whole {
            self.charge(count.saturating_mul(self.plan.scale_columns))?;
            self.scale_row = 0;
            for _ in 0..count {
                self.next_factors()?;
                factors.append(&self.factors)?;
            }
            return Ok(Indexed { factors, groups: None, index, count });
        }
        // A part of a tensor mostly needs few of all rows of scales. Only these rows are read, in the order in which they
        // are stored.
        let bytes = self.end.saturating_sub(self.row).saturating_mul(4);
        let (numbers, _) = index.peek(size(bytes)?)?.as_chunks::<4>();
        let mut groups = Vec::new();
        groups.try_reserve_exact(numbers.len()).map_err(|_| OutOfMemory)?;
        let rows = numbers.iter().filter_map(|number| row_of(*number, count));
        groups.extend(rows.filter_map(|row| usize::try_from(row).ok()));
        groups.sort_unstable();
        groups.dedup();
        self.charge(u64_from_usize(groups.len()).saturating_mul(self.plan.scale_columns))?;
        for group in &groups {
            self.scale_row = u64_from_usize(*group);
            let row = self.scale_row..self.scale_row.saturating_add(1);
            self.scales.seek(self.plan.scale_bytes(&row).ok_or(OutOfMemory)?);
            if let (Some(zeros), Some((_, form))) = (&mut self.zeros, &self.plan.zeros) {
                zeros.seek(self.plan.zero_bytes(*form, &row).ok_or(OutOfMemory)?);
            }
            self.next_factors()?;
            factors.append(&self.factors)?;
        }
        Ok(Indexed { factors, groups: Some(groups), index, count })
    }

    /// Returns the components that are read with the rows.
    fn pieces(&self) -> impl Iterator<Item = &Pieces<'a>> {
        let nested = self.nested.as_ref().map(|nested| &nested.pieces);
        let index = self.indexed.as_ref().map(|indexed| &indexed.index);
        let all = [Some(&self.data), Some(&self.scales), self.zeros.as_ref(), nested, index];
        all.into_iter().flatten()
    }

    /// Returns the combined outcome of comparing the digests of the components, once all components have been read.
    pub(super) fn digests(&self) -> Digests<'a> {
        let mut digests = Digests::default();
        self.pieces().for_each(|pieces| pieces.note(&mut digests));
        digests
    }

    /// Returns the number of bytes to which compressed components have decoded so far.
    pub(super) fn decoded(&self) -> u64 {
        self.pieces().fold(0, |sum, pieces| sum.saturating_add(pieces.decoded()))
    }

    /// Checks that `values` values of type `f32` take no more bytes than the limit `decoded`. Fails with `limit-decoded`.
    fn charge(&self, values: u64) -> Result<(), Error> {
        let bytes = values.saturating_mul(4);
        if bytes <= self.plan.data.limits().decoded() {
            return Ok(());
        }
        let over = BareError::new(Limit::Decoded, self.plan.data.extent().offset()).found(bytes);
        Err(over.at(self.plan.data.location()).into())
    }

    /// Returns the values of the next rows. Returns `None` at the end, after the components have been finished and their checksums
    /// verified.
    ///
    /// # Errors
    /// `limit-decoded`; the errors of reading the components; out of memory.
    pub(super) fn next(&mut self) -> Result<Option<&[f32]>, Error> {
        let columns = self.plan.columns;
        let left = self.end.saturating_sub(self.row);
        if left == 0 {
            self.finish()?;
            return Ok(None);
        }
        let unit = self.plan.unit();
        let units = PIECE.checked_div(columns.saturating_mul(unit)).unwrap_or(1).max(1);
        let count = left.min(units.saturating_mul(unit));
        let first = self.row.saturating_mul(columns);
        let values = count.saturating_mul(columns).min(self.plan.elements.saturating_sub(first));
        self.charge(values)?;
        let length = size(values)?;
        // The bytes of the codes are read before memory for the values is reserved: a compressed component may have fewer
        // bytes than the shape claims, and then `peek` fails.
        let rows = self.row..self.row.saturating_add(count);
        let bytes = self.plan.data_bytes(&rows).ok_or(OutOfMemory)?;
        self.data.peek(size(bytes.end.saturating_sub(bytes.start))?)?;
        // All values are overwritten, so the old ones may stay.
        self.values
            .try_reserve(length.saturating_sub(self.values.len()))
            .map_err(|_| OutOfMemory)?;
        self.values.resize(length, 0.0);
        self.numbers(count)?;
        let width = size(columns)?.max(1);
        let mut values = core::mem::take(&mut self.values);
        for row in values.chunks_mut(width) {
            self.apply(row)?;
            self.row = self.row.saturating_add(1);
        }
        self.values = values;
        Ok(Some(&self.values))
    }

    /// Finishes all components. If the whole tensor has been read, this also reads the components from which no value is computed,
    /// because their checksums are verified only while they are read.
    fn finish(&mut self) -> Result<(), Error> {
        self.data.finish()?;
        self.scales.finish()?;
        self.zeros.as_mut().map_or(Ok(()), Pieces::finish)?;
        self.nested.as_mut().map_or(Ok(()), |nested| nested.pieces.finish())?;
        self.indexed.as_mut().map_or(Ok(()), |indexed| indexed.index.finish())?;
        let tensor = self.plan.data.tensor();
        let others = OTHERS.iter().filter_map(|role| tensor.component(role));
        for component in others.filter(|_| self.is_whole) {
            let mut reader = component.reader()?;
            while reader.next_chunk()?.is_some() {}
        }
        Ok(())
    }

    /// Decodes the codes of the next `count` rows to numbers in `values`. Does not apply scales and zero points.
    fn numbers(&mut self, count: u64) -> Result<(), Error> {
        let (columns, values) = (self.plan.columns, &mut self.values);
        match &self.plan.codes {
            Codes::Bytes(table) => {
                let bytes = self.data.take(values.len())?;
                for (slot, code) in values.iter_mut().zip(bytes) {
                    *slot = table.get(usize::from(*code)).copied().unwrap_or(f32::NAN);
                }
            }
            Codes::Nibbles { .. } => {
                let bytes = self.data.take(values.len().div_ceil(2))?;
                let pair = |byte: &u8| self.pairs.get(usize::from(*byte)).copied();
                let numbers = bytes.iter().map(|byte| pair(byte).unwrap_or([f32::NAN; 2]));
                let (slots, rest) = values.as_chunks_mut::<2>();
                slots.iter_mut().zip(numbers.clone()).for_each(|(slots, pair)| *slots = pair);
                // A tensor with an odd number of values ends in the middle of a byte.
                let last = rest.iter_mut().zip(numbers.skip(slots.len()));
                last.for_each(|(slot, [first, _])| *slot = first);
            }
            Codes::Rows { order, bits } => {
                let bytes = size(row_bytes(*order, *bits, columns).ok_or(OutOfMemory)?)?;
                for row in values.chunks_mut(size(columns)?.max(1)) {
                    unpack(*order, *bits, self.data.take(bytes)?, row);
                }
            }
            Codes::Columns(packing) => {
                let unit = packing.unit();
                let bytes = count.div_ceil(unit).saturating_mul(unit).saturating_mul(columns);
                let bytes = bytes.saturating_mul(packing.bits.into()) >> 3;
                let bytes = self.data.take(size(bytes)?)?;
                // In each column, the codes of `unit` rows fill whole words.
                let (columns, unit) = (size(columns)?, size(unit)?);
                let of_unit = columns.saturating_mul(unit);
                let in_bytes = of_unit.saturating_mul(packing.bits.into()) >> 3;
                let units = values.chunks_mut(of_unit.max(1));
                for (rows, bytes) in units.zip(bytes.chunks(in_bytes.max(1))) {
                    unpack_columns(*packing, columns, bytes, rows);
                }
            }
        }
        Ok(())
    }

    /// Reads the next row of scales and its zero points into `factors`. Scales that are quantized themselves are decoded first, and
    /// the global scale of the tensor is applied.
    fn next_factors(&mut self) -> Result<(), Error> {
        let Self { plan, scales, zeros, nested, factors, held_zeros, scale_row, .. } = self;
        let columns = size(plan.scale_columns)?;
        let width = size(plan.scale.width())?;
        factors.scales.clear();
        factors.zeros.clear();
        let bytes = scales.take(columns.saturating_mul(width))?;
        if let (Some(nested), Some(own)) = (&plan.nested, nested) {
            factors.scales.try_reserve(bytes.len()).map_err(|_| OutOfMemory)?;
            if own.left == 0 {
                let bytes = own.pieces.take(4)?.try_into().map_err(|_| BareError::internal())?;
                own.absmax = f32::from_le_bytes(bytes);
                let within = scale_row.checked_rem(nested.size).unwrap_or_default();
                own.left = nested.size.saturating_sub(within);
            }
            own.left = own.left.saturating_sub(1);
            factors.scales.extend(bytes.iter().map(|code| {
                let number = nested.map.get(usize::from(*code)).copied();
                number.map_or(f32::NAN, |number| number * own.absmax + nested.offset)
            }));
        } else {
            plan.scale.widen(bytes, &mut factors.scales)?;
        }
        match plan.global {
            Global::None => {}
            Global::Times(global) => factors.scales.iter_mut().for_each(|scale| *scale *= global),
            Global::Over(global) => factors.scales.iter_mut().for_each(|scale| *scale /= global),
        }
        if let (Some(zeros), Some((_, form))) = (zeros, &plan.zeros) {
            factors.zeros.try_reserve(columns).map_err(|_| OutOfMemory)?;
            match *form {
                Zeros::Numbers(number) => {
                    let bytes = columns.saturating_mul(size(number.width())?);
                    number.widen(zeros.take(bytes)?, &mut factors.zeros)?;
                }
                Zeros::Rows { order, bits, add } => {
                    let bytes = row_bytes(order, bits, plan.scale_columns).ok_or(OutOfMemory)?;
                    factors.zeros.resize(columns, 0.0);
                    unpack(order, bits, zeros.take(size(bytes)?)?, &mut factors.zeros);
                    factors.zeros.iter_mut().for_each(|zero| *zero += add);
                }
                Zeros::Columns { bits } => {
                    let packing = ColumnPacking::words(bits);
                    let row_in_unit = scale_row.checked_rem(packing.unit()).unwrap_or_default();
                    if row_in_unit == 0 || held_zeros.is_empty() {
                        let first = scale_row.saturating_sub(row_in_unit);
                        let rows = plan.scale_rows().unwrap_or_default().saturating_sub(first);
                        let rows = rows.min(packing.unit());
                        let words = rows.saturating_mul(bits.into()).div_ceil(32);
                        let bytes =
                            size(words.saturating_mul(plan.scale_columns).saturating_mul(4))?;
                        let count = size(rows.saturating_mul(plan.scale_columns))?;
                        held_zeros.clear();
                        held_zeros.try_reserve(count).map_err(|_| OutOfMemory)?;
                        held_zeros.resize(count, 0.0);
                        unpack_columns(packing, columns, zeros.take(bytes)?, held_zeros);
                    }
                    let start = size(row_in_unit.saturating_mul(plan.scale_columns))?;
                    let row = held_zeros.get(start..start.saturating_add(columns));
                    factors.zeros.extend_from_slice(row.unwrap_or_default());
                }
            }
        }
        *scale_row = scale_row.saturating_add(1);
        Ok(())
    }

    /// Turns the decoded codes of the next row into values in place: applies the scales and zero points of the row with the
    /// formula of the plan. Values whose index refers to no scale become NaN.
    fn apply(&mut self, row: &mut [f32]) -> Result<(), Error> {
        let columns = size(self.plan.scale_columns)?;
        if let Some(indexed) = &mut self.indexed {
            let bytes = indexed.index.take(4)?.try_into().map_err(|_| BareError::internal())?;
            let group = index_of(bytes, indexed.count);
            let start = indexed.position(group).and_then(|at| at.checked_mul(columns));
            let range = start.and_then(|start| Some(start..start.checked_add(columns)?));
            let all = &indexed.factors;
            let scales = range.clone().and_then(|range| all.scales.get(range));
            let zeros = range.and_then(|range| all.zeros.get(range)).unwrap_or_default();
            match scales {
                Some(scales) => apply_formula(&self.plan, scales, zeros, row),
                None => row.fill(f32::NAN),
            }
            return Ok(());
        }
        if self.left == 0 {
            self.next_factors()?;
            let (row, period) = (self.row, self.plan.period.max(1));
            let within = row.checked_rem(period).unwrap_or_default();
            // The part of a tensor that is read may begin in the middle of the rows of values that share a row of scales.
            let per_row = self.plan.per_row.max(1);
            let begun = within.checked_rem(per_row).unwrap_or_default();
            self.left = per_row.saturating_sub(begun).min(period.saturating_sub(within));
        }
        self.left = self.left.saturating_sub(1);
        if !self.columns.is_empty() {
            let Factors { scales, zeros } = &self.factors;
            let factors = self.columns.iter().map(|column| {
                let zero = zeros.get(*column).copied().unwrap_or(self.plan.zero);
                (scales.get(*column).copied().unwrap_or(f32::NAN), zero)
            });
            for (value, (scale, zero)) in row.iter_mut().zip(factors) {
                apply_formula(&self.plan, &[scale], &[zero], core::slice::from_mut(value));
            }
            return Ok(());
        }
        apply_formula(&self.plan, &self.factors.scales, &self.factors.zeros, row);
        Ok(())
    }
}

/// 1 / 127 rounded to `f32`. bitsandbytes multiplies by this constant instead of dividing by 127.
const OF_127: f32 = 7.874_016e-3;

/// Applies the formula of `plan` to the codes in `row`, with `scales` and `zeros`. If `zeros` is empty, the zero point of the
/// plan is used for all of them.
fn apply_formula(plan: &Plan<'_>, scales: &[f32], zeros: &[f32], row: &mut [f32]) {
    let factors = (scales, zeros);
    // The formula is chosen once for a row, so that the compiler makes vectors of each loop.
    match plan.formula {
        Formula::Product => apply(plan, factors, row, |number, scale, _| number * scale),
        Formula::Difference => {
            apply(plan, factors, row, |number, scale, zero| (number - zero) * scale);
        }
        Formula::Sum => apply(plan, factors, row, |number, scale, zero| number * scale + zero),
        Formula::Of127 => apply(plan, factors, row, |number, scale, _| number * scale * OF_127),
    }
}

/// Computes the values of `row` with `formula`, which takes a number, a scale and a zero point, and rounds each operation by
/// itself.
#[inline(always)]
fn apply(
    plan: &Plan<'_>,
    (scales, zeros): (&[f32], &[f32]),
    row: &mut [f32],
    formula: impl Fn(f32, f32, f32) -> f32,
) {
    if plan.per_column == 1 && zeros.is_empty() {
        for (value, scale) in row.iter_mut().zip(scales) {
            *value = formula(*value, *scale, plan.zero);
        }
    } else if plan.per_column == 1 {
        // The row has one scale for each column, as in GPTQ and AWQ.
        for (value, (scale, zero)) in row.iter_mut().zip(scales.iter().zip(zeros)) {
            *value = formula(*value, *scale, *zero);
        }
    } else {
        let width = usize::try_from(plan.per_column).unwrap_or(usize::MAX).max(1);
        for (at, (values, scale)) in row.chunks_mut(width).zip(scales).enumerate() {
            let zero = zeros.get(at).copied().unwrap_or(plan.zero);
            for value in values {
                *value = formula(*value, *scale, zero);
            }
        }
    }
}
