//! Cases of the corpus about files that are not canonical because of the positions of blobs, or of the bytes between
//! them.

use super::canonical::{reject, with_empty};
use crate::base::{DATA, ramp};
use crate::canonical::{Tensor, canonical, csr_parts, dense, one, part, tensor, two};
use crate::file::File;
use crate::table::Table;

const BLOB: &str = "canonical-blob";

pub(crate) fn cases(t: &mut Table) {
    gaps(t);
    orders(t);
    empty(t);
    manifests(t);
    padding(t);
}

/// Returns a dense vector of bytes at `offset`.
fn bytes_at(name: &str, offset: usize, bytes: &[u8]) -> Tensor {
    let data = part("data", "u8", bytes).at(offset);
    tensor(name, &[bytes.len() as u64], "dense", vec![data])
}

fn gaps(t: &mut Table) {
    for (case, offset) in [("first-at-128", 128), ("first-at-4096", 4096)] {
        let data = part("data", "f32", &DATA).at(offset);
        let file = canonical(None, vec![tensor("w", &[2, 2], "dense", vec![data])]);
        reject(t, BLOB, case, file.mark("w:data/offset"), "dense");
    }
    for (case, offset) in [("gap-of-64", 192), ("gap-of-128", 256)] {
        let data = part("data", "f32", &DATA).at(offset);
        let second = tensor("w", &[4], "dense", vec![data]);
        let file = canonical(None, vec![two()[0].clone(), second]);
        reject(t, BLOB, case, file.mark("w:data/offset"), "two");
    }
    let mut parts = csr_parts();
    parts[1] = parts[1].clone().at(192);
    let file = canonical(None, vec![tensor("w", &[2, 3], "sparse_csr", parts)]);
    reject(t, BLOB, "gap-in-object", file.mark("w:values/offset"), "csr");
    let mut parts = csr_parts();
    parts[2] = parts[2].clone().at(256);
    let file = canonical(None, vec![tensor("w", &[2, 3], "sparse_csr", parts)]);
    reject(t, BLOB, "gap-before-last", file.mark("w:indices/offset"), "csr");
    // After a blob that ends at an aligned offset, the next blob must begin at once. Here it begins 64 bytes later.
    let file = canonical(
        None,
        vec![bytes_at("bytes_64", 64, &ramp(64)), bytes_at("bytes_65", 192, &ramp(65))],
    );
    reject(t, BLOB, "gap-behind-whole-block", file.mark("bytes_65:data/offset"), "whole-blocks");
}

/// Adds cases about blobs in another order than their components in the manifest.
fn orders(t: &mut Table) {
    let data = part("data", "f32", &DATA).at(64);
    let swapped = vec![bytes_at("v", 128, &DATA[13..]), tensor("w", &[4], "dense", vec![data])];
    reject(t, BLOB, "swapped", canonical(None, swapped).mark("v:data/offset"), "two");
    for (case, offsets, role) in [
        ("last-two-swapped", [64, 192, 128], "values"),
        ("as-listed", [192, 64, 128], "indptr"),
        ("reversed", [192, 128, 64], "indptr"),
    ] {
        let parts = csr_parts().into_iter().zip(offsets).map(|(part, offset)| part.at(offset));
        let csr = tensor("w", &[2, 3], "sparse_csr", parts.collect());
        let file = canonical(None, vec![csr]).mark(&format!("w:{role}/offset"));
        reject(t, BLOB, case, file, "csr");
    }
    // The blobs are in the alphabetical order of the names, in which a writer may have written the data. The manifest has
    // the canonical order, in which shorter names come first, so the blobs are in the wrong order.
    let by_letter = vec![bytes_at("b", 128, &[2]), bytes_at("aa", 64, &[3])];
    reject(t, BLOB, "by-letter", canonical(None, by_letter).mark("b:data/offset"), "names");
}

/// Adds cases about empty blobs that are not at the offset where the next blob would begin.
fn empty(t: &mut Table) {
    for (case, name, offset) in [
        ("empty-first-at-0", "a", 0),
        ("empty-first-at-128", "a", 128),
        ("empty-between-at-0", "c", 0),
        ("empty-between-before", "c", 64),
        ("empty-between-behind", "c", 192),
        ("empty-last-at-0", "e", 0),
        ("empty-last-before", "e", 128),
    ] {
        let tensors = with_empty().into_iter().zip(["a", "b", "c", "d", "e"]);
        let tensors =
            tensors.map(|(tensor, is)| if is == name { tensor.at(offset) } else { tensor });
        let file = canonical(None, tensors.collect()).mark(&format!("{name}:data/offset"));
        reject(t, BLOB, case, file, "empty-blobs");
    }
    let only = dense("w", &[0], "f32", &[]).at(0);
    let file = canonical(None, vec![only]).mark("w:data/offset");
    reject(t, BLOB, "only-empty-at-0", file, "only-an-empty-blob");
    // The empty blob lies inside another blob. It overlaps no bytes, but is not at its canonical offset.
    let inside = vec![dense("a", &[128], "u8", &ramp(128)), dense("b", &[0], "u8", &[]).at(128)];
    let file = canonical(None, inside).mark("b:data/offset");
    reject(t, BLOB, "empty-inside-another", file, "empty-blobs");
}

fn manifests(t: &mut Table) {
    let reject = |t: &mut Table, case: &str, file: File, start, neighbor| {
        reject(t, "canonical-manifest", case, file.start(start).mark(""), neighbor);
    };
    reject(t, "at-end-of-blob", one(), 80, "dense");
    reject(t, "at-end-of-second-blob", canonical(None, two()), 144, "two");
    reject(t, "1-too-early", one(), 127, "dense");
    reject(t, "1-too-late", one(), 129, "dense");
    reject(t, "64-too-late", one(), 192, "dense");
    reject(t, "4096-too-late", one(), 128 + 4096, "dense");
    let whole = || canonical(None, vec![dense("bytes_64", &[64], "u8", &ramp(64))]);
    reject(t, "64-behind-whole-block", whole(), 192, "whole-blocks");
    reject(t, "1-behind-whole-block", whole(), 129, "whole-blocks");
    let nothing = || canonical(None, Vec::new());
    reject(t, "without-objects-at-8", nothing(), 8, "empty");
    reject(t, "without-objects-at-63", nothing(), 63, "empty");
    reject(t, "without-objects-at-65", nothing(), 65, "empty");
    reject(t, "without-objects-at-128", nothing(), 128, "empty");
    let only = || canonical(None, vec![dense("w", &[0], "f32", &[])]);
    reject(t, "64-behind-empty-blob", only(), 128, "only-an-empty-blob");
    reject(t, "64-behind-empty-blobs", canonical(None, with_empty()), 256, "empty-blobs");
}

fn padding(t: &mut Table) {
    let mut dirty = |case: &str, file: File, offsets: &[usize], byte: u8, neighbor: &str| {
        let first = offsets.iter().min().expect("a byte");
        let file = offsets.iter().fold(file, |file, offset| file.blob(*offset, &[byte]));
        reject(t, "canonical-padding", case, file.at_padding(*first), neighbor);
    };
    let two = || canonical(None, two());
    for (case, offset) in [
        ("first-behind-header", 8),
        ("behind-header", 31),
        ("last-before-first-blob", 63),
        ("first-between-blobs", 67),
        ("last-between-blobs", 127),
        ("first-behind-last-blob", 144),
        ("last-before-manifest", 191),
    ] {
        dirty(case, two(), &[offset], 1, "two");
    }
    for (case, byte) in [("80", 0x80), ("ff", 0xff), ("space", b' ')] {
        dirty(&format!("byte-{case}"), two(), &[100], byte, "two");
    }
    dirty("two-bytes", two(), &[150, 126], 1, "two");
    dirty("header-gap-and-others", two(), &[127, 63, 191], 1, "two");
    let whole: Vec<usize> = (80..128).collect();
    dirty("all-behind-blob", one(), &whole, 0xff, "dense");
    let nothing = || canonical(None, Vec::new());
    dirty("without-objects-first", nothing(), &[8], 1, "empty");
    dirty("without-objects-last", nothing(), &[63], 1, "empty");
    let only = canonical(None, vec![dense("w", &[0], "f32", &[])]);
    dirty("behind-empty-blob", only, &[63], 1, "only-an-empty-blob");
    let empty = || canonical(None, with_empty());
    dirty("between-empty-blobs", empty(), &[66], 1, "empty-blobs");
    dirty("before-last-empty-blob", empty(), &[191], 1, "empty-blobs");
    let csr = || canonical(None, vec![tensor("w", &[2, 3], "sparse_csr", csr_parts())]);
    dirty("within-object", csr(), &[88], 1, "csr");
    let blocks = canonical(
        None,
        vec![dense("bytes_64", &[64], "u8", &ramp(64)), dense("bytes_65", &[65], "u8", &ramp(65))],
    );
    dirty("behind-65-bytes", blocks, &[193], 1, "whole-blocks");
}
