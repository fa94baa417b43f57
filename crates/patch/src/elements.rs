//! The difference between an old and a new element as a number that is small if the elements are close.
//!
//! The elements of a component are numbers of 1, 2, 4 or 8 bytes, as they are stored. A float is mapped to an integer that grows
//! with the float, so that the difference of two floats is the number of steps from one float to the next: units in the last place.
//! Differences wrap around, so every pair of elements has a difference.

use zten::element::StorageType;
use zten::{Component, DType};

/// The width of the elements of a component, and whether they are floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elements {
    /// The width of an element in bytes: 1, 2, 4 or 8.
    pub(crate) width: u8,
    /// Whether the elements are floats, whose highest bit is their sign.
    pub(crate) floats: bool,
}

impl Elements {
    /// Returns the width of the elements of `component`, and whether they are floats. If elements share bytes or are grouped in
    /// blocks, or have a type of another width or an unknown type, each byte counts as one element.
    pub(crate) fn of(component: &Component<'_>) -> Self {
        let dtype = component.dtype();
        let bytes_of_floats = matches!(
            dtype,
            DType::F8E4M3Fn | DType::F8E5M2 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz
        );
        let (width, floats) = match component.storage_type() {
            Some(StorageType::F64) => (8, true),
            Some(StorageType::F32) => (4, true),
            Some(StorageType::F16 | StorageType::Bf16) => (2, true),
            Some(StorageType::I64 | StorageType::U64) => (8, false),
            Some(StorageType::I32 | StorageType::U32) => (4, false),
            Some(StorageType::I16 | StorageType::U16) => (2, false),
            _ => (1, bytes_of_floats),
        };
        Self { width, floats }
    }

    /// Returns the largest unsigned number that `self.width` bytes can hold, in which all bits of an element are 1.
    fn mask(self) -> u64 {
        u64::MAX >> 64_u32.saturating_sub(u32::from(self.width).saturating_mul(8)).min(63)
    }

    /// Returns the rank of the element with these `bits` among all values of its type, sorted from the smallest to the largest.
    /// Integers are ranked as if they were unsigned.
    #[inline]
    fn position(self, bits: u64) -> u64 {
        let mask = self.mask();
        let sign = mask ^ (mask >> 1);
        match (self.floats, bits & sign) {
            (false, _) => bits,
            // The greater the magnitude of a negative float, the lower its position.
            (true, 0) => bits | sign,
            (true, _) => !bits & mask,
        }
    }

    /// Returns the bits of the element whose rank is `position`: the inverse of [`position`](Self::position).
    #[inline]
    fn bits(self, position: u64) -> u64 {
        let mask = self.mask();
        let sign = mask ^ (mask >> 1);
        match (self.floats, position & sign) {
            (false, _) => position,
            (true, 0) => !position & mask,
            (true, _) => position ^ sign,
        }
    }

    /// Returns the number by which a patch encodes the change from the element `old` to the element `new`, which are not equal: 0
    /// if the rank of `new` is lower by 1, 1 if it is higher by 1, 2 if it is lower by 2, and so on.
    #[inline]
    pub(crate) fn difference(self, old: u64, new: u64) -> u64 {
        let shift = 64_u32.saturating_sub(u32::from(self.width).saturating_mul(8));
        let difference = self.position(new).wrapping_sub(self.position(old));
        // The shifts extend the sign of the difference to 64 bits.
        let difference = difference.wrapping_shl(shift).cast_signed().wrapping_shr(shift);
        let zigzag = difference.wrapping_shl(1) ^ difference.wrapping_shr(63);
        zigzag.cast_unsigned().wrapping_sub(1)
    }

    /// Returns the element that differs from `old` by `difference`, a number that [`difference`](Self::difference) returns. Returns
    /// `None` if the number is too large for elements of this width.
    #[inline]
    pub(crate) fn apply(self, old: u64, difference: u64) -> Option<u64> {
        let mask = self.mask();
        if difference >= mask {
            return None;
        }
        let zigzag = difference.wrapping_add(1);
        let difference = (zigzag >> 1) ^ 0_u64.wrapping_sub(zigzag & 1);
        Some(self.bits(self.position(old).wrapping_add(difference) & mask))
    }
}

/// Returns the unsigned number that the little-endian `bytes` of an element represent.
#[inline]
pub(crate) fn number<const W: usize>(bytes: [u8; W]) -> u64 {
    let mut all = [0; 8];
    for (to, from) in all.iter_mut().zip(bytes) {
        *to = from;
    }
    u64::from_le_bytes(all)
}

/// Fills `bytes` with the lowest bytes of `number`, in little-endian order. Higher bytes of `number` are dropped.
#[inline]
pub(crate) fn write_number(number: u64, bytes: &mut [u8]) {
    for (to, from) in bytes.iter_mut().zip(number.to_le_bytes()) {
        *to = from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Elements; 8] = {
        const fn of(width: u8, floats: bool) -> Elements {
            Elements { width, floats }
        }
        [
            of(1, false),
            of(2, false),
            of(4, false),
            of(8, false),
            of(1, true),
            of(2, true),
            of(4, true),
            of(8, true),
        ]
    };

    #[test]
    fn every_pair_of_elements_has_a_difference() {
        let mut random = fastrand::Rng::with_seed(7);
        for elements in ALL {
            let mask = elements.mask();
            let mut values = vec![0, 1, mask, mask >> 1, (mask >> 1) + 1, mask - 1];
            values.extend((0..200).map(|_| random.u64(..) & mask));
            for old in &values {
                assert_eq!(elements.bits(elements.position(*old)), *old, "{elements:?}");
                for new in values.iter().filter(|new| *new != old) {
                    let difference = elements.difference(*old, *new);
                    assert!(difference < mask, "{elements:?}: {old:x} to {new:x}");
                    assert_eq!(elements.apply(*old, difference), Some(*new), "{elements:?}");
                }
            }
            assert_eq!(elements.apply(0, mask), None, "the number that no difference has");
        }
    }

    #[test]
    fn every_byte_and_every_half_float_is_reached_by_each_difference_once() {
        for elements in [ALL[0], ALL[4]] {
            for old in 0..=255 {
                let mut reached: Vec<_> = (0..255).map(|own| elements.apply(old, own)).collect();
                reached.sort_unstable();
                reached.dedup();
                assert_eq!(reached.len(), 255);
                assert!(!reached.contains(&Some(old)));
            }
        }
    }

    #[test]
    fn a_unit_in_the_last_place_is_a_small_number() {
        let floats = Elements { width: 4, floats: true };
        let bits = |value: f32| u64::from(value.to_bits());
        for value in [1.0_f32, -1.0, 1e-40, -1e-40, 3.4e38, 0.5, 2.0] {
            assert_eq!(floats.difference(bits(value), bits(value.next_up())), 1);
            assert_eq!(floats.difference(bits(value), bits(value.next_down())), 0);
        }
        // -0.0 and 0.0 are different elements, and neighbors.
        assert_eq!(floats.difference(bits(-0.0), bits(0.0)), 1);
        let integers = Elements { width: 2, floats: false };
        assert_eq!(integers.difference(5, 6), 1);
        assert_eq!(integers.difference(6, 5), 0);
        assert_eq!(integers.difference(0, 0xffff), 0, "numbers wrap around");
    }
}
