//! `--slice`: a part of an array in the notation of NumPy.

use std::iter::repeat_n;
use std::ops::Range;

use zten::finding::counted;
use zten::num::u64_from_usize;

/// The selection of one dimension, as it was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DimensionSelection {
    /// One index. The dimension is not a dimension of the result.
    Index(i128),
    /// `START:STOP:STEP`: the first index, the index after the last, and the step. A bound that was not typed is `None`.
    Range(Option<i128>, Option<i128>, u64),
    /// `...`: all indices of every dimension that the other parts do not select from.
    Rest,
}

/// The selection of all dimensions, as it was typed: `0:10,:,3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slice(Vec<DimensionSelection>);

const FORM: &str = "--slice: expected START:STOP, START:STOP:STEP or an index for each dimension, or ... for the rest";

/// The selected elements of an array.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    /// For each dimension, outermost first, the range from the first to the last selected index.
    pub(super) ranges: Vec<Range<u64>>,
    /// For each dimension, the distance between selected indices.
    pub(super) steps: Vec<u64>,
    /// The shape of the selected elements.
    pub(super) shape: Vec<u64>,
}

impl Slice {
    /// Parses the value of `--slice`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let number = |text: &str| match text.trim() {
            "" => Ok(None),
            // Any i64 can be typed; an i128 keeps the arithmetic from overflowing.
            digits => digits
                .parse::<i64>()
                .map(|n| Some(i128::from(n)))
                .map_err(|_| format!("--slice: {digits:?} is not a number")),
        };
        let every = |text: &str| match number(text)? {
            None => Ok(1),
            Some(step) => u64::try_from(step)
                .ok()
                .filter(|step| *step > 0)
                .ok_or_else(|| format!("--slice: step must be 1 or more, found {step}")),
        };
        let part = |text: &str| {
            if text.trim() == "..." {
                return Ok(DimensionSelection::Rest);
            }
            let mut numbers = text.split(':');
            match (numbers.next(), numbers.next(), numbers.next(), numbers.next()) {
                (Some(start), Some(end), step, None) => Ok(DimensionSelection::Range(
                    number(start)?,
                    number(end)?,
                    every(step.unwrap_or(""))?,
                )),
                (Some(index), None, ..) => match number(index)? {
                    Some(index) => Ok(DimensionSelection::Index(index)),
                    None => Err(FORM.to_owned()),
                },
                _ => Err(FORM.to_owned()),
            }
        };
        let parts = text.split(',').map(part).collect::<Result<Vec<_>, _>>()?;
        if parts.iter().filter(|part| **part == DimensionSelection::Rest).count() > 1 {
            return Err("--slice: ... is allowed only once".to_owned());
        }
        Ok(Self(parts))
    }

    /// Applies the slice to an array of `shape`.
    ///
    /// # Errors
    /// The slice has more parts, `...` not counted, than the array has dimensions, or an index is out of range. The bounds of a
    /// range are clamped instead.
    pub(super) fn apply(&self, shape: &[u64]) -> Result<Selection, String> {
        let named = self.0.iter().filter(|part| **part != DimensionSelection::Rest).count();
        let Some(left) = shape.len().checked_sub(named) else {
            let [named, there] = [named, shape.len()].map(u64_from_usize);
            let named = counted(named, "dimension");
            return Err(format!("--slice: {named} given, but the shape has {there}"));
        };
        let mut selection = Selection { ranges: Vec::new(), steps: Vec::new(), shape: Vec::new() };
        let all = DimensionSelection::Range(None, None, 1);
        let parts = self.0.iter().flat_map(|part| match part {
            DimensionSelection::Rest => repeat_n(all, left),
            part => repeat_n(*part, 1),
        });
        let parts = parts.chain(std::iter::repeat(all));
        for (axis, (size, part)) in shape.iter().copied().zip(parts).enumerate() {
            let bound = i128::from(size);
            let from_end = |at: i128| if at < 0 { at.saturating_add(bound) } else { at };
            // The clamped index is between 0 and `size`, so it fits a `u64`.
            let clamped = |at: i128| u64::try_from(from_end(at).clamp(0, bound)).unwrap_or(size);
            // The first index, the number of indices, and the distance between them.
            let (start, count, step) = match part {
                DimensionSelection::Index(index) => {
                    let at = from_end(index);
                    let outside = !(0..bound).contains(&at);
                    let start = u64::try_from(at).ok().filter(|_| !outside);
                    let start = start.ok_or_else(|| {
                        format!("--slice: index {index} is out of range for dimension {axis} of size {size}")
                    })?;
                    (start, 1, 1)
                }
                // `...` has been replaced by a range of all indices for each dimension that it stands for, so `Rest` does not occur
                // here.
                DimensionSelection::Rest => (0, size, 1),
                DimensionSelection::Range(start, end, step) => {
                    let start = start.map_or(0, clamped);
                    let length = end.map_or(size, clamped).saturating_sub(start);
                    (start, length.div_ceil(step), step)
                }
            };
            // The range ends at the last selected index, so that later ones are not read.
            let length = count.saturating_sub(1).saturating_mul(step).saturating_add(1);
            let length = if count == 0 { 0 } else { length };
            selection.ranges.push(start..start.saturating_add(length));
            selection.steps.push(step);
            if !matches!(part, DimensionSelection::Index(_)) {
                selection.shape.push(count);
            }
        }
        Ok(selection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(slice: &str, shape: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let selection = Slice::parse(slice).unwrap().apply(shape).unwrap();
        let elements = slowly(&selection, shape);
        (selection.shape, elements)
    }

    /// Selects elements by checking every index of every dimension.
    fn slowly(selection: &Selection, shape: &[u64]) -> Vec<u64> {
        let total = shape.iter().product();
        let taken = |element: &u64| {
            let mut rest = *element;
            let taken = selection.ranges.iter().zip(&selection.steps);
            shape.iter().zip(taken).rev().all(|(size, (range, step))| {
                let index = rest % size;
                rest /= size;
                range.contains(&index) && (index - range.start).is_multiple_of(*step)
            })
        };
        (0..total).filter(taken).collect()
    }

    #[test]
    fn as_numpy_does() {
        assert_eq!(taken(":", &[3]), (vec![3], vec![0, 1, 2]));
        assert_eq!(taken("1", &[3]), (vec![], vec![1]));
        assert_eq!(taken("-1", &[3]), (vec![], vec![2]));
        assert_eq!(taken("-2:", &[3]), (vec![2], vec![1, 2]));
        assert_eq!(taken("2:1", &[3]), (vec![0], vec![]));
        assert_eq!(taken("-9:9", &[3]), (vec![3], vec![0, 1, 2]));
        assert_eq!(taken("1", &[2, 3]), (vec![3], vec![3, 4, 5]));
        assert_eq!(taken(":,1", &[2, 3]), (vec![2], vec![1, 4]));
        assert_eq!(taken("0:1,1:3", &[2, 3]), (vec![1, 2], vec![1, 2]));
        assert_eq!(taken("1:2, :, 0:1", &[2, 2, 2]), (vec![1, 2, 1], vec![4, 6]));
        assert_eq!(taken(":", &[0, u64::MAX]), (vec![0, u64::MAX], vec![]));
        assert_eq!(taken("5:,0", &[u64::MAX, 1, 0]), (vec![u64::MAX - 5, 0], vec![]));
    }

    #[test]
    fn dots_stand_for_the_rest() {
        assert_eq!(taken("...", &[3]), (vec![3], vec![0, 1, 2]));
        assert_eq!(taken("..., 0", &[2, 1, 2]), (vec![2, 1], vec![0, 2]));
        assert_eq!(taken("1,...,1", &[2, 2, 2]), (vec![2], vec![5, 7]));
        assert_eq!(taken("0,...", &[2, 2]), (vec![2], vec![0, 1]));
        assert_eq!(taken("1,...,0", &[2, 2]), (vec![], vec![2]));
        assert_eq!(taken("...", &[]), (vec![], vec![0]));
        assert!(Slice::parse("...,...").unwrap_err().contains("only once"));
        assert!(Slice::parse("0,...,0").unwrap().apply(&[3]).is_err());
    }

    #[test]
    fn steps() {
        assert_eq!(taken("::2", &[5]), (vec![3], vec![0, 2, 4]));
        assert_eq!(taken("1::3", &[6]), (vec![2], vec![1, 4]));
        assert_eq!(taken("-4:-1:2", &[5]), (vec![2], vec![1, 3]));
        assert_eq!(taken("::9", &[5]), (vec![1], vec![0]));
        assert_eq!(taken("4:1:2", &[5]), (vec![0], vec![]));
        assert_eq!(taken("::2,1::2", &[3, 4]), (vec![2, 2], vec![1, 3, 9, 11]));
        let selection = Slice::parse("1:9:4").unwrap().apply(&[10]).unwrap();
        assert_eq!(selection.shape, [2]);
        assert_eq!(selection.ranges.first(), Some(&(1..6)));
        let all = format!("::{}", i64::MAX);
        assert_eq!(taken(&all, &[u64::MAX, 0]).0, [3, 0]);
        for wrong in ["::-1", "5:0:-2", "::0"] {
            let message = Slice::parse(wrong).unwrap_err();
            assert!(message.contains("step must be 1 or more"), "{message}");
        }
    }

    #[test]
    fn every_part_of_a_small_array() {
        for a in 0..=3 {
            for b in 0..=2 {
                for c in 0..=4 {
                    for d in c..=4 {
                        let slice = format!("{a}:,:{b},{c}:{d}");
                        let selection = Slice::parse(&slice).unwrap().apply(&[3, 2, 4]).unwrap();
                        assert_eq!(selection.ranges, [a..3, 0..b, c..d], "{slice}");
                        assert_eq!(selection.shape, [3 - a, b, d - c], "{slice}");
                    }
                }
            }
        }
    }

    #[test]
    fn wrong_ones() {
        for wrong in ["", "a", "1:2:3:4", "::a", "1,", "..", "...:", "99999999999999999999"] {
            assert!(Slice::parse(wrong).is_err(), "{wrong}");
        }
        for wrong in ["3", "-4", "0,0", "9223372036854775807"] {
            assert!(Slice::parse(wrong).unwrap().apply(&[3]).is_err(), "{wrong}");
        }
    }
}
