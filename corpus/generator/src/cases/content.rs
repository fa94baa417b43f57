//! Cases of the corpus about values of bools in every kind of component.

use crate::base::{
    component, csr, dense, dense_object, entry, object, quantized, v0, v1, zstd_component,
    zstd_frame,
};
use crate::cbor::{text, uint};
use crate::file::File;
use crate::table::Table;

/// Returns a dense vector of eight bools.
fn bools(version: &str, bytes: [u8; 8]) -> File {
    v1(version, vec![("w", dense_object(&[8], component("bool", 64, 8)))]).blob(64, &bytes)
}

pub(crate) fn cases(t: &mut Table) {
    dense_vectors(t);
    everywhere(t);
}

fn dense_vectors(t: &mut Table) {
    t.accept("v12-bool", bools("1.2.0", [0, 1, 0, 1, 1, 0, 0, 1]));
    t.accept("v11-bool", bools("1.1.0", [0, 1, 0, 1, 1, 0, 0, 1]));
    for (case, place, value) in
        [("2-first", 0, 2), ("ff-middle", 3, 0xff), ("80-last", 7, 0x80), ("digit-1", 4, b'1')]
    {
        let mut bytes = [0, 1, 0, 1, 1, 0, 0, 1];
        bytes[place] = value;
        let file = bools("1.2.0", bytes).at_data(64 + place, 0, 0);
        t.reject("bool-value", format!("v12-{case}"), file, "v12-bool");
        let file = bools("1.1.0", bytes).at_data(64 + place, 0, 0);
        t.reject("bool-value", format!("v11-{case}"), file, "v11-bool");
        // In 0.1, any byte except 0 is true, so the same bytes are valid.
        let file = v0(vec![entry("w", "bool", &[8], 64, 8)]).blob(64, &bytes);
        t.accept(format!("v01-bool-{case}"), file);
    }
    let equal = bools("1.2.0", [2; 8]).set("w:data/type", text("bool")).at_data(64, 0, 0);
    t.reject("bool-value", "v12-type-equal-to-dtype", equal, "v12-bool");
}

fn everywhere(t: &mut Table) {
    // Invalid bools are rejected in every component of every object. Each of these files has one in another place.
    let extra = |byte| dense("1.2.0").set("w:mask", component("bool", 128, 1)).blob(128, &[byte]);
    t.accept("v12-extra-bool", extra(1));
    t.reject("bool-value", "v12-extra-role", extra(2).at_data(128, 0, 1), "v12-extra-bool");
    let unknown = |byte| {
        let item = object(&[], "x", vec![("mask", component("bool", 64, 2))]);
        v1("1.2.0", vec![("w", item)]).blob(64, &[0, byte])
    };
    t.accept("unsupported-format--v12-bool", unknown(1));
    let bad = unknown(3).at_data(65, 0, 0);
    t.reject("bool-value", "v12-unknown-format", bad, "unsupported-format--v12-bool");
    let values = |byte| {
        csr("1.2.0")
            .set("w:values/dtype", text("bool"))
            .set("w:values/length", uint(3))
            .blob(64, &[1, 1, byte])
    };
    t.accept("v12-csr-of-bool", values(1));
    t.reject("bool-value", "v12-csr-values", values(0xfe).at_data(66, 0, 0), "v12-csr-of-bool");
    let zeros =
        |byte| quantized("1.2.0").set("w:zeros/dtype", text("bool")).blob(192, &[0, 1, byte, 0]);
    t.accept("v12-quantized-bool-zeros", zeros(1));
    let bad = zeros(2).at_data(194, 0, 2);
    t.reject("bool-value", "v12-quantized-zeros", bad, "v12-quantized-bool-zeros");
    let second = |byte| {
        bools("1.2.0", [1; 8])
            .push("objects", text("v"), dense_object(&[1], component("bool", 128, 1)))
            .blob(128, &[byte])
    };
    t.accept("v12-two-bools", second(0));
    t.reject("bool-value", "v12-second-object", second(7).at_data(128, 1, 0), "v12-two-bools");
    // The wrong byte is in the decoded data, so it has no offset in the file.
    let zstd = |bytes: &[u8]| {
        let frame = zstd_frame(bytes);
        let data = zstd_component("bool", 64, frame.len() as u64, bytes.len() as u64);
        v1("1.2.0", vec![("w", dense_object(&[bytes.len() as u64], data))]).blob(64, &frame)
    };
    t.accept("v12-zstd-bool", zstd(&[0, 1, 1]));
    t.reject("bool-value", "v12-zstd", zstd(&[0, 1, 2]).at_decoded(0, 0), "v12-zstd-bool");
}
