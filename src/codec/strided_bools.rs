//! Validating strided bools: each stored bool is checked once, however often the strides repeat it.

use alloc::vec::Vec;

use super::{Reader, validate_bools};
use crate::error::{BareError, Error, OutOfMemory};
use crate::manifest::Component;
use crate::num::u64_from_usize;

/// The number of bits in a word of a bit set.
const BITS: u64 = 64;

impl<'a> Component<'a> {
    /// Returns whether the component has strided bools. The bytes between them are not bools, and may have any value.
    pub(crate) fn has_strided_bools(&self) -> bool {
        self.strides().is_some() && self.bool_rule().is_some()
    }

    /// Reads the bytes in stored order, as [`reader_as_stored`](Self::reader_as_stored) does, without checking bools:
    /// the caller checks them.
    pub(crate) fn reader_of_bytes(&self) -> Result<Reader<'a>, Error> {
        let mut reader = self.reader_as_stored()?;
        reader.leave_bools();
        Ok(reader)
    }

    /// Validates strided bools in a blob that has bytes other than 0 and 1. Holds all bytes of the blob in memory, and
    /// a bit for each byte. Time follows the size of the blob, not the number of elements: strides of 0 make millions
    /// of elements out of a few bytes.
    ///
    /// # Errors
    /// `limit-decoded`; the rule on bools; any error of the source.
    #[cold]
    pub(crate) fn validate_strided_bools(&self) -> Result<(), Error> {
        let bytes = self.reader_of_bytes()?.hold()?;
        let here = |error: BareError| error.at(self.location());
        let strides = self.strides().ok_or_else(|| here(BareError::internal()))?;
        let shape = self.tensor().shape();
        let dimensions = shape.iter().copied().zip(strides.iter().copied());
        let elements = reached(u64_from_usize(bytes.len()), dimensions).map_err(here)?;
        for (position, byte) in (0_u64..).zip(&bytes).filter(|(_, byte)| **byte > 1) {
            let word = position.checked_div(BITS).and_then(|word| usize::try_from(word).ok());
            let word = word.and_then(|word| elements.get(word)).copied().unwrap_or_default();
            if word >> (position % BITS) & 1 == 1 {
                return Ok(validate_bools(&[*byte], None, self.bool_rule()).map_err(here)?);
            }
        }
        Ok(())
    }
}

/// Returns a bit for each of `length` bytes: 1 if an element of an array with these `dimensions` (sizes and strides)
/// begins at that byte.
fn reached(
    length: u64,
    dimensions: impl Iterator<Item = (u64, u64)>,
) -> Result<Vec<u64>, BareError> {
    let words = usize::try_from(length.div_ceil(BITS)).map_err(|_| OutOfMemory)?;
    let mut bits = Vec::new();
    bits.try_reserve_exact(words).map_err(|_| OutOfMemory)?;
    bits.resize(words, 0);
    if let Some(first) = bits.first_mut() {
        *first = 1;
    }
    for (dimension, stride) in dimensions.filter(|(_, stride)| *stride > 0) {
        // The bits of the first `count` indices are set. One shift sets the bits of up to `count` more, so that a
        // dimension of size n takes log2(n) passes.
        let mut count = 1;
        while count < dimension {
            let more = count.min(dimension.saturating_sub(count));
            shift_into(&mut bits, stride.saturating_mul(more));
            count = count.saturating_add(more);
        }
    }
    Ok(bits)
}

/// Computes `bits |= bits << count` for a bit set of any length. Bits beyond the end are dropped.
fn shift_into(bits: &mut [u64], count: u64) {
    let Ok(words) = usize::try_from(count / BITS) else { return };
    let within = count % BITS;
    for to in (words..bits.len()).rev() {
        let at = |position: Option<usize>| {
            position.and_then(|position| bits.get(position)).copied().unwrap_or_default()
        };
        let from = to.checked_sub(words);
        let high = at(from) << within;
        let low = match within {
            0 => 0,
            within => {
                let before = at(from.and_then(|from| from.checked_sub(1)));
                before >> BITS.saturating_sub(within)
            }
        };
        if let Some(word) = bits.get_mut(to) {
            *word |= high | low;
        }
    }
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "a test that panics has failed")]
mod tests {
    use super::*;

    /// Lists the offsets of all elements by counting through the indices.
    fn each(dimensions: &[(u64, u64)]) -> Vec<u64> {
        dimensions.iter().fold(alloc::vec![0], |places, (dimension, stride)| {
            let of = |position: u64| (0..*dimension).map(move |index| position + index * stride);
            places.into_iter().flat_map(of).collect()
        })
    }

    #[test]
    fn bits_are_those_of_the_elements() {
        for dimensions in [
            &[][..],
            &[(5, 1)],
            &[(5, 64)],
            &[(3, 65), (2, 1)],
            &[(70, 3), (4, 0), (2, 7)],
            &[(100, 1), (100, 1)],
            &[(2, 130), (3, 63), (5, 2)],
            &[(9, 17), (1, 1000), (33, 4)],
        ] {
            let places = each(dimensions);
            let length = places.iter().max().unwrap() + 1;
            let bits = reached(length, dimensions.iter().copied()).unwrap();
            for position in 0..length {
                let word = bits[usize::try_from(position / BITS).unwrap()];
                let found = word >> (position % BITS) & 1 == 1;
                assert_eq!(found, places.contains(&position), "{dimensions:?} {position}");
            }
        }
    }
}
