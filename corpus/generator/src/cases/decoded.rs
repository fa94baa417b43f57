//! Cases of the corpus about the output of zstd frames: its length must be that of the headers and of the manifest,
//! and its checksum must match.

use crate::base::{object, ramp, v1, zstd_component};
use crate::hosts::{HOSTS, accept, floats, reject};
use crate::table::Table;
use crate::zstd::{CHECKED, Frame, WINDOW_1_KIB, WINDOW_128_KIB};

pub(crate) fn cases(t: &mut Table) {
    content_size(t);
    single_segment(t);
    checksum(t);
    size(t);
    bombs(t);
}

/// Returns a content size field of `width` bytes.
fn field(size: u64, width: usize) -> Vec<u8> {
    let size = if width == 2 { size - 256 } else { size };
    size.to_le_bytes()[..width].to_vec()
}

fn content_size(t: &mut Table) {
    const RULE: &str = "zstd-content-size";
    const COUNT: u64 = 300;
    let data = ramp(300);
    let of = |size: u64, width: usize| {
        let frame = Frame::new(Some(WINDOW_1_KIB), &[], &field(size, width), 0);
        frame.raw(&data).end().bytes
    };
    for width in [2, 4, 8] {
        let neighbor = format!("size-in-{width}");
        accept(t, &neighbor, &of(COUNT, width), COUNT);
        let mut wrong = |case: &str, size: u64| {
            let case = format!("{width}-bytes-{case}");
            reject(t, RULE, &case, (&of(size, width), 0), COUNT, &neighbor);
        };
        wrong("one-more", COUNT + 1);
        wrong("one-less", COUNT - 1);
        wrong("256-less-or-more", if width == 2 { COUNT + 256 } else { COUNT - 256 });
        if width > 2 {
            wrong("zero", 0);
            wrong("65536-more", COUNT + 65536);
        }
    }
    // The frames decode to no bytes. The header of the rejected one declares a content size of 1.
    let none = |size| {
        let frame = Frame::new(Some(WINDOW_1_KIB), &[], &field(size, 4), 0);
        frame.raw(&[]).end().bytes
    };
    accept(t, "size-of-nothing", &none(0), 0);
    reject(t, RULE, "one-for-nothing", (&none(1), 0), 0, "size-of-nothing");
    // The block repeats one byte 300 times. The rejected frames declare content sizes of 301 and 299.
    let rle = |size| Frame::new(Some(WINDOW_1_KIB), &[], &field(size, 4), 0).repeat(7, 300).end();
    accept(t, "size-of-rle", &rle(300).bytes, 300);
    reject(t, RULE, "rle-one-more", (&rle(301).bytes, 0), 300, "size-of-rle");
    reject(t, RULE, "rle-one-less", (&rle(299).bytes, 0), 300, "size-of-rle");
}

fn single_segment(t: &mut Table) {
    const RULE: &str = "zstd-content-size";
    // The two blocks decode to 8 bytes each. In the rejected files, the declared content size is not 16, but each block
    // alone fits in it.
    let of = |size: u8| {
        let frame = Frame::single(size, 0).raw(&ramp(16)[..8]);
        frame.raw(&ramp(16)[8..]).end().bytes
    };
    accept(t, "single-of-two-blocks", &of(16), 16);
    let neighbor = "single-of-two-blocks";
    for (case, size) in [("one-more", 17), ("one-less", 15), ("half", 8), ("255", 255)] {
        let case = format!("1-byte-{case}");
        reject(t, RULE, &case, (&of(size), 0), 16, neighbor);
    }
    // A frame with a single segment has a window of its declared content size, here 0 and 15 bytes. The block of 16 bytes
    // does not fit in it.
    let zero = Frame::single(0, 0).raw(&ramp(16)).end();
    let at = zero.blocks[0];
    reject(t, "zstd-block", "in-window-of-nothing", (&zero.bytes, at), 16, "raw");
    let small = Frame::single(15, 0).raw(&ramp(16)).end();
    reject(t, "zstd-block", "in-window-of-15", (&small.bytes, at), 16, "raw");
    // In the first of these rejected files, the errors in the content sizes of the two frames cancel each other.
    let pair = |first: u8, second: u8| {
        let frame = |size, from: usize| {
            Frame::single(size, 0).raw(&ramp(16)[from..][..4]).raw(&ramp(16)[from + 4..][..4])
        };
        let (first, second) = (frame(first, 0).end().bytes, frame(second, 8).end().bytes);
        (first.len(), [first, second].concat())
    };
    let (_, valid) = pair(8, 8);
    accept(t, "two-frames-of-two-blocks", &valid, 16);
    let neighbor = "two-frames-of-two-blocks";
    let (_, first) = pair(9, 7);
    reject(t, RULE, "first-of-two", (&first, 0), 16, neighbor);
    let (at, second) = pair(8, 7);
    reject(t, RULE, "second-of-two", (&second, at), 16, neighbor);
    let (at, second) = pair(8, 9);
    reject(t, RULE, "second-of-two-more", (&second, at), 16, neighbor);
}

fn checksum(t: &mut Table) {
    const RULE: &str = "zstd-checksum";
    let frame = |length: usize| Frame::windowed(WINDOW_1_KIB, CHECKED).raw(&ramp(length));
    // The hash of a checksum is computed over groups of 32, 8, 4 and 1 bytes. These lengths need different groups.
    for (length, bit) in [(1_u8, 0), (15, 31), (32, 7), (100, 16)] {
        let frame = frame(length.into());
        let neighbor = format!("checksum-of-{length}");
        accept(t, &neighbor, &frame.clone().end().bytes, length.into());
        let wrong = frame.end_with(1 << bit).bytes;
        let case = format!("{length}-bit-{bit}");
        reject(t, RULE, &case, (&wrong, 0), length.into(), &neighbor);
    }
    let valid = frame(100).end().bytes;
    let sum = valid.len() - 4;
    let mut zero = valid.clone();
    zero[sum..].fill(0);
    reject(t, RULE, "zero", (&zero, 0), 100, "checksum-of-100");
    let mut turned = valid.clone();
    turned[sum..].reverse();
    reject(t, RULE, "big-endian", (&turned, 0), 100, "checksum-of-100");
    let mut data = valid.clone();
    data[50] ^= 0x40;
    reject(t, RULE, "one-bit-of-data", (&data, 0), 100, "checksum-of-100");

    let nothing = Frame::single(0, CHECKED).raw(&[]);
    accept(t, "checksum-of-nothing", &nothing.clone().end().bytes, 0);
    let wrong = nothing.end_with(1).bytes;
    reject(t, RULE, "nothing", (&wrong, 0), 0, "checksum-of-nothing");
    let rle = Frame::single(200, CHECKED).repeat(7, 200);
    accept(t, "checksum-of-rle", &rle.clone().end().bytes, 200);
    reject(t, RULE, "rle", (&rle.end_with(1 << 30).bytes, 0), 200, "checksum-of-rle");

    let half = |from: usize| Frame::single(8, CHECKED).raw(&ramp(16)[from..][..8]);
    let (first, second) = (half(0), half(8));
    let stored = [first.clone().end_with(4).bytes, second.clone().end().bytes].concat();
    reject(t, RULE, "first-of-two", (&stored, 0), 16, "two-checked-frames");
    let first = first.end().bytes;
    let stored = [&first[..], &second.end_with(4).bytes].concat();
    let at = first.len();
    reject(t, RULE, "second-of-two", (&stored, at), 16, "two-checked-frames");
}

/// A function that makes stored bytes which decode to the given number of bytes.
type Store<'a> = &'a dyn Fn(usize) -> Vec<u8>;

/// Adds cases about the size of decoded content: whole and partial elements, more or fewer than the shape requires.
fn size(t: &mut Table) {
    const RULE: &str = "decoded-size";
    let raw = |length: usize| Frame::windowed(WINDOW_1_KIB, 0).raw(&ramp(length)).end().bytes;
    let rle = |length| Frame::windowed(WINDOW_1_KIB, 0).repeat(7, length).end().bytes;
    let sized = |length: usize| {
        let size = u8::try_from(length).expect("a byte");
        Frame::single(size, CHECKED).raw(&ramp(length)).end().bytes
    };
    let frames = |length: usize| [raw(8), raw(length - 8)].concat();
    let kinds: [(&str, Store); 4] =
        [("raw", &raw), ("rle", &rle), ("sized", &sized), ("two-frames", &frames)];
    for host in HOSTS {
        for (kind, stored) in kinds {
            let neighbor = format!("{host}-floats-by-{kind}");
            t.accept(neighbor.as_str(), floats(host, &stored(16), 4));
            for (case, length) in [
                ("one-element-short", 12),
                ("one-element-long", 20),
                ("one-byte-short", 15),
                ("one-byte-long", 17),
            ] {
                let file = floats(host, &stored(length), 4).at_data(64, 0, 0);
                t.reject(RULE, format!("{host}-{kind}-{case}"), file, &neighbor);
            }
        }
        let zero = floats(host, &raw(0), 4).at_data(64, 0, 0);
        let neighbor = format!("{host}-floats-by-raw");
        t.reject(RULE, format!("{host}-nothing"), zero, &neighbor);
    }
    reject(t, RULE, "something-for-nothing", (&raw(1), 0), 0, "nothing");
    // The content of a component must have the declared size, even if the format of the object is unknown.
    let unknown = |length: usize| {
        let stored = raw(length);
        let data = zstd_component("f32", 64, stored.len() as u64, 16);
        v1("1.2.0", vec![("w", object(&[], "x", vec![("blob", data)]))]).blob(64, &stored)
    };
    let neighbor = "unsupported-format--v12-zstd";
    t.accept(neighbor, unknown(16));
    let (short, long) = (unknown(12).at_data(64, 0, 0), unknown(20).at_data(64, 0, 0));
    t.reject(RULE, "v12-unknown-format-short", short, neighbor);
    t.reject(RULE, "v12-unknown-format-long", long, neighbor);
}

fn bombs(t: &mut Table) {
    const RULE: &str = "decoded-size";
    let window = || Frame::windowed(WINDOW_128_KIB, 0);
    let bomb = |blocks| (0..blocks).fold(window(), |frame, _| frame.repeat(0, 128 << 10));
    accept(t, "8-zeros", &window().repeat(0, 8).end().bytes, 8);
    reject(t, RULE, "1-mib-for-8", (&bomb(8).end().bytes, 0), 8, "8-zeros");
    let honest = Frame::new(Some(WINDOW_128_KIB), &[], &field(1 << 20, 4), 0);
    let honest = (0..8).fold(honest, |frame, _| frame.repeat(0, 128 << 10)).end();
    reject(t, RULE, "1-mib-said-for-8", (&honest.bytes, 0), 8, "8-zeros");
    // The first file decodes to the right bytes and then to more, and the second one consists of a thousand frames.
    let later = window().repeat(0, 8).repeat(0, 128 << 10).end().bytes;
    reject(t, RULE, "8-and-128-kib-for-8", (&later, 0), 8, "8-zeros");
    let frames = Frame::single(8, 0).repeat(0, 8).end().bytes.repeat(1000);
    reject(t, RULE, "1000-frames-for-8", (&frames, 0), 8, "8-zeros");
    accept(t, "1000-frames", &frames, 8000);
}
