//! The decoder of blocks: `ruzstd`, or with the feature `zstd-fast` its fork `structured-zstd`.
//!
//! Both have the same interface and get the same blocks under the same header, so whatever one
//! accepts here, the other must decode to the same bytes.

#[cfg(not(feature = "zstd-fast"))]
use ruzstd as backend;
#[cfg(feature = "zstd-fast")]
use structured_zstd as backend;

use backend::decoding::{BlockDecodingStrategy, FrameDecoder};
use backend::io::Read as _;

use super::frame::Header;
use crate::num::wide;

/// Decodes one frame. Never used for a second one, nor after an error.
pub(super) struct Decoder(FrameDecoder);

/// The decoder could not go on.
pub(super) struct Corrupt;

impl Decoder {
    /// Begins a frame of that header, which may decode to at most `most` bytes.
    pub(super) fn new(header: &Header, most: u64) -> Result<Self, Corrupt> {
        let (own, window) = header.for_decoder(most);
        let mut decoder = FrameDecoder::new();
        #[cfg(not(feature = "zstd-fast"))]
        decoder.set_max_window_size(window);
        #[cfg(feature = "zstd-fast")]
        decoder.set_max_window_size(window).map_err(|_| Corrupt)?;
        decoder.init(own.as_slice()).map_err(|_| Corrupt)?;
        Ok(Self(decoder))
    }

    /// Decodes one block, and takes the frame's checksum if it follows the last.
    pub(super) fn block(&mut self, block: &[u8]) -> Result<(), Corrupt> {
        let one = BlockDecodingStrategy::UptoBlocks(1);
        self.0.decode_blocks(block, one).map(|_| ()).map_err(|_| Corrupt)
    }

    /// Takes decoded bytes that no later block can refer to.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Corrupt> {
        self.0.read(buffer).map_err(|_| Corrupt)
    }

    /// How many bytes could be read now.
    pub(super) fn pending(&self) -> u64 {
        wide(self.0.can_collect())
    }

    /// Whether the last block has been decoded.
    pub(super) fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Whether the checksum that stands after the frame is that of its bytes, all of which have
    /// been read.
    pub(super) fn matches_checksum(&self) -> bool {
        let stored = self.0.get_checksum_from_data();
        stored.is_some() && stored == self.0.get_calculated_checksum()
    }
}
