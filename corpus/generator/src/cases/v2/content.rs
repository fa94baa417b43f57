//! Cases of the corpus about rules that can be checked only by reading the data.

use crate::cbor::{text, uint, uints};
use crate::table::Table;
use crate::v2::{FileV2, coo, csr, dense, file, frame, full, object, part, table, typed};

pub(super) fn content(t: &mut Table) {
    let digest = full().set("w:data/digest", text("xxh3:0000000000000000"));
    t.reject_v2("digest-mismatch", "xxh3", digest.at_data(4096, 0, 0), "dense");
    let sum = format!("sha256:{}", "0".repeat(64));
    let digest = full().set("w:data/digest", text(&sum));
    t.reject_v2("digest-mismatch", "sha256", digest.at_data(4096, 0, 0), "dense");
    let digest = full().set("w:data/digest", text("crc32c:00000000"));
    t.reject_v2("unsupported-digest", "crc32c", digest.at_data(4096, 0, 0), "dense");
    let bools = dense(&[3], typed("u8", "bool", 4096, 3), &[0, 2, 1]);
    t.reject_v2("bool-value", "2", bools.at_data(4097, 0, 0), "bool");
    let nibbles = dense(&[3], typed("u8", "f4_e2m1", 4096, 2), &[0x21, 0x13]);
    t.reject_v2("nibble-value", "odd", nibbles.at_data(4097, 0, 0), "nibbles");
    let nibbles = dense(&[3], typed("u8", "f4_e2m1", 4096, 2), &[0x21, 0x10]);
    t.reject_v2("nibble-value", "lowest-bit", nibbles.at_data(4097, 0, 0), "nibbles");
    let with = |indices: [u32; 3], indptr: [u32; 3]| {
        csr().blob(8192, &crate::v2::words(&indices)).blob(12288, &crate::v2::words(&indptr))
    };
    let mut reject = |rule, case: &str, file: FileV2| t.reject_v2(rule, case, file, "csr");
    reject("csr-indptr-start", "1", with([0, 2, 1], [1, 2, 3]).at_data(12288, 0, 0));
    reject("csr-indptr-order", "falls", with([0, 2, 1], [0, 3, 2]).at_data(12296, 0, 0));
    reject("csr-indptr-end", "short", with([0, 2, 1], [0, 2, 2]).at_data(12296, 0, 0));
    reject("index-range", "column", with([0, 3, 1], [0, 2, 3]).at_data(8196, 0, 2));
    reject("csr-index-order", "equal", with([2, 2, 1], [0, 2, 3]).at_data(8196, 0, 2));
    reject("csr-index-order", "falls", with([2, 0, 1], [0, 2, 3]).at_data(8196, 0, 2));
    let coords = coo().blob(8192, &crate::v2::words(&[0, 2, 2, 1]));
    t.reject_v2("index-range", "row", coords.at_data(8196, 0, 0), "coo");
    cells(t);
    sparse_nibbles(t);
    behind_what_is_not_supported(t);
}

/// Adds cases about parts with an error in an object that has an unsupported part.
fn behind_what_is_not_supported(t: &mut Table) {
    let two = || {
        let parts = vec![("p", part("u8", 4096, 4)), ("q", part("u8", 8192, 4))];
        file(vec![("w", object(&[], "x/1", parts))])
            .blob(4096, &[1, 2, 3, 4])
            .blob(8192, &[0, 1, 1, 0])
            .start(12288)
    };
    let (later, unknown, wrong) =
        (|| text("later"), || text("blake3:00"), || text("xxh3:0000000000000000"));
    let digest = two().set("w:p/digest", unknown());
    t.opens_only_v2("part-with-an-unknown-digest", digest.clone(), "unsupported-digest");
    let near = "part-with-an-unknown-digest";
    let second = |file: FileV2| file.set("w:q/digest", wrong()).at_data(8192, 0, 1);
    t.reject_v2("digest-mismatch", "behind-a-digest", second(digest), near);
    let of_type = two().set("w:p/type", later());
    t.opens_only_v2("part-of-an-unknown-type", of_type.clone(), "unsupported-type");
    let near = "part-of-an-unknown-type";
    t.reject_v2("digest-mismatch", "behind-a-type", second(of_type.clone()), near);
    let own = of_type.clone().set("w:p/digest", wrong()).at_data(4096, 0, 0);
    t.reject_v2("digest-mismatch", "of-an-unknown-type", own, near);
    let bools = of_type.set("w:q/type", text("bool")).blob(8192, &[0, 1, 2, 0]);
    t.reject_v2("bool-value", "behind-a-type", bools.at_data(8194, 0, 1), near);
    let encoding = two().set("w:p/encoding", text("later/1")).set("w:p/decoded_length", uint(4));
    t.opens_only_v2("part-of-an-unknown-encoding", encoding.clone(), "unsupported-encoding");
    let near = "part-of-an-unknown-encoding";
    t.reject_v2("digest-mismatch", "behind-an-encoding", second(encoding.clone()), near);
    let frames = |last: u8| {
        let mut frame = frame(&[1, 2, 3, 4]);
        let table = table(&[(frame.len(), 4)], 0);
        if let Some(byte) = frame.last_mut() {
            *byte ^= last;
        }
        let stored = [frame, table].concat();
        encoding
            .clone()
            .set("w:q/blob", uints(&[8192, stored.len() as u64]))
            .set("w:q/encoding", text("zt.zstd-seekable/1"))
            .set("w:q/decoded_length", uint(4))
            .blob(8192, &stored)
    };
    t.opens_only_v2("frames-behind-an-encoding", frames(0), "unsupported-encoding");
    let near = "frames-behind-an-encoding";
    t.reject_v2("zstd-checksum", "behind-an-encoding", frames(1).at_data(8192, 0, 1), near);
    let values = |file: FileV2| file.set("w:values/type", later());
    let columns = |indices: [u32; 3]| values(csr()).blob(8192, &crate::v2::words(&indices));
    t.opens_only_v2("csr-of-an-unknown-type", values(csr()), "unsupported-type");
    let near = "csr-of-an-unknown-type";
    let mut reject = |rule, file: FileV2| {
        t.reject_v2(rule, "behind-a-type", file.at_data(8196, 0, 2), near);
    };
    reject("index-range", columns([0, 3, 1]));
    reject("csr-index-order", columns([2, 0, 1]));
    t.opens_only_v2("coo-of-an-unknown-type", values(coo()), "unsupported-type");
    let twice = values(coo()).blob(8192, &crate::v2::words(&[1, 1, 1, 1]));
    let near = "coo-of-an-unknown-type";
    t.reject_v2("coo-cell-repeated", "beside-a-type", twice.at_data(8196, 0, 0), near);
}

/// Adds cases about sparse objects whose values are packed two in a byte.
fn sparse_nibbles(t: &mut Table) {
    let values = |file: FileV2, last| {
        file.set("w:values", typed("u8", "f4_e2m1", 4096, 2)).blob(4096, &[0x21, last])
    };
    t.accept_v2("csr-nibbles", values(csr(), 3));
    t.reject_v2("nibble-value", "csr", values(csr(), 0x13).at_data(4097, 0, 1), "csr-nibbles");
    // The tensor has the shape [2, 3] and three values of half a byte, so half of the last byte must be zero.
    let coo = || {
        let coords = part("u32", 8192, 24);
        coo().set("w:coords", coords).blob(8192, &crate::v2::words(&[0, 1, 1, 2, 1, 0]))
    };
    t.accept_v2("coo-nibbles", values(coo(), 3));
    t.reject_v2("nibble-value", "coo", values(coo(), 0x23).at_data(4097, 0, 1), "coo-nibbles");
    let short = values(csr(), 3).set("w:values/blob", uints(&[4096, 1]));
    t.reject_v2("csr-nnz", "nibbles", short.mark_length_of("w:indices"), "csr-nibbles");
}

/// Adds cases about coordinates that repeat a cell, and coordinates that are not sorted.
fn cells(t: &mut Table) {
    let of = |coords: &[u32]| coo().blob(8192, &crate::v2::words(coords));
    t.accept_v2("cells-in-any-order", of(&[1, 0, 1, 2]));
    let near = "cells-in-any-order";
    t.reject_v2("coo-cell-repeated", "second", of(&[1, 1, 1, 1]).at_data(8196, 0, 0), near);
    // The shape is [2, 3], and the cells are (1, 2), (0, 2), (1, 0), (0, 2) and (1, 2). The first repeated cell in row-major order
    // is (0, 2).
    let coords = vec![("coords", part("u32", 8192, 40)), ("values", part("f32", 4096, 20))];
    let many = |coords_of: &[u32]| {
        file(vec![("w", object(&[2, 3], "zt.sparse_coo/1", coords.clone()))])
            .blob(4096, &[0; 20])
            .blob(8192, &crate::v2::words(coords_of))
            .start(12288)
    };
    t.accept_v2("cells-that-differ", many(&[1, 0, 1, 0, 1, 2, 2, 0, 1, 1]));
    let twice = many(&[1, 0, 1, 0, 1, 2, 2, 0, 2, 2]);
    t.reject_v2("coo-cell-repeated", "two-of-them", twice.at_data(8204, 0, 0), "cells-that-differ");
}
