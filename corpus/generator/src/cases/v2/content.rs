//! What only data shows.

use crate::cbor::text;
use crate::table::Table;
use crate::v2::{FileV2, coo, csr, dense, full, typed};

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
}
