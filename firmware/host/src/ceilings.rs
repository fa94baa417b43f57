//! What the images may take, in bytes.

/// Flash of opening, listing and binding: the image `list` less the image `empty`. Of all
/// generations but 2, of 1.1 and 1.2, of 0.1, and of 2.
pub const FLASH: [(&str, u64); 4] =
    [("0.1, 1.1, 1.2", 44 << 10), ("1.1, 1.2", 38 << 10), ("0.1", 32 << 10), ("2", 64 << 10)];
/// Heap of every image without zstd.
pub const HEAP: u64 = 8 << 10;
/// Heap of the images with zstd, in which one layer decodes to 6,144 bytes.
pub const HEAP_ZSTD: u64 = 31 << 10;
/// Stack of every image.
pub const STACK: u64 = 16 << 10;
/// Times that the image `spi` reads each byte of the file, in hundredths.
pub const READS: u64 = 105;
