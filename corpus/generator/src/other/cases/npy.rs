//! Cases of the corpus about NumPy files (`.npy`).

use super::Cases;
use crate::other::npy::{file, versioned};

/// A pickled array of the two objects 1 and `None`, as NumPy writes it.
pub(super) const OBJECTS: &[u8] = b"\x80\x03cnumpy.core.multiarray\n_reconstruct\nq\0cnumpy\nndarray\nq\x01K\0\x85q\x02C\x01bq\x03\x87q\x04Rq\x05(K\x01K\x02\x85q\x06cnumpy\ndtype\nq\x07X\x02\0\0\0O8q\x08\x89\x88\x87q\x09Rq\x0a(K\x03X\x01\0\0\0|q\x0bNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tq\x0cb\x89]q\x0d(K\x01Netq\x0eb.";

/// A pickle that calls `os.system` when it is loaded.
pub(super) const EVIL: &[u8] = b"\x80\x02cos\nsystem\nX\x04\0\0\0true\x85R.";

pub(super) fn all(cases: &mut Cases) {
    let valid = file("<i2", false, "(2,)", &[1, 0, 2, 0]);
    let literal = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n";
    let of = |literal: &str| versioned(1, literal, &[1, 0, 2, 0]);
    let spaces =
        |number: usize| versioned(2, &format!("{literal}{}", " ".repeat(number)), &[1, 0, 2, 0]);
    // A file of records with the field `é`, whose name is encoded in Latin-1.
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
        // Arrays whose elements zten does not interpret, so that only their bytes can be read. Of records, the fields that hold
        // numbers can be read, too.
        ("text", file("<U2", false, "(2,)", b"a\0\0\0b\0\0\0\xe9\0\0\0\0\0\0\0")),
        ("text-big-endian", file(">U1", false, "(2,)", b"\0\0\0a\0\0\0b")),
        ("bytes", file("|S3", true, "(2, 2)", b"abcd\0\0efgh\xff\0")),
        ("void", file("|V2", false, "(2,)", &[1, 0, 2, 0])),
        ("empty-text", file("<U0", false, "(2,)", &[])),
        ("dates", file("<M8[D]", false, "(2,)", &[&5_i64.to_le_bytes()[..], &i64::MIN.to_le_bytes()].concat())),
        ("durations", file(">m8[25us]", false, "()", &7_i64.to_be_bytes())),
        ("long-doubles", file("<f16", false, "(1,)", &[0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0x40, 0, 0, 0, 0, 0, 0])),
        ("records", of(&literal.replace("'<i2'", "[('a', '<i2')]"))),
        ("latin-1", latin(1)),
        ("latin-1-version-2", latin(2)),
        (
            "records-nested",
            versioned(
                1,
                &literal.replace(
                    "'<i2'",
                    "[('x', '>f4'), ('', '|V1'), ('p', '<u2', (2,)), (('Title', 'in'), [('s', '|S1'), ('b', '|b1')])]",
                ),
                b"\x3f\x80\0\0.\x01\0\x02\0s\x01\x40\0\0\0.\x03\0\x04\0t\0",
            ),
        ),
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
        ("npy-header", "two-fields", of(&literal.replace("'<i2'", "[('a', '|i1'), ('a', '|i1')]"))),
        ("npy-header", "no-field", of(&literal.replace("'<i2'", "['<i2']"))),
        // What `numpy.save` writes for a list of an integer and `None`.
        ("npy-objects", "objects", file("|O", false, "(2,)", OBJECTS)),
        (
            "npy-objects",
            "record",
            versioned(1, &literal.replace("'<i2'", "[('a', '|O')]"), b"\x80\x03N."),
        ),
        ("torch-global", "objects", file("|O", false, "()", EVIL)),
        ("torch-pickle", "objects", file("|O", false, "(2,)", &OBJECTS[..OBJECTS.len() - 1])),
        ("npy-size", "text", file("<U1", false, "(2,)", &[0; 7])),
        ("npy-size", "records", of(&literal.replace("'<i2'", "[('a', '<i2'), ('b', '|i1')]"))),
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
