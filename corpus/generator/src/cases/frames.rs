//! Cases of the corpus about zstd frames: the bytes between them, and the claims of their headers.

use crate::base::ramp;
use crate::hosts::{accept, reject, reject_with};
use crate::table::Table;
use crate::zstd::{
    CHECKED, Frame, MAGIC, RESERVED, UNUSED, WINDOW_1_KIB, WINDOW_2_GIB, WINDOW_128_KIB,
    WINDOW_128_MIB,
};

pub(crate) fn cases(t: &mut Table) {
    valid(t);
    magic(t);
    skippable(t);
    truncated(t);
    second_truncated(t);
    dictionary(t);
    descriptor(t);
    windows(t);
}

/// Adds one raw block of 16 bytes to a frame with any header.
fn sixteen(frame: Frame) -> Frame {
    frame.raw(&ramp(16)).end()
}

/// Returns a frame with everything that can be cut off: window, dictionary id 0, content size and checksum.
fn complete_frame() -> Frame {
    let size = 16_u64.to_le_bytes();
    sixteen(Frame::new(Some(WINDOW_1_KIB), &[0, 0], &size, CHECKED))
}

fn valid(t: &mut Table) {
    let one = sixteen(Frame::single(16, 0));
    accept(t, "raw", &one.bytes, 16);
    let window = || Frame::windowed(WINDOW_1_KIB, 0);
    accept(t, "windowed", &sixteen(window()).bytes, 16);
    accept(t, "rle", &window().repeat(7, 16).end().bytes, 16);
    accept(t, "everything", &complete_frame().bytes, 16);
    let half = |from: usize| Frame::single(8, 0).raw(&ramp(16)[from..][..8]).end().bytes;
    accept(t, "two-frames", &[half(0), half(8)].concat(), 16);
    let nothing = Frame::single(0, 0).raw(&[]).end().bytes;
    accept(t, "empty-frame-before", &[&nothing[..], &one.bytes].concat(), 16);
    accept(t, "empty-frame-after", &[&one.bytes[..], &nothing].concat(), 16);
    let blocks = window().raw(&[]).raw(&ramp(16)[..7]).raw(&[]);
    let blocks = blocks.repeat(0, 0).raw(&ramp(16)[7..]).raw(&[]).end();
    accept(t, "empty-blocks", &blocks.bytes, 16);
    accept(t, "nothing", &nothing, 0);
    accept(t, "nothing-twice", &nothing.repeat(2), 0);
}

fn magic(t: &mut Table) {
    let one = sixteen(Frame::single(16, 0)).bytes;
    let mut first = |case: &str, bytes: &[u8]| {
        reject(t, "zstd-magic", case, (bytes, 0), 16, "raw");
    };
    first("data-as-it-is", &ramp(16));
    first("zeros", &[0; 16]);
    first("gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\x03");
    let with_magic = |magic: [u8; 4]| [&magic, &one[4..]].concat();
    first("big-endian", &with_magic([0xfd, 0x2f, 0xb5, 0x28]));
    first("version-0-7", &with_magic([0x27, 0xb5, 0x2f, 0xfd]));
    first("version-0-1", &with_magic([0x1e, 0xb5, 0x2f, 0xfd]));
    first("dictionary", &with_magic([0x37, 0xa4, 0x30, 0xec]));
    first("below-skippable", &with_magic([0x4f, 0x2a, 0x4d, 0x18]));
    first("above-skippable", &with_magic([0x60, 0x2a, 0x4d, 0x18]));
    first("without-magic", &one[4..]);
    first("space-before", &[&[0x20], &one[..]].concat());
    first("magic-cut-to-1", &MAGIC[..1]);
    first("magic-cut-to-3", &MAGIC[..3]);
    // A compressed component without stored bytes has no frame, which even content of 0 bytes needs.
    reject(t, "zstd-magic", "no-frame", (&[], 0), 0, "nothing");
    reject(t, "zstd-magic", "no-frame-for-16", (&[], 0), 16, "raw");

    let mut after = |case: &str, bytes: &[u8]| {
        let stored = [&one[..], bytes].concat();
        reject(t, "zstd-magic", case, (&stored, one.len()), 16, "raw");
    };
    after("1-zero-after", &[0]);
    after("3-zeros-after", &[0; 3]);
    after("4-zeros-after", &[0; 4]);
    after("12-zeros-after", &[0; 12]);
    after("1-byte-of-magic-after", &MAGIC[..1]);
    after("3-bytes-of-magic-after", &MAGIC[..3]);
    after("checksum-that-nothing-announces", &[0x99, 0xe9, 0xd8, 0x51]);
    after("block-after-the-last", &[1, 0, 0]);
    let between = [&one[..], &[0; 4], &one].concat();
    let at = one.len();
    reject(t, "zstd-magic", "zeros-between", (&between, at), 32, "raw");
}

fn skippable(t: &mut Table) {
    let one = sixteen(Frame::single(16, 0)).bytes;
    let skip = |low: u8, content: &[u8]| {
        let size = u32::try_from(content.len()).expect("a size").to_le_bytes();
        [&[low, 0x2a, 0x4d, 0x18], &size[..], content].concat()
    };
    let mut cases = vec![("only", skip(0x50, b"skip"), 0, 0, "nothing")];
    for (case, frame) in [
        ("first", skip(0x50, b"skip")),
        ("last", skip(0x5f, b"skip")),
        ("middle", skip(0x57, b"skip")),
        ("empty", skip(0x50, b"")),
    ] {
        let after = [&one[..], &frame].concat();
        let before = [&frame[..], &one].concat();
        if case == "first" || case == "empty" {
            cases.push((case, before, 0, 16, "raw"));
        }
        cases.push((case, after, one.len(), 16, "raw"));
    }
    for (case, stored, at, count, neighbor) in cases {
        let place = match (case, at) {
            ("only", _) => "only".to_owned(),
            (_, 0) => format!("{case}-magic-before"),
            _ => format!("{case}-magic-after"),
        };
        reject(t, "zstd-skippable", &place, (&stored, at), count, neighbor);
    }
}

fn truncated(t: &mut Table) {
    const RULE: &str = "zstd-truncated";
    let whole = complete_frame();
    // The header of this frame consists of 4 bytes of magic, the descriptor, the window, 2 bytes of dictionary id, and
    // 8 bytes of content size.
    let block = whole.blocks[0];
    let end = whole.bytes.len();
    for (case, keep, at) in [
        ("magic-only", 4, 0),
        ("before-window", 5, 0),
        ("before-dictionary", 6, 0),
        ("in-dictionary", 7, 0),
        ("before-content-size", 8, 0),
        ("in-content-size", 15, 0),
        ("before-block", block, block),
        ("in-block-header-1", block + 1, block),
        ("in-block-header-2", block + 2, block),
        ("after-block-header", block + 3, block),
        ("in-block", block + 18, block),
        ("before-checksum", end - 4, 0),
        ("in-checksum", end - 1, 0),
    ] {
        reject(t, RULE, case, (&whole.bytes[..keep], at), 16, "everything");
    }
    let single = sixteen(Frame::single(16, 0)).bytes;
    reject(t, RULE, "before-1-byte-size", (&single[..5], 0), 16, "raw");
    let rle = Frame::windowed(WINDOW_1_KIB, 0).repeat(7, 16).end();
    let at = rle.blocks[0];
    reject(t, RULE, "in-rle", (&rle.bytes[..at + 3], at), 16, "rle");
    // No block of this frame is marked as the last one, so another block is missing.
    let open = Frame::single(16, 0).raw(&ramp(16));
    reject(t, RULE, "no-last-block", (&open.bytes, open.bytes.len()), 16, "raw");
    // This frame has all of its content, but is cut within the header of the empty block after the content.
    let more = open.raw(&[]).bytes;
    let cut = more.len() - 2;
    reject(t, RULE, "in-empty-block", (&more[..cut], cut - 1), 16, "raw");
}

fn second_truncated(t: &mut Table) {
    const RULE: &str = "zstd-truncated";
    let half = |from: usize| Frame::single(8, CHECKED).raw(&ramp(16)[from..][..8]).end();
    let (first, second) = (half(0).bytes, half(8));
    let all = [&first[..], &second.bytes].concat();
    let (start, end) = (first.len(), all.len());
    accept(t, "two-checked-frames", &all, 16);
    for (case, keep, at) in [
        ("second-header", start + 5, start),
        ("second-block", end - 5, start + second.blocks[0]),
        ("second-checksum", end - 1, start),
    ] {
        reject(t, RULE, case, (&all[..keep], at), 16, "two-checked-frames");
    }
}

fn dictionary(t: &mut Table) {
    let of = |id: &[u8]| sixteen(Frame::new(Some(WINDOW_1_KIB), id, &[], 0)).bytes;
    let single = |id: &[u8]| sixteen(Frame::new(None, id, &[16], 0)).bytes;
    let longest = Frame::new(Some(WINDOW_1_KIB), &[0; 4], &16_u64.to_le_bytes(), 0);
    accept(t, "longest-header", &sixteen(longest).bytes, 16);
    for width in [1, 2, 4] {
        let none = format!("dictionary-0-in-{width}");
        accept(t, &none, &of(&vec![0; width]), 16);
        accept(t, &format!("single-{none}"), &single(&vec![0; width]), 16);
        for (case, place) in [("first", 0), ("last", width - 1)] {
            let mut id = vec![0; width];
            id[place] = 1;
            if case == "last" && width == 1 {
                id[0] = 0xff;
            }
            let case = format!("{width}-bytes-{case}");
            reject(t, "zstd-dictionary", &case, (&of(&id), 0), 16, &none);
            let (case, none) = (format!("single-{case}"), format!("single-{none}"));
            reject(t, "zstd-dictionary", &case, (&single(&id), 0), 16, &none);
        }
    }
    let one = sixteen(Frame::single(16, 0)).bytes;
    let both = |id: &[u8]| [&one[..], &of(id)].concat();
    accept(t, "dictionary-0-in-second", &both(&[0]), 32);
    let stored = both(&[9]);
    let neighbor = "dictionary-0-in-second";
    reject(t, "zstd-dictionary", "second", (&stored, one.len()), 32, neighbor);
}

fn descriptor(t: &mut Table) {
    let single = |flags| sixteen(Frame::single(16, flags)).bytes;
    let window = |flags| sixteen(Frame::windowed(WINDOW_1_KIB, flags)).bytes;
    accept(t, "unused-bit", &single(UNUSED), 16);
    accept(t, "windowed-unused-bit", &window(UNUSED), 16);
    let rule = "zstd-reserved";
    reject(t, rule, "descriptor", (&single(RESERVED), 0), 16, "raw");
    reject(t, rule, "windowed", (&window(RESERVED), 0), 16, "windowed");
    let both = single(RESERVED | UNUSED);
    reject(t, rule, "and-unused-bit", (&both, 0), 16, "unused-bit");
    let (first, second) = (single(0), single(RESERVED));
    let stored = [&first[..], &second].concat();
    reject(t, rule, "second-frame", (&stored, first.len()), 32, "two-frames");

    let size = 16;
    for (case, last) in [("block-type", true), ("block-type-before-last", false)] {
        let frame = Frame::single(size, 0).block(3, 16, &ramp(16), &ramp(16));
        let frame = if last { frame } else { frame.raw(&[]) }.end();
        let at = frame.blocks[0];
        reject(t, rule, case, (&frame.bytes, at), 16, "raw");
    }
    let frame = Frame::single(size, 0).raw(&ramp(16)).block(3, 0, &[], &[]).end();
    let at = frame.blocks[1];
    reject(t, rule, "block-type-of-nothing", (&frame.bytes, at), 16, "raw");
}

fn windows(t: &mut Table) {
    let rule = "limit-window";
    let of = |window| sixteen(Frame::windowed(window, 0)).bytes;
    accept(t, "window-128-mib", &of(WINDOW_128_MIB), 16);
    accept(t, "window-128-kib", &of(WINDOW_128_KIB), 16);
    for (case, window) in [
        ("144-mib", WINDOW_128_MIB + 1),
        ("256-mib", WINDOW_128_MIB + 8),
        ("2-gib", WINDOW_2_GIB),
        ("4-gib", WINDOW_2_GIB + 8),
        ("largest", 0xff),
    ] {
        reject(t, rule, case, (&of(window), 0), 16, "window-128-mib");
    }
    let one = sixteen(Frame::single(16, 0)).bytes;
    let second = [&one[..], &of(WINDOW_2_GIB)].concat();
    accept(t, "window-in-second", &[&one[..], &of(WINDOW_128_MIB)].concat(), 32);
    let (at, neighbor) = (one.len(), "window-in-second");
    reject(t, rule, "second-2-gib", (&second, at), 32, neighbor);

    let small = |file: &[u8], t: &mut Table, case: &str, count, neighbor, limit| {
        let options = format!("limit=window:{limit}");
        reject_with(t, rule, case, (file, 0), (count, neighbor), &options);
    };
    small(&of(WINDOW_1_KIB), t, "1-kib-over-512", 16, "windowed", 512);
    small(&of(WINDOW_1_KIB), t, "1-kib-over-1023", 16, "windowed", 1023);
    // In a frame of a single segment, the window is as large as the content. Here that is one byte more than the limit.
    small(&one, t, "single-segment-over-15", 16, "raw", 15);
    let size = 2000_u32.to_le_bytes();
    let two = Frame::new(None, &[], &size, 0).repeat(7, 2000).end().bytes;
    accept(t, "single-segment-of-2000", &two, 2000);
    let neighbor = "single-segment-of-2000";
    small(&two, t, "single-segment-over-1999", 2000, neighbor, 1999);
}
