use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;
use std::path::Path;

use crate::element::StorageType;
use crate::error::{Error, ErrorKind, Misuse};
use crate::finding::Finding;
use crate::formats::gguf::types::Type;
use crate::formats::{Block, Rule};
use crate::layout::State;
use crate::limits::OpenOptions;
use crate::verify::check;

use super::archive::Noted;
use super::{FormatDType, START, brief, read, rejection};

use zten_corpus::other::gguf::big_endian;
pub(super) use zten_corpus::other::gguf::{file, info, pair, text};

/// Returns the attributes of a file with the one key `k`, as CBOR without the head and the key. `kind` is the type of the
/// value, and `value` its bytes.
fn value(kind: u32, value: &[u8]) -> Vec<u8> {
    let (attributes, tensors) = read("x", &file(&[pair("k", kind, value)], &[], &[])).unwrap();
    assert!(tensors.is_empty());
    attributes.strip_prefix(b"\xa1\x61k").unwrap().to_vec()
}

/// Returns the bytes of an array of `length` elements of the type `kind`.
fn array(kind: u32, length: u64, elements: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &length.to_le_bytes(), elements].concat()
}

/// Returns the bytes of `depth` nested arrays, of which the innermost is empty.
fn nest(depth: usize) -> Vec<u8> {
    let mut bytes = array(0, 0, &[]);
    for _ in 1..depth {
        bytes = array(9, 1, &bytes);
    }
    bytes
}

#[test]
fn every_type_of_value() {
    for (kind, bytes, wanted) in [
        (0, &[200][..], &[0x18, 200][..]),
        (1, &[0xff], &[0x20]),
        (2, &[0x60, 0xea], &[0x19, 0xea, 0x60]),
        (3, &[0x00, 0x80], &[0x39, 0x7f, 0xff]),
        (4, &[1, 0, 0, 0], &[1]),
        (5, &[0xff, 0xff, 0xff, 0x7f], &[0x1a, 0x7f, 0xff, 0xff, 0xff]),
        (6, &[0, 0, 0x80, 0x3f], &[0xf9, 0x3c, 0]),
        (6, &[0, 0, 0xc0, 0x7f], &[0xf9, 0x7e, 0]),
        (6, &[1, 0, 0xc0, 0x7f], &[0xfa, 0x7f, 0xc0, 0, 1]),
        (6, &[0, 0x20, 0x80, 0xff], &[0xf9, 0xfc, 1]),
        (12, &[1, 0, 0, 0, 0, 0, 0xf0, 0x7f], &[0xfb, 0x7f, 0xf0, 0, 0, 0, 0, 0, 1]),
        (7, &[0], &[0xf4]),
        (7, &[1], &[0xf5]),
        (8, b"\x02\0\0\0\0\0\0\0hi", b"\x62hi"),
        (9, &array(8, 0, &[]), &[0x80]),
        (9, &array(1, 3, &[1, 2, 0xfe]), &[0x83, 1, 2, 0x21]),
        (10, &[0xff; 8], &[0x1b, 255, 255, 255, 255, 255, 255, 255, 255]),
        (11, &[0xff; 8], &[0x20]),
        (12, &1.5_f64.to_le_bytes(), &[0xf9, 0x3e, 0]),
    ] {
        assert_eq!(value(kind, bytes), wanted, "{kind} {bytes:?}");
    }
}

#[test]
fn arrays_within_arrays() {
    let bytes = array(9, 3, &[array(0, 2, &[1, 2]), array(8, 0, &[]), array(7, 1, &[1])].concat());
    assert_eq!(value(9, &bytes), [0x83, 0x82, 1, 2, 0x80, 0x81, 0xf5]);
    assert_eq!(value(9, &nest(16)).len(), 16);
    assert!(rejection("x", &file(&[pair("k", 9, &nest(17))], &[], &[])).contains("16 deep"));
    // An array that is nested far deeper than the limit is rejected, too: parsing does not recurse, so it does not
    // overflow the call stack.
    let deep = file(&[pair("k", 9, &nest(100_000))], &[], &[]);
    assert!(rejection("x", &deep).contains("16 deep"));
}

#[test]
fn values_that_are_rejected() {
    for (kind, bytes, why) in [
        (13, &[0; 8][..], "\"k\": unknown value type 13 at byte 0x25"),
        (9, &array(13, 0, &[]), "unknown value type 13"),
        (7, &[2], "\"k\": a bool is neither 0 nor 1"),
        (9, &array(7, 2, &[1, 3]), "neither 0 nor 1"),
        (8, &u64::MAX.to_le_bytes(), "\"k\": the file ends before its header does"),
        (9, &array(0, u64::MAX, &[1]), "the file ends before its header does"),
        (9, &array(9, u64::MAX, &nest(3)), "the file ends before its header does"),
    ] {
        let sentence = rejection("x", &file(&[pair("k", kind, bytes)], &[], &[]));
        assert!(sentence.contains(why), "{sentence}");
    }
}

#[test]
fn keys_are_in_order_and_there_once() {
    let pairs = ["long", "b", "a"].map(|key| pair(key, 7, &[1]));
    let (attributes, _) = read("x", &file(&pairs, &[], &[])).unwrap();
    assert_eq!(attributes, b"\xa3\x61a\xf5\x61b\xf5\x64long\xf5");
    let pairs = ["a", "b", "a"].map(|key| pair(key, 7, &[1]));
    assert!(rejection("x", &file(&pairs, &[], &[])).contains("duplicate metadata key \"a\""));
    let mut bytes = file(&[pair("key", 7, &[1])], &[], &[]);
    let at = bytes.windows(3).position(|window| window == b"key").unwrap();
    bytes[at] = 0xff;
    assert!(rejection("x", &bytes).contains("a key of the metadata is not UTF-8 at byte 0x18"));
}

#[test]
fn every_type_of_tensor() {
    for (id, storage) in [
        (0, StorageType::F32),
        (1, StorageType::F16),
        (24, StorageType::I8),
        (25, StorageType::I16),
        (26, StorageType::I32),
        (27, StorageType::I64),
        (28, StorageType::F64),
        (30, StorageType::Bf16),
    ] {
        let data: Vec<u8> = (0..6 * storage.width()).collect();
        let bytes = file(&[], &[info("t", &[3, 2], id, 0)], &data);
        let (_, tensors) = read("x", &bytes).unwrap();
        assert_eq!(tensors, [("t".to_owned(), vec![2, 3], FormatDType::Plain(storage), data)]);
    }
    let mut blocks = 0;
    for id in 0..100 {
        let Type::Blocks(block) = Type::of(id) else { continue };
        blocks += 1;
        let data: Vec<u8> =
            (0..=u8::MAX).cycle().take(usize::try_from(6 * block.bytes).unwrap()).collect();
        let bytes = file(&[], &[info("t", &[2 * block.elements, 3], id, 0)], &data);
        let (_, tensors) = read("x", &bytes).unwrap();
        let shape = vec![3, 2 * block.elements];
        assert_eq!(
            tensors,
            [("t".to_owned(), shape, FormatDType::Plain(StorageType::U8), data.clone())]
        );
        let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
        let tensor = archive.tensor("t").unwrap();
        assert_eq!(tensor.layout_name(), format!("gguf.{}", block.name.to_ascii_lowercase()));
        assert_eq!(Block::of(&tensor), Some(block));
        for dimensions in [&[block.elements + 1, block.elements][..], &[1, block.elements], &[]] {
            let sentence = rejection("x", &file(&[], &[info("t", dimensions, id, 0)], &data));
            assert!(sentence.contains(&format!("whole blocks of {}", block.name)));
        }
    }
    assert_eq!(blocks, 26);
}

#[test]
fn tensors_of_unknown_types_are_unread() {
    for id in [4, 5, 9, 31, 43, 137, u32::MAX] {
        // The tensors are described in another order than their data lies.
        let infos = [
            info("last", &[7], id, 96),
            info("first", &[3], 24, 0),
            info("between", &[1 << 62, 1 << 62], id, 32),
            info("second", &[1], 0, 64),
        ];
        let mut data = vec![0; 104];
        data[..3].copy_from_slice(&[1, 2, 3]);
        data[32..64].fill(9);
        data[64..68].copy_from_slice(&1.5_f32.to_le_bytes());
        let bytes = file(&[], &infos, &data);
        let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
        let tensor = |name| archive.tensor(name).unwrap();
        assert_eq!(tensor("first").to_vec::<i8>().unwrap(), [1, 2, 3]);
        assert_eq!(tensor("second").to_vec::<f32>().unwrap(), [1.5]);
        let start = u64::try_from(bytes.len() - data.len()).unwrap();
        for (name, range) in [("between", 32..64), ("last", 96..104)] {
            let unread = tensor(name);
            assert_eq!(unread.state(), State::Unread(Rule::GgufTensorType.into()));
            let component = unread.component("data").unwrap();
            assert_eq!(component.extent().range(), start + range.start..start + range.end);
            assert!(component.type_name().starts_with(&format!("ggml type {id}")));
            let error = component.reader().unwrap_err();
            assert_eq!((error.kind(), error.tensor()), (Rule::GgufTensorType.into(), Some(name)));
        }
        assert_eq!(archive.verify().unwrap_err().kind(), Rule::GgufTensorType);
        // The data of a tensor of an unknown type must begin within the file, and not within another tensor.
        for offset in [128, 64] {
            let infos = [info("first", &[17], 0, 0), info("t", &[1], id, offset)];
            assert!(OpenOptions::default().from_bytes(&*file(&[], &infos, &[0; 68])).is_err());
        }
    }
}

#[test]
fn versions() {
    let valid = file(&[], &[info("t", &[1], 24, 0)], &[7]);
    for (version, why) in [
        (2_u32, ""),
        (3, ""),
        (1, "version 1 "),
        (0, "version 0 "),
        (4, "version 4 "),
        (4_u32.swap_bytes(), "version 4 "),
        // A version in big-endian order means that the counts after it are big-endian, too. Read so, the little-endian
        // counts of this file are too large for the file.
        (3_u32.swap_bytes(), "the file ends before its header does"),
    ] {
        let mut bytes = valid.clone();
        bytes[4..8].copy_from_slice(&version.to_le_bytes());
        match why {
            "" => assert_eq!(read("x", &bytes).unwrap().1[0].3, [7]),
            _ => assert!(rejection("x", &bytes).contains(why), "{version}"),
        }
    }
}

#[test]
fn alignment() {
    let tensor = info("t", &[1], 24, 0);
    for alignment in [8_u32, 16, 32, 64, 4096, 1 << 20] {
        let pairs = [pair("general.alignment", 4, &alignment.to_le_bytes())];
        let mut bytes = file(&pairs, std::slice::from_ref(&tensor), &[]);
        let header = 24 + pairs[0].len() + tensor.len();
        bytes.resize(header.next_multiple_of(alignment as usize), 0);
        assert!(rejection("x", &bytes).contains("beyond the end of the file"));
        bytes.push(7);
        assert_eq!(read("x", &bytes).unwrap().1[0].3, [7]);
    }
    for (kind, value) in [
        (4, &[0, 0, 0, 0][..]),
        (4, &[1, 0, 0, 0]),
        (4, &[4, 0, 0, 0]),
        (4, &[24, 0, 0, 0]),
        (4, &[48, 0, 0, 0]),
        (10, &[32, 0, 0, 0, 0, 0, 0, 0]),
    ] {
        let pairs = [pair("general.alignment", kind, value)];
        let sentence = rejection("x", &file(&pairs, &[], &[]));
        let wanted =
            if kind == 4 { "expected a power of two, at least 8" } else { "is not of type u32" };
        assert!(
            sentence.starts_with("general.alignment ") && sentence.contains(wanted),
            "{sentence}"
        );
    }
    let sentence = rejection("x", &file(&[], &[info("t", &[1], 24, 16)], &[0; 32]));
    assert!(
        sentence.contains("\"t\" begins at data offset 16, which is not a multiple of 32"),
        "{sentence}"
    );
}

#[test]
fn places() {
    let data = [0; 64];
    let with = |a: (u64, u64), b: (u64, u64), data: &[u8]| {
        file(&[], &[info("a", &[a.1], 24, a.0), info("b", &[b.1], 24, b.0)], data)
    };
    let two = |a, b| with(a, b, &data);
    let (_, tensors) = read("x", &two((32, 32), (0, 32))).unwrap();
    assert_eq!([&tensors[0].0, &tensors[1].0], ["a", "b"]);
    // An empty tensor shares no bytes with other tensors, wherever it lies.
    assert!(read("x", &two((0, 64), (32, 0))).is_ok());
    assert!(read("x", &with((1 << 40, 0), (0, 0), &[])).is_ok());
    assert!(read("x", &with((u64::MAX - 31, 0), (0, 0), &[])).is_ok());
    for (bytes, why) in [
        (two((0, 33), (32, 1)), "\"b\" shares data with \"a\" at byte 0x80"),
        (two((0, 32), (0, 32)), "shares data"),
        (two((0, 65), (0, 0)), "has 65 bytes at data offset 0, beyond the end of the file"),
        (two((64, 1), (0, 0)), "beyond the end of the file"),
        (two((u64::MAX - 31, 1), (0, 0)), "has 1 byte at data offset 18446744073709551584, beyond"),
        (two((0, u64::MAX), (0, 0)), "beyond the end of the file"),
        (
            file(&[], &[info("a", &[1 << 40, 1 << 40], 24, 0)], &data),
            "has more bytes than 64 bits can count",
        ),
        (
            file(&[], &[info("a", &[1 << 63], 25, 0)], &data),
            "\"a\" has more bytes than 64 bits can count",
        ),
        (
            file(&[], &[info("a", &[1; 9], 24, 0)], &data),
            "\"a\" has 9 dimensions, expected at most 8",
        ),
        (file(&[], &[info("a", &[1; 65], 24, 0)], &data), "has 65 dimensions, expected"),
        (
            file(&[], &[info("a", &[1], 24, 0), info("a", &[1], 24, 32)], &data),
            "duplicate tensor name",
        ),
    ] {
        let sentence = rejection("x", &bytes);
        assert!(sentence.contains(why), "{sentence}");
    }
}

#[test]
fn no_byte_belongs_to_no_tensor() {
    let build = |offset: u64, data: &[u8]| {
        file(&[], &[info("a", &[5], 24, 0), info("b", &[3], 24, offset)], data)
    };
    let mut data = [0; 64];
    data[..5].fill(7);
    data[32..35].fill(8);
    // The padding after the last tensor, up to byte 64 of the data, may be missing or cut.
    for end in 35..=64 {
        let (_, tensors) = read("x", &build(32, &data[..end])).unwrap();
        assert_eq!((&*tensors[0].3, &*tensors[1].3), (&[7; 5][..], &[8; 3][..]));
    }
    for at in (5..32).chain(35..64) {
        let mut data = data;
        data[at] = 1;
        let bytes = build(32, &data);
        let place = bytes.len() - 64 + at;
        let wanted = format!("a byte of padding is not zero at byte {place:#x}");
        assert_eq!(rejection("x", &bytes), wanted);
    }
    let sentence = rejection("x", &build(32, &[&data[..], &[0]].concat()));
    assert!(sentence.contains("1 byte follows the last tensor"), "{sentence}");
    let far = [&data[..32], &[0; 32], &data[32..]].concat();
    assert!(rejection("x", &build(64, &far)).starts_with("\"b\" begins at data offset "));
    // A nonzero byte between the header and the data is not padding either.
    let bytes = build(32, &data);
    let header = 24 + 2 * info("a", &[5], 24, 0).len();
    assert!(!header.is_multiple_of(32));
    for at in header..header.next_multiple_of(32) {
        let mut bytes = bytes.clone();
        bytes[at] = 1;
        assert!(rejection("x", &bytes).contains("padding is not zero"), "{at}");
    }
}

#[test]
fn more_keys_than_can_be() {
    let keys = |count: usize| {
        let pairs: Vec<_> = (0..count).map(|at| pair(&at.to_string(), 7, &[1])).collect();
        file(&pairs, &[], &[])
    };
    assert!(read("x", &keys(4096)).is_ok());
    assert!(rejection("x", &keys(4097)).contains("has 4097 keys, which exceeds the limit of 4096"));
}

#[test]
fn texts_are_utf_8() {
    for (bad, place) in [(&b"\xff"[..], 0x25), (b"a\xc3", 0x25)] {
        let sentence = rejection("x", &file(&[pair("k", 8, &text(bad))], &[], &[]));
        assert_eq!(sentence, format!("\"k\": a string is not UTF-8 at byte {place:#x}"));
        let elements = array(8, 2, &[text("ok"), text(bad)].concat());
        let sentence = rejection("x", &file(&[pair("k", 9, &elements)], &[], &[]));
        assert_eq!(sentence, format!("\"k\": a string is not UTF-8 at byte {:#x}", place + 22));
    }
    let mut bytes = file(&[], &[info("t", &[0], 24, 0)], &[]);
    bytes[0x20] = 0xff;
    assert_eq!(rejection("x", &bytes), "the name of a tensor is not UTF-8 at byte 0x18");
}

#[test]
fn keys_have_a_length() {
    assert!(read("x", &file(&[pair(&"k".repeat(65535), 7, &[1])], &[], &[])).is_ok());
    let found = findings(&file(&[pair("k", 7, &[1]), pair("", 7, &[1])], &[], &[]));
    let wanted = "invalid key of 0 bytes: expected 1 to 65535 at byte 0x26".to_owned();
    assert_eq!(found, [("gguf-key", wanted, 0)]);
    let found = findings(&file(&[pair(&"k".repeat(65536), 7, &[1])], &[], &[]));
    let wanted = "invalid key of 65536 bytes: expected 1 to 65535 at byte 0x18".to_owned();
    assert_eq!(found, [("gguf-key", wanted, 0)]);
}

/// Opens `bytes`, and returns the rule, the text and the number of further findings for each finding.
fn findings(bytes: &[u8]) -> Vec<(&'static str, String, u64)> {
    let archive = OpenOptions::default().from_bytes(bytes).unwrap();
    let found = archive.findings().iter();
    found.map(|found| (found.error().rule().unwrap(), brief(found.error()), found.more())).collect()
}

/// Opens a file with the metadata `pairs`, of which the last has the key `key`, checks that a check of the file reports the
/// same error, and returns the sentence and the offset of the only finding. The offset is counted from the end of the last key.
fn of_last(pairs: &[Vec<u8>], key: &str) -> (String, u64) {
    let bytes = file(pairs, &[], &[]);
    let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
    let [found] = archive.findings() else { panic!("{key}: {:?}", archive.findings()) };
    let error = found.error();
    assert!(matches!(error.kind(), ErrorKind::Invalid(_)), "{error}");
    // A check of the open file reports the same error as opening.
    let report = check(&archive, &mut ());
    let fault = report.fault().unwrap();
    assert!(fault.is_of_opening());
    assert_eq!(fault.error().rule(), error.rule());
    let before = pairs[..pairs.len() - 1].iter().map(Vec::len).sum::<usize>();
    let start = u64::try_from(24 + before + 8 + key.len()).unwrap();
    let finding = Finding::from_error(error);
    assert_eq!(finding.object.as_deref(), Some(key), "{error}");
    // The sentence of a violation of a key begins with the key.
    let sentence = finding.sentence.strip_prefix(&format!("{key} ")).unwrap_or(&finding.sentence);
    (sentence.to_owned(), finding.offset.unwrap() - start)
}

#[test]
fn values_that_loaders_rely_on() {
    let tokens = array(8, 2, &[text("a"), text("b")].concat());
    let (i32s, u8s) = (array(5, 3, &[0; 12]), array(0, 2, &[1, 2]));
    let kv = array(5, 3, &[&[1, 0, 0, 0, 0, 0, 0, 0][..], &[0xff; 4]].concat());
    let used = array(4, 3, &[1, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0]);
    for (key, kind, value, sentence, at) in [
        ("tokenizer.ggml.scores", 9, &i32s, "has the type array of i32, expected array of f32", 0),
        (
            "tokenizer.ggml.merges",
            8,
            &text("a"),
            "has the type string, expected array of string",
            0,
        ),
        (
            "tokenizer.ggml.token_type",
            9,
            &u8s,
            "has the type array of u8, expected array of i32 or",
            0,
        ),
        ("tokenizer.ggml.token_type", 9, &i32s, "has 3 elements, expected 2, one for each", 0),
        ("tokenizer.ggml.eos_token_id", 0, &vec![2], "is 2, expected a number below 2", 4),
        ("tokenizer.ggml.bos_token_id", 11, &vec![0x80; 8], "is -9187201950435737472, ", 4),
        ("tokenizer.ggml.eos_token_ids", 9, &u8s, "is 2, expected a number below 2", 17),
        ("llama.block_count", 10, &vec![0xff; 8], "is 18446744073709551615, expected 1 to", 4),
        ("llama.block_count", 6, &vec![0; 4], "has the type f32, expected an integer", 0),
        ("llama.block_count", 9, &i32s, "has the type array of i32, expected an integer", 0),
        ("llama.attention.head_count", 9, &i32s, "is 0, expected 1 to 2147483647", 16),
        ("llama.attention.head_count_kv", 9, &kv, "is -1, expected 1 to 2147483647", 24),
        ("llama.expert_used_count", 2, &vec![4, 0], "is 4, expected 1 to 3, the number of", 4),
        ("llama.expert_used_count", 2, &vec![0, 0], "is 0, expected 1 to 3", 4),
        ("llama.expert_used_count", 9, &used, "is 4, expected 1 to 3", 20),
    ] {
        let pairs = [
            pair("llama.expert_count", 0, &[3]),
            pair("general.architecture", 8, &text("llama")),
            pair("tokenizer.ggml.tokens", 9, &tokens),
            pair(key, kind, value),
        ];
        let (found, place) = of_last(&pairs, key);
        assert!(found.starts_with(sentence) && place == at, "{key}: {found} at {place}");
    }
    let key = "general.architecture";
    let wanted = ("has the type i8, expected a string".to_owned(), 0);
    assert_eq!(of_last(&[pair(key, 1, &[1])], key), wanted);
    // The error points at the text of the token, wherever the array of token types lies.
    let types = pair("tokenizer.ggml.token_type", 9, &array(5, 2, &[6, 0, 0, 0, 6, 0, 0, 0]));
    let texts = array(8, 2, &[text("<0x0A>"), text("<0x-1>")].concat());
    let tokens = "tokenizer.ggml.tokens";
    let sentence = "invalid byte token \"<0x-1>\": expected two hexadecimal digits".to_owned();
    assert_eq!(of_last(&[types, pair(tokens, 9, &texts)], tokens), (sentence, 16 + 14));
}

#[test]
fn names_have_a_length() {
    for name in ["n".repeat(64), "é".repeat(32), "n".repeat(65), "é".repeat(127)] {
        let bytes = file(&[], &[info(&name, &[1], 24, 0)], &[7]);
        assert_eq!(read("x", &bytes).unwrap().1[0].0, name);
    }
    let bytes = file(&[], &[info(&"é".repeat(128), &[1], 24, 0)], &[7]);
    assert!(rejection("x", &bytes).contains(" has a name of 256 bytes, expected at most 255"));
}

/// Checks that tensors that the default build of ggml refuses are valid, and that the file has one note about them, which names
/// the first and counts the others.
#[test]
fn the_first_tensor_that_ggml_refuses_is_noted() {
    let long = "n".repeat(65);
    let infos = [
        info("a", &[2, 1, 1, 1], 24, 0),
        info("b", &[1, 2, 1, 1, 3], 24, 32),
        info(&long, &[1], 24, 64),
        info("c", &[1; 8], 24, 96),
    ];
    let bytes = file(&[], &infos, &[0; 97]);
    let at = 24 + infos[0].len();
    let sentence = "\"b\" has 5 dimensions, more than the 4 that the specification allows";
    let wanted = format!("{sentence} at byte {at:#x}");
    assert_eq!(findings(&bytes), [("gguf-limits", wanted, 2)]);
    let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
    assert_eq!(archive.tensor("b").unwrap().shape(), [3, 1, 1, 2, 1]);
    assert!(archive.verify().is_ok());
    let bytes = file(&[], &[info(&long, &[1], 24, 0)], &[7]);
    let sentence = "has a name of 65 bytes, more than the 64 that the specification allows";
    let wanted = format!("\"{long}\" {sentence} at byte 0x18");
    let [(rule, text, more)] = &findings(&bytes)[..] else { panic!("no note") };
    assert_eq!((*rule, *more), ("gguf-limits", 0));
    assert!(text.ends_with(" that the specification allows at byte 0x18"), "{text} {wanted}");
}

/// Checks that one file may break several rules about metadata values, and still opens. An architecture or tokens of another
/// type are reported, and are not used to check other values.
#[test]
fn all_rules_of_meaning_are_found() {
    let tokens = array(8, 1, &text("<0x-1>"));
    let types = pair("tokenizer.ggml.token_type", 9, &array(5, 1, &[6, 0, 0, 0]));
    let pairs = [
        pair("general.architecture", 8, &text("llama")),
        pair("llama.block_count", 4, &[0; 4]),
        pair("llama.embedding_length", 4, &[0; 4]),
        pair("tokenizer.ggml.tokens", 9, &tokens),
        types,
        pair("tokenizer.ggml.eos_token_id", 4, &[1, 0, 0, 0]),
        pair("tokenizer.ggml.scores", 9, &array(5, 2, &[0; 8])),
        pair("", 7, &[1]),
    ];
    let bytes = file(&pairs, &[info("a", &[1], 24, 0)], &[7]);
    let rules: Vec<_> = findings(&bytes).into_iter().map(|(rule, _, more)| (rule, more)).collect();
    let wanted = [
        ("gguf-count", 1),
        ("gguf-token-id", 0),
        ("gguf-tokenizer-type", 0),
        ("gguf-key", 0),
        ("gguf-byte-token", 0),
    ];
    assert_eq!(rules, wanted);
    assert_eq!(read("x", &bytes).unwrap().1[0].3, [7]);
    // An architecture that is not a string, and token arrays of other types, are reported and then ignored.
    let pairs = [
        pair("general.architecture", 9, &array(8, 1, &text("llama"))),
        pair("tokenizer.ggml.tokens", 9, &array(0, 2, &[1, 2])),
        pair("tokenizer.ggml.token_type", 9, &array(5, 3, &[6; 12])),
    ];
    let rules: Vec<_> =
        findings(&file(&pairs, &[], &[])).into_iter().map(|(rule, _, more)| (rule, more)).collect();
    let wanted =
        [("gguf-architecture", 0), ("gguf-tokenizer-type", 0), ("gguf-tokenizer-length", 0)];
    assert_eq!(rules, wanted);
}

#[test]
fn big_endian_metadata_is_that_of_little_endian_files() {
    let (swapped, text) = (big_endian::pair("k", 2, &[0x12, 0x34]), big_endian::text("hi"));
    let list =
        [&5_u32.to_be_bytes()[..], &2_u64.to_be_bytes(), &[0, 0, 1, 0, 0xff, 0xff, 0xff, 0xfe]];
    for (pairs, wanted) in [
        (swapped, &[0x19, 0x12, 0x34][..]),
        (big_endian::pair("k", 0, &[200]), &[0x18, 200]),
        (big_endian::pair("k", 1, &[0xff]), &[0x20]),
        (big_endian::pair("k", 3, &[0x80, 0]), &[0x39, 0x7f, 0xff]),
        (big_endian::pair("k", 4, &[0, 0, 0, 1]), &[1]),
        (big_endian::pair("k", 5, &[0xff; 4]), &[0x20]),
        (big_endian::pair("k", 6, &1.5_f32.to_be_bytes()), &[0xf9, 0x3e, 0]),
        (big_endian::pair("k", 7, &[1]), &[0xf5]),
        (big_endian::pair("k", 8, &text), b"\x62hi"),
        (big_endian::pair("k", 9, &list.concat()), &[0x82, 0x19, 1, 0, 0x21]),
        (big_endian::pair("k", 10, &[0, 0, 0, 0, 0, 0, 1, 0]), &[0x19, 1, 0]),
        (big_endian::pair("k", 11, &(-2_i64).to_be_bytes()), &[0x21]),
        (big_endian::pair("k", 12, &1.5_f64.to_be_bytes()), &[0xf9, 0x3e, 0]),
    ] {
        let (attributes, tensors) = read("x", &big_endian::file(&[pairs], &[], &[])).unwrap();
        assert!(tensors.is_empty());
        assert_eq!(attributes.strip_prefix(b"\xa1\x61k").unwrap(), wanted);
    }
    // A big-endian file of version 2 is read, too.
    let mut bytes = big_endian::file(&[], &[], &[]);
    bytes[7] = 2;
    assert!(read("x", &bytes).is_ok());
}

#[test]
fn big_endian_elements_are_those_of_little_endian_files() {
    for (id, width) in [(0, 4), (1, 2), (24, 1), (25, 2), (26, 4), (27, 8), (28, 8), (30, 2)] {
        let little: Vec<u8> = (1..=6 * u8::try_from(width).unwrap()).collect();
        let mut big = little.clone();
        big.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        let bytes = big_endian::file(&[], &[big_endian::info("t", &[3, 2], id, 0)], &big);
        let tensors = read("x", &bytes).unwrap().1;
        assert_eq!((&tensors[0].1[..], &tensors[0].3), (&[2, 3][..], &little), "{id}");
    }
}

/// Checks that big-endian blocks are decoded to little-endian blocks, and that blocks whose byte order is not defined are
/// opaque.
#[test]
fn big_endian_blocks_are_swapped_or_opaque() {
    // The offsets of half-precision floats in blocks. Blocks that consist of single bytes have none.
    let fields = |name: &str| -> Option<&'static [usize]> {
        Some(match name {
            "Q4_0" | "Q8_0" | "IQ4_NL" => &[0],
            "Q4_1" | "Q4_K" | "Q5_K" => &[0, 2],
            "Q2_K" => &[80, 82],
            "Q3_K" => &[108],
            "Q6_K" => &[208],
            "TQ1_0" => &[52],
            "TQ2_0" => &[64],
            "MXFP4" | "NVFP4" => &[],
            _ => return None,
        })
    };
    let mut swapped = 0;
    for id in 0..100 {
        let Type::Blocks(block) = Type::of(id) else { continue };
        let size = usize::try_from(block.bytes).unwrap();
        let little: Vec<u8> = (0..=250).cycle().take(3 * size).collect();
        let shape = [block.elements, 3];
        let offsets = fields(block.name);
        let mut big = little.clone();
        for bytes in big.chunks_exact_mut(size) {
            offsets.iter().copied().flatten().for_each(|at| bytes[*at..at + 2].reverse());
        }
        let bytes = big_endian::file(&[], &[big_endian::info("t", &shape, id, 0)], &big);
        let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
        let tensor = archive.tensor("t").unwrap();
        archive.verify().unwrap();
        let component = tensor.component("data").unwrap();
        // The swapped bytes are the same if they are decoded in chunks of up to seven bytes.
        let mut reader = component.reader().unwrap();
        let (mut read, mut room) = (Vec::new(), [0; 7]);
        while let length @ 1.. = reader.read_chunk(&mut room).unwrap() {
            read.extend_from_slice(&room[..length]);
        }
        if offsets.is_none() {
            let layout = format!("gguf.{}.big_endian", block.name.to_ascii_lowercase());
            assert_eq!((tensor.layout_name(), Block::of(&tensor)), (&*layout, None));
            assert_eq!((read, Block::of_layout(&tensor)), (big, None));
            let error = tensor.to_f32().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Misuse(Misuse::Layout), "{}", block.name);
            continue;
        }
        swapped += 1;
        assert_eq!((read, Block::of(&tensor)), (little.clone(), Some(block)));
        assert_eq!(component.read().unwrap().to_vec(), little);
        assert_eq!(component.read().unwrap().to_vec(), little);
        let is_lent = offsets == Some(&[]);
        assert_eq!(component.view().is_ok(), is_lent, "{}", block.name);
        let wanted = file(&[], &[info("t", &shape, id, 0)], &little);
        let wanted = OpenOptions::default().from_bytes(&*wanted).unwrap();
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let wanted = wanted.tensor("t").unwrap().to_f32().unwrap();
        assert_eq!(bits(tensor.to_f32().unwrap()), bits(wanted), "{}", block.name);
    }
    assert_eq!(swapped, 13);
}

/// Checks that a split model may be big-endian.
#[cfg(feature = "parts")]
#[test]
fn big_endian_files_may_be_split() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/other/gguf/accept");
    let archive = super::open(&folder.join("big-00001-of-00002.gguf")).unwrap();
    for (name, value) in [("a", 0.5_f32), ("b", 1.5)] {
        assert_eq!(archive.tensor(name).unwrap().to_vec::<f32>().unwrap(), [value]);
    }
}

/// Opens a file with `limits` from memory and from a source, checks that both have the same result, and returns the number of
/// its tensors, or the id of the rule that it breaks.
fn open_within(bytes: &[u8], limits: &[(&str, u64)]) -> Result<usize, &'static str> {
    let limits =
        limits.iter().fold(OpenOptions::default().limit().to_owned(), |limits, (name, most)| {
            limits.with_named(name, *most).unwrap()
        });
    let options = OpenOptions::default().limits(limits);
    let length = u64::try_from(bytes.len()).unwrap();
    let id = |error: Error| error.rule().unwrap();
    let borrowed = options.from_bytes(bytes).map(|archive| archive.len()).map_err(id);
    let source = options.open_named(Noted::new(bytes), length, Path::new("x"));
    assert_eq!(source.map(|archive| archive.len()).map_err(id), borrowed);
    borrowed
}

#[test]
fn limits_hold() {
    let long = pair("k", 8, &text("x".repeat(100_000)));
    let header = 24 + long.len();
    let bytes = file(&[long], &[], &[]);
    assert_eq!(open_within(&bytes, &[("manifest", header as u64)]), Ok(0));
    assert_eq!(open_within(&bytes, &[("manifest", header as u64 - 1)]), Err("limit-manifest"));
    assert_eq!(open_within(&bytes, &[("manifest", 1000)]), Err("limit-manifest"));
    // The array has 1000 numbers of one byte. Each number above 23 takes two bytes in CBOR, so the manifest exceeds the
    // limit of 1900 bytes.
    let bytes = file(&[pair("k", 9, &array(0, 1000, &[200; 1000]))], &[], &[]);
    assert_eq!(open_within(&bytes, &[("manifest", 1900)]), Err("limit-manifest"));
    assert_eq!(open_within(&bytes, &[("depth", 6)]), Ok(0));
    let bytes = file(&[pair("k", 9, &nest(7))], &[], &[]);
    assert_eq!(open_within(&bytes, &[("depth", 6)]), Err("limit-depth"));
    let bytes = file(&[], &[info("a", &[1, 1, 1], 24, 0)], &[7]);
    assert_eq!(open_within(&bytes, &[("rank", 3)]), Ok(1));
    assert_eq!(open_within(&bytes, &[("rank", 2)]), Err("limit-rank"));
    // Reading must not follow the length that a header claims beyond the end of the file.
    let mut bytes = file(&[pair("k", 8, &text("x"))], &[], &[]);
    bytes[37..45].copy_from_slice(&(200_u64 << 20).to_le_bytes());
    assert_eq!(open_within(&bytes, &[]), Err("gguf-truncated"));
    bytes.resize(START, 0);
    let source = Noted::new(&bytes);
    let error = OpenOptions::default().open_named(source, 1 << 40, Path::new("x")).unwrap_err();
    assert_eq!(error.rule().unwrap(), Rule::LimitHeader.row().id());
}

/// Checks that a GGUF header, which does not tell its own length, is found by doubling the number of bytes that are read, and
/// that of the data only the padding is read.
#[test]
fn a_source_is_read_as_far_as_the_header_goes() {
    let ranges = |header: usize, elements: u64| {
        let filling = pair("k", 8, &text("x".repeat(header)));
        let mut data = vec![7; usize::try_from(elements).unwrap()];
        data.resize(data.len().next_multiple_of(32), 0);
        let bytes = file(&[filling], &[info("t", &[elements], 24, 0)], &data);
        let length = u64::try_from(bytes.len()).unwrap();
        let source = Noted::new(&bytes);
        let archive = OpenOptions::default().open_named(source, length, Path::new("x")).unwrap();
        (archive.source().ranges.lock().unwrap().clone(), length)
    };
    assert_eq!(ranges(0, 200_000).0, [(0, 8), (8, 512)]);
    // The ten bytes of padding at the end of the file are read, too, because they must be zero.
    let (read, length) = ranges(0, 199_990);
    assert_eq!(read, [(0, 8), (8, 512), (length - 10, length)]);
    let (read, _) = ranges(100_000, 200_000);
    assert_eq!(read[2..], [(512, 32 << 10), (32 << 10, 64 << 10), (64 << 10, 128 << 10)]);
}

#[test]
fn counts_cost_nothing() {
    for at in [8, 16] {
        let mut bytes = file(&[], &[], &[]);
        bytes[at..at + 8].fill(0xff);
        let why = if at == 8 { "the file ends before its header does" } else { "the metadata has" };
        assert!(rejection("x", &bytes).contains(why));
    }
    assert!(rejection("x", b"GGUF").contains("ends before"));
}
