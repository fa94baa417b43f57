//! Unpacking of 4-bit elements, two of which share a byte, to one byte each.

use std::io;

use zten::{Component, DType};

/// The number of packed bytes that are unpacked at a time.
const PIECE: usize = 2048;

/// Returns the number of elements of `component` if they are 4-bit floats (`f4_e2m1`), of which two share a byte. If the object does not
/// tell the number, each half of each byte counts as an element. Returns `None` for other dtypes, and if the decoded length is not known
/// either.
pub fn count(component: &Component<'_>) -> Option<u64> {
    if component.dtype() != DType::F4E2M1 {
        return None;
    }
    let both = || component.decoded_length()?.checked_mul(2);
    component.packed_elements().or_else(both)
}

/// A converter that unpacks 4-bit elements to one byte each as their bytes arrive.
#[derive(Debug)]
pub struct Unpacking {
    /// The number of elements that are still to be unpacked.
    left: u64,
}

impl Unpacking {
    /// Creates a converter for `count` elements.
    pub fn new(count: u64) -> Self {
        Self { left: count }
    }

    /// Unpacks `chunk`, in which the low half of each byte comes first, and passes the elements to `take`, one in each byte.
    pub fn chunk(
        &mut self,
        chunk: &[u8],
        take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        for piece in chunk.chunks(PIECE) {
            let mut codes = [[0; 2]; PIECE];
            for (pair, byte) in codes.iter_mut().zip(piece) {
                *pair = [byte & 15, byte >> 4];
            }
            let codes = codes.get(..piece.len()).unwrap_or_default().as_flattened();
            let count =
                usize::try_from(self.left).map_or(codes.len(), |left| codes.len().min(left));
            self.left = self.left.saturating_sub(u64::try_from(count).unwrap_or(u64::MAX));
            take(codes.get(..count).unwrap_or_default())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_low_nibble_comes_first_and_the_last_high_nibble_may_be_unused() {
        let bytes: Vec<u8> = (0..5000_usize).map(|n| n.to_le_bytes()[0]).collect();
        for (count, step) in [(10_000, 5000), (9_999, 7), (9_999, 5000), (0, 10)] {
            let (mut unpacking, mut codes) = (Unpacking::new(count), Vec::new());
            for chunk in bytes.chunks(step) {
                unpacking
                    .chunk(chunk, &mut |bytes| {
                        codes.extend_from_slice(bytes);
                        Ok(())
                    })
                    .unwrap();
            }
            let mut all: Vec<u8> = bytes.iter().flat_map(|byte| [byte & 15, byte >> 4]).collect();
            all.truncate(usize::try_from(count).unwrap());
            assert_eq!(codes, all);
        }
    }
}
