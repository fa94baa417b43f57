use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use std::path::Path;

use ::safetensors::SafeTensors;

use crate::element::{LogicalType, StorageType};
use crate::error::Error;
use crate::formats::Rule;
use crate::limits::{Limits, OpenOptions};

use super::archive::{Noted, read};
use super::{FormatDType, START, rejection};

pub(super) use zten_corpus::other::safetensors::file;

/// Opens `bytes` with `limits`, and returns the number of tensors.
fn open_with(bytes: &[u8], limits: &Limits) -> Result<usize, Error> {
    Ok(OpenOptions::default().limits(*limits).from_bytes(bytes)?.len())
}

/// Returns a file of one tensor with the given dtype and shape, and `length` bytes of data.
fn one(dtype: &str, shape: &str, length: usize) -> Vec<u8> {
    let entry = format!(r#"{{"dtype":"{dtype}","shape":{shape},"data_offsets":[0,{length}]}}"#);
    let data: Vec<u8> = (0..length).map(|at| u8::try_from(at % 256).unwrap()).collect();
    file(&format!(r#"{{"a.b":{entry}}}"#), &data)
}

const TYPES: [(&str, FormatDType, usize); 19] = [
    ("BOOL", FormatDType::Plain(StorageType::Bool), 1),
    ("U8", FormatDType::Plain(StorageType::U8), 1),
    ("I8", FormatDType::Plain(StorageType::I8), 1),
    ("U16", FormatDType::Plain(StorageType::U16), 2),
    ("I16", FormatDType::Plain(StorageType::I16), 2),
    ("F16", FormatDType::Plain(StorageType::F16), 2),
    ("BF16", FormatDType::Plain(StorageType::Bf16), 2),
    ("U32", FormatDType::Plain(StorageType::U32), 4),
    ("I32", FormatDType::Plain(StorageType::I32), 4),
    ("F32", FormatDType::Plain(StorageType::F32), 4),
    ("U64", FormatDType::Plain(StorageType::U64), 8),
    ("I64", FormatDType::Plain(StorageType::I64), 8),
    ("F64", FormatDType::Plain(StorageType::F64), 8),
    ("F8_E4M3", FormatDType::Logical(LogicalType::F8E4M3Fn), 1),
    ("F8_E5M2", FormatDType::Logical(LogicalType::F8E5M2), 1),
    ("F8_E4M3FNUZ", FormatDType::Logical(LogicalType::F8E4M3Fnuz), 1),
    ("F8_E5M2FNUZ", FormatDType::Logical(LogicalType::F8E5M2Fnuz), 1),
    ("C64", FormatDType::Logical(LogicalType::Complex64), 8),
    ("F8_E8M0", FormatDType::Logical(LogicalType::F8E8M0), 1),
];

#[test]
fn every_type_is_kept() {
    for (dtype, kind, width) in TYPES {
        for (shape, dimensions, elements) in
            [("[]", &[][..], 1), ("[2,3]", &[2, 3], 6), ("[5,0]", &[5, 0], 0)]
        {
            let bytes = one(dtype, shape, elements * width);
            let (attributes, tensors) = read("x", &bytes).unwrap();
            let data = bytes[bytes.len() - elements * width..].to_vec();
            assert_eq!(attributes, b"");
            assert_eq!(tensors, [("a.b".to_owned(), dimensions.to_vec(), kind, data)]);
        }
    }
}

#[test]
fn two_elements_of_fp4_share_a_byte() {
    let kind = FormatDType::Logical(LogicalType::F4E2M1);
    for (shape, dimensions, length) in
        [("[2]", &[2][..], 1), ("[2,3]", &[2, 3], 3), ("[0,3]", &[0, 3], 0)]
    {
        let bytes = one("F4", shape, length);
        let (_, tensors) = read("x", &bytes).unwrap();
        let data = bytes[bytes.len() - length..].to_vec();
        assert_eq!(tensors, [("a.b".to_owned(), dimensions.to_vec(), kind, data)]);
    }
    for (shape, length) in [("[3]", 1), ("[3]", 2), ("[]", 1)] {
        let sentence = rejection("x", &one("F4", shape, length));
        assert!(
            sentence.contains("has an odd number of 4-bit elements, which do not fill whole bytes"),
            "{sentence}"
        );
    }
    let sentence = rejection("x", &one("F4", "[2]", 2));
    assert!(sentence.contains("has 2 bytes of data, but its shape and dtype need 1"), "{sentence}");
}

#[test]
fn other_types_are_rejected_by_name() {
    for (dtype, shape, length) in [("F6_E2M3", "[4]", 3), ("F6_E3M2", "[4]", 3)] {
        let bytes = one(dtype, shape, length);
        // These files are valid safetensors files, but zTensor has no elements of this type.
        SafeTensors::deserialize(&bytes).unwrap();
        let wanted = format!("\"a.b\": unsupported dtype \"{dtype}\" at byte ");
        assert!(rejection("x", &bytes).starts_with(&wanted));
    }
    let sentence = rejection("x", &one("F\\u001b", "[1]", 1));
    assert!(sentence.starts_with("\"a.b\": unsupported dtype \"F\\u{1b}\" at byte"));
}

#[test]
fn metadata_becomes_attributes() {
    let header = r#"{"__metadata__":{"format":"pt","a":"ä","":"\n"}}"#;
    let (attributes, tensors) = read("x", &file(header, &[])).unwrap();
    assert_eq!(attributes, b"\xa3\x60\x61\n\x61a\x62\xc3\xa4\x66format\x62pt");
    assert!(tensors.is_empty());
    let (attributes, _) = read("x", &file(r#"{"__metadata__":{}}"#, &[])).unwrap();
    assert_eq!(attributes, b"");
}

#[test]
fn tensors_come_in_the_order_of_the_header() {
    let header = r#"{
        "b": {"dtype":"U8","shape":[2],"data_offsets":[1,3]}, "c":
        {"shape":[0],"data_offsets":[1,1],"dtype":"F32"},
        "a": {"dtype":"U8","shape":[1],"data_offsets":[0,1]}}   "#;
    let (_, tensors) = read("x", &file(header, &[1, 2, 3])).unwrap();
    let names: Vec<_> = tensors.iter().map(|tensor| tensor.0.as_str()).collect();
    assert_eq!(names, ["b", "c", "a"]);
    assert_eq!((&*tensors[0].3, &*tensors[2].3), (&[2, 3][..], &[1][..]));
}

/// Checks that opening reads no byte twice, and ends at the end of the header, or after [`START`] bytes if the header is
/// shorter.
#[test]
fn a_source_is_read_to_the_end_of_the_header() {
    let entry = r#"{"dtype":"U8","shape":[2000],"data_offsets":[0,2000]}"#;
    let names = ["a".to_owned(), "a".repeat(START), "a".repeat(4 << 20)];
    for name in names {
        let header = format!(r#"{{"{name}":{entry}}}"#);
        let bytes = file(&header, &[0; 2000]);
        let source = Noted::new(&bytes);
        let length = u64::try_from(bytes.len()).unwrap();
        let archive = OpenOptions::default().open_named(&source, length, Path::new("x")).unwrap();
        assert_eq!(archive.len(), 1);
        let ranges = source.ranges.lock().unwrap();
        assert!(ranges.iter().zip(&ranges[1..]).all(|(one, next)| one.1 == next.0), "{ranges:?}");
        let end = u64::try_from((8 + header.len()).max(START)).unwrap();
        assert_eq!((ranges[0].0, ranges.last().unwrap().1), (0, end));
    }
}

#[test]
fn bools_are_checked_with_the_data() {
    let bytes = one("BOOL", "[2]", 2);
    OpenOptions::default().from_bytes(&*bytes).unwrap().verify().unwrap();
    let bytes = one("BOOL", "[3]", 3);
    let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
    let error = archive.verify().unwrap_err();
    let last = u64::try_from(bytes.len()).unwrap() - 1;
    assert_eq!(
        (error.rule(), error.offset()),
        (Some(Rule::TensorBoolValue.row().id()), Some(last))
    );
}

#[test]
fn a_limit_holds_before_memory_is_taken() {
    let header = format!(r#"{{"__metadata__":{{"k":"{}"}}}}"#, "x".repeat(1 << 20));
    let bytes = file(&header, &[]);
    let length = u64::try_from(header.len()).unwrap();
    let limit = |bytes| Limits::default().with_named("manifest", bytes).unwrap();
    assert_eq!(open_with(&bytes, &limit(length)).unwrap(), 0);
    let mut opened = None;
    let memory = allocation_counter::measure(|| {
        opened = Some(open_with(&bytes, &limit(length - 1)));
    });
    let error = opened.unwrap().unwrap_err();
    assert_eq!(error.rule().unwrap(), "limit-manifest");
    assert!(memory.bytes_max < 1 << 10, "{} bytes", memory.bytes_max);
    let entry = r#"{"dtype":"U8","shape":[],"data_offsets":[0,1]}"#;
    let bytes = file(&format!(r#"{{"a":{entry}}}"#), &[0]);
    for (name, value) in [("keys", 0), ("rank", 0)] {
        let limits = Limits::default().with_named(name, value).unwrap();
        assert_eq!(open_with(&bytes, &limits).unwrap(), 1);
    }
}

#[test]
fn what_stands_twice_is_rejected() {
    let entry = r#"{"dtype":"U8","shape":[],"data_offsets":[0,1]}"#;
    let next = r#"{"dtype":"U8","shape":[],"data_offsets":[1,2]}"#;
    let twice = file(&format!(r#"{{"a":{entry},"\u0061":{next}}}"#), &[0, 0]);
    assert!(rejection("x", &twice).contains("duplicate tensor name \"a\""));
    let same = file(&format!(r#"{{"a":{entry},"a":{entry}}}"#), &[0]);
    assert!(rejection("x", &same).contains("\"a\""));
    let metadata = file(r#"{"__metadata__":{},"__metadata__":{}}"#, &[]);
    assert!(rejection("x", &metadata).contains("duplicate"));
    let key = file(r#"{"__metadata__":{"k":"a","k":"a"}}"#, &[]);
    assert_eq!(rejection("x", &key), "\"__metadata__\": duplicate key \"k\"");
    let field = file(r#"{"a":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}}"#, &[0]);
    assert!(rejection("x", &field).contains("duplicate field"));
}

#[test]
fn damaged_headers() {
    let tensor =
        |offsets: &str| format!(r#"{{"a":{{"dtype":"U8","shape":[2],"data_offsets":{offsets}}}}}"#);
    for (header, data, why) in [
        ("", 0, "brace"),
        (" {}", 0, "brace"),
        ("[]", 0, "brace"),
        ("{", 0, "unexpected end at byte 0x8"),
        ("{} x", 0, "expected the end of the header, found \"x\" at byte 0xb"),
        ("{}", 1, "1 byte follows the last tensor"),
        (r#"{"a":1}"#, 0, "\"a\": "),
        (r#"{"a":["U8",[1],[0,1]]}"#, 1, "expected a map of `dtype`"),
        (r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1}}"#, 1, "unknown field"),
        (r#"{"a":{"dtype":"U8","shape":[1]}}"#, 1, "missing field"),
        (r#"{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}"#, 1, "\"a\": "),
        (r#"{"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}"#, 1, "\"a\": "),
        (r#"{"__metadata__":{"a":1}}"#, 0, "\"__metadata__\": "),
        (r#"{"__metadata__":null}"#, 0, "\"__metadata__\": "),
        (&tensor("[0,3]"), 3, "\"a\" has 3 bytes of data, but its shape and dtype need 2 at byte"),
        (&tensor("[0,1]"), 1, "\"a\" has 1 byte of data, but its shape and dtype need 2 at byte"),
        (&tensor("[2,0]"), 2, "\"a\" has data_offsets [2, 0], which end before they begin"),
        (
            &tensor("[1,3]"),
            3,
            "begins at data offset 1, expected 0, where the tensor before it ends",
        ),
        (&tensor("[0,2]"), 3, "1 byte follows the last tensor at byte 0x"),
        (&tensor("[0,2]"), 1, "expected 2 bytes of data, found 1"),
        (&tensor("[0,2,4]"), 2, "\"a\": "),
        (
            r#"{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,1]}}"#,
            1,
            "\"a\" has a shape whose bytes cannot be counted in 64 bits",
        ),
    ] {
        let sentence = rejection("x.safetensors", &file(header, &vec![0; data]));
        assert!(sentence.contains(why), "{header}: {sentence}");
    }
    let overlap = r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},
        "b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#;
    assert!(rejection("x", &file(overlap, &[0; 3])).starts_with("\"b\" begins at data offset "));
}

/// Checks the messages of errors in the header, and that they point at the byte at which the fault begins.
#[test]
fn places_in_the_header() {
    for (header, at, why) in [
        ("{\"a\":\n {\"dtype\":!}}", "!", "expected a string, found \"!\""),
        ("{1}", "1", "expected a string, found \"1\""),
        ("{}é", "é", "expected the end of the header, found \"é\""),
        (r#"{"a"=1}"#, "=", "expected a colon, found \"=\""),
        (
            r#"{"a":[1]}"#,
            "[1]",
            "expected a map of `dtype`, `shape` and `data_offsets`, found \"[\"",
        ),
        (r#"{"__metadata__":[1]}"#, "[1]", "expected a map of strings, found \"[\""),
        (r#"{"__metadata__":{"a":null}}"#, "null", "expected a string, found \"n\""),
        (r#"{"__metadata__":{},]}"#, "]", "expected a string, found \"]\""),
        (r#"{"__metadata__":{} "a"}"#, "\"a", "expected a comma or the end of the map, found"),
        (r#"{"a":{"dtype":"\q"}}"#, "q", "invalid escape in a string"),
        (r#"{"a":{"dtype":"\ud800"}}"#, "ud8", "unpaired surrogate in a string"),
        ("{\"a\":{\"dtype\":\"\n\"}}", "\n", "unescaped control character in a string"),
        (r#"{"a":{"Dtype":"U8"}}"#, "\"D", "unknown field \"Dtype\""),
        (r#"{"a":{"shape":[],"sh\u0061pe":[]}}"#, "\"sh\\", "duplicate field \"shape\""),
        (r#"{"a":{"dtype":"U8","shape":[] }}"#, "}}", "missing field `data_offsets`"),
        (r#"{"a":{"shape":2}}"#, "2", "expected an array of dimensions, found \"2\""),
        (r#"{"a":{"shape":[2.0]}}"#, "2", "expected an unsigned integer of at most 64 bits, found"),
        (r#"{"a":{"shape":[1 2]}}"#, "2", "expected a comma or the end of the array, found \"2\""),
        (r#"{"a":{"data_offsets":7}}"#, "7", "expected an array of two offsets, found \"7\""),
        (r#"{"a":{"data_offsets":[0]}}"#, "]", "expected a comma, found \"]\""),
        (
            r#"{"a":{"data_offsets":[0,2,4]}}"#,
            ",4",
            "expected the end of the array of two offsets, found \",\"",
        ),
    ] {
        let sentence = rejection("x", &file(header, &[]));
        let at = format!(" at byte {:#x}", 8 + header.find(at).unwrap());
        let wanted = format!("invalid header: {why}");
        assert!(sentence.contains(&wanted) && sentence.ends_with(&at), "{header}: {sentence}");
    }
    let entry = |dtype: &str, shape: &str| {
        format!(r#"{{"a":{{"dtype":"{dtype}", "shape":{shape},"data_offsets":[0,1]}}}}"#)
    };
    let many = format!("[{}1]", "1,".repeat(64));
    for (header, at) in [
        (entry("U9", "[1]"), "\"U9\""),
        (entry("U8", &many), "[1,"),
        (entry("U8", "[2]"), "[0,1]"),
        (r#"{"__metadata__":{}, "__metadat\u0061__":{}}"#.to_owned(), "\"__metadat\\"),
    ] {
        let sentence = rejection("x", &file(&header, &[0]));
        let at = format!(" at byte {:#x}", 8 + header.find(at).unwrap());
        assert!(sentence.ends_with(&at), "{header}: {sentence}");
    }
    assert!(rejection("x", &file("{\"\u{1b}", &[])).is_ascii());
}

#[test]
fn text_that_is_not_utf_8() {
    let entry = r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}"#;
    let length = entry.len();
    for (header, at) in [
        ([entry.as_bytes(), b",\"b\xff\":{}}"].concat(), length + 3),
        ([entry.as_bytes(), b"}\xff"].concat(), length + 1),
        ([entry.as_bytes(), b",\"\xed\xa0\x80\":1}"].concat(), length + 2),
        (b"{\xff}".to_vec(), 1),
    ] {
        let length = u64::try_from(header.len()).unwrap().to_le_bytes();
        let sentence = rejection("x", &[&length[..], &header, &[0]].concat());
        let wanted = format!("text that is not UTF-8 at byte {:#x}", 8 + at);
        assert!(sentence.ends_with(&wanted), "{header:?}: {sentence}");
    }
    // The header has an unknown dtype, and after it a byte that is not UTF-8. Only the unknown dtype, which comes first,
    // is reported.
    let bytes = file(&entry.replace("U8", "U9"), b"\xff");
    assert!(rejection("x", &bytes).contains("dtype"));
}

/// Checks that fields in another order, white space and escapes do not change what is read.
#[test]
fn every_way_of_writing_is_read() {
    let usual = r#"{"é":{"dtype":"U8","shape":[2,1],"data_offsets":[0,2]},"b":{"dtype":"F8_E4M3FNUZ","shape":[],"data_offsets":[2,3]}}"#;
    let wanted = read("x", &file(usual, &[1, 2, 3])).unwrap();
    for other in [
        usual.replace(',', " ,\t").replace(':', "\r: \n").replace('}', " }").replace('{', "{ "),
        usual.replace('[', "[ ").replace(']', " ]") + " \n\t\r",
        usual.replace('é', "\\u00e9").replace("\"b\"", "\"\\u0062\""),
        usual.replace("\"dtype\"", "\"\\u0064type\"").replace("U8", "\\u00558"),
        usual.replace(r#""dtype":"U8","shape":[2,1]"#, r#""shape":[2,1],"dtype":"U8""#),
    ] {
        assert_eq!(read("x", &file(&other, &[1, 2, 3])).unwrap(), wanted, "{other}");
    }
}

#[test]
fn as_many_keys_as_the_limit() {
    let texts: Vec<_> = (0..4097).map(|key| format!(r#""{key}":"""#)).collect();
    let header = |keys: usize| format!(r#"{{"__metadata__":{{{}}}}}"#, texts[..keys].join(","));
    assert!(read("x", &file(&header(4096), &[])).is_ok());
    let sentence = rejection("x", &file(&header(4097), &[]));
    let wanted = "\"__metadata__\": it has 4097 keys, which exceeds the limit of 4096 at byte 0x18";
    assert_eq!(sentence, wanted);
}

#[test]
fn lengths_that_cannot_be() {
    let mut bytes = file("{}", &[]);
    for length in [3, 100_000_000, 100_000_001, u64::MAX] {
        bytes[..8].copy_from_slice(&length.to_le_bytes());
        let sentence = rejection("x", &bytes);
        assert_eq!(
            sentence,
            match length {
                100_000_001.. => {
                    format!(
                        "header length {length} exceeds the maximum of 100000000 bytes at byte 0x0"
                    )
                }
                _ =>
                    format!("header length {length} exceeds the 2 bytes that follow it at byte 0x0"),
            }
        );
    }
    bytes[..8].copy_from_slice(&1_u64.to_le_bytes());
    assert!(rejection("x", &bytes).ends_with("unexpected end at byte 0x8"));
}

#[test]
fn more_dimensions_than_can_be() {
    let shape = |rank: usize| format!("[{}]", vec!["1"; rank].join(","));
    assert!(read("x", &one("U8", &shape(64), 1)).is_ok());
    assert!(rejection("x", &one("U8", &shape(65), 1)).contains("64 dimensions"));
}

/// Checks that a file has one note for all tensors that are not aligned, which names the first and counts the others. A complex
/// number is aligned as its parts are, and a tensor without elements is always aligned.
#[test]
fn tensors_that_are_not_aligned_are_counted() {
    // Each tuple is the name, dtype, number of elements and number of bytes of a tensor.
    let notes_of = |tensors: &[(&str, &str, u64, u64)]| {
        let listed =
            tensors.iter().map(|(name, dtype, count, bytes)| (*name, *dtype, [*count], *bytes));
        let header = zten_testkit::safetensors::header(listed);
        // The data begins at a multiple of 8.
        let header = format!("{header:<width$}", width = header.len().next_multiple_of(8));
        let bytes: u64 = tensors.iter().map(|(.., bytes)| bytes).sum();
        let bytes = file(&header, &vec![0; usize::try_from(bytes).unwrap()]);
        let archive = OpenOptions::default().from_bytes(&bytes).unwrap();
        let notes = archive.manifest().findings().iter().map(|found| {
            assert_eq!(found.error().rule(), Some("safetensors-alignment"));
            (found.error().tensor().unwrap().to_owned(), found.more())
        });
        notes.collect::<Vec<_>>()
    };
    assert_eq!(notes_of(&[("a", "F32", 1, 4), ("b", "C64", 1, 8), ("c", "U8", 1, 1)]), []);
    let noted =
        notes_of(&[("a", "U8", 1, 1), ("b", "F32", 1, 4), ("c", "I64", 0, 0), ("d", "C64", 1, 8)]);
    assert_eq!(noted, [("b".to_owned(), 1)]);
    // The parts of a complex number have 4 bytes each, so 4 is their alignment.
    let noted = notes_of(&[("a", "U8", 4, 4), ("b", "C64", 1, 8), ("c", "I64", 1, 8)]);
    assert_eq!(noted, [("c".to_owned(), 0)]);
}
