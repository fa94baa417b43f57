//! The values of quantized objects and of blocks, converted to dense floats.

use std::cell::Cell;
use std::io;

use zten::formats::write::ChunkFn;
use zten::{Component, Error, Tensor};
use zten_report::values::{Factors, Values, factors};

use crate::args::Float;

/// The scales of a quantized object, which were read before its elements, and the type of the floats to write.
pub(super) struct Dequantized {
    factors: Factors,
    to: Float,
    saturates: bool,
}

impl Dequantized {
    /// Reads the scales and zero points of `object`.
    pub(super) fn new(object: &Tensor<'_>, to: Float, saturates: bool) -> Result<Self, Error> {
        Ok(Self { factors: factors(object)?, to, saturates })
    }

    /// Passes the values of `object`, a group of tensors that follow a convention, to `take` as floats. The inner error is that of
    /// `take`, or of a number beyond the largest, which is stored in `overflow`.
    pub(super) fn group(
        &self,
        object: &Tensor<'_>,
        overflow: &Cell<Option<f64>>,
        take: &mut ChunkFn<'_>,
    ) -> Result<io::Result<()>, Error> {
        let (mut values, mut numbers, mut out) = (object.dequantizer()?, Vec::new(), Vec::new());
        while let Some(chunk) = values.next_chunk()? {
            numbers.clear();
            numbers.extend(chunk.iter().copied().map(f64::from));
            out.clear();
            let converted = self.to.append(&numbers, &mut out, (self.saturates, overflow));
            if let Err(error) = converted.and_then(|()| take(&out)) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// Returns a converter for the elements of `object`, or the reason why the object has no values, as in "the elements are
    /// {reason}". A number beyond the largest that does not saturate is stored in `overflow`.
    pub(super) fn floats<'d>(
        &'d self,
        object: &Tensor<'_>,
        overflow: &'d Cell<Option<f64>>,
    ) -> Result<Result<Floats<'d>, &'static str>, Error> {
        let values = Values::of(object, &self.factors)?;
        let (to, beyond) = (self.to, (self.saturates, overflow));
        Ok(values.map(|values| Floats { values, to, beyond, columns: Vec::new(), out: Vec::new() }))
    }
}

/// A converter of the bytes of an object to floats, in the middle of the object.
pub(super) struct Floats<'d> {
    values: Values<'d>,
    to: Float,
    beyond: (bool, &'d Cell<Option<f64>>),
    /// The values so far of an incomplete part that is stored by columns.
    columns: Vec<f64>,
    out: Vec<u8>,
}

impl Floats<'_> {
    /// Converts the next bytes `chunk` of `component`, and passes the floats to `take`. Components that hold no elements
    /// (scales, zero points) are ignored.
    pub(super) fn chunk(
        &mut self,
        component: &Component<'_>,
        chunk: &[u8],
        take: &mut ChunkFn<'_>,
    ) -> io::Result<()> {
        let Self { values, to, beyond, columns, out } = self;
        if component.role() != values.role() {
            return Ok(());
        }
        let (parts, mut done) = (values.columns(), Ok(()));
        values.chunk(chunk, &mut |numbers| {
            if done.is_err() {
                return;
            }
            let mut hand_on = |numbers: &[f64]| {
                out.clear();
                to.append(numbers, out, *beyond)?;
                take(out)
            };
            done = match parts {
                None => hand_on(numbers),
                Some(shape) => by_rows(shape, columns, numbers, &mut hand_on),
            };
        });
        done
    }
}

/// Transposes parts of `rows` rows and `width` columns: takes `numbers` by columns, and passes complete parts to `hand_on` by
/// rows. `columns` holds an incomplete part between calls.
fn by_rows(
    (rows, width): (usize, usize),
    columns: &mut Vec<f64>,
    mut numbers: &[f64],
    hand_on: &mut dyn FnMut(&[f64]) -> io::Result<()>,
) -> io::Result<()> {
    let part = rows.saturating_mul(width);
    let mut row = Vec::new();
    while !numbers.is_empty() && part > 0 {
        let missing = part.saturating_sub(columns.len()).min(numbers.len());
        let (first, rest) = numbers.split_at(missing);
        columns.try_reserve(first.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        columns.extend_from_slice(first);
        numbers = rest;
        if columns.len() < part {
            break;
        }
        for number in 0..rows {
            row.clear();
            row.extend(columns.iter().skip(number).step_by(rows));
            hand_on(&row)?;
        }
        columns.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_rows() {
        let numbers: Vec<f64> = (0..24_u8).map(f64::from).collect();
        for step in 1..25 {
            let (mut columns, mut rows) = (Vec::new(), Vec::new());
            for piece in numbers.chunks(step) {
                let mut take = |row: &[f64]| {
                    rows.push(row.to_vec());
                    Ok(())
                };
                by_rows((2, 3), &mut columns, piece, &mut take).unwrap();
            }
            assert_eq!(rows.len(), 8);
            assert_eq!(rows[..3], [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0], [6.0, 8.0, 10.0]]);
        }
    }
}
