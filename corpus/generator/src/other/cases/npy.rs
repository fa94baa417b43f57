//! NumPy files.

use super::Cases;
use crate::other::npy::{file, versioned};

pub(super) fn all(cases: &mut Cases) {
    let valid = file("<i2", false, "(2,)", &[1, 0, 2, 0]);
    let literal = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n";
    let of = |literal: &str| versioned(1, literal, &[1, 0, 2, 0]);
    let spaces =
        |number: usize| versioned(2, &format!("{literal}{}", " ".repeat(number)), &[1, 0, 2, 0]);
    // Records with the field `é`, in Latin-1.
    let latin = |version: u8| {
        let mut bytes =
            versioned(version, &literal.replace("'<i2'", "[('?', '<i2')]"), &[1, 0, 2, 0]);
        let field = bytes.iter().position(|byte| *byte == b'?').unwrap();
        bytes[field] = 0xe9;
        bytes
    };
    let accepted = [
        ("two", valid.clone()),
        ("version-2", spaces(0)),
        ("version-3", versioned(3, literal, &[1, 0, 2, 0])),
        ("in-columns", file(">f4", true, "(1, 2)", &[0; 8])),
        ("scalar", file("|u1", false, "()", &[7])),
        ("none", file("<f8", false, "(0, 3)", &[])),
        ("bools", file("|b1", false, "(2,)", &[0, 1])),
        ("long", of(&literal.replace("(2,)", "(2L,)"))),
        ("long-version-2", versioned(2, &literal.replace("(2,)", "(2L,)"), &[1, 0, 2, 0])),
        ("none-of-many", file("|u1", false, "(9223372036854775807, 0)", &[])),
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
        (
            "npy-header",
            "long-version-3",
            versioned(3, &literal.replace("(2,)", "(2L,)"), &[1, 0, 2, 0]),
        ),
        ("npy-header", "latin-1-version-3", latin(3)),
        ("npy-header", "code", of(&literal.replace("(2,)", "(1+1,)"))),
        ("npy-dtype", "objects", file("|O", false, "(2,)", &[1, 0, 2, 0])),
        ("npy-dtype", "records", of(&literal.replace("'<i2'", "[('a', '<i2')]"))),
        ("npy-dtype", "latin-1", latin(1)),
        ("npy-dtype", "latin-1-version-2", latin(2)),
        ("npy-dtype", "no-order", file("|i2", false, "(2,)", &[1, 0, 2, 0])),
        ("npy-shape", "overflow", file("<i2", false, "(9223372036854775808, 2)", &[])),
        ("npy-shape", "overflow-beside-zero", file("|u1", false, "(9223372036854775808, 0)", &[])),
        (
            "npy-shape",
            "overflow-behind-zero",
            file("<i2", false, "(0, 9223372036854775808, 4)", &[]),
        ),
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
