//! Compressed content that is expensive to decode.

use super::Made;
use super::content::{built, layout};
use zten_corpus::base::{object, zstd_component};
use zten_corpus::zstd::{CHECKED, Frame, WINDOW_1_KIB, raw_literals, sequence};

/// Frames, and the number of bytes that they decode to.
pub(super) struct Content {
    stored: Vec<u8>,
    decoded: usize,
}

/// Returns a zTensor file with one component that stores these frames.
pub(super) fn one(Content { stored, decoded }: Content) -> Made {
    let mut layout = layout();
    let length = stored.len() as u64;
    let data = zstd_component("u8", layout.blob(stored), length, decoded as u64);
    layout.object(object(&[], "x", vec![("data", data)]));
    Made { file: built(layout), decoded: decoded as u64 }
}

/// The kind of the blocks of a frame. Frames of each kind are expensive to decode.
#[derive(Clone, Copy)]
pub(super) enum Block {
    Raw,
    Repeat,
    Empty,
    /// A literal, and a match of three bytes.
    Sequence,
    /// Two literals with their own codes.
    Huffman,
    /// A sequence with its own tables.
    Tables,
}

/// Returns a frame of equal blocks with a window of 2^(10 + `window`) bytes.
pub(super) fn blocks(size: usize, window: u8, kind: Block) -> Content {
    let (stored, decoded) = block(kind);
    let mut frame = Frame::windowed(window << 3, 0);
    // The length of the content before the blocks, which their matches refer to. For sequences it grows with the file,
    // so that it fills the window in all but small files.
    let before = match kind {
        Block::Sequence => 2 * size,
        Block::Tables => 64,
        _ => 0,
    };
    let largest = FULL.min(1024 << window);
    for at in (0..before).step_by(largest) {
        frame = frame.repeat(7, largest.min(before - at));
    }
    let count = super::count(size, stored.len() + 3);
    for _ in 0..count {
        frame = match kind {
            Block::Raw => frame.raw(&[]),
            Block::Repeat => frame.repeat(7, 0),
            _ => frame.compressed(&stored, &[]),
        };
    }
    Content { stored: frame.end().bytes, decoded: before + count * decoded }
}

/// The largest number of bytes that a block may decode to.
const FULL: usize = 128 << 10;

/// Returns a block without its header, and the number of bytes that it decodes to.
fn block(kind: Block) -> (Vec<u8>, usize) {
    match kind {
        Block::Raw => (Vec::new(), 0),
        Block::Repeat => (vec![7], 0),
        Block::Empty => ([raw_literals(&[]), vec![0]].concat(), 0),
        // The sequence has no literals and a match of three bytes at the second repeated offset.
        Block::Sequence => (sequence(&[], [0, 0, 0], &[1]), 3),
        Block::Huffman => (huffman(), 2),
        Block::Tables => (tables(), 3),
    }
}

/// Returns a block of two literals and no sequences. The codes of the literals are described by a list of weights,
/// two in a byte.
fn huffman() -> Vec<u8> {
    // The weights 11, 10, ..., 1 of the symbols 0 to 10. The weight of symbol 11, which is 1, is implied.
    let weights = [0xba, 0x98, 0x76, 0x54, 0x32, 0x10];
    let codes = [&[127 + 11][..], &weights].concat();
    // One stream with the symbol 0 twice, of one bit each, and the bit that ends the stream.
    let stream = [&codes[..], &[0b111]].concat();
    let (made, stored) = (2_u32, u32::try_from(stream.len()).expect("a short stream"));
    let header = (2 | made << 4 | stored << 14).to_le_bytes();
    [&header[..3], &stream, &[0]].concat()
}

/// Returns a block of one sequence, whose three tables have as many states as possible, all of them for symbol 0: RFC
/// 8878 §4.1.1.
fn tables() -> Vec<u8> {
    // Each description of a table has the logarithm of its number of states, minus 5, in 4 bits, and then the number of
    // states plus 1 as 10 or 9 ones.
    let [lengths, offsets] = [4 | 0x3ff << 4, 3 | 0x1ff << 4_u16].map(u16::to_le_bytes);
    // The initial states, of 9, 8 and 9 bits, and the bit that ends them.
    let bits = (1_u32 << 26).to_le_bytes();
    [&raw_literals(&[])[..], &[1, 0xa8], &lengths, &offsets, &lengths, &bits].concat()
}

/// Returns about `size` bytes of frames, each of which decodes to one byte.
pub(super) fn frames(size: usize) -> Content {
    repeated(size, &Frame::single(1, 0).raw(&[7]).end().bytes)
}

/// Returns about `size` bytes of frames with a checksum, each of which decodes to one byte.
pub(super) fn checked_frames(size: usize) -> Content {
    repeated(size, &Frame::single(1, CHECKED).raw(&[7]).end().bytes)
}

fn repeated(size: usize, frame: &[u8]) -> Content {
    let count = super::count(size, frame.len());
    Content { stored: frame.repeat(count), decoded: count }
}

/// Returns a frame whose compressed blocks have as many of the shortest sequences (matches of three bytes) as a block
/// may decode to.
pub(super) fn short_sequences(size: usize) -> Content {
    // `number` is the number of sequences of one block, less 0x7f00, as numbers from 0x7f00 on are stored after the
    // byte 255. No sequence takes a bit of the stream.
    let count = FULL / 3;
    let number = u16::try_from(count - 0x7f00).expect("16 bits").to_le_bytes();
    let stored = [&raw_literals(&[])[..], &[255], &number, &[0x54, 0, 0, 0, 1]].concat();
    let blocks = super::count(size, 3 * count);
    let mut frame = Frame::windowed(7 << 3, 0).raw(&[1, 2, 3, 4, 5, 6, 7, 8]);
    for _ in 0..blocks {
        frame = frame.compressed(&stored, &[]);
    }
    Content { stored: frame.end().bytes, decoded: 8 + blocks * 3 * count }
}

/// Returns a frame of many valid blocks and a last block that lacks its last two bytes.
pub(super) fn corrupt(size: usize) -> Content {
    let (stored, made) = block(Block::Huffman);
    let count = super::count(size, stored.len() + 3);
    let mut frame = Frame::windowed(WINDOW_1_KIB, 0);
    for _ in 0..count {
        frame = frame.compressed(&stored, &[]);
    }
    let frame = frame.compressed(&stored[..stored.len() - 2], &[]);
    Content { stored: frame.end().bytes, decoded: (count + 1) * made }
}

/// Returns a file with many components, each of which is a frame that decodes to one byte.
pub(super) fn components(size: usize) -> Made {
    let frame = Frame::single(1, 0).raw(&[7]).end().bytes;
    let mut layout = layout();
    let mut left = super::count(size, 80 + 64);
    let decoded = left as u64;
    while left > 0 {
        let count = left.min(4096);
        let roles: Vec<String> = (0..count).map(|n| format!("{n:04}")).collect();
        let part = |role| {
            let at = layout.blob(frame.clone());
            (role, zstd_component("u8", at, frame.len() as u64, 1))
        };
        let parts: Vec<_> = roles.iter().map(part).collect();
        layout.object(object(&[], "x", parts));
        left -= count;
    }
    Made { file: built(layout), decoded }
}

/// Returns a file with CSR matrices of one value each, whose sizes are known only after decoding.
pub(super) fn unsized_csr(size: usize) -> Made {
    let mut layout = layout();
    let count = super::count(size, 240 + 3 * 64);
    for _ in 0..count {
        let mut part = |dtype, bytes: &[u8]| {
            let length = u8::try_from(bytes.len()).expect("a few bytes");
            layout.packed(dtype, Frame::single(length, 0).raw(bytes).end().bytes)
        };
        let components = vec![
            ("values", part("u8", &[1])),
            ("indices", part("u8", &[0])),
            ("indptr", part("u8", &[0, 1])),
        ];
        layout.object(object(&[1, 1], "sparse_csr", components));
    }
    Made { file: layout.v1("1.1.0").build("").bytes, decoded: 4 * count as u64 }
}
