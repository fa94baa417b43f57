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

/// One dimension of an array, and what is taken of it.
#[derive(Clone, Copy, Debug)]
struct Dimension {
    size: u64,
    start: u64,
    length: u64,
}

/// The elements that are taken of an array.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    dimensions: Vec<Dimension>,
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
    pub(super) fn of(&self, shape: &[u64]) -> Result<Selection, String> {
        if self.0.len() > shape.len() {
            let (asked, there) = (self.0.len(), shape.len());
            return Err(format!("--slice: {asked} dimensions asked for, the shape has {there}"));
        }
        let mut selection = Selection { dimensions: Vec::new(), shape: Vec::new() };
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
            selection.dimensions.push(Dimension { size, start, length });
            if matches!(part, Part::Range(..)) {
                selection.shape.push(length);
            }
        }
        Ok(selection)
    }
}

impl Selection {
    /// The runs of neighbouring bytes that are taken, first to last, of an array whose elements
    /// take `width` bytes. The product of its shape fits in a `u64`.
    pub(super) fn runs(&self, width: u64) -> Runs {
        // What lies within the last dimension that is not taken whole comes in one piece.
        let partial = |dimension: &Dimension| dimension.length != dimension.size;
        let inner = self.dimensions.iter().rposition(partial);
        let mut stride = width;
        let mut outer = Vec::new();
        let mut run = 0..width;
        for (axis, dimension) in self.dimensions.iter().enumerate().rev() {
            if inner.is_none_or(|inner| axis >= inner) {
                let start = dimension.start.saturating_mul(stride);
                run = start..start.saturating_add(dimension.length.saturating_mul(stride));
            } else {
                outer.push(Counter { dimension: *dimension, stride, at: 0 });
            }
            stride = stride.saturating_mul(dimension.size);
        }
        let empty = self.dimensions.iter().any(|dimension| dimension.length == 0);
        Runs { outer, run, left: !empty }
    }
}

/// One dimension that is being gone through.
#[derive(Clone, Debug)]
struct Counter {
    dimension: Dimension,
    stride: u64,
    at: u64,
}

/// Ranges of bytes, in order.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    /// Innermost first.
    outer: Vec<Counter>,
    run: Range<u64>,
    left: bool,
}

impl Runs {
    /// All of so many bytes.
    pub(super) fn all(bytes: u64) -> Self {
        Self { outer: Vec::new(), run: 0..bytes, left: bytes > 0 }
    }
}

impl Iterator for Runs {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        if !self.left {
            return None;
        }
        let base = self.outer.iter().fold(0_u64, |base, counter| {
            let index = counter.dimension.start.saturating_add(counter.at);
            base.saturating_add(index.saturating_mul(counter.stride))
        });
        // One step, carried from the inside to the outside.
        self.left = self.outer.iter_mut().any(|counter| {
            counter.at += 1;
            let carried = counter.at == counter.dimension.length;
            if carried {
                counter.at = 0;
            }
            !carried
        });
        Some(base.saturating_add(self.run.start)..base.saturating_add(self.run.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(slice: &str, shape: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let selection = Slice::parse(slice).unwrap().of(shape).unwrap();
        let elements = selection.runs(1).flatten().collect();
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
        let shape = [3, 2, 4];
        for a in 0..=3 {
            for b in 0..=2 {
                for c in 0..=4 {
                    for d in c..=4 {
                        let slice = format!("{a}:,:{b},{c}:{d}");
                        let wanted = slowly(&[a..3, 0..b, c..d], &shape);
                        assert_eq!(taken(&slice, &shape).1, wanted, "{slice}");
                    }
                }
            }
        }
    }

    #[test]
    fn neighbours_come_in_one_run() {
        let runs = |slice| -> Vec<(u64, u64)> {
            let selection = Slice::parse(slice).unwrap().of(&[4, 5, 6]).unwrap();
            selection.runs(2).map(|run| (run.start, run.end)).collect()
        };
        assert_eq!(runs("1:3"), [(60, 180)]);
        assert_eq!(runs("1:3,2"), [(84, 96), (144, 156)]);
        assert_eq!(runs(":"), [(0, 240)]);
    }

    #[test]
    fn wrong_ones() {
        for wrong in ["", "a", "1:2:3", "1,", "99999999999999999999"] {
            assert!(Slice::parse(wrong).is_err(), "{wrong}");
        }
        for wrong in ["3", "-4", "0,0", "9223372036854775807"] {
            assert!(Slice::parse(wrong).unwrap().of(&[3]).is_err(), "{wrong}");
        }
    }
}
