//! A histogram that is computed in one pass over numbers whose range is not known before.

/// The number of counted numbers in each of 256 intervals of equal width.
///
/// The width of an interval is a power of two, and an interval begins at a multiple of the width. The width begins as the
/// smallest possible one, and doubles whenever a number does not fit. Pairs of intervals are then merged, so no number is
/// counted twice.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: [u64; Self::INTERVALS],
    /// The start of the first interval, divided by the width of an interval.
    first: i64,
    /// The starts of the lowest and the highest interval that counted a number, divided by the width. `None` before the first
    /// number.
    range: Option<(i64, i64)>,
    /// The binary logarithm of the width of an interval.
    exponent: i32,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; Self::INTERVALS], first: 0, range: None, exponent: Self::NARROWEST }
    }
}

impl Histogram {
    /// The number of intervals.
    pub const INTERVALS: usize = 256;
    const SPAN: i64 = 256;
    /// The binary logarithm of the width of the intervals before the first number is counted. The width is then the smallest
    /// difference between two different finite `f64`.
    const NARROWEST: i32 = -1074;
    /// The bound for multiples of the width, 2^52. Below it, the two ends of an interval are different numbers.
    const MOST: f64 = 4_503_599_627_370_496.0;

    /// Adds 1 to the count of the interval that `number`, a finite number, is in. If no interval has the number, doubles the
    /// width of the intervals until one has it.
    pub fn count(&mut self, number: f64) {
        loop {
            let scaled = scale(number, -self.exponent).floor();
            if scaled.abs() < Self::MOST && self.put(truncated(scaled)) {
                return;
            }
            self.widen();
        }
    }

    /// Adds 1 to the count of the interval that begins at `multiple` times the width of an interval, and returns true. The
    /// intervals from the lowest to the highest that have counted a number must be at most 256. Returns false without counting
    /// if this interval would make them more.
    fn put(&mut self, multiple: i64) -> bool {
        let (low, high) = self.range.unwrap_or((multiple, multiple));
        let (low, high) = (low.min(multiple), high.max(multiple));
        if high - low >= Self::SPAN {
            return false;
        }
        if self.range.is_none() || low < self.first {
            let by = self.range.map_or(0, |_| self.first - low);
            let by = usize::try_from(by).unwrap_or_default().min(Self::INTERVALS);
            self.counts.rotate_right(by);
            self.first = low;
        } else if high - self.first >= Self::SPAN {
            let by = usize::try_from(low - self.first).unwrap_or_default();
            self.counts.rotate_left(by.min(Self::INTERVALS));
            self.first = low;
        }
        self.range = Some((low, high));
        let at = usize::try_from(multiple - self.first).ok();
        if let Some(count) = at.and_then(|at| self.counts.get_mut(at)) {
            *count = count.saturating_add(1);
        }
        true
    }

    /// Doubles the width of the intervals, and merges their counts in pairs.
    fn widen(&mut self) {
        let first = self.first >> 1;
        let mut counts = [0_u64; Self::INTERVALS];
        for (multiple, count) in (self.first..).zip(self.counts) {
            let at = usize::try_from((multiple >> 1) - first).ok();
            if let Some(sum) = at.and_then(|at| counts.get_mut(at)) {
                *sum = sum.saturating_add(count);
            }
        }
        self.counts = counts;
        self.first = first;
        self.range = self.range.map(|(low, high)| (low >> 1, high >> 1));
        self.exponent = self.exponent.saturating_add(1);
    }

    /// Returns the width of an interval, the start of the lowest interval that has counted a number, and the counts of the
    /// intervals from this one to the highest that has. Returns `None` if no number has been counted.
    pub fn intervals(&self) -> Option<(f64, f64, &[u64])> {
        let (low, high) = self.range?;
        let start = usize::try_from(low - self.first).ok()?;
        let end = usize::try_from(high - self.first).ok()?.checked_add(1)?;
        let width = scale(1.0, self.exponent);
        // For numbers up to the largest `f64`, the start of the first interval would be minus infinity.
        let least = (signed(low) * width).max(f64::MIN);
        Some((width, least, self.counts.get(start..end)?))
    }
}

/// Returns `number` times 2 to the `exponent`. The product is computed in steps that are powers of two, so it is exact unless it is
/// too large or too small for an `f64`.
fn scale(number: f64, exponent: i32) -> f64 {
    let part = |exponent: i32| f64::from_bits(u64::from((1023 + exponent).unsigned_abs()) << 52);
    let half = (exponent / 2).clamp(-1022, 1022);
    number * part(half) * part((exponent - half).clamp(-1022, 1022))
}

/// Converts `number`, a whole number of a magnitude below 2^52, to an integer.
#[expect(clippy::cast_possible_truncation, reason = "it is whole, and below 2^52")]
fn truncated(number: f64) -> i64 {
    number as i64
}

#[expect(clippy::cast_precision_loss, reason = "below 2^53")]
fn signed(number: i64) -> f64 {
    number as f64
}
