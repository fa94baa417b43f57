//! Statistics of the elements of tensors. The elements are read once, and memory does not grow with their number.

use serde::{Serialize, Serializer};
use zten::num::u64_from_usize;

use zten::json;

/// The number of elements that are processed at a time. They fit the first-level cache of a processor, which matters because they
/// are read three times: for their extremes, for their mean, and for their distances from it.
const PIECE: usize = 1 << 11;
/// The number of partial sums that are kept side by side, so that the processor can add with vector instructions.
const LANES: usize = 8;

/// A type of elements whose statistics are computed: `f32` or `f64`.
pub trait Number: Copy + Default + PartialOrd + Into<f64> {}

impl Number for f32 {}
impl Number for f64 {}

/// Returns the smallest or largest of `first` and `numbers`. `precedes` says whether its first argument is the more extreme number.
fn outermost<T: Number>(numbers: &[T], first: T, precedes: fn(&T, &T) -> bool) -> T {
    let outer = |one: T, other: &T| if precedes(other, &one) { *other } else { one };
    numbers.iter().fold(first, outer)
}

/// The statistics of a set of elements: counts of all elements, and the extremes, mean and standard deviation of the finite ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// The number of all elements, finite or not.
    pub count: u64,
    /// The number of elements that are 0, of either sign.
    pub zeros: u64,
    /// The number of elements that are NaN.
    pub nan: u64,
    /// The number of elements that are positive or negative infinity.
    pub infinities: u64,
    /// The smallest finite element, or `None` if no element is finite.
    pub min: Option<f64>,
    /// The largest finite element, or `None` if no element is finite.
    pub max: Option<f64>,
    mean: f64,
    /// The sum, over the finite elements, of the squares of their distances from `mean`.
    squares: f64,
}

impl Statistics {
    /// Returns the statistics of `count` zeros.
    pub fn of_zeros(count: u64) -> Self {
        let zero = (count > 0).then_some(0.0);
        Self { count, zeros: count, min: zero, max: zero, ..Self::default() }
    }

    /// Adds the elements `numbers`. The mean of each piece of 2,048 elements is computed first, and then their distances from this
    /// mean, so that large numbers with small differences do not lose precision.
    pub fn add<T: Number>(&mut self, numbers: &[T]) {
        for piece in numbers.chunks(PIECE) {
            self.merge(&Self::of_finite(piece).unwrap_or_else(|| Self::of_any(piece)));
        }
    }

    /// Returns the statistics of `numbers`, or `None` if one of the numbers or their sum is not finite, or there are no numbers.
    ///
    /// Nearly all pieces are finite. So this function counts and compares without a branch for each number, in several lanes that
    /// the compiler turns into vector instructions, and leaves other pieces to [`of_any`](Self::of_any).
    fn of_finite<T: Number>(numbers: &[T]) -> Option<Self> {
        let (lanes, rest) = numbers.as_chunks::<LANES>();
        let first = *numbers.first()?;
        let (mut min, mut max) = ([first; LANES], [first; LANES]);
        let (mut sums, mut zeros) = ([0.0_f64; LANES], [0_u32; LANES]);
        // The extremes have a loop of their own: in one loop with the sums, the compiler moves lanes about, which takes 2.4 times
        // as long.
        for numbers in lanes {
            for (min, number) in min.iter_mut().zip(numbers) {
                *min = if number < min { *number } else { *min };
            }
            for (max, number) in max.iter_mut().zip(numbers) {
                *max = if number > max { *number } else { *max };
            }
        }
        for numbers in lanes {
            for (zeros, number) in zeros.iter_mut().zip(numbers) {
                *zeros = zeros.wrapping_add(u32::from(*number == T::default()));
            }
            for (sum, number) in sums.iter_mut().zip(numbers) {
                *sum += (*number).into();
            }
        }
        let mut sum: f64 = sums.iter().sum();
        sum += rest.iter().map(|number| (*number).into()).sum::<f64>();
        let zeros = zeros.iter().copied().map(u64::from).fold(0, u64::saturating_add);
        let of_rest = rest.iter().filter(|number| **number == T::default()).count();
        let zeros = zeros.saturating_add(u64_from_usize(of_rest));
        let (min, max) = (outermost(&min, first, T::lt), outermost(&max, first, T::gt));
        let (min, max) = (outermost(rest, min, T::lt), outermost(rest, max, T::gt));
        // NaN and infinity stay in every sum to which they are added.
        if !sum.is_finite() {
            return None;
        }
        let count = u64_from_usize(numbers.len());
        let mean = sum / to_f64(count);
        let mut squares = [0.0_f64; LANES];
        for numbers in lanes {
            for (squares, number) in squares.iter_mut().zip(numbers) {
                let distance = (*number).into() - mean;
                *squares += distance * distance;
            }
        }
        let rest = rest.iter().map(|number| ((*number).into() - mean).powi(2));
        let squares = squares.iter().copied().chain(rest).sum();
        let (min, max) = (Some(min.into()), Some(max.into()));
        Some(Self { count, zeros, min, max, mean, squares, ..Self::default() })
    }

    /// Returns the statistics of `numbers`, which may be NaN or infinite, or have an infinite sum.
    fn of_any<T: Number>(numbers: &[T]) -> Self {
        let mut chunk = Self { count: u64_from_usize(numbers.len()), ..Self::default() };
        let numbers = || numbers.iter().map(|number| (*number).into());
        let (mut sum, mut min, mut max) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
        for number in numbers() {
            chunk.zeros = chunk.zeros.saturating_add(u64::from(number == 0.0));
            if number.is_finite() {
                (min, max) = (number.min(min), number.max(max));
                sum += number;
            } else if number.is_nan() {
                chunk.nan = chunk.nan.saturating_add(1);
            } else {
                chunk.infinities = chunk.infinities.saturating_add(1);
            }
        }
        let count = to_f64(chunk.finite());
        if count > 0.0 {
            let finite = || numbers().filter(|number: &f64| number.is_finite());
            (chunk.min, chunk.max) = (Some(min), Some(max));
            let is_exact = f64::is_finite(sum);
            chunk.mean =
                if is_exact { sum / count } else { finite().map(|number| number / count).sum() };
            chunk.squares = finite().map(|number| (number - chunk.mean).powi(2)).sum();
        }
        chunk
    }

    /// Adds `other`, the statistics of further elements, so that the result is the statistics of all elements together.
    pub fn merge(&mut self, other: &Self) {
        let (before, added) = (to_f64(self.finite()), to_f64(other.finite()));
        self.count = self.count.saturating_add(other.count);
        self.zeros = self.zeros.saturating_add(other.zeros);
        self.nan = self.nan.saturating_add(other.nan);
        self.infinities = self.infinities.saturating_add(other.infinities);
        if added > 0.0 {
            let share = added / (before + added);
            let distance = other.mean - self.mean;
            self.squares += other.squares + distance * share * before * distance;
            self.mean += distance * share;
            self.min = self.min.map_or(other.min, |min| other.min.map(|other| min.min(other)));
            self.max = self.max.map_or(other.max, |max| other.max.map(|other| max.max(other)));
        }
    }

    /// Returns the number of elements that are neither NaN nor infinite.
    pub fn finite(&self) -> u64 {
        self.count.saturating_sub(self.nan).saturating_sub(self.infinities)
    }

    /// Returns the mean of the finite elements, or `None` if there are no finite elements or the mean overflows.
    pub fn mean(&self) -> Option<f64> {
        Some(self.mean).filter(|mean| self.finite() > 0 && mean.is_finite())
    }

    /// Returns the population standard deviation of the finite elements, or `None` if there are no finite elements or the mean or
    /// the sum of the squares overflows.
    pub fn deviation(&self) -> Option<f64> {
        let deviation = (self.squares / to_f64(self.finite())).sqrt();
        Some(deviation).filter(|deviation| deviation.is_finite())
    }
}

impl Serialize for Statistics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown {
            #[serde(serialize_with = "json::integer")]
            count: u64,
            #[serde(serialize_with = "json::integer")]
            zeros: u64,
            #[serde(serialize_with = "json::integer")]
            nan: u64,
            #[serde(serialize_with = "json::integer")]
            infinities: u64,
            min: Option<f64>,
            max: Option<f64>,
            mean: Option<f64>,
            deviation: Option<f64>,
        }
        let Self { count, zeros, nan, infinities, min, max, .. } = *self;
        let (mean, deviation) = (self.mean(), self.deviation());
        Shown { count, zeros, nan, infinities, min, max, mean, deviation }.serialize(serializer)
    }
}

#[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "rounded to the nearest")]
fn to_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[f64]) -> Statistics {
        let mut statistics = Statistics::default();
        statistics.add(numbers);
        statistics
    }

    #[test]
    fn each_statistic_is_computed() {
        let nan = f64::NAN;
        let seen = of(&[-0.0, 0.0, 3.0, -1.0, nan, nan, f64::INFINITY]);
        assert_eq!((seen.count, seen.zeros, seen.nan, seen.infinities), (7, 2, 2, 1));
        assert_eq!((seen.min, seen.max, seen.mean()), (Some(-1.0), Some(3.0), Some(0.5)));
        assert_eq!(seen.deviation(), Some(2.25_f64.sqrt()));
        let none = of(&[nan]);
        assert_eq!((none.min, none.mean(), none.deviation()), (None, None, None));
        assert_eq!(
            serde_json::to_string(&of(&[1.0, 2.0])).unwrap(),
            r#"{"count":2,"zeros":0,"nan":0,"infinities":0,"min":1.0,"max":2.0,"mean":1.5,"deviation":0.5}"#
        );
    }

    #[test]
    fn large_numbers_that_differ_by_little() {
        let seen = of(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]);
        assert_eq!((seen.mean(), seen.deviation()), (Some(1e9 + 10.0), Some(22.5_f64.sqrt())));
        let most = of(&[f64::MAX, f64::MAX]);
        assert_eq!((most.mean(), most.deviation()), (Some(f64::MAX), Some(0.0)));
    }

    #[test]
    fn merged_statistics_equal_those_of_one_pass() {
        let mut random = fastrand::Rng::with_seed(1);
        let numbers: Vec<f64> = (0..1000).map(|_| random.f64() * 1e6 - 3.0).collect();
        let mut merged = Statistics::of_zeros(0);
        for chunk in numbers.chunks(37) {
            merged.merge(&of(chunk));
        }
        merged.merge(&Statistics::of_zeros(500));
        let all = of(&[numbers, vec![0.0; 500]].concat());
        let close = |one: Option<f64>, other: Option<f64>| {
            (one.unwrap() - other.unwrap()).abs() < 1e-9 * one.unwrap()
        };
        assert!(close(merged.mean(), all.mean()) && close(merged.deviation(), all.deviation()));
        assert_eq!((merged.count, merged.zeros), (all.count, all.zeros));
        assert_eq!((merged.min, merged.max), (all.min, all.max));
    }
}
