//! A decoder of blocks from elsewhere in the place of ours: `structured-zstd` with the feature
//! `zstd-fast`, otherwise `ruzstd`, which it is a fork of.
//!
//! All have the same interface and get the same blocks under the same header, so whatever one
//! accepts here, the others must decode to the same bytes. These take their memory as they like,
//! and abort where it cannot be had.

#[cfg(not(feature = "zstd-fast"))]
use ruzstd as backend;
#[cfg(feature = "zstd-fast")]
use structured_zstd as backend;

use backend::decoding::{BlockDecodingStrategy, FrameDecoder};
use backend::io::Read as _;

use super::Broken;
use super::frame::Header;
use crate::num::wide;

/// Decodes one frame after the other. Never used after an error.
pub(super) struct Decoder(FrameDecoder);

impl Decoder {
    pub(super) fn new() -> Self {
        Self(FrameDecoder::new())
    }

    /// Begins a frame of that header, which may decode to at most `most` bytes.
    pub(super) fn begin(&mut self, header: &Header, most: u64) -> Result<(), Broken> {
        let (own, window) = header.for_decoder(most);
        self.0 = FrameDecoder::new();
        #[cfg(not(feature = "zstd-fast"))]
        self.0.set_max_window_size(window);
        #[cfg(feature = "zstd-fast")]
        self.0.set_max_window_size(window).map_err(|_| Broken::Corrupt)?;
        self.0.init(own.as_slice()).map_err(|_| Broken::Corrupt)
    }

    /// Decodes one block, and takes the frame's checksum if it follows the last.
    pub(super) fn block(&mut self, block: &[u8]) -> Result<(), Broken> {
        let one = BlockDecodingStrategy::UptoBlocks(1);
        self.0.decode_blocks(block, one).map(|_| ()).map_err(|_| Broken::Corrupt)
    }

    /// Takes decoded bytes that no later block can refer to.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Broken> {
        self.0.read(buffer).map_err(|_| Broken::Corrupt)
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
