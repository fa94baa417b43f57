use ::safetensors::SafeTensors;
use zten::{LogicalType, StorageType};

pub(super) use zten_corpus::other::safetensors::file;

use super::{Kind, open, read, refusal};

/// A file of one tensor.
fn one(dtype: &str, shape: &str, length: usize) -> Vec<u8> {
    let entry = format!(r#"{{"dtype":"{dtype}","shape":{shape},"data_offsets":[0,{length}]}}"#);
    let data: Vec<u8> = (0..length).map(|at| u8::try_from(at % 256).unwrap()).collect();
    file(&format!(r#"{{"a.b":{entry}}}"#), &data)
}

const TYPES: [(&str, Kind, usize); 19] = [
    ("BOOL", Kind::Plain(StorageType::Bool), 1),
    ("U8", Kind::Plain(StorageType::U8), 1),
    ("I8", Kind::Plain(StorageType::I8), 1),
    ("U16", Kind::Plain(StorageType::U16), 2),
    ("I16", Kind::Plain(StorageType::I16), 2),
    ("F16", Kind::Plain(StorageType::F16), 2),
    ("BF16", Kind::Plain(StorageType::Bf16), 2),
    ("U32", Kind::Plain(StorageType::U32), 4),
    ("I32", Kind::Plain(StorageType::I32), 4),
    ("F32", Kind::Plain(StorageType::F32), 4),
    ("U64", Kind::Plain(StorageType::U64), 8),
    ("I64", Kind::Plain(StorageType::I64), 8),
    ("F64", Kind::Plain(StorageType::F64), 8),
    ("F8_E4M3", Kind::Logical(LogicalType::F8E4M3Fn), 1),
    ("F8_E5M2", Kind::Logical(LogicalType::F8E5M2), 1),
    ("F8_E4M3FNUZ", Kind::Logical(LogicalType::F8E4M3Fnuz), 1),
    ("F8_E5M2FNUZ", Kind::Logical(LogicalType::F8E5M2Fnuz), 1),
    ("C64", Kind::Logical(LogicalType::Complex64), 8),
    ("F8_E8M0", Kind::Logical(LogicalType::F8E8M0), 1),
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
    let kind = Kind::Logical(LogicalType::F4E2M1);
    for (shape, dimensions, length) in
        [("[2]", &[2][..], 1), ("[2,3]", &[2, 3], 3), ("[0,3]", &[0, 3], 0)]
    {
        let bytes = one("F4", shape, length);
        let (_, tensors) = read("x", &bytes).unwrap();
        let data = bytes[bytes.len() - length..].to_vec();
        assert_eq!(tensors, [("a.b".to_owned(), dimensions.to_vec(), kind, data)]);
    }
    for (shape, length) in [("[3]", 1), ("[3]", 2), ("[]", 1), ("[2]", 2)] {
        assert!(refusal("x", &one("F4", shape, length)).contains("as long as"));
    }
}

#[test]
fn other_types_are_refused_by_name() {
    for (dtype, shape, length) in [("F6_E2M3", "[4]", 3), ("F6_E3M2", "[4]", 3)] {
        let bytes = one(dtype, shape, length);
        // They are valid files: it is zTensor that has nothing for them.
        SafeTensors::deserialize(&bytes).unwrap();
        let wanted = format!("\"a.b\": its dtype \"{dtype}\" is not supported at byte ");
        assert!(refusal("x", &bytes).starts_with(&wanted));
    }
    let sentence = refusal("x", &one("F\\u001b", "[1]", 1));
    assert!(sentence.starts_with("\"a.b\": its dtype \"F\\u{1b}\" is not supported at byte"));
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
fn tensors_come_in_the_order_of_their_data() {
    let header = r#"{
        "b": {"dtype":"U8","shape":[2],"data_offsets":[1,3]}, "c":
        {"shape":[0],"data_offsets":[1,1],"dtype":"F32"},
        "a": {"dtype":"U8","shape":[1],"data_offsets":[0,1]}}   "#;
    let (_, tensors) = read("x", &file(header, &[1, 2, 3])).unwrap();
    let names: Vec<_> = tensors.iter().map(|tensor| tensor.0.as_str()).collect();
    assert_eq!(names, ["a", "c", "b"]);
    assert_eq!(tensors[2].3, [2, 3]);
}

#[test]
fn what_stands_twice_is_refused() {
    let entry = r#"{"dtype":"U8","shape":[],"data_offsets":[0,1]}"#;
    let next = r#"{"dtype":"U8","shape":[],"data_offsets":[1,2]}"#;
    let twice = file(&format!(r#"{{"a":{entry},"\u0061":{next}}}"#), &[0, 0]);
    assert!(refusal("x", &twice).contains("two tensors of the name \"a\""));
    let same = file(&format!(r#"{{"a":{entry},"a":{entry}}}"#), &[0]);
    assert!(refusal("x", &same).contains("\"a\""));
    let metadata = file(r#"{"__metadata__":{},"__metadata__":{}}"#, &[]);
    assert!(refusal("x", &metadata).contains("twice"));
    let key = file(r#"{"__metadata__":{"k":"a","k":"a"}}"#, &[]);
    assert_eq!(refusal("x", &key), "\"__metadata__\": the key \"k\" stands there twice");
    let field = file(r#"{"a":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}}"#, &[0]);
    assert!(refusal("x", &field).contains("duplicate field"));
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
        ("{}", 1, "there are 1 bytes of data, and tensors for 0"),
        (r#"{"a":1}"#, 0, "\"a\": "),
        (r#"{"a":["U8",[1],[0,1]]}"#, 1, "expected a map of `dtype`"),
        (r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1}}"#, 1, "unknown field"),
        (r#"{"a":{"dtype":"U8","shape":[1]}}"#, 1, "missing field"),
        (r#"{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}"#, 1, "\"a\": "),
        (r#"{"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}"#, 1, "\"a\": "),
        (r#"{"__metadata__":{"a":1}}"#, 0, "\"__metadata__\": "),
        (r#"{"__metadata__":null}"#, 0, "\"__metadata__\": "),
        (&tensor("[0,3]"), 3, "as long as"),
        (&tensor("[0,1]"), 1, "as long as"),
        (&tensor("[2,0]"), 2, "as long as"),
        (&tensor("[1,3]"), 3, "does not begin where"),
        (&tensor("[0,2]"), 3, "there are 3 bytes of data, and tensors for 2 at byte 0x"),
        (&tensor("[0,2]"), 1, "there are 1 bytes of data, and tensors for 2"),
        (&tensor("[0,2,4]"), 2, "\"a\": "),
        (
            r#"{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,1]}}"#,
            1,
            "as long as",
        ),
    ] {
        let sentence = refusal("x.safetensors", &file(header, &vec![0; data]));
        assert!(sentence.contains(why), "{header}: {sentence}");
    }
    let overlap = r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},
        "b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#;
    assert!(refusal("x", &file(overlap, &[0; 3])).starts_with("\"b\": its data does not begin"));
}

#[test]
fn places_in_the_header() {
    let sentence = refusal("x", &file("{\"a\":\n {\"dtype\":!}}", &[]));
    assert!(sentence.ends_with("at byte 0x18"), "{sentence}");
    assert!(refusal("x", &file("{\"\u{1b}", &[])).is_ascii());
}

#[test]
fn lengths_that_cannot_be() {
    let mut bytes = file("{}", &[]);
    for length in [3, 100_000_000, 100_000_001, u64::MAX] {
        bytes[..8].copy_from_slice(&length.to_le_bytes());
        let sentence = refusal("x", &bytes);
        assert_eq!(
            sentence,
            format!("the header is said to take {length} bytes, and 2 can be at byte 0x0")
        );
    }
    bytes[..8].copy_from_slice(&1_u64.to_le_bytes());
    assert!(refusal("x", &bytes).ends_with("unexpected end at byte 0x8"));
}

#[test]
fn more_dimensions_than_can_be() {
    let shape = |rank: usize| format!("[{}]", vec!["1"; rank].join(","));
    assert!(open("x", &one("U8", &shape(64), 1)).is_ok());
    assert!(refusal("x", &one("U8", &shape(65), 1)).contains("64 dimensions"));
}
