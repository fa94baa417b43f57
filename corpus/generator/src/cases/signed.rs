//! Cases of the corpus about values of narrow index components in 1.1: negative numbers, and unsigned numbers whose
//! highest bit is set.

use super::indices::{FORMS, Part, at, sparse};
use crate::table::Table;

pub(crate) fn cases(t: &mut Table) {
    negative(t);
    narrow(t);
}

const SIGNED: [(&str, usize); 4] = [("i64", 8), ("i32", 4), ("i16", 2), ("i8", 1)];

fn cut(role: &'static str, dtype: &'static str, indices: &[u64], width: usize) -> Part<'static> {
    let bytes = indices.iter().flat_map(|index| index.to_le_bytes()[..width].to_vec());
    Part { role, dtype, bytes: bytes.collect() }
}

/// Adds cases about negative indices in the signed types of 1.1. In every width, all bits of −1 are set.
fn negative(t: &mut Table) {
    for form in [FORMS[1], FORMS[3]] {
        for (dtype, width) in SIGNED {
            let csr = |indices: &[u64], indptr: &[u64]| {
                let parts =
                    [cut("indices", dtype, indices, width), cut("indptr", dtype, indptr, width)];
                sparse(form, "sparse_csr", &[2, 3], 3, &parts)
            };
            let coo = |coords: &[u64]| {
                sparse(form, "sparse_coo", &[2, 3], 2, &[cut("coords", dtype, coords, width)])
            };
            let name = |case: &str| format!("{}-{dtype}-{case}", form.name);
            let low = u64::MAX << (8 * width - 1);
            t.accept(name("csr"), csr(&[0, 2, 1], &[0, 2, 3]));
            t.accept(name("coo"), coo(&[0, 1, 2, 1]));
            for (rule, case, indices, pointers, component, bad) in [
                ("index-range", "column-minus-1", [0, u64::MAX, 1], [0, 2, 3], 1, 1),
                ("index-range", "column-lowest", [0, 2, low], [0, 2, 3], 1, 2),
                ("csr-indptr-start", "minus-1", [0, 2, 1], [u64::MAX, 2, 3], 2, 0),
                ("csr-indptr-order", "minus-1", [0, 2, 1], [0, u64::MAX, 3], 2, 1),
                ("csr-indptr-order", "minus-1-last", [0, 2, 1], [0, 2, u64::MAX], 2, 2),
                ("csr-indptr-order", "lowest", [0, 2, 1], [0, low, 3], 2, 1),
            ] {
                let file = at(form, csr(&indices, &pointers), component, bad, width);
                t.reject(rule, name(case), file, &name("csr"));
            }
            for (case, coords, bad) in [
                ("coords-row-minus-1", [0, u64::MAX, 2, 1], 1),
                ("coords-column-minus-1", [0, 1, 2, u64::MAX], 3),
                ("coords-row-lowest", [low, 1, 2, 1], 0),
            ] {
                let file = at(form, coo(&coords), 1, bad, width);
                t.reject("index-range", name(case), file, &name("coo"));
            }
        }
    }
}

/// Adds cases about unsigned indices of 1.1 that would be negative as signed numbers.
fn narrow(t: &mut Table) {
    let form = FORMS[1];
    for (dtype, width) in [("u32", 4), ("u16", 2), ("u8", 1)] {
        let top = u64::MAX >> (64 - 8 * width);
        let columns = |columns| {
            let parts = [
                cut("indices", dtype, &[0, top, 1], width),
                cut("indptr", dtype, &[0, 2, 3], width),
            ];
            sparse(form, "sparse_csr", &[2, columns], 3, &parts)
        };
        let neighbor = format!("v11-{dtype}-largest-column");
        t.accept(neighbor.as_str(), columns(top + 1));
        let file = at(form, columns(top), 1, 1, width);
        t.reject("index-range", format!("v11-{dtype}-largest-column"), file, &neighbor);
    }
}
