//! Values of quantized tensors, computed while their components are read.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::codes::{row_bytes, unpack, unpack_columns};
use super::plan::{Codes, Formula, Global, Plan, Zeros};
use crate::codec::Reader;
use crate::error::{BareError, Error, Misuse, OutOfMemory};
use crate::formats::{Block, BlockDequantizer};
use crate::manifest::{Component, Tensor};
use crate::rules::Limit;

/// The number of values that are computed at a time, unless a row has more.
const PIECE: u64 = 1 << 13;

/// The roles of components from which no value is computed: they hold shapes and formats.
const OTHERS: [&str; 3] = ["shape", "quant_state", "weight_format"];

/// A reader of the values of a quantized tensor as `f32`, in row-major order. Created by [`Tensor::dequantizer`].
///
/// Its memory holds a few rows of values, one row of scales, and the chunks that have been read. If a GPTQ tensor has `g_idx`, it
/// holds all scales.
#[derive(Debug)]
pub struct Dequantizer<'a>(Kind<'a>);

#[derive(Debug)]
enum Kind<'a> {
    Blocks(Box<Blocks<'a>>),
    Group(Box<Group<'a>>),
}

/// The blocks of a GGUF tensor.
#[derive(Debug)]
struct Blocks<'a> {
    reader: Reader<'a>,
    converter: BlockDequantizer,
    values: Vec<f32>,
}

impl<'a> Tensor<'a> {
    /// Returns a reader of the values of a quantized tensor: of a GGUF tensor whose elements are blocks, or of a group of tensors that
    /// [`Archive::with_conventions`](crate::Archive::with_conventions) has found.
    ///
    /// # Errors
    /// [`Misuse::Layout`] for other tensors; the errors of [`Component::reader`].
    pub fn dequantizer(&self) -> Result<Dequantizer<'a>, Error> {
        if let Some((block, data)) = Block::of_layout(self).zip(self.component("data")) {
            let (reader, converter) = (data.reader()?, block.dequantizer());
            let blocks = Blocks { reader, converter, values: Vec::new() };
            return Ok(Dequantizer(Kind::Blocks(Box::new(blocks))));
        }
        match Plan::of(self)? {
            Some(plan) => Ok(Dequantizer(Kind::Group(Box::new(Group::new(plan)?)))),
            None => Err(Misuse::Layout.into()),
        }
    }
}

impl Dequantizer<'_> {
    /// Returns the next values, some rows of them. Returns `None` at the end, when all components have been read and verified.
    ///
    /// # Errors
    /// The errors of [`Reader::next_chunk`]; `limit-decoded` if a row does not fit in the limit; out of memory.
    pub fn next_chunk(&mut self) -> Result<Option<&[f32]>, Error> {
        match &mut self.0 {
            Kind::Group(group) => group.next(),
            Kind::Blocks(own) => {
                let Blocks { reader, converter, values } = &mut **own;
                values.clear();
                while values.is_empty() {
                    let Some(chunk) = reader.next_chunk()? else { return Ok(None) };
                    converter.chunk(chunk, |elements| {
                        values.try_reserve(elements.len()).map_err(|_| OutOfMemory)?;
                        values.extend_from_slice(elements);
                        Ok::<(), Error>(())
                    })?;
                }
                Ok(Some(values))
            }
        }
    }
}

/// A component that is read in pieces of any length.
#[derive(Debug)]
struct Pieces<'a> {
    reader: Reader<'a>,
    held: Vec<u8>,
    /// The number of bytes of `held` that have been returned.
    used: usize,
}

impl<'a> Pieces<'a> {
    fn new(component: &Component<'a>) -> Result<Self, Error> {
        Ok(Self { reader: component.reader()?, held: Vec::new(), used: 0 })
    }

    /// Returns the next `length` bytes.
    fn take(&mut self, length: usize) -> Result<&[u8], Error> {
        if self.held.len().saturating_sub(self.used) < length {
            self.held.drain(..self.used);
            self.used = 0;
            while self.held.len() < length {
                // The sizes of components have been compared, so a component that ends early breaks an invariant.
                let Some(chunk) = self.reader.next_chunk()? else {
                    return Err(BareError::internal().into());
                };
                self.held.try_reserve(chunk.len()).map_err(|_| OutOfMemory)?;
                self.held.extend_from_slice(chunk);
            }
        }
        let start = self.used;
        self.used = self.used.saturating_add(length);
        self.held.get(start..self.used).ok_or_else(|| BareError::internal().into())
    }

    /// Reads the rest of the component, because its digest is verified only at the end.
    fn finish(&mut self) -> Result<(), Error> {
        while self.reader.next_chunk()?.is_some() {}
        Ok(())
    }
}

/// The scales and zero points of a row.
#[derive(Debug, Default)]
struct Factors {
    scales: Vec<f32>,
    zeros: Vec<f32>,
}

/// A group of tensors that is read row by row.
#[derive(Debug)]
struct Group<'a> {
    plan: Plan<'a>,
    data: Pieces<'a>,
    scales: Pieces<'a>,
    zeros: Option<Pieces<'a>>,
    /// The ordinals of the next row of values and of the next row of scales.
    row: u64,
    scale_row: u64,
    /// The number of further rows to which `factors` applies.
    left: u64,
    factors: Factors,
    /// The zero points of the next 32 rows of scales, if they are packed along the rows.
    zero_rows: Vec<f32>,
    /// All factors, and the row of scales for each row, if the rows are in any order.
    indexed: Option<(Factors, Pieces<'a>)>,
    /// The column of scales for each column, if the columns are in any order.
    columns: Vec<usize>,
    values: Vec<f32>,
}

/// Converts a size that has been compared with the length of a component.
fn size(bytes: u64) -> Result<usize, Error> {
    Ok(usize::try_from(bytes).map_err(|_| OutOfMemory)?)
}

impl<'a> Group<'a> {
    fn new(plan: Plan<'a>) -> Result<Self, Error> {
        let zeros = plan.zeros.as_ref().map(|(zeros, _)| Pieces::new(zeros)).transpose()?;
        let (data, scales) = (Pieces::new(&plan.data)?, Pieces::new(&plan.scales)?);
        let index = plan.index.as_ref().map(Pieces::new).transpose()?;
        let mut group = Self {
            plan,
            data,
            scales,
            zeros,
            row: 0,
            scale_row: 0,
            left: 0,
            factors: Factors::default(),
            zero_rows: Vec::new(),
            indexed: None,
            columns: Vec::new(),
            values: Vec::new(),
        };
        if let Some(index) = &group.plan.column_index {
            let mut reader = index.reader()?;
            while let Some(chunk) = reader.next_chunk()? {
                let (numbers, _) = chunk.as_chunks::<4>();
                group.columns.try_reserve(numbers.len()).map_err(|_| OutOfMemory)?;
                // An index that is no column of scales gives values that are not numbers.
                let column = |bytes: &[u8; 4]| usize::try_from(i32::from_le_bytes(*bytes));
                group
                    .columns
                    .extend(numbers.iter().map(|bytes| column(bytes).unwrap_or(usize::MAX)));
            }
        }
        if let Some(index) = index {
            let mut all = Factors::default();
            let rows = group.plan.scale_rows().ok_or(OutOfMemory)?;
            group.charge(rows.saturating_mul(group.plan.scale_columns))?;
            for _ in 0..rows {
                group.next_factors()?;
                for (all, row) in [
                    (&mut all.scales, &group.factors.scales),
                    (&mut all.zeros, &group.factors.zeros),
                ] {
                    all.try_reserve(row.len()).map_err(|_| OutOfMemory)?;
                    all.extend_from_slice(row);
                }
            }
            group.indexed = Some((all, index));
        }
        Ok(group)
    }

    /// Checks that `values` values fit in the limit `decoded`.
    fn charge(&self, values: u64) -> Result<(), Error> {
        let bytes = values.saturating_mul(4);
        if bytes <= self.plan.data.limits().decoded() {
            return Ok(());
        }
        let over = BareError::new(Limit::Decoded, self.plan.data.extent().offset()).found(bytes);
        Err(over.at(self.plan.data.location()).into())
    }

    /// Computes the next rows.
    fn next(&mut self) -> Result<Option<&[f32]>, Error> {
        let (rows, columns) = (self.plan.rows(), self.plan.columns);
        let left = rows.saturating_sub(self.row);
        if left == 0 {
            self.data.finish()?;
            self.scales.finish()?;
            self.zeros.as_mut().map_or(Ok(()), Pieces::finish)?;
            self.indexed.as_mut().map_or(Ok(()), |(_, index)| index.finish())?;
            self.verify_others()?;
            return Ok(None);
        }
        // Codes that are packed along the rows are complete every 32 rows.
        let unit = if matches!(self.plan.codes, Codes::Columns { .. }) { 32 } else { 1 };
        let units = PIECE.checked_div(columns.saturating_mul(unit)).unwrap_or(1).max(1);
        let count = left.min(units.saturating_mul(unit));
        let first = self.row.saturating_mul(columns);
        let values = count.saturating_mul(columns).min(self.plan.elements.saturating_sub(first));
        self.charge(values)?;
        let length = size(values)?;
        self.values.clear();
        self.values.try_reserve(length).map_err(|_| OutOfMemory)?;
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

    /// Reads the components from which no value is computed, because their checksums are verified only while they are read.
    fn verify_others(&self) -> Result<(), Error> {
        let tensor = self.plan.data.tensor();
        for component in OTHERS.iter().filter_map(|role| tensor.component(role)) {
            Pieces::new(&component)?.finish()?;
        }
        Ok(())
    }

    /// Fills `values` with the numbers of the codes of the next `count` rows.
    fn numbers(&mut self, count: u64) -> Result<(), Error> {
        let (columns, values) = (self.plan.columns, &mut self.values);
        match &self.plan.codes {
            Codes::Bytes(table) => {
                let bytes = self.data.take(values.len())?;
                for (slot, code) in values.iter_mut().zip(bytes) {
                    *slot = table.get(usize::from(*code)).copied().unwrap_or(f32::NAN);
                }
            }
            Codes::Nibbles { table, high_first } => {
                let bytes = self.data.take(values.len().div_ceil(2))?;
                let number =
                    |code: u8| table.get(usize::from(code & 15)).copied().unwrap_or(f32::NAN);
                let swap = if *high_first { 4 } else { 0 };
                for (slots, byte) in values.chunks_mut(2).zip(bytes) {
                    let byte = byte.rotate_left(swap);
                    slots
                        .iter_mut()
                        .zip([byte, byte >> 4])
                        .for_each(|(slot, code)| *slot = number(code));
                }
            }
            Codes::Rows { order, bits } => {
                let bytes = size(row_bytes(*order, *bits, columns).ok_or(OutOfMemory)?)?;
                for row in values.chunks_mut(size(columns)?.max(1)) {
                    unpack(*order, *bits, self.data.take(bytes)?, row);
                }
            }
            Codes::Columns { bits } => {
                let bytes = count.saturating_mul((*bits).into()).saturating_mul(columns) >> 3;
                let bytes = self.data.take(size(bytes)?)?;
                // In each column, 32 codes of `bits` bits fill exactly `bits` words, so every 32 rows begin at a word boundary.
                let columns = size(columns)?;
                let of_unit = columns.saturating_mul(usize::from(*bits)).saturating_mul(4).max(1);
                let units = values.chunks_mut(columns.saturating_mul(32).max(1));
                for (rows, bytes) in units.zip(bytes.chunks(of_unit)) {
                    unpack_columns(*bits, columns, bytes, rows);
                }
            }
        }
        Ok(())
    }

    /// Reads the next row of scales and its zero points into `factors`. Scales that are quantized themselves are decoded first.
    fn next_factors(&mut self) -> Result<(), Error> {
        let Self { plan, scales, zeros, factors, zero_rows, scale_row, .. } = self;
        let columns = size(plan.scale_columns)?;
        let width = size(plan.scale.width())?;
        factors.scales.clear();
        factors.zeros.clear();
        let bytes = scales.take(columns.saturating_mul(width))?;
        if let Some(nested) = &plan.nested {
            let group =
                scale_row.checked_div(nested.size).and_then(|row| usize::try_from(row).ok());
            let absmax = group.and_then(|group| nested.absmax.get(group)).copied();
            factors.scales.try_reserve(bytes.len()).map_err(|_| OutOfMemory)?;
            factors.scales.extend(bytes.iter().map(|code| {
                let number = nested.map.get(usize::from(*code)).copied();
                let both = number.zip(absmax);
                both.map_or(f32::NAN, |(number, absmax)| number * absmax + nested.offset)
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
                    // In each column, 32 codes of `bits` bits fill exactly `bits` words, so every 32 rows begin at a word boundary.
                    let place = scale_row.checked_rem(32).unwrap_or_default();
                    if place == 0 {
                        let rows = plan
                            .scale_rows()
                            .unwrap_or_default()
                            .saturating_sub(*scale_row)
                            .min(32);
                        let words = rows.saturating_mul(bits.into()).div_ceil(32);
                        let bytes =
                            size(words.saturating_mul(plan.scale_columns).saturating_mul(4))?;
                        let count = size(rows.saturating_mul(plan.scale_columns))?;
                        zero_rows.clear();
                        zero_rows.try_reserve(count).map_err(|_| OutOfMemory)?;
                        zero_rows.resize(count, 0.0);
                        unpack_columns(bits, columns, zeros.take(bytes)?, zero_rows);
                    }
                    let start = size(place.saturating_mul(plan.scale_columns))?;
                    let row = zero_rows.get(start..start.saturating_add(columns));
                    factors.zeros.extend_from_slice(row.unwrap_or_default());
                }
            }
        }
        *scale_row = scale_row.saturating_add(1);
        Ok(())
    }

    /// Turns the decoded codes of the next row into values in place: applies the scales and zero points of the row with the formula of
    /// the plan.
    fn apply(&mut self, row: &mut [f32]) -> Result<(), Error> {
        let columns = size(self.plan.scale_columns)?;
        if let Some((all, index)) = &mut self.indexed {
            let bytes: [u8; 4] = index.take(4)?.try_into().map_err(|_| BareError::internal())?;
            // An index that is no row of scales gives values that are not numbers.
            let start = usize::try_from(i32::from_le_bytes(bytes)).ok();
            let start = start.and_then(|group| group.checked_mul(columns));
            let range = start.and_then(|start| Some(start..start.checked_add(columns)?));
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
            let within = period.saturating_sub(row.checked_rem(period).unwrap_or_default());
            self.left = self.plan.per_row.max(1).min(within);
        }
        self.left = self.left.saturating_sub(1);
        if !self.columns.is_empty() {
            let Factors { scales, zeros } = &self.factors;
            for (value, column) in row.iter_mut().zip(&self.columns) {
                let scale = scales.get(*column).copied().unwrap_or(f32::NAN);
                let zero = zeros.get(*column).copied().unwrap_or(self.plan.zero);
                *value = of(self.plan.formula, *value, scale, zero);
            }
            return Ok(());
        }
        apply_formula(&self.plan, &self.factors.scales, &self.factors.zeros, row);
        Ok(())
    }
}

/// Applies the formula of `plan` to the codes in `row`, with `scales` and `zeros`. If `zeros` is empty, the zero point of the plan is
/// used for all of them.
fn apply_formula(plan: &Plan<'_>, scales: &[f32], zeros: &[f32], row: &mut [f32]) {
    let zero = |at: usize| zeros.get(at).copied().unwrap_or(plan.zero);
    if plan.per_column == 1 && !zeros.is_empty() {
        // One scale for each column, as in GPTQ and AWQ.
        for (value, (scale, zero)) in row.iter_mut().zip(scales.iter().zip(zeros)) {
            *value = of(plan.formula, *value, *scale, *zero);
        }
        return;
    }
    let width = usize::try_from(plan.per_column).unwrap_or(usize::MAX).max(1);
    for (at, (values, scale)) in row.chunks_mut(width).zip(scales).enumerate() {
        let zero = zero(at);
        for value in values {
            *value = of(plan.formula, *value, *scale, zero);
        }
    }
}

/// Computes a value. Each operation is rounded by itself.
#[inline(always)]
fn of(formula: Formula, number: f32, scale: f32, zero: f32) -> f32 {
    /// 1 / 127 rounded to `f32`. bitsandbytes multiplies by this constant instead of dividing by 127.
    const OF_127: f32 = 7.874_016e-3;
    match formula {
        Formula::Product => number * scale,
        Formula::Difference => (number - zero) * scale,
        Formula::Sum => number * scale + zero,
        Formula::Of127 => number * scale * OF_127,
    }
}
