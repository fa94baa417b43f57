//! `--slice`: a part of an array, as in NumPy.

use std::ops::Range;

/// What is asked of one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// One index, and the dimension is gone.
    Index(i128),
    /// From the one to before the other.
    Range(Option<i128>, Option<i128>),
}

/// What is asked of all dimensions: `0:10,:,3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slice(Vec<Part>);

/// The elements that are taken of an array.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    /// The indices of each dimension, outermost first.
    pub(super) ranges: Vec<Range<u64>>,
    /// What is left of the shape.
    pub(super) shape: Vec<u64>,
}

impl Slice {
    /// Reads what was asked for.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let number = |text: &str| match text.trim() {
            "" => Ok(None),
            // Any i64 can be typed; an i128 keeps the arithmetic from overflowing.
            digits => digits
                .parse::<i64>()
                .map(|n| Some(i128::from(n)))
                .map_err(|_| format!("--slice: {digits:?} is not a number")),
        };
        let part = |text: &str| match text.split_once(':') {
            Some((start, stop)) => Ok(Part::Range(number(start)?, number(stop)?)),
            None => match number(text)? {
                Some(index) => Ok(Part::Index(index)),
                None => Err("--slice: each dimension is START:STOP or an index".to_owned()),
            },
        };
        text.split(',').map(part).collect::<Result<_, _>>().map(Self)
    }

    /// Applies it to an array of that shape.
    pub(super) fn apply(&self, shape: &[u64]) -> Result<Selection, String> {
        if self.0.len() > shape.len() {
            let (asked, there) = (self.0.len(), shape.len());
            return Err(format!("--slice: {asked} dimensions asked for, the shape has {there}"));
        }
        let mut selection = Selection { ranges: Vec::new(), shape: Vec::new() };
        let all = std::iter::repeat(Part::Range(None, None));
        let parts = self.0.iter().copied().chain(all);
        for (axis, (size, part)) in shape.iter().copied().zip(parts).enumerate() {
            let bound = i128::from(size);
            let from_end = |at: i128| if at < 0 { at.saturating_add(bound) } else { at };
            // Between 0 and a u64.
            let clamped = |at: i128| u64::try_from(from_end(at).clamp(0, bound)).unwrap_or(size);
            let (start, length) = match part {
                Part::Index(index) => {
                    let index = from_end(index);
                    let outside = !(0..bound).contains(&index);
                    let start = u64::try_from(index).ok().filter(|_| !outside);
                    let start = start.ok_or_else(|| {
                        format!("--slice: dimension {axis} has {size} indices, none is {index}")
                    })?;
                    (start, 1)
                }
                Part::Range(start, stop) => {
                    let start = start.map_or(0, clamped);
                    (start, stop.map_or(size, clamped).saturating_sub(start))
                }
            };
            selection.ranges.push(start..start.saturating_add(length));
            if matches!(part, Part::Range(..)) {
                selection.shape.push(length);
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
        let elements = slowly(&selection.ranges, shape);
        (selection.shape, elements)
    }

    /// Every index of every dimension is asked whether it is taken.
    fn slowly(ranges: &[Range<u64>], shape: &[u64]) -> Vec<u64> {
        let total = shape.iter().product();
        let taken = |element: &u64| {
            let mut rest = *element;
            shape.iter().zip(ranges).rev().all(|(size, range)| {
                let index = rest % size;
                rest /= size;
                range.contains(&index)
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
        for wrong in ["", "a", "1:2:3", "1,", "99999999999999999999"] {
            assert!(Slice::parse(wrong).is_err(), "{wrong}");
        }
        for wrong in ["3", "-4", "0,0", "9223372036854775807"] {
            assert!(Slice::parse(wrong).unwrap().apply(&[3]).is_err(), "{wrong}");
        }
    }
}
