use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use crate::limits::Limits;
use crate::tools::{LogicalType, StorageType};

use super::{Kind, open_with, read, rejection, single};

pub(super) use zten_corpus::other::npy::{file, versioned};

/// Numbers that count up, so many bytes of them.
fn counting(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| u8::try_from(at % 256).unwrap()).collect()
}

#[test]
fn every_type_in_either_byte_order() {
    use StorageType as T;
    for (code, kind, part, width) in [
        ("?", Kind::Plain(T::Bool), 1, 1),
        ("b1", Kind::Plain(T::Bool), 1, 1),
        ("i1", Kind::Plain(T::I8), 1, 1),
        ("u1", Kind::Plain(T::U8), 1, 1),
        ("i2", Kind::Plain(T::I16), 2, 2),
        ("u2", Kind::Plain(T::U16), 2, 2),
        ("f2", Kind::Plain(T::F16), 2, 2),
        ("i4", Kind::Plain(T::I32), 4, 4),
        ("u4", Kind::Plain(T::U32), 4, 4),
        ("f4", Kind::Plain(T::F32), 4, 4),
        ("i8", Kind::Plain(T::I64), 8, 8),
        ("u8", Kind::Plain(T::U64), 8, 8),
        ("f8", Kind::Plain(T::F64), 8, 8),
        ("c8", Kind::Logical(LogicalType::Complex64), 4, 8),
        ("c16", Kind::Logical(LogicalType::Complex128), 8, 16),
    ] {
        let mut data = counting(6 * width);
        if kind == Kind::Plain(T::Bool) {
            data = vec![0, 1, 1, 0, 1, 0];
        }
        let little =
            single("dir/some.name.npy", &file(&format!("<{code}"), false, "(2, 3)", &data));
        assert_eq!(little, ("some.name".to_owned(), vec![2, 3], kind, data.clone()));
        assert_eq!(single("x.npy", &file(code, false, "(6,)", &data)).3, data);
        assert_eq!(single("", &file(code, false, "(6,)", &data)).0, "arr_0");
        let big: Vec<u8> = data.chunks(part).flat_map(|part| part.iter().rev()).copied().collect();
        assert_eq!(single("x.npy", &file(&format!(">{code}"), false, "(6,)", &big)).3, data);
        // Row-major [[0, 1, 2], [3, 4, 5]] is column-major [0, 3, 1, 4, 2, 5].
        let elements: Vec<_> = big.chunks(width).collect();
        let columns = [0, 3, 1, 4, 2, 5].map(|at| elements[at]).concat();
        let turned = single("x.npy", &file(&format!(">{code}"), true, "(2, 3)", &columns));
        assert_eq!(turned, ("x".to_owned(), vec![2, 3], kind, data));
    }
}

#[test]
fn orders_that_do_not_differ() {
    let data = counting(5);
    for shape in ["(5,)", "(1, 5)", "(5, 1)", "(1, 5, 1)"] {
        assert_eq!(single("x.npy", &file("|u1", true, shape, &data)).3, data);
    }
    assert_eq!(single("x.npy", &file("|u1", true, "()", &[7])).3, [7]);
    assert!(single("x.npy", &file("|u1", true, "(3, 0, 2)", &[])).3.is_empty());
}

#[test]
fn versions() {
    let literal = "{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }   \n";
    let long = literal.replace("1,", "1L,");
    for version in [1, 2, 3] {
        assert_eq!(single("x.npy", &versioned(version, literal, &[1, 2])).3, [1, 2]);
        // Python 2 wrote none of version 3.0.
        assert_eq!(read("x.npy", &versioned(version, &long, &[1, 2])).is_ok(), version < 3);
    }
    assert!(rejection("x.npy", &versioned(4, literal, &[1, 2])).contains("version 4.0"));
    let mut minor = versioned(1, literal, &[1, 2]);
    minor[7] = 1;
    assert!(rejection("x.npy", &minor).contains("version 1.1"));
    let mut long = versioned(2, literal, &[1, 2]);
    long[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(rejection("x.npy", &long).contains("exceeds the maximum of 65535 bytes"));
}

#[test]
fn data_is_as_long_as_the_shape_asks() {
    for (shape, length) in [("(2, 2)", 3), ("(2, 2)", 5), ("()", 0), ("(0,)", 1)] {
        for columns_first in [false, true] {
            let bytes = file("|u1", columns_first, shape, &vec![0; length]);
            let sentence = rejection("x.npy", &bytes);
            let wanted = match (shape, length) {
                ("(2, 2)", 5) | ("(0,)", _) => "1 byte follows the array at byte".to_owned(),
                _ => format!("bytes of data, found {length}"),
            };
            assert!(sentence.contains(&wanted), "{sentence}");
        }
    }
    // However often nothing is there, as NumPy counts.
    for shape in [
        "(18446744073709551615, 2)",
        "(9223372036854775808,)",
        "(1073741824, 1073741824, 8)",
        "(18446744073709551615, 2, 0)",
        "(9223372036854775808, 0)",
        "(0, 9223372036854775808)",
        "(4611686018427387904, 0)",
    ] {
        assert!(rejection("x.npy", &file("<u2", true, shape, &[0])).contains("cannot be counted"));
    }
    let bytes = file("<u2", true, "(4611686018427387903, 0)", &[]);
    assert!(single("x.npy", &bytes).3.is_empty());
}

#[test]
fn types_are_rejected_by_name() {
    for descr in ["|O", "|V2", "<U4", "|S1", "<M8[s]", "<f16", "<c32", "<q9"] {
        assert!(rejection("x.npy", &file(descr, false, "()", &[0; 32])).contains(descr));
    }
    let records = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n";
    assert!(rejection("x.npy", &versioned(1, records, &[0; 4])).contains("records"));
    // Names of fields are Latin-1 before version 3.0.
    let latin = records.replace("'a'", "'\u{e9}'");
    assert!(rejection("x.npy", &versioned(3, &latin, &[0; 4])).contains("records"));
    for version in [1, 2, 3] {
        let mut bytes = versioned(version, &latin.replace('\u{e9}', "?"), &[0; 4]);
        let place = bytes.iter().position(|byte| *byte == b'?').unwrap();
        bytes[place] = 0xe9;
        let why = if version == 3 { "is not text" } else { "records" };
        assert!(rejection("x.npy", &bytes).contains(why));
    }
    let sentence = rejection("x.npy", &file("\u{1b}[31m", false, "()", &[]));
    assert!(sentence.contains("\\u{1b}[31m"), "{sentence}");
}

#[test]
fn more_dimensions_than_can_be() {
    let shape = |rank: usize| format!("({})", "1,".repeat(rank));
    assert_eq!(single("x.npy", &file("|u1", true, &shape(64), &[0])).3, [0]);
    assert!(rejection("x.npy", &file("|u1", true, &shape(65), &[0])).contains("64 dimensions"));
    let limits = Limits::default().with_rank(1);
    assert!(open_with("x.npy", &file("|u1", false, "(1, 1)", &[0]), &limits).is_err());
}
