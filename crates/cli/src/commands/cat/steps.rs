//! Selection of elements from the bytes of an array, as the bytes arrive.

use std::io;
use std::ops::Range;

use super::feed::ChunkFn;
use super::slice::Selection;
use zten::num::u64_from_usize;

/// A filter that passes the bytes of selected elements of an array.
pub(super) struct Steps {
    /// The dimensions, outermost first, up to the last one that is not selected completely.
    axes: Vec<Axis>,
    /// The number of bytes of the array for each index of the last dimension in `axes`.
    unit: u64,
    /// How many of the `unit` bytes of the current index have not been passed to [`chunk`](Self::chunk).
    left: u64,
}

struct Axis {
    size: u64,
    range: Range<u64>,
    step: u64,
    /// The index in this dimension to which the next bytes belong.
    at: u64,
}

impl Steps {
    /// Creates a filter for the bytes of a whole array of `shape`, whose elements have `width` bytes. Returns `None` if all
    /// elements are selected.
    pub(super) fn of_array(shape: &[u64], selection: &Selection, width: usize) -> Option<Self> {
        Self::new(shape.iter().copied().zip(selection.ranges.iter().cloned()), selection, width)
    }

    /// Creates a filter for the bytes of the elements within the ranges of `selection`. Returns `None` if all of them are
    /// selected.
    pub(super) fn of_ranges(selection: &Selection, width: usize) -> Option<Self> {
        let lengths = selection.ranges.iter().map(|range| range.end.saturating_sub(range.start));
        Self::new(lengths.map(|length| (length, 0..length)), selection, width)
    }

    fn new(
        parts: impl Iterator<Item = (u64, Range<u64>)>,
        selection: &Selection,
        width: usize,
    ) -> Option<Self> {
        let steps = selection.steps.iter().copied();
        let dimension = |((size, range), step)| Axis { size, range, step, at: 0 };
        let mut axes: Vec<_> = parts.zip(steps).map(dimension).collect();
        let is_part = |axis: &Axis| axis.step > 1 || axis.range != (0..axis.size);
        let inner = axes.split_off(axes.iter().rposition(is_part)?.saturating_add(1));
        let unit =
            inner.iter().map(|axis| axis.size).fold(u64_from_usize(width), u64::saturating_mul);
        Some(Self { axes, unit, left: unit })
    }

    /// Passes the selected bytes of the next `bytes` to `take`. `bytes` may end anywhere.
    pub(super) fn chunk(&mut self, mut bytes: &[u8], take: &mut ChunkFn<'_>) -> io::Result<()> {
        while !bytes.is_empty() && self.unit > 0 {
            let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
            let (now, rest) = bytes.split_at(most);
            let is_taken = |axis: &Axis| {
                let from =
                    axis.at.checked_sub(axis.range.start).filter(|_| axis.at < axis.range.end);
                from.and_then(|from| from.checked_rem(axis.step)) == Some(0)
            };
            if self.axes.iter().all(is_taken) {
                take(now)?;
            }
            bytes = rest;
            self.left = self.left.saturating_sub(u64_from_usize(most));
            if self.left == 0 {
                self.left = self.unit;
                self.advance();
            }
        }
        Ok(())
    }

    fn advance(&mut self) {
        for axis in self.axes.iter_mut().rev() {
            axis.at = axis.at.saturating_add(1);
            if axis.at < axis.size {
                break;
            }
            axis.at = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_any_length_give_the_same_elements() {
        let bytes: Vec<u8> = (0..60).collect();
        for chunk in 1..=60 {
            let taken = |ranges: &[Range<u64>], steps: &[u64]| {
                let selection = selection(ranges, steps);
                let (mut steps, mut taken) = (Steps::of_ranges(&selection, 2).unwrap(), Vec::new());
                for bytes in bytes.chunks(chunk) {
                    steps
                        .chunk(bytes, &mut |bytes| {
                            taken.extend_from_slice(bytes);
                            Ok(())
                        })
                        .unwrap();
                }
                taken
            };
            let rows = taken(&[5..10, 0..6], &[4, 1]);
            assert_eq!(rows, [&bytes[0..12], &bytes[48..60]].concat());
            let columns = taken(&[0..5, 1..7], &[2, 5]);
            let wanted = [&bytes[0..2], &bytes[10..12], &bytes[24..26], &bytes[34..36]];
            assert_eq!(columns[..8], wanted.concat());
        }
        let all = selection(&[0..5, 0..6], &[1, 1]);
        assert!(Steps::of_ranges(&all, 2).is_none() && Steps::of_array(&[5, 6], &all, 2).is_none());
    }

    fn selection(ranges: &[Range<u64>], steps: &[u64]) -> Selection {
        Selection { ranges: ranges.to_vec(), steps: steps.to_vec(), shape: Vec::new() }
    }

    #[test]
    fn from_all_of_an_array() {
        let bytes: Vec<u8> = (0..60).collect();
        let taken = |ranges: &[Range<u64>], steps: &[u64]| {
            let mut taken = Vec::new();
            let mut steps = Steps::of_array(&[5, 6], &selection(ranges, steps), 2).unwrap();
            for bytes in bytes.chunks(7) {
                let mut take = |bytes: &[u8]| {
                    taken.extend_from_slice(bytes);
                    Ok(())
                };
                steps.chunk(bytes, &mut take).unwrap();
            }
            taken
        };
        assert_eq!(taken(&[1..3, 0..6], &[1, 1]), bytes[12..36]);
        assert_eq!(taken(&[1..4, 2..5], &[2, 2]), [16, 17, 20, 21, 40, 41, 44, 45]);
        assert!(taken(&[2..2, 0..6], &[1, 1]).is_empty());
    }
}
