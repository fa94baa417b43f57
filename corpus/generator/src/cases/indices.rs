//! Cases of the corpus about values of index components.

use crate::base::{DATA, component, object, v1, words, zstd_component, zstd_frame};
use crate::file::File;
use crate::table::Table;

pub(crate) fn cases(t: &mut Table) {
    for form in FORMS {
        indptr(t, form);
        columns(t, form);
        coordinates(t, form);
        nothing(t, form);
    }
}

/// The generation of a file, and whether its index components are compressed.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) zstd: bool,
}

/// The forms in which cases about indices are written. The compressed components of `v11-zstd` do not state their decoded length.
pub(crate) const FORMS: [Form; 4] = [
    Form { name: "v12", version: "1.2.0", zstd: false },
    Form { name: "v11", version: "1.1.0", zstd: false },
    Form { name: "v12-zstd", version: "1.2.0", zstd: true },
    Form { name: "v11-zstd", version: "1.1.0", zstd: true },
];

/// The offsets in the file of the first and the second index component.
const STARTS: [usize; 2] = [128, 256];

/// The indices of one component, in the type and encoding in which they are stored when they are not compressed.
pub(crate) struct Part<'a> {
    pub(crate) role: &'a str,
    pub(crate) dtype: &'a str,
    pub(crate) bytes: Vec<u8>,
}

fn wide<'a>(role: &'a str, indices: &[u64]) -> Part<'a> {
    Part { role, dtype: "u64", bytes: words(indices) }
}

/// Returns a file with a sparse object `w` with `nnz` values of `f32` and the index components `parts`.
pub(crate) fn sparse(form: Form, format: &str, shape: &[u64], nnz: usize, parts: &[Part]) -> File {
    let length = 4 * nnz as u64;
    let values = vec![("values", component("f32", 64, length))];
    let mut file = v1(form.version, vec![("w", object(shape, format, values))])
        .blob(64, &DATA.repeat(2)[..4 * nnz]);
    for (part, start) in parts.iter().zip(STARTS) {
        let decoded = part.bytes.len() as u64;
        let (path, offset) = (format!("w:{}", part.role), start as u64);
        if form.zstd {
            let stored = zstd_frame(&part.bytes);
            let item = zstd_component(part.dtype, offset, stored.len() as u64, decoded);
            file = file.set(&path, item).blob(start, &stored);
            if form.version < "1.2" {
                file = file.without(&format!("{path}/uncompressed_length"));
            }
        } else {
            let item = component(part.dtype, offset, decoded);
            file = file.set(&path, item).blob(start, &part.bytes);
        }
    }
    file
}

fn csr(form: Form, shape: [u64; 2], indices: &[u64], indptr: &[u64]) -> File {
    let parts = [wide("indices", indices), wide("indptr", indptr)];
    sparse(form, "sparse_csr", &shape, indices.len(), &parts)
}

fn coo(form: Form, shape: &[u64], coords: &[u64]) -> File {
    let nnz = coords.len() / shape.len();
    sparse(form, "sparse_coo", shape, nnz, &[wide("coords", coords)])
}

/// Expects the error at entry `at` of component `component`, whose entries are `width` bytes wide. If the indices are compressed,
/// the error has no offset.
pub(crate) fn at(form: Form, file: File, component: usize, at: usize, width: usize) -> File {
    if form.zstd {
        file.at_decoded(0, component)
    } else {
        file.at_data(STARTS[component - 1] + at * width, 0, component)
    }
}

const HUGE: u64 = 1 << 63;
const MAX: u64 = u64::MAX;

fn indptr(t: &mut Table, form: Form) {
    let neighbor = format!("{}-indptr-of-2", form.name);
    let valid = csr(form, [2, 3], &[0, 2, 1], &[0, 2, 3]);
    t.accept(neighbor.as_str(), valid);
    let three = format!("{}-indptr-of-3", form.name);
    t.accept(three.as_str(), csr(form, [3, 3], &[0, 2, 1], &[0, 1, 1, 3]));
    for (rule, case, pointers, bad) in [
        ("csr-indptr-start", "1", vec![1, 2, 3], 0),
        ("csr-indptr-start", "3", vec![3, 3, 3], 0),
        ("csr-indptr-start", "1-of-3", vec![1, 1, 2, 3], 0),
        ("csr-indptr-order", "middle", vec![0, 2, 1, 3], 2),
        ("csr-indptr-order", "to-0", vec![0, 2, 0, 3], 2),
        ("csr-indptr-order", "over-the-end-and-back", vec![0, 4, 3], 2),
        ("csr-indptr-order", "2-pow-32-and-back", vec![0, (1 << 32) + 1, 3], 2),
        ("csr-indptr-order", "2-pow-63-and-back", vec![0, HUGE, 3], 2),
        ("csr-indptr-order", "2-pow-64-minus-1-and-back", vec![0, MAX, 3], 2),
        ("csr-indptr-order", "late", vec![0, 1, 4, 3], 3),
        ("csr-indptr-end", "short", vec![0, 2, 2], 2),
        ("csr-indptr-end", "zeros", vec![0, 0, 0], 2),
        ("csr-indptr-end", "long", vec![0, 2, 4], 2),
        ("csr-indptr-end", "2-pow-32-more", vec![0, 2, (1 << 32) + 3], 2),
        ("csr-indptr-end", "2-pow-63", vec![0, 2, HUGE], 2),
        ("csr-indptr-end", "2-pow-64-minus-1", vec![0, 2, MAX], 2),
        ("csr-indptr-end", "bytes-for-entries", vec![0, 8, 12], 2),
        ("csr-indptr-end", "short-of-3", vec![0, 1, 1, 2], 3),
    ] {
        let rows = pointers.len() as u64 - 1;
        let neighbor = if rows == 2 { &neighbor } else { &three };
        let file = csr(form, [rows, 3], &[0, 2, 1], &pointers);
        let file = at(form, file, 2, bad, 8);
        t.reject(rule, format!("{}-{case}", form.name), file, neighbor);
    }
}

fn columns(t: &mut Table, form: Form) {
    let neighbor = format!("{}-indptr-of-2", form.name);
    let square = format!("{}-columns-of-square", form.name);
    t.accept(square.as_str(), csr(form, [3, 3], &[0, 2, 2], &[0, 1, 2, 3]));
    for (case, shape, indices, bad) in [
        ("column-3-of-3", [2, 3], [0, 3, 1], 1),
        ("column-3-first", [2, 3], [3, 2, 1], 0),
        ("column-3-last", [2, 3], [0, 2, 3], 2),
        ("column-4-of-3", [2, 3], [0, 4, 1], 1),
        ("column-2-pow-32", [2, 3], [0, 1 << 32, 1], 1),
        ("column-2-pow-63", [2, 3], [0, HUGE, 1], 1),
        ("column-2-pow-64-minus-1", [2, 3], [0, 2, MAX], 2),
        ("column-of-none", [2, 0], [0, 0, 0], 0),
        ("column-within-rows", [3, 2], [0, 2, 1], 1),
        ("column-by-position", [2, 3], [0, 2, 4], 2),
    ] {
        let pointers: &[u64] = if shape[0] == 3 { &[0, 1, 2, 3] } else { &[0, 2, 3] };
        let neighbor = if shape[0] == 3 { &square } else { &neighbor };
        let file = at(form, csr(form, shape, &indices, pointers), 1, bad, 8);
        t.reject("index-range", format!("{}-{case}", form.name), file, neighbor);
    }
}

fn coordinates(t: &mut Table, form: Form) {
    let name = |case: &str| format!("{}-coords-{case}", form.name);
    for (case, shape, coords) in [
        ("rank-1", &[3][..], &[0, 2][..]),
        // Coordinates are stored dimension by dimension. A reader that takes them for pairs would find (0, 1) and (2,
        // 1), whose row does not exist.
        ("rank-2", &[2, 3], &[0, 1, 2, 1]),
        ("rank-3", &[2, 3, 4], &[0, 1, 2, 0, 3, 1]),
        ("none-of-none", &[2, 0], &[]),
    ] {
        t.accept(name(case), coo(form, shape, coords));
    }
    for (case, shape, coords, bad, neighbor) in [
        ("rank-1-first", &[3][..], &[3, 0][..], 0, "rank-1"),
        ("rank-1-last", &[3], &[0, 3], 1, "rank-1"),
        ("rank-1-2-pow-63", &[3], &[0, HUGE], 1, "rank-1"),
        ("rank-1-2-pow-64-minus-1", &[3], &[0, MAX], 1, "rank-1"),
        ("rank-1-of-0", &[0], &[0, 0], 0, "rank-1"),
        // The row indices are 0 and 2, and there is no row 2. A reader that takes the coordinates for pairs would find
        // (0, 2) and (1, 1), which both exist.
        ("rank-2-good-as-pairs", &[2, 3], &[0, 2, 1, 1], 1, "rank-2"),
        ("rank-2-row", &[2, 3], &[2, 1, 2, 1], 0, "rank-2"),
        ("rank-2-column", &[2, 3], &[0, 1, 3, 1], 2, "rank-2"),
        ("rank-2-column-last", &[2, 3], &[0, 1, 2, 3], 3, "rank-2"),
        ("rank-2-row-2-pow-63", &[2, 3], &[0, HUGE, 2, 1], 1, "rank-2"),
        ("rank-2-row-2-pow-32", &[2, 3], &[0, 1 << 32, 2, 1], 1, "rank-2"),
        ("rank-2-column-2-pow-64-minus-1", &[2, 3], &[0, 1, 2, MAX], 3, "rank-2"),
        ("rank-2-no-rows", &[0, 3], &[0, 0, 0, 0], 0, "rank-2"),
        ("rank-2-no-columns", &[2, 0], &[0, 1, 0, 0], 2, "rank-2"),
        // The first index in the second dimension is 3, which is out of range. A reader that takes the coordinates for
        // triples would find (0, 1, 3) and (1, 0, 2), which both exist.
        ("rank-3-good-as-triples", &[2, 3, 4], &[0, 1, 3, 1, 0, 2], 2, "rank-3"),
        ("rank-3-first", &[2, 3, 4], &[2, 1, 2, 0, 3, 1], 0, "rank-3"),
        ("rank-3-second", &[2, 3, 4], &[0, 1, 3, 0, 3, 1], 2, "rank-3"),
        ("rank-3-third", &[2, 3, 4], &[0, 1, 2, 0, 4, 1], 4, "rank-3"),
        ("rank-3-last", &[2, 3, 4], &[0, 1, 2, 0, 3, 4], 5, "rank-3"),
        ("rank-3-middle-of-0", &[2, 0, 4], &[0, 1, 0, 0, 3, 1], 2, "rank-3"),
    ] {
        let file = at(form, coo(form, shape, coords), 1, bad, 8);
        let case = name(case);
        t.reject("index-range", case, file, &name(neighbor));
    }
}

/// Adds cases about matrices without values or without rows, which still have row pointers.
fn nothing(t: &mut Table, form: Form) {
    let none = format!("{}-indptr-of-no-values", form.name);
    t.accept(none.as_str(), csr(form, [2, 3], &[], &[0, 0, 0]));
    let rows = format!("{}-indptr-of-no-rows", form.name);
    t.accept(rows.as_str(), csr(form, [0, 3], &[], &[0]));
    for (rule, case, shape, indices, pointers, bad, neighbor) in [
        ("csr-indptr-end", "1-of-no-values", [2, 3], &[][..], &[0, 0, 1][..], 2, &none),
        ("csr-indptr-end", "3-of-no-values", [2, 3], &[], &[0, 3, 3], 2, &none),
        ("csr-indptr-order", "no-values", [2, 3], &[], &[0, 1, 0], 2, &none),
        ("csr-indptr-end", "0-of-no-rows", [0, 3], &[0], &[0], 0, &rows),
        ("csr-indptr-start", "1-of-no-rows", [0, 3], &[0], &[1], 0, &rows),
    ] {
        let file = at(form, csr(form, shape, indices, pointers), 2, bad, 8);
        t.reject(rule, format!("{}-{case}", form.name), file, neighbor);
    }
}
