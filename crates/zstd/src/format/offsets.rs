//! The repeated offsets, which can be encoded in few bits: RFC 8878 §3.1.1.5.

/// The last three offsets (distances of matches in bytes), the latest first.
#[derive(Clone, Copy)]
pub(crate) struct Repeats([u32; 3]);

impl Repeats {
    /// The last three offsets at the start of a frame.
    pub(crate) const FIRST: Self = Self([1, 4, 8]);

    /// Decodes the offset value of a sequence: returns the distance in bytes from which the match is copied, and updates the
    /// last three offsets. A `value` above 3 is the distance plus 3. The values 1, 2 and 3 stand for the latest, the second
    /// latest and the third latest offset. If the sequence has no literals (`bare`), they stand for the second latest, the
    /// third latest, and the latest offset less 1. RFC 8878 §3.1.1.5.
    #[inline(always)]
    pub(crate) fn distance(&mut self, value: u32, bare: bool) -> u32 {
        let [first, second, third] = self.0;
        let (distance, after) = match (value, bare) {
            (1, false) => (first, self.0),
            (2, false) | (1, true) => (second, [second, first, third]),
            (3, false) | (2, true) => (third, [third, first, second]),
            _ => {
                let new = if value == 3 { first.wrapping_sub(1) } else { value.wrapping_sub(3) };
                (new, [new, first, second])
            }
        };
        self.0 = after;
        distance
    }

    /// Returns the offset value that encodes `distance`, the distance of a match in bytes, and updates the last three
    /// offsets. `bare` means a sequence without literals.
    #[cfg(feature = "encode")]
    pub(crate) fn value(&mut self, distance: u32, bare: bool) -> u32 {
        let [first, second, third] = self.0;
        let short = if bare { [second, third, first.wrapping_sub(1)] } else { self.0 };
        let found = (1..).zip(short).find(|(_, short)| *short == distance);
        let value = found.map_or(distance.wrapping_add(3), |(value, _)| value);
        self.distance(value, bare);
        value
    }
}

#[cfg(all(test, feature = "encode"))]
mod tests {
    use super::Repeats;

    #[test]
    fn values_tell_their_distances() {
        let (mut written, mut read) = (Repeats::FIRST, Repeats::FIRST);
        for distance in [8, 1, 4, 4, 3, 3, 2, 1, 9, 8, 8, 1, 9, 4, 5, 4] {
            for bare in [false, true, true] {
                let value = written.value(distance, bare);
                assert_eq!(read.distance(value, bare), distance);
                assert_eq!(written.0, read.0);
            }
        }
    }
}
