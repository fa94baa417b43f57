//! Making values of elements and scales, as the elements come.

use super::Blocks;
use crate::brief::Bytes;
use crate::element::{ByteOrder, Element, F4E2M1, F8E4M3Fn, F8E5M2, F8E8M0, LogicalType};
use crate::error::{Error, Misuse};
use crate::layout::view::Kind;
use crate::layout::{Elements, View};
use crate::num::u64_from_usize;

/// Elements whose values are made in one go.
const PIECE: usize = 256;

/// Makes values of the elements of a `zt.mx/1` object, from the first on, as they are read.
///
/// It is made by [`Mx::dequantizer`](crate::view::Mx::dequantizer), and keeps no values: memory does not
/// depend on their number.
///
/// ```
/// # let file = std::fs::read("corpus/v2/accept/mx.zt").unwrap();
/// let archive = zten::Archive::open(&file)?;
/// let mx = archive.get("w").unwrap().mx()?;
/// let limits = zten::Limits::default();
/// let scales = mx.scales().decode(archive.data(), &limits)?;
/// let mut dequantizer = mx.dequantizer(scales.view())?;
/// let (mut content, mut sum) = (mx.data().content(archive.data(), &limits)?, 0.0);
/// while let Some(chunk) = content.next_chunk()? {
///     dequantizer.chunk(chunk, |values| {
///         sum += values.iter().sum::<f32>();
///         Ok::<(), zten::Error>(())
///     })?;
/// }
/// # assert_eq!(sum, 26.0);
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Clone)]
pub struct MxDequantizer<'d> {
    blocks: Blocks,
    /// What the elements are; `i8` if nothing more than that.
    logical: Option<LogicalType>,
    scales: View<'d>,
    /// Elements to come.
    left: u64,
    /// Where the next element is: its place in a block, and among those with the same place there.
    row: u64,
    column: u64,
    /// The scale of the first of those.
    first: usize,
}

impl core::fmt::Debug for MxDequantizer<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("MxDequantizer")
            .field("blocks", &self.blocks)
            .field("scales", &Bytes(self.scales.as_bytes()))
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

impl<'d> MxDequantizer<'d> {
    /// The one way to make one.
    pub(super) fn new(blocks: Blocks, data: Kind, scales: View<'d>) -> Result<Self, Error> {
        if u64_from_usize(scales.as_bytes().len()) != blocks.scales {
            return Err(Error::misuse(Misuse::Size).at(scales.kind().place));
        }
        let (logical, left) = (data.logical.known, blocks.elements);
        Ok(Self { blocks, logical, scales, left, row: 0, column: 0, first: 0 })
    }

    /// Hands on the values of the elements in a chunk of decoded bytes, piece by piece, until `take`
    /// fails.
    ///
    /// # Errors
    /// What `take` fails with.
    pub fn chunk<E>(
        &mut self,
        chunk: &[u8],
        mut take: impl FnMut(&[f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let packed = self.logical == Some(LogicalType::F4E2M1);
        for bytes in chunk.chunks(if packed { PIECE / 2 } else { PIECE }) {
            let mut values = [0_f32; PIECE];
            match self.logical {
                Some(LogicalType::F4E2M1) => {
                    let nibbles = bytes.iter().flat_map(|byte| [*byte, byte >> 4]);
                    fill(&mut values, nibbles.map(|bits| F4E2M1::from_bits(bits).to_f32()));
                }
                Some(LogicalType::F8E5M2) => fill(&mut values, each(bytes).map(F8E5M2::to_f32)),
                Some(_) => fill(&mut values, each(bytes).map(F8E4M3Fn::to_f32)),
                None => fill(&mut values, each::<i8>(bytes).map(f32::from)),
            }
            let count = bytes.len().saturating_mul(if packed { 2 } else { 1 });
            // The last byte may hold one element alone.
            let (values, _) = split(&mut values, self.left.min(u64_from_usize(count)));
            self.scale(values);
            self.left = self.left.saturating_sub(u64_from_usize(values.len()));
            take(values)?;
        }
        Ok(())
    }

    /// Multiplies the elements that come next by their scales.
    fn scale(&mut self, values: &mut [f32]) {
        let mut rest = values;
        while !rest.is_empty() {
            let now;
            // Elements beside one another: of one block, or of as many as there are columns. Never none, which
            // would not lead on: rows and columns begin anew where they are over.
            if self.blocks.stride == 1 {
                (now, rest) = split(rest, self.blocks.size.saturating_sub(self.row).max(1));
                match self.factors(1) {
                    Some([scale]) => now.iter_mut().for_each(|value| *value *= factor(*scale)),
                    _ => now.fill(f32::NAN),
                }
                self.row = self.row.saturating_add(u64_from_usize(now.len()));
            } else {
                let length = self.blocks.stride.saturating_sub(self.column);
                (now, rest) = split(rest, length.max(1));
                match self.factors(now.len()) {
                    Some(scales) => {
                        let pairs = now.iter_mut().zip(scales);
                        pairs.for_each(|(value, scale)| *value *= factor(*scale));
                    }
                    None => now.fill(f32::NAN),
                }
                self.column = self.column.saturating_add(u64_from_usize(now.len()));
                if self.column < self.blocks.stride {
                    continue;
                }
                (self.column, self.row) = (0, self.row.saturating_add(1));
            }
            if self.row >= self.blocks.size {
                // As many scales as there are columns, all of which are in memory.
                let columns = usize::try_from(self.blocks.stride).unwrap_or(usize::MAX);
                (self.row, self.first) = (0, self.first.saturating_add(columns));
            }
        }
    }

    /// The given number of scales, from the one of the next element on, if they are there. No number is made by others.
    fn factors(&self, count: usize) -> Option<&'d [u8]> {
        let start = self.first.checked_add(usize::try_from(self.column).ok()?)?;
        self.scales.as_bytes().get(start..start.checked_add(count)?)
    }
}

/// The number that a scale stands for.
fn factor(scale: u8) -> f32 {
    F8E8M0::from_bits(scale).to_f32()
}

/// The first `length` values, or all there are, and the rest.
fn split(values: &mut [f32], length: u64) -> (&mut [f32], &mut [f32]) {
    match usize::try_from(length) {
        Ok(length) if length < values.len() => values.split_at_mut(length),
        _ => (values, &mut []),
    }
}

/// The elements in `bytes`, of which each has one.
fn each<T: Element>(bytes: &[u8]) -> Elements<'_, T> {
    Elements::over(bytes, ByteOrder::Little)
}

fn fill(values: &mut [f32], elements: impl Iterator<Item = f32>) {
    values.iter_mut().zip(elements).for_each(|(value, element)| *value = element);
}
