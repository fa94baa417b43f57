//! NumPy files.

use super::Cases;
use crate::other::npy::{file, versioned};

pub(super) fn all(cases: &mut Cases) {
    let valid = file("<i2", false, "(2,)", &[1, 0, 2, 0]);
    let literal = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n";
    let of = |literal: &str| versioned(1, literal, &[1, 0, 2, 0]);
    let spaces =
        |number: usize| versioned(2, &format!("{literal}{}", " ".repeat(number)), &[1, 0, 2, 0]);
    let accepted = [
        ("two", valid.clone()),
        ("version-2", spaces(0)),
        ("version-3", versioned(3, literal, &[1, 0, 2, 0])),
        ("in-columns", file(">f4", true, "(1, 2)", &[0; 8])),
        ("scalar", file("|u1", false, "()", &[7])),
        ("none", file("<f8", false, "(0, 3)", &[])),
        ("bools", file("|b1", false, "(2,)", &[0, 1])),
    ];
    for (name, bytes) in accepted {
        cases.accept("npy", &format!("{name}.npy"), bytes);
    }
    let rejected = [
        ("npy-magic", "letters", b"\x93NUMPX\x01\0".to_vec()),
        ("npy-version", "4", versioned(4, literal, &[1, 0, 2, 0])),
        ("npy-header", "cut", valid[..20].to_vec()),
        ("npy-header", "words", of("once upon a time\n")),
        ("npy-header", "unknown-key", of(&literal.replace("(2,), ", "(2,), 'more': 1"))),
        ("npy-header", "twice", of(&literal.replace("(2,), ", "(2,), 'shape': (2,)"))),
        ("npy-header", "no-tuple", of(&literal.replace("(2,)", "(2)"))),
        ("npy-header", "code", of(&literal.replace("(2,)", "(1+1,)"))),
        ("npy-dtype", "objects", file("|O", false, "(2,)", &[1, 0, 2, 0])),
        ("npy-dtype", "records", of(&literal.replace("'<i2'", "[('a', '<i2')]"))),
        ("npy-dtype", "no-order", file("|i2", false, "(2,)", &[1, 0, 2, 0])),
        ("npy-shape", "overflow", file("<i2", false, "(9223372036854775808, 2)", &[])),
        ("npy-size", "cut", valid[..valid.len() - 1].to_vec()),
        ("npy-size", "behind", [&valid[..], &[0]].concat()),
        ("npy-size", "columns", file("<i2", true, "(2, 3)", &[0; 10])),
        ("limit-header", "65536", spaces(65536 - literal.len())),
        ("tensor-bool-value", "2", file("|b1", false, "(2,)", &[0, 2])),
    ];
    for (rule, name, bytes) in rejected {
        cases.reject("npy", (rule, &format!("{name}.npy")), bytes);
    }
}
