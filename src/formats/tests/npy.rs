use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use crate::archive::{Archive, InMemory};
use crate::element::{LogicalType, StorageType};
use crate::formats::rules::Rule;
use crate::layout::State;
use crate::limits::{Limits, OpenOptions};
use crate::manifest::Component;

use super::{FormatDType, open_with, read, rejection, single};

pub(super) use zten_corpus::other::npy::{file, versioned};

/// Returns `bytes` bytes that count up from 0.
fn counting(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| u8::try_from(at % 256).unwrap()).collect()
}

/// Returns the decoded bytes of `component`.
fn content(component: &Component<'_>) -> Vec<u8> {
    let mut reader = component.reader().unwrap();
    let mut bytes = Vec::new();
    while let Some(chunk) = reader.next_chunk().unwrap() {
        bytes.extend_from_slice(chunk);
    }
    bytes
}

#[test]
fn every_type_in_either_byte_order() {
    use StorageType as T;
    for (code, kind, part, width) in [
        ("?", FormatDType::Plain(T::Bool), 1, 1),
        ("b1", FormatDType::Plain(T::Bool), 1, 1),
        ("i1", FormatDType::Plain(T::I8), 1, 1),
        ("u1", FormatDType::Plain(T::U8), 1, 1),
        ("i2", FormatDType::Plain(T::I16), 2, 2),
        ("u2", FormatDType::Plain(T::U16), 2, 2),
        ("f2", FormatDType::Plain(T::F16), 2, 2),
        ("i4", FormatDType::Plain(T::I32), 4, 4),
        ("u4", FormatDType::Plain(T::U32), 4, 4),
        ("f4", FormatDType::Plain(T::F32), 4, 4),
        ("i8", FormatDType::Plain(T::I64), 8, 8),
        ("u8", FormatDType::Plain(T::U64), 8, 8),
        ("f8", FormatDType::Plain(T::F64), 8, 8),
        ("c8", FormatDType::Logical(LogicalType::Complex64), 4, 8),
        ("c16", FormatDType::Logical(LogicalType::Complex128), 8, 16),
    ] {
        let mut data = counting(6 * width);
        if kind == FormatDType::Plain(T::Bool) {
            data = vec![0, 1, 1, 0, 1, 0];
        }
        let little =
            single("dir/some.name.npy", &file(&format!("<{code}"), false, "(2, 3)", &data));
        assert_eq!(little, ("some.name".to_owned(), vec![2, 3], kind, data.clone()));
        assert_eq!(single("x.npy", &file(code, false, "(6,)", &data)).3, data);
        assert_eq!(single("", &file(code, false, "(6,)", &data)).0, "arr_0");
        let big: Vec<u8> = data.chunks(part).flat_map(|part| part.iter().rev()).copied().collect();
        assert_eq!(single("x.npy", &file(&format!(">{code}"), false, "(6,)", &big)).3, data);
        // The row-major array [[0, 1, 2], [3, 4, 5]] is stored in column-major order as [0, 3, 1, 4, 2, 5].
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
        // The shape has a number with the suffix `L`, which only Python 2 wrote. Python 2 wrote no headers of version
        // 3.0, so such a header of version 3.0 is rejected.
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
    // Sizes that exceed NumPy's signed 64-bit integers, also if a dimension is 0: NumPy then multiplies the other
    // dimensions.
    for shape in [
        "(18446744073709551615, 2)",
        "(9223372036854775808,)",
        "(1073741824, 1073741824, 8)",
        "(18446744073709551615, 2, 0)",
        "(9223372036854775808, 0)",
        "(0, 9223372036854775808)",
        "(4611686018427387904, 0)",
    ] {
        assert!(
            rejection("x.npy", &file("<u2", true, shape, &[0])).contains("does not fit in 63 bits")
        );
    }
    let bytes = file("<u2", true, "(4611686018427387903, 0)", &[]);
    assert!(single("x.npy", &bytes).3.is_empty());
}

/// Opens the `.npy` file `bytes` called `x.npy`.
fn opened(bytes: Vec<u8>) -> Archive<InMemory<Vec<u8>>> {
    let length = bytes.len().try_into().unwrap();
    OpenOptions::default().open_named(InMemory(bytes), length, "x.npy").unwrap()
}

#[test]
fn opaque_elements_are_bytes() {
    for (descr, size) in
        [("|V2", 2), ("<U4", 16), ("|S1", 1), (">M8[s]", 8), ("<f16", 16), ("<c32", 32)]
    {
        for columns_first in [false, true] {
            let data = counting(6 * size);
            let archive = opened(file(descr, columns_first, "(2, 3)", &data));
            let tensor = archive.tensor("x").unwrap();
            assert_eq!((tensor.state(), tensor.shape()), (State::Opaque, &[2, 3][..]));
            let data = tensor.component("data").unwrap();
            assert_eq!(data.type_name(), descr);
            assert_eq!(data.element_size(), u64::try_from(size).ok());
            let bytes = counting(6 * size);
            let elements: Vec<_> = bytes.chunks(size).collect();
            let wanted = if columns_first {
                [0, 2, 4, 1, 3, 5].map(|at| elements[at]).concat()
            } else {
                bytes.clone()
            };
            assert_eq!(content(&data), wanted, "{descr}");
            assert!(tensor.to_vec::<f32>().is_err());
            archive.verify().unwrap();
        }
    }
    // The file must have the number of bytes that the shape needs.
    assert!(rejection("x.npy", &file("<U4", false, "(2,)", &[0; 31])).contains("found 31"));
    // An empty text takes no bytes.
    assert_eq!(opened(file("<U0", false, "(5,)", &[])).tensor("x").unwrap().shape(), [5]);
}

#[test]
fn objects_and_unknown_types_are_unread() {
    for (descr, rule) in
        [("|O", Rule::NpyObjects), ("<q9", Rule::NpyDtype), ("=f4", Rule::NpyDtype)]
    {
        let archive = opened(file(descr, false, "(3,)", b"\x80\x03N."));
        let tensor = archive.tensor("x").unwrap();
        assert_eq!(tensor.state(), State::Unread(rule.into()));
        assert_eq!(tensor.shape(), [3]);
        let data = tensor.component("data").unwrap();
        assert_eq!(data.type_name(), descr);
        for error in [data.reader().unwrap_err(), tensor.to_vec::<u8>().unwrap_err()] {
            assert_eq!((error.kind(), error.tensor()), (rule.into(), Some("x")));
        }
        assert_eq!(archive.verify().unwrap_err().kind(), rule);
    }
    let archive = opened(file("\u{1b}[31m", false, "()", &[]));
    assert_eq!(archive.tensor("x").unwrap().component("data").unwrap().type_name(), "\u{1b}[31m");
}

/// Returns a file of records, of version `version`.
fn records(version: u8, descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let literal = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
    versioned(version, &literal, data)
}

#[test]
fn fields_of_records_are_tensors() {
    let descr = "[('a', '|i1'), ('x', '>f4'), (('title', 'p'), '<u2', (2,)), ('', '|V1'), ('b', '|b1'), ('in', [('y', '<f8'), ('s', '|S3')])]";
    let mut data = Vec::new();
    for row in 0..1000_u16 {
        data.push(u8::try_from(row % 100).unwrap());
        data.extend((f32::from(row) / 2.0).to_be_bytes());
        data.extend(row.to_le_bytes());
        data.extend((row + 1).to_le_bytes());
        data.extend([0xff, 7]);
        data.extend(f64::from(row).to_le_bytes());
        data.extend(b"abc");
    }
    let archive = opened(records(1, descr, "(10, 100)", &data));
    let names: Vec<_> = archive.tensors().map(|tensor| tensor.name()).collect();
    assert_eq!(names, ["x", "x[\"a\"]", "x[\"x\"]", "x[\"p\"]"]);
    let whole = archive.tensor("x").unwrap();
    assert_eq!(whole.state(), State::Opaque);
    assert_eq!(whole.component("data").unwrap().type_name(), descr);
    assert_eq!(content(&whole.component("data").unwrap()), data);
    let floats = archive.tensor("x[\"x\"]").unwrap();
    assert_eq!((floats.shape(), floats.state()), (&[10, 100][..], State::Readable));
    let wanted: Vec<_> = (0..1000_u16).map(|row| f32::from(row) / 2.0).collect();
    assert_eq!(floats.to_vec::<f32>().unwrap(), wanted);
    assert!(floats.as_slice::<f32>().is_err());
    let part = floats.slice((3..5, 10..12)).unwrap().to_vec::<f32>().unwrap();
    assert_eq!(part, [155.0, 155.5, 205.0, 205.5]);
    let pairs = archive.tensor("x[\"p\"]").unwrap();
    assert_eq!(pairs.shape(), [10, 100, 2]);
    let wanted: Vec<_> = (0..1000_u16).flat_map(|row| [row, row + 1]).collect();
    assert_eq!(pairs.to_vec::<u16>().unwrap(), wanted);
    archive.verify().unwrap();
    // The records of this matrix are stored in column-major order, and a field is read in the order of the records. So
    // the field does not become a tensor.
    let literal = "{'descr': [('a', '|i1')], 'fortran_order': True, 'shape': (2, 2), }\n";
    assert_eq!(opened(versioned(1, literal, &[0; 4])).len(), 1);
    assert_eq!(opened(records(1, "[('a', '|i1')]", "(0,)", &[])).len(), 2);
    assert_eq!(opened(records(1, "[]", "(3,)", &[])).len(), 1);
}

#[test]
fn dtypes_of_records() {
    // Records of Python objects are unread, and so are records of an unknown type.
    for (descr, rule) in [
        ("[('a', '<f4'), ('o', '|O')]", Rule::NpyObjects),
        ("[('a', [('o', '|O')], (2,))]", Rule::NpyObjects),
        ("[('a', '<q9')]", Rule::NpyDtype),
        ("[('a', '<f8', (4294967296, 4294967296))]", Rule::NpyDtype),
    ] {
        let archive = opened(records(1, descr, "(1,)", &[0; 4]));
        assert_eq!(archive.tensor("x").unwrap().state(), State::Unread(rule.into()), "{descr}");
    }
    for descr in [
        "[('a' '<f4')]",
        "[('a', '<f4']",
        "[('a', '<f4'), 5]",
        "[('a',)]",
        "[('a', '<f4', )",
        "[[('a', '<f4')]]",
        "[('a', '<f4', (2, x))]",
        "[('a', ('<f4', (2,)))]",
        "(('a', '<f4'),)",
    ] {
        assert!(
            rejection("x.npy", &records(1, descr, "(1,)", &[0; 4])).contains("header"),
            "{descr}"
        );
    }
    // Two fields have the same name, which NumPy rejects.
    let twice = "[('a', '|i1'), ('a', '|i1')]";
    assert!(rejection("x.npy", &records(1, twice, "(1,)", &[0; 2])).contains("same name"));
    // Names with escapes are not decoded, so the fields of these names do not become tensors.
    assert_eq!(opened(records(1, "[('a\\'b', '|i1')]", "(1,)", &[0])).len(), 1);
    // A dtype that is nested 3000 levels deep is parsed without recursion, so it does not overflow the call stack.
    let deep = format!("{}[('x', '|i1')]{}", "[('a', ".repeat(3000), ")]".repeat(3000));
    assert_eq!(opened(records(1, &deep, "(1,)", &[0])).len(), 1);
    // Names of fields are Latin-1 before version 3.0.
    for version in [1, 2, 3] {
        let mut bytes = records(version, "[('?', '<f4')]", "(1,)", &[0; 4]);
        let place = bytes.iter().position(|byte| *byte == b'?').unwrap();
        bytes[place] = 0xe9;
        if version == 3 {
            assert!(rejection("x.npy", &bytes).contains("is not UTF-8"));
        } else {
            assert!(opened(bytes).tensor("x[\"é\"]").is_ok());
        }
    }
    assert!(opened(records(3, "[('é', '<f4')]", "(1,)", &[0; 4])).tensor("x[\"é\"]").is_ok());
}

#[test]
fn more_dimensions_than_can_be() {
    let shape = |rank: usize| format!("({})", "1,".repeat(rank));
    assert_eq!(single("x.npy", &file("|u1", true, &shape(64), &[0])).3, [0]);
    assert!(rejection("x.npy", &file("|u1", true, &shape(65), &[0])).contains("64 dimensions"));
    let limits = Limits::default().with_rank(1);
    assert!(open_with("x.npy", &file("|u1", false, "(1, 1)", &[0]), &limits).is_err());
}
