//! The constants and tables of RFC 8878 that the decoder and the encoder share.

pub(crate) mod codes;
pub(crate) mod fse;
pub(crate) mod offsets;

/// The first four bytes of a zstd frame, as a little-endian number: RFC 8878 §3.1.1.
pub(crate) const MAGIC: u32 = 0xfd2f_b528;
/// The largest number of bytes that a block may decode to: RFC 8878 §3.1.1.2.4.
pub(crate) const LARGEST_BLOCK: usize = 128 << 10;
/// The size of a block header in bytes: RFC 8878 §3.1.1.2.
pub(crate) const BLOCK_HEADER: usize = 3;
/// The type of blocks whose bytes are stored as they are: RFC 8878 §3.1.1.2.2.
pub(crate) const RAW: u32 = 0;
/// The type of blocks (RLE) that are one byte, repeated: RFC 8878 §3.1.1.2.2.
pub(crate) const REPEATED: u32 = 1;
/// The type of compressed blocks: RFC 8878 §3.1.1.2.2.
pub(crate) const COMPRESSED: u32 = 2;

/// The number of values of a byte.
pub(crate) const BYTES: usize = 256;
/// The length in bits of the longest Huffman code: RFC 8878 §4.2.1.
pub(crate) const LONGEST_CODE: u32 = 11;
/// The smallest first byte of a description of Huffman weights that are listed without compression. The byte is 127
/// plus the number of weights: §4.2.1.1.
pub(crate) const LISTED: u8 = 128;
/// The base-2 logarithm of the number of states of the largest FSE table for compressed Huffman weights: RFC 8878 §4.2.1.2.
pub(crate) const WEIGHTS_LOG: u32 = 6;
