//! Cases of the corpus about blobs that share bytes.

use super::extents::{vectors, vectors_v0};
use crate::base::{component, csr, dense, object};
use crate::cbor::{text, uint, uints};
use crate::table::Table;

pub(crate) fn cases(t: &mut Table) {
    overlaps(t);
    overlap_orders(t);
    among_many(t);
    across_objects(t);
    shared(t);
}

fn overlaps(t: &mut Table) {
    t.accept("v12-two-vectors", vectors(&[("a", 64, 64), ("b", 128, 128)], 256));
    t.accept("v01-two-vectors", vectors_v0(&[("a", 64, 64), ("b", 128, 128)], 256));
    // Each case has two overlapping blobs, each given by its offset and length, and the index of the blob that the
    // error is about.
    for (case, first, second, points_to) in [
        ("by-one-byte", (64, 65), (128, 128), 1),
        ("partial", (64, 128), (128, 128), 1),
        ("nested", (64, 192), (128, 64), 1),
        ("nested-to-same-end", (64, 192), (128, 128), 1),
        ("same-start", (64, 64), (64, 128), 1),
        ("identical", (64, 64), (64, 64), 1),
        ("same-start-by-one-byte", (64, 64), (64, 65), 1),
        ("longer-first", (64, 128), (64, 64), 0),
    ] {
        let ordinals = [("a", first), ("b", second)];
        let name = ordinals[points_to].0;
        let (a, b) = (("a", first.0, first.1), ("b", second.0, second.1));
        let file = vectors(&[a, b], 256).mark(&format!("{name}:data/offset"));
        t.reject("blob-overlap", format!("v12-{case}"), file, "v12-two-vectors");
        let file = vectors_v0(&[a, b], 256).mark(&format!("#{points_to}/offset"));
        t.reject("blob-overlap", format!("v01-{case}"), file, "v01-two-vectors");
        // Here the manifest lists the objects of these blobs in the other order. For identical blobs, that would test
        // nothing new.
        if case != "identical" {
            let file = vectors(&[b, a], 256).mark(&format!("{name}:data/offset"));
            t.reject("blob-overlap", format!("v12-{case}-reversed"), file, "v12-two-vectors");
            let file = vectors_v0(&[b, a], 256).mark(&format!("#{}/offset", 1 - points_to));
            t.reject("blob-overlap", format!("v01-{case}-reversed"), file, "v01-two-vectors");
        }
    }
}

fn overlap_orders(t: &mut Table) {
    // The manifest lists three blobs in every order. In the invalid files, `b` overlaps `c` by one byte.
    let valid = [("a", 64, 64), ("b", 128, 64), ("c", 192, 64)];
    let bad = [("a", 64, 64), ("b", 128, 65), ("c", 192, 64)];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let names: String = order.iter().map(|&index| valid[index].0).collect();
        let neighbor = format!("v12-three-vectors-{names}");
        t.accept(neighbor.as_str(), vectors(&order.map(|index| valid[index]), 256));
        let file = vectors(&order.map(|index| bad[index]), 256).mark("c:data/offset");
        t.reject("blob-overlap", format!("v12-three-{names}"), file, &neighbor);
    }
    // Two empty blobs are listed between `a` and `c`, and their offsets are between those of `a` and `c`. In the invalid files,
    // `a` overlaps `c`, although the two are not neighbors.
    let between = |length| [("a", 64, length), ("e", 128, 0), ("f", 192, 0), ("c", 192, 64)];
    t.accept("v12-empty-blobs-between", vectors(&between(128), 256));
    let file = vectors(&between(192), 256).mark("c:data/offset");
    t.reject("blob-overlap", "v12-behind-empty-blobs", file, "v12-empty-blobs-between");
    let file = vectors_v0(&between(192), 256).mark("#3/offset");
    t.reject("blob-overlap", "v01-behind-empty-blobs", file, "v01-two-vectors");
}

fn among_many(t: &mut Table) {
    let names: Vec<String> = (0..60).map(|index| format!("t{index:02}")).collect();
    let many = |last: u64| {
        let place = |index: u64| {
            if index == 59 { last } else { 64 * (index * 7 % 60 + 1) }
        };
        let extents: Vec<_> = (0..60)
            .map(|index| {
                (names[usize::try_from(index).expect("below 60")].as_str(), place(index), 16)
            })
            .collect();
        vectors(&extents, 64 * 62)
    };
    t.accept("v12-60-vectors-unsorted", many(64 * (59 * 7 % 60 + 1)));
    for (case, offset) in [("first", 64), ("middle", 64 * 30)] {
        let file = many(offset).mark("t59:data/offset");
        t.reject(
            "blob-overlap",
            format!("v12-60-unsorted-{case}"),
            file,
            "v12-60-vectors-unsorted",
        );
    }
}

fn across_objects(t: &mut Table) {
    // The overlapping blobs belong to one object, to objects of different formats, or to equal objects.
    let within = csr("1.2.0").bad("w:indptr/offset", uint(128));
    t.reject("blob-overlap", "v12-within-object", within, "v12-csr");
    let unknown = object(&[], "x", vec![("blob", component("u8", 64, 16))]);
    let across = dense("1.2.0").push("objects", text("u"), unknown);
    let across = across.mark("u:blob/offset");
    t.reject("blob-overlap", "v12-with-unknown-format", across, "v12-dense");
    let twice = dense("1.2.0").set("w:extra", component("u8", 64, 1)).mark("w:data/offset");
    t.reject("blob-overlap", "v12-extra-role", twice, "v12-dense");
    let v11 = dense("1.1.0").push("objects", text("v"), dense("1.1.0").take("w:"));
    t.reject("blob-overlap", "v11-identical", v11.mark("v:data/offset"), "v11-dense");
    let v01 = vectors_v0(&[("a", 64, 16), ("b", 64, 16)], 144).set("#1/layout", text("sparse"));
    t.reject("blob-overlap", "v01-with-unknown-layout", v01.mark("#1/offset"), "v01-vector");
}

/// Adds files that are invalid even where identical blobs are tolerated.
fn shared(t: &mut Table) {
    let tolerate = "tolerate=shared-blobs";
    for (case, extents) in [
        ("partial", [("a", 64, 128), ("b", 128, 128)]),
        ("nested", [("a", 64, 192), ("b", 128, 64)]),
        ("same-start", [("a", 64, 64), ("b", 64, 128)]),
    ] {
        let file = vectors(&extents, 256).mark("b:data/offset");
        let case = format!("v12-{case}-where-sharing-is-tolerated");
        t.reject_with("blob-overlap", case, file, "v12-two-vectors", tolerate);
    }
    let three = vectors(&[("a", 64, 64), ("b", 64, 64), ("c", 64, 65)], 256).mark("c:data/offset");
    let case = "v12-third-longer-where-sharing-is-tolerated";
    t.reject_with("blob-overlap", case, three, "v12-two-vectors", tolerate);
    let shape = vectors(&[("a", 64, 64), ("b", 64, 64)], 256)
        .set("b:/shape", uints(&[63]))
        .mark("b:data/length");
    let case = "v12-shape-where-sharing-is-tolerated";
    t.reject_with("dense-size", case, shape, "v12-two-vectors", tolerate);
}
