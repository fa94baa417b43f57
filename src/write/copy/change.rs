//! What is done to elements on the way.

use crate::element::{ByteOrder, StorageType};
use crate::error::Error;
use crate::layout::Widened;

/// What is done to the elements of a component on the way.
#[derive(Clone, Copy)]
pub(super) enum Change {
    Nothing,
    /// Indices of that type become `u64`.
    Widen(StorageType),
    /// What is not 0 becomes 1.
    Bools,
}

/// Bytes that are changed in one go.
const PIECE: usize = 4096;

impl Change {
    /// Hands what becomes of a chunk to `out`.
    pub(super) fn apply<E: From<Error>>(
        self,
        chunk: &[u8],
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Nothing => out(chunk)?,
            Self::Widen(storage) => {
                let mut buffer = [0; PIECE];
                let mut indices = Widened::new(chunk, storage, ByteOrder::Little);
                while indices.len() > 0 {
                    let slots = buffer.as_chunks_mut::<8>().0;
                    let filled = slots.iter_mut().zip(&mut indices).fold(0, |bytes, (slot, n)| {
                        *slot = n.to_le_bytes();
                        slot.len().saturating_add(bytes)
                    });
                    out(buffer.get(..filled).ok_or(Error::internal())?)?;
                }
            }
            Self::Bools => {
                let mut buffer = [0; PIECE];
                for piece in chunk.chunks(PIECE) {
                    for (slot, byte) in buffer.iter_mut().zip(piece) {
                        *slot = u8::from(*byte != 0);
                    }
                    out(buffer.get(..piece.len()).ok_or(Error::internal())?)?;
                }
            }
        }
        Ok(())
    }
}
