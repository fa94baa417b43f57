//! `ruzstd`, a third-party decoder of blocks, in place of the decoder of `zten_zstd`.
//!
//! Both decoders get the same blocks under the same header, so that differences between their results show defects.
//! `ruzstd` allocates without limits, and aborts if an allocation fails.

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::io::Read as _;
use zten_zstd::decode::{Block, BlockDecoder, Flaw, FrameHeader};

use crate::num::u64_from_usize;

/// A decoder that decodes one zstd frame after another. After an error it must not be used again.
pub(super) struct Decoder(FrameDecoder);

impl Default for Decoder {
    fn default() -> Self {
        Self(FrameDecoder::new())
    }
}

impl BlockDecoder for Decoder {
    fn begin(&mut self, header: &FrameHeader, most: u64) -> Result<(), Flaw> {
        let (own, window) = header.for_decoder(most);
        *self = Self::default();
        self.0.set_max_window_size(window);
        self.0.init(own.as_slice()).map_err(|_| Flaw::Corrupt)
    }

    fn block(&mut self, block: &Block<'_>) -> Result<(), Flaw> {
        let one = BlockDecodingStrategy::UptoBlocks(1);
        let decoded = self.0.decode_blocks(block.bytes(), one);
        decoded.map(|_| ()).map_err(|_| Flaw::Corrupt)
    }

    /// Moves decoded bytes that no later block can refer to into `buffer`.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Flaw> {
        self.0.read(buffer).map_err(|_| Flaw::Corrupt)
    }

    fn pending(&self) -> u64 {
        u64_from_usize(self.0.can_collect())
    }
}
