//! Normalizing content: equal numbers get equal bytes, however they are stored.

use crate::element::StorageType;
use crate::manifest::Component;

/// The conversion of the decoded bytes of a component into a normal form, in which components with equal content have
/// equal bytes.
///
/// ```
/// # use core::convert::Infallible;
/// let archive = zten::open("corpus/accept/1.2.3/csr_raw.zt")?;
/// # let tensor = archive.tensors().next().unwrap();
/// let indices = tensor.component("indices").unwrap();
/// let (mut reader, mut wide) = (indices.reader()?, Vec::new());
/// while let Some(chunk) = reader.next_chunk()? {
///     let Ok(()) = zten::view::Normalization::content(&indices).chunk(chunk, |bytes| {
///         wide.extend_from_slice(bytes);
///         Ok::<(), Infallible>(())
///     });
/// }
/// # assert_eq!(wide.len() % 8, 0);
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Normalization(Change);

/// The conversion of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Nothing,
    /// Each integer of this many bytes is widened to eight bytes.
    Widen(u8),
    /// Any byte that is not 0 becomes 1.
    Bools,
}

/// The number of elements that are converted at once.
const PIECE: usize = 512;

impl Normalization {
    /// The normalization that changes nothing.
    pub(crate) const NOTHING: Self = Self(Change::Nothing);

    /// Returns the normalization that makes bools 0 or 1, because in 0.1 any byte that is not 0 is true.
    pub fn bools(component: &Component<'_>) -> Self {
        Self(match component.storage_type() {
            Some(StorageType::Bool) => Change::Bools,
            _ => Change::Nothing,
        })
    }

    /// Returns the normalization that makes bools 0 or 1, and widens indices of sparse objects of any integer type to `u64`.
    pub fn content(component: &Component<'_>) -> Self {
        match component.storage_type() {
            Some(storage) if storage.width() < 8 && component.is_index() => {
                Self(Change::Widen(storage.width()))
            }
            _ => Self::bools(component),
        }
    }

    /// Converts `chunk`, and calls `take` with the result, piece by piece, until `take` fails. `chunk` holds whole
    /// elements, decoded and little-endian, as [`Reader`](crate::Reader) and [`Verifier`](crate::verify::Verifier)
    /// return them. Its indices must not be negative.
    ///
    /// # Errors
    /// The error of `take`.
    pub fn chunk<E>(
        self,
        chunk: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.0 {
            Change::Nothing => take(chunk),
            Change::Widen(width) => widen(chunk, width.into(), take),
            Change::Bools => chunk.chunks(PIECE).try_for_each(|piece| {
                let mut bools = [0; PIECE];
                for (to, from) in bools.iter_mut().zip(piece) {
                    *to = u8::from(*from != 0);
                }
                let (bools, _) = bools.split_at(piece.len().min(PIECE));
                take(bools)
            }),
        }
    }
}

fn widen<E>(
    chunk: &[u8],
    width: usize,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    for piece in chunk.chunks(width.max(1).saturating_mul(PIECE)) {
        let mut numbers = [[0; 8]; PIECE];
        let elements = piece.chunks(width.max(1));
        let count = elements.len();
        for (number, element) in numbers.iter_mut().zip(elements) {
            // Indices are not negative, so the upper bytes of a widened index stay zero.
            for (to, from) in number.iter_mut().zip(element) {
                *to = *from;
            }
        }
        let (numbers, _) = numbers.split_at(count.min(PIECE));
        take(numbers.as_flattened())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::convert::Infallible;

    use super::*;

    fn normalized(change: Change, chunks: &[&[u8]]) -> Vec<u8> {
        let mut all = Vec::new();
        for chunk in chunks {
            let Ok(()) = Normalization(change).chunk(chunk, |bytes| {
                all.extend_from_slice(bytes);
                Ok::<(), Infallible>(())
            });
        }
        all
    }

    #[test]
    fn indices_of_any_width_become_the_same() {
        let numbers: Vec<u64> = (0..2000).map(|n| n % 128).collect();
        let narrow = |width: usize| -> Vec<u8> {
            numbers.iter().flat_map(|n| n.to_le_bytes().into_iter().take(width)).collect()
        };
        let all = narrow(8);
        assert_eq!(normalized(Change::Nothing, &[&all]), all);
        for width in [1, 2, 4] {
            let bytes = narrow(width.into());
            assert_eq!(normalized(Change::Widen(width), &[&bytes]), all);
            let (head, tail) = bytes.split_at(usize::from(width) * 777);
            assert_eq!(normalized(Change::Widen(width), &[head, tail]), all);
        }
        assert_ne!(normalized(Change::Widen(1), &[&narrow(2)]), all);
    }

    #[test]
    fn bools_become_their_truth() {
        let bools: Vec<u8> = (0..2000).map(|n| u8::from(n % 3 == 0)).collect();
        let others: Vec<u8> = bools.iter().map(|bool| bool * 0x80).collect();
        assert_eq!(normalized(Change::Bools, &[&bools]), bools);
        assert_eq!(normalized(Change::Bools, &[&others]), bools);
        assert_eq!(normalized(Change::Nothing, &[&others]), others);
    }

    #[test]
    fn an_error_of_take_ends_normalization() {
        let mut taken = 0;
        let ended = Normalization(Change::Bools).chunk(&[1; 2000], |bytes| {
            taken += bytes.len();
            if taken > 1000 { Err("enough") } else { Ok(()) }
        });
        assert_eq!((ended, taken), (Err("enough"), 1024));
    }
}
