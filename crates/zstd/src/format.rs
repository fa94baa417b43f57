//! The constants and tables of RFC 8878 that the decoder and the encoder share.

pub(crate) mod codes;
pub(crate) mod fse;
pub(crate) mod offsets;

/// The first four bytes of a frame: §3.1.1.
pub(crate) const MAGIC: u32 = 0xfd2f_b528;
/// The most bytes that a block decodes to: §3.1.1.2.4.
pub(crate) const LARGEST_BLOCK: usize = 128 << 10;
/// Bytes of a block header: §3.1.1.2.
pub(crate) const BLOCK_HEADER: usize = 3;
/// Block types: §3.1.1.2.2.
pub(crate) const RAW: u32 = 0;
pub(crate) const REPEATED: u32 = 1;
pub(crate) const COMPRESSED: u32 = 2;

/// Values of a byte.
pub(crate) const BYTES: usize = 256;
/// The longest Huffman code, in bits: §4.2.1.
pub(crate) const LONGEST_CODE: u32 = 11;
/// Weights of Huffman codes that can be listed as they are, and the header from which on they are:
/// §4.2.1.1.
pub(crate) const LISTED: u8 = 128;
/// The largest table for such weights: §4.2.1.2.
pub(crate) const WEIGHTS_LOG: u32 = 6;
