//! The byte order of quantized blocks.

/// The fields of two bytes in the blocks of a GGUF type: the scales of the block, which are half-precision floats. In a
/// big-endian file the bytes of these fields are swapped, as `gguf_convert_endian.py` of llama.cpp does it and as ggml reads them
/// on a big-endian machine. All other bytes of a block are the same in both byte orders.
///
/// Types with other fields are missing here. ggml reads some of these fields by copying bytes to a wider integer, and tables by
/// copying an integer to bytes, so the order of their bytes in a big-endian file is not defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockFields {
    /// The length of a block in bytes.
    bytes: usize,
    /// The offsets of the fields in the block. All offsets and the length of a block are even, so a chunk with an even number
    /// of bytes never ends within a field.
    offsets: &'static [usize],
}

/// The suffix of the layout name of big-endian blocks whose byte order is not defined. zten does not interpret such blocks.
pub(crate) const OPAQUE_BLOCKS: &str = ".big_endian";

/// The length in bytes of each field of [`BlockFields`].
pub(crate) const FIELD: usize = 2;

/// The layouts whose blocks have fields of two bytes: the name of each layout, the length of its blocks in bytes, and the offsets
/// of these fields in a block.
const LAYOUTS: [(&str, BlockFields); 11] = [
    ("gguf.q4_0", BlockFields::new(18, &[0])),
    ("gguf.q4_1", BlockFields::new(20, &[0, 2])),
    ("gguf.q8_0", BlockFields::new(34, &[0])),
    ("gguf.q2_k", BlockFields::new(84, &[80, 82])),
    ("gguf.q3_k", BlockFields::new(110, &[108])),
    ("gguf.q4_k", BlockFields::new(144, &[0, 2])),
    ("gguf.q5_k", BlockFields::new(176, &[0, 2])),
    ("gguf.q6_k", BlockFields::new(210, &[208])),
    ("gguf.iq4_nl", BlockFields::new(18, &[0])),
    ("gguf.tq1_0", BlockFields::new(54, &[52])),
    ("gguf.tq2_0", BlockFields::new(66, &[64])),
];

impl BlockFields {
    const fn new(bytes: usize, offsets: &'static [usize]) -> Self {
        Self { bytes, offsets }
    }

    /// Returns the fields of the blocks of tensors with the layout `name`; `None` if such blocks have no fields of two bytes, or
    /// their byte order is not defined.
    pub(crate) fn of_layout(name: &str) -> Option<Self> {
        LAYOUTS.iter().find(|row| row.0 == name).map(|row| row.1)
    }

    /// Swaps the bytes of all fields in `bytes`, a part of the blocks that begins at the offset `position`. Both the position and
    /// the length of `bytes` are even.
    pub(crate) fn swap(self, position: u64, bytes: &mut [u8]) {
        let block = self.bytes;
        // The position in a block at which `bytes` begin. A block is short, so the remainder fits in a `usize`.
        let begun = u64::try_from(block).ok().and_then(|block| position.checked_rem(block));
        let begun = begun.and_then(|begun| usize::try_from(begun).ok()).unwrap_or_default();
        for offset in self.offsets {
            // The offset in `bytes` of the first whole field. `bytes` may begin after the field of their first block.
            let first = match offset.checked_sub(begun) {
                Some(first) => first,
                None => offset.saturating_add(block).saturating_sub(begun),
            };
            let mut rest = bytes.get_mut(first..).unwrap_or_default();
            while let Some((field, behind)) = rest.split_first_chunk_mut::<FIELD>() {
                // `slice::reverse` would add code that can panic to embedded images that read zTensor files only.
                let [low, high] = field;
                core::mem::swap(low, high);
                rest = behind.get_mut(block.saturating_sub(FIELD)..).unwrap_or_default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn fields_are_even() {
        for (name, fields) in LAYOUTS {
            assert!(fields.bytes.is_multiple_of(2), "{name}");
            for offset in fields.offsets {
                assert!(offset.is_multiple_of(2) && offset + FIELD <= fields.bytes, "{name}");
            }
            assert_eq!(BlockFields::of_layout(name), Some(fields));
        }
        for name in ["gguf.q5_0", "gguf.mxfp4", "q4_0", "gguf.q4_0/1", ""] {
            assert_eq!(BlockFields::of_layout(name), None);
        }
    }

    /// Swapping chunk by chunk, in chunks of any even length, has the same result as swapping all bytes at once.
    #[test]
    fn chunks_are_swapped_as_the_whole() {
        for (name, fields) in LAYOUTS {
            let block = fields.bytes;
            let bytes: Vec<u8> = (0..=250).cycle().take(3 * block).collect();
            let mut whole = bytes.clone();
            for block in whole.chunks_exact_mut(block) {
                for offset in fields.offsets {
                    block[*offset..offset + FIELD].reverse();
                }
            }
            for length in (2..=3 * block).step_by(2) {
                let mut chunks = bytes.clone();
                let mut position = 0;
                for chunk in chunks.chunks_mut(length) {
                    fields.swap(position, chunk);
                    position += u64::try_from(chunk.len()).unwrap();
                }
                assert_eq!(chunks, whole, "{name} {length}");
            }
        }
    }
}
