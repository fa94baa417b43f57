//! Cases of the corpus about limits on the decoded size of compressed components.

use crate::base::{
    DATA, NONE, component, dense_object, entry, object, ramp, v0, v1, words, zstd_component,
    zstd_frame,
};
use crate::cbor::text;
use crate::file::File;
use crate::hosts::{bytes, reject_with};
use crate::table::Table;
use crate::zstd::{Frame, WINDOW_128_KIB};

pub(crate) fn cases(t: &mut Table) {
    component_limit(t);
    unknown_lengths(t);
    total_limit(t);
}

fn component_limit(t: &mut Table) {
    const RULE: &str = "limit-decoded";
    let one = Frame::single(16, 0).raw(&ramp(16)).end().bytes;
    for limit in [15, 8, 0] {
        let options = format!("limit=decoded:{limit}");
        let case = format!("16-over-{limit}");
        reject_with(t, RULE, &case, (&one, 0), (16, "raw"), &options);
    }
    // The frame really decodes to 4 GiB plus one byte, which is one byte more than the default limit.
    let window = Frame::windowed(WINDOW_128_KIB, 0);
    let mut huge = window.clone().block(1, 128 << 10, &[0], &[]).bytes;
    let block = huge.split_off(window.bytes.len());
    huge.extend(block.repeat(4 << 13));
    huge.extend([1 << 3 | 1 << 1 | 1, 0, 0, 0]);
    let file = bytes("v12", &huge, (4 << 30) + 1).at_data(64, 0, 0);
    t.reject(RULE, "v12-4-gib-and-1", file, "v12-frame-8-zeros");
}

/// Returns a CSR matrix of one row whose components are compressed and have no decoded size: `nnz` values of `f64`, all in the
/// first column.
fn undeclared(nnz: u64) -> File {
    let repeated = |bytes: u64| {
        let (whole, rest) = (bytes >> 17, usize::try_from(bytes & 0x1_ffff).expect("a size"));
        let frame = Frame::windowed(WINDOW_128_KIB, 0);
        let frame = (0..whole).fold(frame, |frame, _| frame.repeat(0, 128 << 10));
        frame.repeat(0, rest).end().bytes
    };
    let parts = [
        ("values", "f64", repeated(nnz * 8)),
        ("indices", "u8", repeated(nnz)),
        ("indptr", "u64", zstd_frame(&words(&[0, nnz]))),
    ];
    let mut file = v1("1.1.0", vec![("w", object(&[1, 1], "sparse_csr", NONE))]);
    for ((role, dtype, stored), offset) in parts.into_iter().zip([64, 128, 192]) {
        let item = zstd_component(dtype, offset as u64, stored.len() as u64, 0);
        file = file
            .set(&format!("w:{role}"), item)
            .without(&format!("w:{role}/uncompressed_length"))
            .blob(offset, &stored);
    }
    file
}

fn unknown_lengths(t: &mut Table) {
    const RULE: &str = "limit-decoded";
    t.accept("v11-csr-all-zstd", undeclared(16));
    t.accept("v11-csr-all-zstd-of-1-mib", undeclared(128 << 10));
    let file = undeclared(16).at_data(64, 0, 0);
    let neighbor = "v11-csr-all-zstd";
    t.reject_with(RULE, "v11-csr-128-over-127", file, neighbor, "limit=decoded:127");
    let file = undeclared(128 << 10).at_data(64, 0, 0);
    let neighbor = "v11-csr-all-zstd-of-1-mib";
    let case = "v11-csr-1-mib-over-128-kib";
    t.reject_with(RULE, case, file, neighbor, "limit=decoded:131072");
}

fn total_limit(t: &mut Table) {
    const RULE: &str = "limit-decoded-total";
    let one = Frame::single(16, 0).raw(&ramp(16)).end().bytes;
    for limit in [15, 0] {
        let options = format!("limit=decoded-total:{limit}");
        let case = format!("16-over-{limit}");
        reject_with(t, RULE, &case, (&one, 0), (16, "raw"), &options);
    }
    // The decoded sizes of the compressed components of all objects are added up. Raw components do not count.
    let length = one.len() as u64;
    let of = |offset| zstd_component("u8", offset, length, 16);
    let raw = || component("f32", 256, 16);
    let objects = v1(
        "1.2.0",
        vec![
            ("a", dense_object(&[16], of(64))),
            ("raw", dense_object(&[4], raw())),
            ("b", dense_object(&[16], of(128))),
        ],
    );
    let blobs = |file: File| file.blob(64, &one).blob(128, &one).blob(256, &DATA);
    t.accept("v12-two-zstd", blobs(objects.clone()));
    for limit in [31, 16] {
        let file = blobs(objects.clone()).at_data(128, 2, 0);
        let options = format!("limit=decoded-total:{limit}");
        t.reject_with(RULE, format!("v12-32-over-{limit}"), file, "v12-two-zstd", &options);
    }
    let roles = vec![("a", of(64)), ("b", of(128)), ("raw", raw())];
    let roles = blobs(v1("1.2.0", vec![("w", object(&[], "x", roles))]));
    let neighbor = "unsupported-format--v12-two-zstd";
    t.accept(neighbor, roles.clone());
    let file = roles.at_data(128, 0, 1);
    t.reject_with(RULE, "v12-components-32-over-31", file, neighbor, "limit=decoded-total:31");
    let both = |offset| entry(if offset == 64 { "a" } else { "b" }, "uint8", &[16], offset, length);
    let entries = v0(vec![both(64), both(128)])
        .set("#0/encoding", text("zstd"))
        .set("#1/encoding", text("zstd"))
        .blob(64, &one)
        .blob(128, &one);
    t.accept("v01-two-zstd", entries.clone());
    let file = entries.at_data(128, 1, 0);
    t.reject_with(RULE, "v01-32-over-31", file, "v01-two-zstd", "limit=decoded-total:31");
    // The values have 128 bytes, the indices 16 and the row pointers 16, together one byte more than the limit. Each
    // component counts once, even if it is read several times.
    let file = undeclared(16).at_data(192, 0, 2);
    let neighbor = "v11-csr-all-zstd";
    t.reject_with(RULE, "v11-csr-160-over-159", file, neighbor, "limit=decoded-total:159");
}
