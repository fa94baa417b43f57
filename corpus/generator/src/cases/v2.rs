//! Cases of the corpus about generation 2: the smallest change that breaks each rule.

mod canonical;
mod container;
mod content;
mod frames;
mod profiles;
mod records;
mod shards;
mod sparse;

use crate::base::NONE;
use crate::cbor::{array, bytes, fields, map, raw, text, uint, uints};
use crate::table::Table;
use crate::v2::{FileV2, coo, csr, dense, file, full, nested, object, part, sharded, typed};

pub(crate) fn cases(t: &mut Table) {
    accepted(t);
    container::container(t);
    container::cbor(t);
    records::fields_of_records(t);
    records::values(t);
    shards::shards(t);
    sparse::sparse(t);
    content::content(t);
    frames::frames(t);
    profiles::profiles(t);
    canonical::canonical(t);
}

fn accepted(t: &mut Table) {
    t.accept_v2("dense", full());
    t.accept_v2("reserved-of-the-footer", full().reserved(7));
    t.accept_v2("empty", file(NONE));
    t.accept_v2("data-shard", FileV2::shard().blob(4096, &[1, 2, 3, 4]));
    t.accept_v2("scalar", dense(&[], part("f32", 4096, 4), &[0, 0, 128, 63]));
    t.accept_v2("no-elements", dense(&[1 << 40, 1 << 40, 0], part("f32", 4096, 0), &[]));
    t.accept_v2("bool", dense(&[3], typed("u8", "bool", 4096, 3), &[0, 1, 1]));
    t.accept_v2("nibbles", dense(&[3], typed("u8", "f4_e2m1", 4096, 2), &[0x21, 0x03]));
    t.accept_v2("scales", dense(&[2], typed("u8", "f8_e8m0", 4096, 2), &[0x7f, 0xff]));
    t.accept_v2("complex", dense(&[2], typed("f32", "complex64", 4096, 16), &[0; 16]));
    t.accept_v2("csr", csr());
    t.accept_v2("coo", coo());
    t.accept_v2("depth-32", full().set("attributes", fields([("a", nested(30))])));
    // An empty array or map adds no level to the 32 levels around it.
    let around = |inner| (0..30).fold(inner, |inner, _| array(vec![inner]));
    let nothing = fields([("a", around(array(vec![]))), ("b", around(map(vec![])))]);
    t.accept_v2("depth-32-around-nothing", full().set("attributes", nothing));
    t.accept_v2(
        "keys-that-are-not-text",
        full().pairs("w:", {
            vec![
                (uint(1), uint(2)),
                (raw(&[0x20]), uint(2)),
                (bytes(b"x"), uint(2)),
                (text("parts"), fields([("data", part("f32", 4096, 16))])),
                (text("shape"), uints(&[2, 2])),
                (text("layout"), text("dense")),
                (array(vec![]), uint(2)),
            ]
        }),
    );
    t.accept_v2(
        "floats",
        full().set(
            "attributes",
            fields([
                ("a", raw(&[0xf9, 0x3c, 0])),
                ("b", raw(&[0xfa, 0x3d, 0xcc, 0xcc, 0xcd])),
                ("c", raw(&[0xfb, 0x3f, 0xb9, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a])),
                ("d", raw(&[0xf9, 0x7e, 0])),
            ]),
        ),
    );
    t.accept_v2("name-of-1024", dense_named(&"n".repeat(1024)));
    t.accept_v2(
        "names-by-length",
        file(
            ["b", "aa", "ab", "aaa"]
                .map(|name| (name, object(&[0], "dense", vec![("data", part("u8", 4096, 0))]))),
        )
        .blob(4096, &[]),
    );
    t.accept_v2("tied", two((4096, 16), (4096, 16)));
    t.accept_v2("disjoint", two((4096, 16), (8192, 8)));
    t.accept_v2("the-manifest-as-a-part", manifest_as_part());
    t.accept_v2("rank-64", dense(&[1; 64], part("u8", 4096, 1), &[1]));
    t.opens_only_v2(
        "unsupported-type--v2",
        dense(&[3], typed("u8", "x", 4096, 5), &[0; 5]),
        "unsupported-type",
    );
    let unknown = file(vec![("w", object(&[3], "x", vec![("a", part("f64", 4096, 3))]))]);
    t.opens_only_v2("unsupported-format--v2", unknown.blob(4096, &[1, 2, 3]), "unsupported-format");
    let encoded = full().set("w:data/encoding", text("x/1")).set("w:data/decoded_length", uint(16));
    t.opens_only_v2("unsupported-encoding--v2", encoded, "unsupported-encoding");
    t.opens_only_v2("unsupported-shard--v2", sharded(), "unsupported-shard");
}

fn dense_named(name: &str) -> FileV2 {
    file(vec![(name, object(&[1], "dense", vec![("data", part("u8", 4096, 1))]))]).blob(4096, &[1])
}

/// Returns a file of generation 2 with two objects, whose blobs have the offsets and lengths `first` and `second`.
fn two(first: (u64, u64), second: (u64, u64)) -> FileV2 {
    let dense =
        |(offset, length)| object(&[length], "dense", vec![("data", part("u8", offset, length))]);
    file(vec![("v", dense(first)), ("w", dense(second))]).blob(4096, &[1; 32]).start(12288)
}

/// Returns a file with a part whose blob is the manifest itself, with its length.
fn manifest_as_part() -> FileV2 {
    let of = |length| {
        file(vec![("w", object(&[length], "dense", vec![("data", part("u8", 8192, length))]))])
    };
    let length = of(60).build("").bytes.len() - 8192 - 40;
    of(length as u64)
}
