//! A small zstd writer that can also write invalid frames: RFC 8878.

/// The bit of the frame header descriptor that says that a content checksum ends the frame.
pub const CHECKED: u8 = 0x04;
/// The reserved bit of the frame header descriptor.
pub const RESERVED: u8 = 0x08;
/// The unused bit of the frame header descriptor.
pub const UNUSED: u8 = 0x10;
/// The first bytes of a frame.
pub const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The window descriptor in a frame header for a window of 1 KiB.
pub const WINDOW_1_KIB: u8 = 0;
/// The window descriptor in a frame header for a window of 128 KiB.
pub const WINDOW_128_KIB: u8 = 7 << 3;
/// The window descriptor in a frame header for a window of 256 KiB.
pub const WINDOW_256_KIB: u8 = 8 << 3;
/// The window descriptor in a frame header for a window of 128 MiB.
pub const WINDOW_128_MIB: u8 = 17 << 3;
/// The window descriptor in a frame header for a window of 2 GiB.
pub const WINDOW_2_GIB: u8 = 21 << 3;

/// A zstd frame that is being written.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The bytes that have been written.
    pub bytes: Vec<u8>,
    /// The offset of the header of each block in `bytes`.
    pub blocks: Vec<usize>,
    /// The decoded content of the frame.
    pub content: Vec<u8>,
    checked: bool,
}

impl Frame {
    /// Creates a frame. `window` is its window descriptor; without one, the frame is a single segment. `dictionary`
    /// and `size` are the bytes of the dictionary id and of the content size, and `flags` further bits of the
    /// descriptor.
    pub fn new(window: Option<u8>, dictionary: &[u8], size: &[u8], flags: u8) -> Self {
        let size_flag: u8 = match size.len() {
            0 | 1 => 0,
            2 => 1,
            4 => 2,
            _ => 3,
        };
        let dictionary_flag: u8 = match dictionary.len() {
            4 => 3,
            length => u8::try_from(length).expect("at most 2"),
        };
        let single = u8::from(window.is_none()) << 5;
        let descriptor = size_flag << 6 | single | flags | dictionary_flag;
        let window = window.as_slice();
        Self {
            bytes: [&MAGIC, &[descriptor][..], window, dictionary, size].concat(),
            blocks: Vec::new(),
            content: Vec::new(),
            checked: flags & CHECKED != 0,
        }
    }

    /// Creates a frame whose header has a window descriptor and nothing else.
    pub fn windowed(window: u8, flags: u8) -> Self {
        Self::new(Some(window), &[], &[], flags)
    }

    /// Creates a frame of a single segment whose content size takes one byte.
    pub fn single(size: u8, flags: u8) -> Self {
        Self::new(None, &[], &[size], flags)
    }

    /// Adds a block of any type: its size field, its stored bytes, and the bytes that it decodes to.
    pub fn block(mut self, kind: u8, size: usize, stored: &[u8], content: &[u8]) -> Self {
        let header = u32::try_from(size).expect("a size") << 3 | u32::from(kind) << 1;
        self.blocks.push(self.bytes.len());
        self.bytes.extend(&header.to_le_bytes()[..3]);
        self.bytes.extend(stored);
        self.content.extend(content);
        self
    }

    /// Adds a raw block.
    pub fn raw(self, content: &[u8]) -> Self {
        self.block(0, content.len(), content, content)
    }

    /// Adds a block of one byte that is repeated `times` times.
    pub fn repeat(self, byte: u8, times: usize) -> Self {
        self.block(1, times, &[byte], &vec![byte; times])
    }

    /// Adds a compressed block, which is stored as `stored` and decodes to `content`.
    pub fn compressed(self, stored: &[u8], content: &[u8]) -> Self {
        self.block(2, stored.len(), stored, content)
    }

    /// Ends the frame: marks the last block, and adds the checksum if there is one.
    pub fn end(self) -> Self {
        self.end_with(0)
    }

    /// Ends the frame with a checksum in which the bits `wrong` are flipped.
    pub fn end_with(mut self, wrong: u32) -> Self {
        let last = *self.blocks.last().expect("a block");
        self.bytes[last] |= 1;
        if self.checked {
            let [low @ .., _, _, _, _] =
                twox_hash::XxHash64::oneshot(0, &self.content).to_le_bytes();
            self.bytes.extend((u32::from_le_bytes(low) ^ wrong).to_le_bytes());
        }
        self
    }
}

/// Returns a block with one sequence after raw literals. Each of its three codes has a table of one symbol, so the bit stream has
/// only their extra bits.
pub fn sequence(literals: &[u8], [length, offset, copy]: [u8; 3], bits: &[u8]) -> Vec<u8> {
    let mut block = raw_literals(literals);
    block.extend([1, 0x54, length, offset, copy]);
    block.extend(bits);
    block
}

/// Returns a literals section with raw literals.
pub fn raw_literals(literals: &[u8]) -> Vec<u8> {
    let size = literals.len();
    let header = match size {
        0..32 => vec![u8::try_from(size << 3).expect("5 bits")],
        _ => (u16::try_from(size << 4).expect("12 bits") | 4).to_le_bytes().to_vec(),
    };
    [&header, literals].concat()
}
