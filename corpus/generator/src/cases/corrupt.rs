//! Cases of the corpus about compressed zstd blocks that cannot be decoded.

use crate::base::ramp;
use crate::hosts::{accept, reject};
use crate::table::Table;
use crate::zstd::{CHECKED, Frame, WINDOW_1_KIB, raw_literals, sequence};

const CORRUPT: &str = "zstd-corrupt";

pub(crate) fn cases(t: &mut Table) {
    sequences(t);
    sections(t);
    offsets(t);
    literals(t);
    trees(t);
    named_weights(t);
    quarters(t);
    places(t);
    headers(t);
    frames(t);
}

/// Returns a valid block of 5 literals and a match of 11 bytes at distance 5.
fn valid() -> Vec<u8> {
    sequence(&ramp(5), [5, 3, 8], &[0x08])
}

/// Returns the content that [`valid`] decodes to.
fn content() -> Vec<u8> {
    ramp(5).into_iter().cycle().take(16).collect()
}

/// Returns a frame with only `block`, which decodes to 16 bytes.
fn frame(block: &[u8]) -> Vec<u8> {
    Frame::windowed(WINDOW_1_KIB, 0).compressed(block, &content()).end().bytes
}

/// Adds a case in which the zstd block `block` cannot be decoded.
fn corrupt(t: &mut Table, case: &str, block: &[u8], neighbor: &str) {
    let stored = frame(block);
    reject(t, CORRUPT, case, (&stored, stored.len()), 16, neighbor);
}

/// Adds cases whose component is a zstd block with a single sequence (a copy of literals and then of a match: RFC 8878
/// §3.1.1.3.2). In each case one property of this sequence is invalid, such as its offset, its number of literals, or the bits
/// that encode it.
fn sequences(t: &mut Table) {
    accept(t, "sequence", &frame(&valid()), 16);
    let five = ramp(5);
    let of = |codes, bits: &[u8]| sequence(&five, codes, bits);
    for (case, block) in [
        ("offset-1-over-output", of([5, 3, 8], &[0x09])),
        ("offset-7-over-output", of([5, 3, 8], &[0x0f])),
        ("offset-2-pow-31", of([5, 31, 8], &[0, 0, 0, 0x80])),
        ("repeated-offset-over-output", of([5, 1, 8], &[0x03])),
        ("literals-run-out", of([6, 3, 8], &[0x08])),
        ("literals-run-far-out", of([15, 3, 8], &[0x08])),
        ("stream-without-end", of([5, 3, 8], &[0x08, 0])),
        ("stream-of-zero", of([5, 3, 8], &[0])),
        ("stream-too-short", of([5, 3, 8], &[0x04])),
        ("stream-of-no-bits", of([5, 3, 8], &[0x01])),
        ("stream-too-long", of([5, 3, 8], &[0x10])),
        ("stream-a-byte-too-long", of([5, 3, 8], &[0, 0x08])),
        ("stream-of-nothing", of([5, 3, 8], &[])),
        ("code-of-literals-36", of([36, 3, 8], &[0x08])),
        ("code-of-offset-32", of([5, 32, 8], &[0, 0, 0, 0, 1])),
        ("code-of-match-53", of([5, 3, 53], &[0x08])),
        ("code-of-match-255", of([5, 3, 255], &[0x08])),
    ] {
        corrupt(t, case, &block, "sequence");
    }
}

/// Adds cases about blocks whose literals or sequences section is wrong.
fn sections(t: &mut Table) {
    let edit = |at: usize, byte: u8| {
        let mut block = valid();
        block[at] = byte;
        block
    };
    // Byte 6 of the block is the number of sequences, and byte 7 has the modes of their three tables.
    for (case, block) in [
        ("literals-cut", edit(0, 31 << 3)),
        ("two-sequences-for-one", edit(6, 2)),
        ("count-of-127", edit(6, 127)),
        ("repeated-tables-without-any", edit(7, 0xfc)),
        ("repeated-literal-lengths", edit(7, 0xd4)),
        ("repeated-offsets", edit(7, 0x74)),
        ("repeated-match-lengths", edit(7, 0x5c)),
        ("table-of-accuracy-20", [&edit(7, 0x94)[..8], &[0x0f; 12]].concat()),
        ("sequences-cut-after-count", valid()[..7].to_vec()),
        ("sequences-cut-after-modes", valid()[..8].to_vec()),
        ("sequences-cut-in-tables", valid()[..10].to_vec()),
        ("no-sequences-section", raw_literals(&ramp(16))),
        ("count-cut", [raw_literals(&ramp(16)), vec![0xff, 0]].concat()),
        ("bytes-after-no-sequences", [raw_literals(&ramp(16)), vec![0, 0]].concat()),
        ("only-a-byte", vec![0]),
        ("only-a-byte-of-header", vec![0x0c]),
        ("trees-without-any", vec![0x03, 0xc1, 0, 0x71, 0xb2, 1, 0]),
    ] {
        corrupt(t, case, &block, "sequence");
    }
    let packed = [raw_literals(&ramp(16)), vec![0]].concat();
    accept(t, "packed", &frame(&packed), 16);
    // The compressed block has no bytes, not even the headers of its sections. It is corrupt, although the block after it
    // gives all of the output.
    let empty = Frame::windowed(WINDOW_1_KIB, 0).compressed(&[], &[]);
    let at = empty.bytes.len();
    let stored = empty.raw(&ramp(16)).end().bytes;
    reject(t, CORRUPT, "empty-block", (&stored, at), 16, "packed");
    // The two low bits of the modes are reserved, and must be 0.
    for bits in 1..4 {
        let stored = frame(&edit(7, 0x54 | bits));
        let case = format!("sequence-modes-{bits}");
        reject(t, "zstd-reserved", &case, (&stored, 6), 16, "sequence");
    }
}

/// Adds cases about matches whose offset is invalid: larger than the window, before the beginning of the output, or 0.
fn offsets(t: &mut Table) {
    // Two blocks of 1,024 bytes, and a block with one literal and a match of 3 bytes at a distance that is chosen by
    // `offset`.
    let far = |offset: u16| {
        let value = offset + 3;
        let code = u8::try_from(value.ilog2()).expect("a code");
        let block = sequence(&[9], [1, code, 0], &value.to_le_bytes());
        let copied: Vec<u8> = [ramp(1024), ramp(1024), vec![9]].concat();
        let from = copied.len() - usize::from(offset);
        let content = [&[9], &copied[from..][..3]].concat();
        let frame = Frame::windowed(WINDOW_1_KIB, 0).raw(&ramp(1024)).raw(&ramp(1024));
        frame.compressed(&block, &content).end().bytes
    };
    accept(t, "offset-of-1023", &far(1023), 2052);
    for (case, offset) in [("1500", 1500), ("2049", 2049)] {
        let stored = far(offset);
        let case = format!("offset-{case}-over-window");
        reject(t, CORRUPT, &case, (&stored, stored.len()), 2052, "offset-of-1023");
    }
    // Adds a block without literals, with a match whose offset value is `bits`, 2 or 3. Without literals, value 1 means
    // the second repeated offset, value 2 the third, and value 3 the first minus one. At the beginning of a frame, these
    // offsets are 1, 4 and 8.
    let back = |bits: u8| {
        let block = sequence(&[], [0, 1, 8], &[bits]);
        let output: Vec<u8> = [ramp(5), [2, 3, 4, 5].repeat(3)[..11].to_vec()].concat();
        let frame = Frame::windowed(WINDOW_1_KIB, 0).raw(&ramp(5));
        frame.compressed(&block, &output[5..]).end().bytes
    };
    // Value 3 means the offset 1 − 1 = 0, which is invalid. Value 2 means the offset 8, which is before the beginning of
    // the output.
    let stored = back(3);
    reject(t, CORRUPT, "offset-of-0", (&stored, stored.len()), 16, "repeated-offset");
    let stored = back(2);
    let over = "repeated-offset-8-over-output";
    reject(t, CORRUPT, over, (&stored, stored.len()), 16, "repeated-offset");
    let block = sequence(&[], [0, 0, 8], &[1]);
    let content = [2, 3, 4, 5].repeat(3)[..11].to_vec();
    let frame = Frame::windowed(WINDOW_1_KIB, 0).raw(&ramp(5));
    let frame = frame.compressed(&block, &content).end();
    accept(t, "repeated-offset", &frame.bytes, 16);
}

/// Returns a block of sixteen literals with Huffman codes and without sequences: the description `tree` of the codes and the bit
/// streams `streams`, which are four streams if `four`.
fn huffman(tree: &[u8], streams: &[u8], four: bool) -> Vec<u8> {
    let size = u32::try_from(tree.len() + streams.len()).expect("a size");
    let header = 2 | u32::from(four) << 2 | 16 << 4 | size << 14;
    [&header.to_le_bytes()[..3], tree, streams, &[0]].concat()
}

fn literals(t: &mut Table) {
    // This tree gives the first symbol the weight 1. The weight of the second symbol, also 1, follows from it.
    let tree = &[0x80, 0x10];
    let bits: [u8; 16] = [1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1];
    let of = |block: &[u8]| Frame::windowed(WINDOW_1_KIB, 0).compressed(block, &bits).end().bytes;
    let one = [0x71, 0xb2, 1];
    let four = [1, 0, 1, 0, 1, 0, 0x1b, 0x12, 0x17, 0x11];
    accept(t, "huffman", &of(&huffman(tree, &one, false)), 16);
    accept(t, "huffman-of-4", &of(&huffman(tree, &four, true)), 16);
    let mut rejected = |case: &str, block: &[u8], neighbor: &str| {
        corrupt_literals(t, case, block, neighbor);
    };
    let single = |tree: &[u8], stream: &[u8]| huffman(tree, stream, false);
    rejected("tree-of-no-weight", &single(&[0x80, 0], &one), "huffman");
    rejected("tree-cut", &single(&[0xff, 0x10], &one), "huffman");
    rejected("tree-that-does-not-fill", &single(&[0x82, 0x41, 0x10], &one), "huffman");
    rejected("tree-of-weight-15", &single(&[0x80, 0xf0], &one), "huffman");
    rejected("tree-only", &single(tree, &[]), "huffman");
    rejected("huffman-stream-of-zero", &single(tree, &[0x71, 0xb2, 0]), "huffman");
    rejected("huffman-stream-too-short", &single(tree, &[0x71, 0xb2]), "huffman");
    rejected("huffman-stream-a-bit-too-long", &single(tree, &[0x71, 0xb2, 2]), "huffman");
    rejected("huffman-stream-too-long", &single(tree, &[0, 0x71, 0xb2, 1]), "huffman");
    let mut jump = four;
    jump[0] = 200;
    rejected("jump-out", &huffman(tree, &jump, true), "huffman-of-4");
    let mut jump = four;
    (jump[0], jump[2]) = (2, 0);
    rejected("jump-to-other-streams", &huffman(tree, &jump, true), "huffman-of-4");
    rejected("jump-table-cut", &huffman(tree, &four[..5], true), "huffman-of-4");
    let mut stream = four;
    stream[9] = 0x01;
    rejected("fourth-stream-too-short", &huffman(tree, &stream, true), "huffman-of-4");
}

/// Adds a case in which the sixteen literals of the block `block` cannot be decoded.
fn corrupt_literals(t: &mut Table, case: &str, block: &[u8], neighbor: &str) {
    let stored = Frame::windowed(WINDOW_1_KIB, 0).compressed(block, &[0; 16]).end().bytes;
    reject(t, CORRUPT, case, (&stored, stored.len()), 16, neighbor);
}

/// Returns the bytes of a zstd bit stream, which is read from its end, with the bit that marks the end. `bits` are in the order
/// in which they are read.
fn stream(bits: &str) -> Vec<u8> {
    let mut bits: Vec<char> = format!("1{bits}").chars().rev().collect();
    bits.resize(bits.len().next_multiple_of(8), '0');
    let byte =
        |bits: &[char]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit == '1'));
    bits.chunks(8).map(byte).collect()
}

/// Adds cases about Huffman trees of more than two symbols.
fn trees(t: &mut Table) {
    // The tree has twelve symbols and lists the weights of eleven. The codes have 1 to 11 bits.
    let tree = [0x8a, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10];
    let content: [u8; 16] = [0, 11, 1, 10, 2, 9, 3, 8, 4, 7, 5, 6, 11, 10, 0, 1];
    let code = |symbol: u8| match symbol {
        11 => "00000000001".to_owned(),
        10 => "0".repeat(11),
        _ => "0".repeat(symbol.into()) + "1",
    };
    let bits: String = content.into_iter().map(code).collect();
    let block = huffman(&tree, &stream(&bits), false);
    let frame = Frame::windowed(WINDOW_1_KIB, 0).compressed(&block, &content).end();
    accept(t, "huffman-of-11-bits", &frame.bytes, 16);
    let mut rejected = |case: &str, tree: &[u8], bits: &str| {
        corrupt_literals(t, case, &huffman(tree, &stream(bits), false), "huffman-of-11-bits");
    };
    // Both symbols have the weight 2. The sum of these weights makes the longest code two bits long, and a symbol with the weight 2
    // has a code that is one bit shorter. So no symbol has a code of the longest length.
    rejected("tree-without-longest", &[0x80, 0x20], "1011001001110001");
    // The weights 4, 1 and 1 leave room for six of the longest codes, which a single code cannot fill. The stream uses only codes
    // that exist.
    rejected("tree-with-a-gap", &[0x82, 0x41, 0x10], &"01".repeat(16));
    rejected("tree-of-12-bits", &[0x8b, 0xba, 0x98, 0x76, 0x54, 0x32, 0x11], &"1".repeat(16));
}

/// Adds cases about Huffman trees whose weights are compressed with FSE. The FSE table may list weights that do not occur in the
/// tree. If it lists a weight above 11, the block is corrupt, because no Huffman code is longer than 11 bits.
fn named_weights(t: &mut Table) {
    // Every tree below decodes to the weights 0 and 1 for the symbols 0 and 1, from which the weight 1 of the symbol 2
    // follows. So the symbols 1 and 2 have codes of one bit.
    let content: [u8; 16] = [1, 2, 1, 1, 2, 2, 1, 2, 2, 1, 1, 1, 2, 2, 2, 1];
    let bits: String = content.iter().map(|symbol| if *symbol == 1 { '0' } else { '1' }).collect();
    let block = |tree: &[u8]| huffman(tree, &stream(&bits), false);
    let frame = |tree: &[u8]| {
        Frame::windowed(WINDOW_1_KIB, 0).compressed(&block(tree), &content).end().bytes
    };
    // Each tree is its length in bytes, an FSE table of 32 states (0xf0) or 64 states (0xf1), and the stream of weights.
    // The largest weight of the table has one state in `up_to_*`, and the probability "less than 1" in `less_of_*`.
    let up_to_1 = [4, 0xf0, 0x0d, 0x09, 0x04];
    let up_to_11 = [5, 0xf1, 0xb3, 0x77, 0x2a, 0x10];
    let less_of_11 = [5, 0xf1, 0xb3, 0x17, 0x15, 0x10];
    accept(t, "weights-up-to-1", &frame(&up_to_1), 16);
    accept(t, "weights-up-to-11", &frame(&up_to_11), 16);
    accept(t, "weights-up-to-less-of-11", &frame(&less_of_11), 16);
    let up_to_12 = [6, 0xf1, 0xb3, 0x9f, 0x01, 0x2a, 0x10];
    let less_of_12 = [5, 0xf1, 0xb3, 0x1f, 0x15, 0x10];
    let few_states = [5, 0xf0, 0xd9, 0xcf, 0x12, 0x04];
    let mut rejected = |case: &str, tree: &[u8], neighbor: &str| {
        let stored = frame(tree);
        reject(t, CORRUPT, case, (&stored, stored.len()), 16, neighbor);
    };
    rejected("weights-up-to-12", &up_to_12, "weights-up-to-11");
    rejected("weights-up-to-less-of-12", &less_of_12, "weights-up-to-less-of-11");
    rejected("weights-up-to-12-of-32-states", &few_states, "weights-up-to-1");
    // The FSE table lists weights up to 255: runs of weights without a state, then one state for weight 255.
    let runs_without_states = [0xff; 20];
    let up_to_255 =
        [&[26, 0xf0, 0xd9], &runs_without_states[..], &[0x3f, 0x03, 0x12, 0x04]].concat();
    rejected("weights-up-to-255", &up_to_255, "weights-up-to-1");
}

/// Adds cases about literals in four streams, which need at least six literals.
fn quarters(t: &mut Table) {
    // Returns a frame with `content` as literals in four streams. Their tree, `[0x80, 0x10]`, gives the first symbol the
    // weight 1, from which the weight 1 of the second symbol follows.
    let of = |content: &[u8], streams: &[u8]| {
        let size = u32::try_from(2 + 6 + streams.len()).expect("a size");
        let made = u32::try_from(content.len()).expect("a size");
        let header = 2 | 1 << 2 | made << 4 | size << 14;
        let jumps = [1, 0, 1, 0, 1, 0];
        let block = [&header.to_le_bytes()[..3], &[0x80, 0x10], &jumps, streams, &[0]].concat();
        Frame::windowed(WINDOW_1_KIB, 0).compressed(&block, content).end().bytes
    };
    accept(t, "huffman-of-4-of-6", &of(&[1, 0, 0, 1, 1, 1], &[0b110, 0b101, 0b111, 1]), 6);
    let few = of(&[1, 0, 0, 1], &[0b11, 0b10, 0b10, 0b11]);
    reject(t, CORRUPT, "huffman-of-4-of-4", (&few, few.len()), 4, "huffman-of-4-of-6");
}

/// Adds cases about tables, trees and offsets, which are kept from block to block, but not from frame to frame.
fn frames(t: &mut Table) {
    let bits: [u8; 16] = [1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1];
    let codes = [0x71, 0xb2, 1];
    let tree = huffman(&[0x80, 0x10], &codes, false);
    let mut no_tree = huffman(&[], &codes, false);
    no_tree[0] |= 1;
    // The block `again` uses all three tables of the block before it.
    let again = [&raw_literals(&ramp(5))[..], &[1, 0xfc, 0x08]].concat();
    for (what, block, next, content) in
        [("tree", tree, no_tree, bits.to_vec()), ("tables", valid(), again, content())]
    {
        let first = || Frame::windowed(WINDOW_1_KIB, 0).compressed(&block, &content);
        let one = first().compressed(&next, &content).end().bytes;
        accept(t, &format!("{what}-of-block-before"), &one, 32);
        let second = Frame::windowed(WINDOW_1_KIB, 0).compressed(&next, &content).end().bytes;
        let two = [first().end().bytes, second].concat();
        let case = format!("{what}-of-frame-before");
        let neighbor = format!("{what}-of-block-before");
        reject(t, CORRUPT, &case, (&two, two.len()), 32, &neighbor);
    }
    repeats(t);
}

/// Adds cases about the repeated offsets, which are 1, 4 and 8 at the beginning of a frame.
fn repeats(t: &mut Table) {
    // Adds a block with `literals`, and a match of three bytes at `distance`.
    let copy = |frame: Frame, literals: &[u8], (code, bits): (u8, u8), distance: usize| {
        let plain = u8::try_from(literals.len()).expect("a length");
        let mut output = [&frame.content, literals].concat();
        for _ in 0..3 {
            output.push(output[output.len() - distance]);
        }
        let made = output.split_off(frame.content.len());
        frame.compressed(&sequence(literals, [plain, code, 0], &[bits]), &made)
    };
    let begun = || Frame::windowed(WINDOW_1_KIB, 0).raw(&ramp(16));
    // A match at the third repeated offset, 8, makes it the first one: the repeated offsets are then 8, 1 and 4, so the
    // third is 4.
    let third = copy(begun(), &[9], (1, 0b11), 8);
    accept(t, "third-offset", &copy(third, &[7], (1, 0b11), 4).end().bytes, 24);
    let bare = copy(begun(), &[], (1, 0b10), 8);
    accept(t, "third-offset-without-literals", &bare.end().bytes, 19);
    let first = Frame::windowed(WINDOW_1_KIB, 0).compressed(&valid(), &content()).end();
    let second = copy(begun(), &[9], (0, 1), 1).end();
    accept(t, "first-offset-in-second-frame", &[first.bytes, second.bytes].concat(), 36);
}

/// Adds cases about the offset of the error: the end of the block that cannot be decoded. For the last block of a frame with a
/// checksum, it is the end of the checksum.
fn places(t: &mut Table) {
    let bad = sequence(&ramp(5), [5, 3, 8], &[0x09]);
    let checked = Frame::windowed(WINDOW_1_KIB, CHECKED);
    let frame = checked.clone().compressed(&valid(), &content()).end();
    accept(t, "sequence-and-checksum", &frame.bytes, 16);
    let frame = checked.clone().compressed(&bad, &content()).end().bytes;
    let neighbor = "sequence-and-checksum";
    reject(t, CORRUPT, "before-checksum", (&frame, frame.len()), 16, neighbor);

    let two = |first: &[u8], second: &[u8]| {
        let frame = checked.clone().compressed(first, &content());
        let at = frame.bytes.len();
        (frame.compressed(second, &content()).end().bytes, at)
    };
    // In each rejected file, one of two blocks cannot be decoded. The error is at the end of this block.
    let (frame, _) = two(&valid(), &valid());
    accept(t, "two-sequences", &frame, 32);
    let (frame, at) = two(&bad, &valid());
    reject(t, CORRUPT, "first-block", (&frame, at), 32, "two-sequences");
    let worse = sequence(&ramp(5), [6, 3, 8], &[0x08]);
    let (frame, _) = two(&valid(), &worse);
    reject(t, CORRUPT, "second-block", (&frame, frame.len()), 32, "two-sequences");

    // In the rejected file, the match in the second frame reaches back into the output of the first frame, which is not
    // allowed.
    let next = |block: &[u8]| {
        let first = Frame::single(16, 0).raw(&ramp(16)).end().bytes;
        let second = Frame::windowed(WINDOW_1_KIB, 0).compressed(block, &content()).end();
        [first, second.bytes].concat()
    };
    accept(t, "sequence-in-second-frame", &next(&valid()), 32);
    let frame = next(&bad);
    let neighbor = "sequence-in-second-frame";
    reject(t, CORRUPT, "offset-into-frame-before", (&frame, frame.len()), 32, neighbor);
}

/// Adds cases about headers, which must end within their block, whatever the checksum after the block looks like.
fn headers(t: &mut Table) {
    let checked = |block: &[u8]| Frame::windowed(WINDOW_1_KIB, CHECKED).compressed(block, &[7; 16]);
    // In the valid file, the literals header has 3 bytes, and the literals repeat one byte.
    accept(t, "repeated-and-checksum", &checked(&[0x0d, 1, 0, 7, 0]).end().bytes, 16);
    let mut rejected = |case: &str, block: &[u8], sum: [u8; 4], neighbor: &str| {
        let mut frame = checked(block).end().bytes;
        let end = frame.len();
        frame[end - 4..].copy_from_slice(&sum);
        reject(t, CORRUPT, case, (&frame, end), 16, neighbor);
    };
    // The block ends within the literals header. If a decoder read on into the checksum, the header would give 1,048,560
    // bytes of literals.
    let neighbor = "repeated-and-checksum";
    rejected("literals-header-into-checksum", &[0x0d], [0xff, 0xff, 7, 0], neighbor);
    // The block ends before the compression modes. If a decoder read on into the checksum, the modes would have a
    // reserved bit.
    let block = &valid()[..7];
    rejected("modes-into-checksum", block, [3, 0, 0, 0], "sequence-and-checksum");
}
