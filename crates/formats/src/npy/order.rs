//! From column-major to row-major order, in little memory and in work linear in the data.
//!
//! A part of the result that fits into memory is gathered from runs of the file. Where the runs
//! would be too short, the array is first transposed into a temporary file, square by square, so
//! that the first index becomes the slowest; the rest is then as many smaller arrays.

use crate::rules::Rule;
use crate::source::{Scratch, Source, buffer};
use crate::trouble::Trouble;
use zten::ReadAt as _;
use zten::num::u64_from_usize;

/// Bytes of the part that is put in order at once. Reading it takes half as much again, at most.
const TILE: u64 = 8 << 20;
/// Bytes that are read at once where they lie together.
const SCRATCH: u64 = 1 << 20;
/// Runs of fewer bytes than this are not worth a read each.
const RUN: u64 = 512;

/// Takes bytes in row-major order.
type Put<'p, F> = dyn FnMut(&mut [u8]) -> Result<(), F> + 'p;

/// Sizes, of which tests make small ones.
#[derive(Clone, Copy)]
struct Sizes {
    tile: u64,
    run: u64,
}

/// Whether the two orders differ for a shape.
pub(super) fn matters(shape: &[u64]) -> bool {
    !shape.contains(&0) && shape.iter().filter(|dimension| **dimension > 1).count() > 1
}

/// Hands on the elements of a column-major array, `width` bytes each, that begins at `offset`.
/// All its bytes have been found to be there, and are counted by 64 bits.
pub(super) fn row_major<F: From<Trouble>>(
    source: &Source,
    offset: u64,
    shape: &[u64],
    width: usize,
    put: &mut Put<'_, F>,
) -> Result<(), F> {
    let sizes = Sizes { tile: TILE, run: RUN };
    match width {
        1 => Turn::<1>::new(source, offset, sizes).turn(shape, put),
        2 => Turn::<2>::new(source, offset, sizes).turn(shape, put),
        4 => Turn::<4>::new(source, offset, sizes).turn(shape, put),
        8 => Turn::<8>::new(source, offset, sizes).turn(shape, put),
        16 => Turn::<16>::new(source, offset, sizes).turn(shape, put),
        _ => Err(Trouble::refused(Rule::NpyDtype, "elements of that width cannot be put in order")
            .into()),
    }
}

/// Arrays of elements of `W` bytes that lie one after the other, each column-major.
struct Turn<const W: usize> {
    source: Source,
    offset: u64,
    /// How many arrays there are.
    arrays: u64,
    sizes: Sizes,
}

/// A part of an array: some of its rows, in some of its columns. A column is what the first
/// index runs over, and what lies together in the file.
#[derive(Clone, Copy)]
struct Tile {
    array: u64,
    row: u64,
    rows: u64,
    column: u64,
    columns: u64,
}

impl<const W: usize> Turn<W> {
    fn new(source: &Source, offset: u64, sizes: Sizes) -> Self {
        Self { source: source.clone(), offset, arrays: 1, sizes }
    }

    /// The elements that a tile may have.
    fn most(&self) -> u64 {
        self.sizes.tile.checked_div(u64_from_usize(W)).unwrap_or(1).max(4)
    }

    /// Hands on all elements in row-major order.
    fn turn<F: From<Trouble>>(mut self, shape: &[u64], put: &mut Put<'_, F>) -> Result<(), F> {
        let shape: Vec<u64> = shape.iter().copied().filter(|dimension| *dimension > 1).collect();
        let mut shape = shape.as_slice();
        while let Some((rows, rest)) = shape.split_first().filter(|(_, rest)| !rest.is_empty()) {
            let columns = product(rest);
            let together = self.most().checked_div(columns).unwrap_or_default().min(*rows);
            if together == *rows || together.saturating_mul(u64_from_usize(W)) >= self.sizes.run {
                return self.gather(*rows, rest, together, put);
            }
            self = self.transpose(*rows, columns)?;
            shape = rest;
        }
        let elements = self.arrays.saturating_mul(product(shape));
        self.source.stream(self.offset, elements.saturating_mul(u64_from_usize(W)), put)
    }

    /// Hands on the arrays, `together` rows at a time. The other dimensions are `rest`.
    fn gather<F: From<Trouble>>(
        &self,
        rows: u64,
        rest: &[u64],
        together: u64,
        put: &mut Put<'_, F>,
    ) -> Result<(), F> {
        let columns = product(rest);
        let mut tile = vec_of(together.saturating_mul(columns))?;
        let mut scratch = Vec::new();
        for array in 0..self.arrays {
            for row in steps(rows, together) {
                let part = rows.saturating_sub(row).min(together);
                let part = Tile { array, row, rows: part, column: 0, columns };
                self.load(part, (rows, columns), rest, &mut scratch, &mut tile)?;
                let length = index(part.rows.saturating_mul(columns));
                put(tile.get_mut(..length).unwrap_or_default().as_flattened_mut())?;
            }
        }
        Ok(())
    }

    /// Writes the arrays to a temporary file, each with its first index as the slowest.
    fn transpose(self, rows: u64, columns: u64) -> Result<Self, Trouble> {
        let side = self.most().isqrt();
        let tall = rows.min(side);
        let broad = self.most().checked_div(tall).unwrap_or(1).min(columns);
        let tall = self.most().checked_div(broad).unwrap_or(1).min(rows);
        let mut tile = vec_of(tall.saturating_mul(broad))?;
        let mut scratch = Vec::new();
        let mut file = Scratch::new()?;
        for array in 0..self.arrays {
            for column in steps(columns, broad) {
                for row in steps(rows, tall) {
                    let (here, across) = (rows.saturating_sub(row), columns.saturating_sub(column));
                    let (here, across) = (here.min(tall), across.min(broad));
                    let part = Tile { array, row, rows: here, column, columns: across };
                    self.load(part, (rows, columns), &[across], &mut scratch, &mut tile)?;
                    // Rows that are complete lie together.
                    let length =
                        if across == columns { here.saturating_mul(across) } else { across };
                    let first =
                        array.saturating_mul(rows).saturating_add(row).saturating_mul(columns);
                    let mut to = first.saturating_add(column);
                    let held = tile.get(..index(here.saturating_mul(across))).unwrap_or_default();
                    for elements in held.chunks(index(length).max(1)) {
                        file.write_at(
                            to.saturating_mul(u64_from_usize(W)),
                            elements.as_flattened(),
                        )?;
                        to = to.saturating_add(columns);
                    }
                }
            }
        }
        let arrays = self.arrays.saturating_mul(rows);
        Ok(Self { source: file.into_source(), offset: 0, arrays, sizes: self.sizes })
    }

    /// Reads a tile of an array of so many rows and columns. Its own columns are numbered by
    /// indices below `dimensions`, the first of which is the fastest; in `tile`, the last is.
    fn load(
        &self,
        part: Tile,
        (rows, columns): (u64, u64),
        dimensions: &[u64],
        scratch: &mut Vec<[u8; W]>,
        tile: &mut [[u8; W]],
    ) -> Result<(), Trouble> {
        let array = part.array.saturating_mul(columns);
        let mut odometer = Odometer::new(dimensions);
        // Columns that are read in full lie together.
        let apiece = part.rows.saturating_mul(u64_from_usize(W)).max(1);
        let at_once = if part.rows == rows { SCRATCH.checked_div(apiece).unwrap_or(1) } else { 1 };
        let at_once = at_once.clamp(1, part.columns);
        let stride = index(part.columns);
        scratch.clear();
        let length = index(at_once.saturating_mul(part.rows));
        scratch.try_reserve(length).map_err(|_| Trouble::memory())?;
        scratch.resize(length, [0; W]);
        for column in steps(part.columns, at_once) {
            let number = part.columns.saturating_sub(column).min(at_once);
            let first = array.saturating_add(part.column).saturating_add(column);
            let element = first.saturating_mul(rows).saturating_add(part.row);
            let offset = self.offset.saturating_add(element.saturating_mul(u64_from_usize(W)));
            let read = index(number.saturating_mul(part.rows));
            let read = scratch.get_mut(..read).unwrap_or_default();
            self.source.read_at(offset, read.as_flattened_mut())?;
            for run in read.chunks(index(part.rows).max(1)) {
                let from = tile.get_mut(odometer.place()..).unwrap_or_default();
                for (to, element) in from.iter_mut().step_by(stride.max(1)).zip(run) {
                    *to = *element;
                }
                odometer.advance();
            }
        }
        Ok(())
    }
}

/// Counts through indices, the first fastest, and knows the place of each among all when the
/// last is fastest.
struct Odometer {
    /// Dimension, stride in the other order, and index.
    wheels: Vec<(u64, u64, u64)>,
    place: u64,
}

impl Odometer {
    fn new(dimensions: &[u64]) -> Self {
        let mut stride = 1_u64;
        let mut wheels: Vec<_> = Vec::with_capacity(dimensions.len());
        for dimension in dimensions.iter().rev() {
            wheels.push((*dimension, stride, 0));
            stride = stride.saturating_mul(*dimension);
        }
        wheels.reverse();
        Self { wheels, place: 0 }
    }

    fn place(&self) -> usize {
        index(self.place)
    }

    fn advance(&mut self) {
        for (dimension, stride, at) in &mut self.wheels {
            *at = at.saturating_add(1);
            self.place = self.place.saturating_add(*stride);
            if *at < *dimension {
                return;
            }
            self.place = self.place.saturating_sub(dimension.saturating_mul(*stride));
            *at = 0;
        }
    }
}

/// The product of dimensions, which has been found to fit.
fn product(dimensions: &[u64]) -> u64 {
    dimensions.iter().fold(1, |product, dimension| product.saturating_mul(*dimension))
}

/// The multiples of `step` below `end`.
fn steps(end: u64, step: u64) -> impl Iterator<Item = u64> {
    (0..end).step_by(index(step).max(1))
}

/// A number of elements that are in memory.
fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn vec_of<const W: usize>(elements: u64) -> Result<Vec<[u8; W]>, Trouble> {
    buffer(index(elements), [0; W])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The elements of a column-major array in row-major order, by the definition of both.
    fn by_definition(shape: &[u64], width: usize, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let count = product(shape);
        for ordinal in 0..count {
            let mut indices = vec![0; shape.len()];
            let mut rest = ordinal;
            for (index, dimension) in indices.iter_mut().zip(shape).rev() {
                *index = rest % dimension;
                rest /= dimension;
            }
            let mut at = 0;
            for (index, dimension) in indices.iter().zip(shape).rev() {
                at = at * dimension + index;
            }
            let at = index(at) * width;
            out.extend_from_slice(&data[at..at + width]);
        }
        out
    }

    fn turned<const W: usize>(shape: &[u64], data: &[u8], sizes: Sizes) -> Vec<u8> {
        let mut file = Scratch::new().unwrap();
        file.write_at(0, b"head").unwrap();
        file.write_at(4, data).unwrap();
        let source = file.into_source();
        let mut out = Vec::new();
        let turn = Turn::<W>::new(&source, 4, sizes);
        turn.turn::<Trouble>(shape, &mut |bytes| {
            out.extend_from_slice(bytes);
            Ok(())
        })
        .unwrap();
        out
    }

    fn check<const W: usize>(shape: &[u64]) {
        let length = index(product(shape)) * W;
        // No two neighbours are alike, nor are those that a power of two lies between.
        let data: Vec<u8> = (0..251_u8).cycle().take(length).collect();
        let wanted = by_definition(shape, W, &data);
        let width = u64_from_usize(W);
        for tile in [4, 6, 9, 16, 50, 200, 100_000] {
            for run in [1, 2, 3, 8, 1000] {
                let sizes = Sizes { tile: tile * width, run: run * width };
                assert!(turned::<W>(shape, &data, sizes) == wanted, "{shape:?} {tile} {run}");
            }
        }
    }

    #[test]
    fn every_way_gives_what_the_definition_gives() {
        for shape in [
            &[][..],
            &[1],
            &[7],
            &[1, 7, 1],
            &[2, 3],
            &[3, 2],
            &[13, 17],
            &[40, 3],
            &[3, 40],
            &[4, 1, 5, 6],
            &[2, 2, 2, 2, 2, 2, 2],
            &[5, 1, 1, 11, 3],
            &[2, 30, 7],
        ] {
            check::<1>(shape);
            check::<2>(shape);
            check::<4>(shape);
            check::<16>(shape);
        }
        check::<8>(&[3, 4, 5, 6]);
    }

    #[test]
    fn the_order_does_not_matter_for_less_than_two_dimensions() {
        for shape in [&[][..], &[5], &[1, 5], &[5, 1, 1], &[0, 5, 5], &[1, 1]] {
            assert!(!matters(shape), "{shape:?}");
        }
        assert!(matters(&[2, 2]));
        assert!(matters(&[1, 2, 1, 3]));
    }
}
