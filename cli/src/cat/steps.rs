//! Every so many-th index of what is read.

use std::io;
use std::ops::Range;

use super::feed::Take;
use zten::num::u64_from_usize;

/// Takes those bytes of an array, as they go by, whose indices are multiples of the steps.
pub(super) struct Steps {
    /// Dimensions up to the last that has a step, outermost first: its size, its step, and the index
    /// of the bytes that come next.
    axes: Vec<Axis>,
    /// Bytes below each index of those.
    unit: u64,
    /// Bytes that are still to come of the current one.
    left: u64,
}

struct Axis {
    size: u64,
    step: u64,
    at: u64,
}

impl Steps {
    /// Of elements of so many bytes with those indices; none where all are taken.
    pub(super) fn new(ranges: &[Range<u64>], steps: &[u64], width: usize) -> Option<Self> {
        let length = |range: &Range<u64>| range.end.saturating_sub(range.start);
        let axes = steps.iter().rposition(|step| *step > 1)?.saturating_add(1);
        let inner = ranges.iter().skip(axes).map(length);
        let unit = inner.fold(u64_from_usize(width), u64::saturating_mul);
        let outer = ranges.iter().map(length).zip(steps).take(axes);
        let axes = outer.map(|(size, step)| Axis { size, step: *step, at: 0 }).collect();
        Some(Self { axes, unit, left: unit })
    }

    /// The next bytes; they may end anywhere.
    pub(super) fn chunk(&mut self, mut bytes: &[u8], take: &mut Take<'_>) -> io::Result<()> {
        while !bytes.is_empty() && self.unit > 0 {
            let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
            let (now, rest) = bytes.split_at(most);
            if self.axes.iter().all(|axis| axis.at.checked_rem(axis.step) == Some(0)) {
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
    fn whatever_the_chunks() {
        let bytes: Vec<u8> = (0..60).collect();
        for chunk in 1..=60 {
            let taken = |ranges: &[Range<u64>], steps: &[u64]| {
                let (mut steps, mut taken) = (Steps::new(ranges, steps, 2).unwrap(), Vec::new());
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
        assert!(Steps::new(&[0..5, 0..6], &[1, 1], 2).is_none());
    }
}
