//! Cases of the corpus about zstd blocks: the limits on their stored and decoded sizes.

use crate::base::ramp;
use crate::hosts::{accept, bytes, reject};
use crate::table::Table;
use crate::zstd::{Frame, WINDOW_1_KIB, WINDOW_128_KIB, WINDOW_256_KIB, raw_literals, sequence};

pub(crate) fn cases(t: &mut Table) {
    sizes(t);
    decoded_sizes(t);
}

fn sizes(t: &mut Table) {
    const RULE: &str = "zstd-block";
    let small = || Frame::windowed(WINDOW_1_KIB, 0);
    let large = || Frame::windowed(WINDOW_256_KIB, 0);
    // Adds a compressed block to `frame`, which consists of `length` literals and has no sequences.
    let packed = |frame: Frame, length: usize| {
        let literals = ramp(length);
        frame.compressed(&[raw_literals(&literals), vec![0]].concat(), &literals)
    };
    accept(t, "block-of-window", &small().raw(&ramp(1024)).end().bytes, 1024);
    accept(t, "rle-of-window", &small().repeat(7, 1024).end().bytes, 1024);
    accept(t, "packed-of-window", &packed(small(), 1021).end().bytes, 1021);
    // The window descriptor 1 means a window of 1 KiB and an eighth: 1,152 bytes.
    let ninth = || Frame::windowed(1, 0);
    accept(t, "block-of-window-of-1152", &ninth().raw(&ramp(1152)).end().bytes, 1152);
    accept(t, "rle-of-128-kib", &large().repeat(7, 128 << 10).end().bytes, 128 << 10);
    let mut rejected = |case: &str, frame: Frame, count, neighbor: &str| {
        let frame = frame.end();
        let at = *frame.blocks.last().expect("a block");
        reject(t, RULE, case, (&frame.bytes, at), count, neighbor);
    };
    rejected("raw-over-window", small().raw(&ramp(1025)), 1025, "block-of-window");
    rejected("raw-over-1152", ninth().raw(&ramp(1153)), 1153, "block-of-window-of-1152");
    rejected("rle-over-window", small().repeat(7, 1025), 1025, "rle-of-window");
    rejected("packed-over-window", packed(small(), 1022), 1022, "packed-of-window");
    rejected("second-over-window", small().raw(&ramp(1)).repeat(7, 1025), 1026, "rle-of-window");
    let over = (128 << 10) + 1;
    rejected("rle-over-128-kib", large().repeat(7, over), 131_073, "rle-of-128-kib");
    let most = (1 << 21) - 1;
    rejected("rle-of-2-mib", large().repeat(7, most), 2_097_151, "rle-of-128-kib");
    let claimed = Frame::windowed(10 << 3, 0).repeat(7, most);
    rejected("rle-of-2-mib-in-larger-window", claimed, 2_097_151, "rle-of-128-kib");
    let size = 131_073_u32.to_le_bytes();
    let single = Frame::new(None, &[], &size, 0).repeat(7, over);
    rejected("rle-over-128-kib-in-segment", single, 131_073, "rle-of-128-kib");
    raw_of_128_kib(t);
}

fn raw_of_128_kib(t: &mut Table) {
    const RULE: &str = "zstd-block";
    let large = || Frame::windowed(WINDOW_256_KIB, 0);
    let over = (128 << 10) + 1;
    let full = large().raw(&ramp(128 << 10)).end();
    t.accept("v12-frame-block-of-128-kib", bytes("v12", &full.bytes, 128 << 10));
    let frame = large().raw(&ramp(over)).end();
    let at = 64 + frame.blocks[0];
    let file = bytes("v12", &frame.bytes, 131_073).at_data(at, 0, 0);
    t.reject(RULE, "v12-raw-over-128-kib", file, "v12-frame-block-of-128-kib");
}

/// Returns a literals section that repeats one byte `times` times, which are fewer than 2^20.
fn rle_literals(times: u32) -> Vec<u8> {
    let (header, length) =
        if times < 1 << 12 { (times << 4 | 0b0101, 2) } else { (times << 4 | 0b1101, 3) };
    [&header.to_le_bytes()[..length], &[7]].concat()
}

/// Adds zstd blocks whose stored size is small, and whose decoded size is one byte larger than a block may have: the size of the
/// window, at most 128 KiB (RFC 8878 §3.1.1.2.4).
fn decoded_sizes(t: &mut Table) {
    const RULE: &str = "zstd-block";
    let of = |window, times: u32| {
        let content = vec![7; usize::try_from(times).expect("a count")];
        let block = [rle_literals(times), vec![0]].concat();
        Frame::windowed(window, 0).compressed(&block, &content).end()
    };
    for (case, window, most) in
        [("1-kib", WINDOW_1_KIB, 1024), ("128-kib", WINDOW_256_KIB, 128 << 10)]
    {
        let neighbor = format!("packed-rle-of-{case}");
        accept(t, &neighbor, &of(window, most).bytes, most.into());
        let frame = of(window, most + 1);
        let (stored, at) = (&frame.bytes, frame.blocks[0]);
        let count = u64::from(most) + 1;
        let case = format!("decoded-over-{case}");
        reject(t, RULE, &case, (stored, at), count, &neighbor);
    }
    // The decoded size comes from a match: 5 literals, and then 1,027 bytes from a distance of 5. The match length code
    // 46 means 1,027 plus a number of 10 bits, which is 0 here.
    let content: Vec<u8> = ramp(5).into_iter().cycle().take(1032).collect();
    let block = sequence(&ramp(5), [5, 3, 46], &[0, 0x20]);
    let frame = |window| Frame::windowed(window, 0).compressed(&block, &content).end();
    accept(t, "match-of-1027", &frame(WINDOW_128_KIB).bytes, 1032);
    // The content of this block is larger than the window. Only a decoder of blocks sees how many bytes a match produces,
    // so the error is that the block is corrupt.
    let stored = frame(WINDOW_1_KIB).bytes;
    reject(t, "zstd-corrupt", "match-over-1-kib", (&stored, stored.len()), 1032, "match-of-1027");
}
