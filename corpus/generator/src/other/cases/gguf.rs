//! Cases of the corpus about GGUF files.

use super::Cases;
use crate::other::gguf::{big_endian, file, info, pair, text};

const F32: u32 = 0;
const Q4_0: u32 = 2;
const Q5_0: u32 = 6;
const Q8_0: u32 = 8;
const I8: u32 = 24;
const I16: u32 = 25;
const MXFP4: u32 = 39;

/// Returns a key with a number of the type that `split.no` and `split.count` have.
fn number(key: &str, value: u16) -> Vec<u8> {
    pair(key, 2, &value.to_le_bytes())
}

/// Returns one file of a split GGUF model, with a tensor of 2 bytes called `name`. `own` is the number of the file,
/// `count` the number of files, and `tensors` the number of tensors in all files.
fn part(name: &str, (own, count): (u16, u16), tensors: i32) -> Vec<u8> {
    let tensors = pair("split.tensors.count", 5, &tensors.to_le_bytes());
    let pairs = [number("split.no", own), number("split.count", count), tensors];
    file(&pairs, &[info(name, &[2], I8, 0)], &[1, 2])
}

/// Adds cases about models that are split into several files.
fn several(cases: &mut Cases) {
    let first = part("a", (0, 2), 2);
    let second = part("b", (1, 2), 2);
    let name = |stem: &str, number: u8| format!("{stem}-0000{number}-of-00002.gguf");
    cases.accept("gguf", &name("two", 1), first.clone());
    cases.accept("gguf", &name("two", 2), second.clone());
    cases.accept("gguf", "one-00001-of-00001.gguf", part("a", (0, 1), 1));
    cases.accept("gguf", "last-of-two.gguf", second.clone());
    for (stem, one, other) in [
        ("number", first.clone(), part("b", (0, 2), 2)),
        ("count", first.clone(), part("b", (1, 3), 2)),
        ("tensors", part("a", (0, 2), 3), part("b", (1, 2), 3)),
        ("tensors-differ", first.clone(), part("b", (1, 2), 3)),
        (
            "no-tensors",
            first.clone(),
            file(
                &[number("split.no", 1), number("split.count", 2)],
                &[info("b", &[2], I8, 0)],
                &[1, 2],
            ),
        ),
        ("no-numbers", first.clone(), file(&[], &[info("b", &[2], I8, 0)], &[1, 2])),
    ] {
        cases.reject("gguf", ("gguf-split", &name(stem, 1)), one);
        cases.reject("gguf", ("", &name(&format!("gguf-split--{stem}"), 2)), other);
    }
    for (stem, pairs) in [
        ("no-number", vec![number("split.count", 2)]),
        ("no-count", vec![number("split.no", 0)]),
        ("beyond", vec![number("split.no", 2), number("split.count", 2)]),
        ("text", vec![number("split.no", 0), pair("split.count", 8, &text("2"))]),
    ] {
        let bytes = file(&pairs, &[info("a", &[2], I8, 0)], &[1, 2]);
        cases.reject("gguf", ("gguf-split", &format!("{stem}.gguf")), bytes);
    }
    cases.reject("gguf", ("gguf-split", "name.gguf"), first.clone());
    cases.reject("gguf", ("gguf-split-file", &name("missing", 1)), first.clone());
    cases.reject("gguf", ("gguf-duplicate-name", &name("in-two", 1)), first);
    let again = part("a", (1, 2), 2);
    cases.reject("gguf", ("", &name("gguf-duplicate-name--in-two", 2)), again);
}

/// Adds cases about big-endian files.
fn big_endian_files(cases: &mut Cases) {
    use big_endian::{file, info, pair, text};

    let floats: Vec<u8> = [1.0_f32, -2.5].iter().flat_map(|float| float.to_be_bytes()).collect();
    let counts: Vec<u8> = [1_i16, -2, 3].iter().flat_map(|count| count.to_be_bytes()).collect();
    let data = [&floats[..], &[0; 24], &counts, &[0; 26], &[1, 2, 3]].concat();
    let numbers = [5_u32.to_be_bytes().to_vec(), 2_u64.to_be_bytes().to_vec()].concat();
    let numbers = [numbers, 7_i32.to_be_bytes().to_vec(), (-8_i32).to_be_bytes().to_vec()].concat();
    let pairs = [
        pair("general.name", 8, &text("tiny")),
        pair("general.alignment", 4, &32_u32.to_be_bytes()),
        pair("half", 6, &0.5_f32.to_be_bytes()),
        pair("numbers", 9, &numbers),
    ];
    let infos =
        [info("floats", &[2], F32, 0), info("counts", &[3], I16, 32), info("bytes", &[3], I8, 64)];
    let valid = file(&pairs, &infos, &data);
    cases.accept("gguf", "big-endian.gguf", valid.clone());
    // Two blocks of Q4_0, whose scales are 1 and -2 as big-endian `f16`.
    let blocks = [&[0x3c, 0][..], &[0x98; 16], &[0xc0, 0], &[0x80; 16], &[0; 28]].concat();
    let bytes = [&[0x3c, 0][..], &(0..32).collect::<Vec<u8>>(), &[0; 30], &[127], &[0x31; 16]];
    let infos = [
        info("q4_0", &[64], Q4_0, 0),
        info("q8_0", &[32], Q8_0, 64),
        info("mxfp4", &[32], MXFP4, 128),
    ];
    let data = [blocks, bytes.concat()].concat();
    cases.accept("gguf", "big-endian-blocks.gguf", file(&[], &infos, &data));
    let opaque = file(&[], &[info("q5_0", &[32], Q5_0, 0)], &[7; 22]);
    cases.accept("gguf", "big-endian-opaque.gguf", opaque);
    for (own, name) in [(0_u16, "a"), (1, "b")] {
        let pairs = [
            pair("split.no", 2, &own.to_be_bytes()),
            pair("split.count", 2, &2_u16.to_be_bytes()),
            pair("split.tensors.count", 5, &2_i32.to_be_bytes()),
        ];
        let value = f32::from(own) + 0.5;
        let bytes = file(&pairs, &[info(name, &[1], F32, 0)], &value.to_be_bytes());
        cases.accept("gguf", &format!("big-0000{}-of-00002.gguf", own + 1), bytes);
    }
    let version = [b"GGUF", &[0, 0, 0, 4][..], &valid[8..]].concat();
    cases.reject("gguf", ("gguf-version", "big-endian-4.gguf"), version);
    let mut short = valid;
    short.truncate(short.len() - 1);
    cases.reject("gguf", ("gguf-bounds", "big-endian.gguf"), short);
    let tokens = [8_u32.to_be_bytes().to_vec(), 1_u64.to_be_bytes().to_vec(), text("a")].concat();
    let pairs = [
        pair("tokenizer.ggml.tokens", 9, &tokens),
        pair("tokenizer.ggml.eos_token_id", 4, &1_u32.to_be_bytes()),
    ];
    cases.reject("gguf", ("gguf-token-id", "big-endian.gguf"), file(&pairs, &[], &[]));
}

pub(super) fn all(cases: &mut Cases) {
    several(cases);
    big_endian_files(cases);
    let name = pair("general.name", 8, &text("tiny"));
    let first = info("a", &[2], F32, 0);
    let second = info("b", &[3], I8, 32);
    let data = [&[0; 32][..], &[1, 2, 3]].concat();
    let valid = file(std::slice::from_ref(&name), &[first.clone(), second.clone()], &data);
    let array =
        |elements: u32, length: u64| [&elements.to_le_bytes()[..], &length.to_le_bytes()].concat();
    let nested = |depth: usize| {
        let levels = array(9, 1).repeat(depth - 1);
        pair("k", 9, &[levels, array(0, 0)].concat())
    };
    let meta = |pairs: &[Vec<u8>]| file(pairs, &[], &[]);
    let alignment =
        |kind: u32, value: u32| meta(&[pair("general.alignment", kind, &value.to_le_bytes())]);
    let strings = |last: &[u8]| {
        let strings = [array(8, 2), text("ä"), text(last)].concat();
        meta(&[pair("k", 9, &strings)])
    };
    let named = |length: usize| file(&[], &[info(&"n".repeat(length), &[3], I8, 0)], &[1, 2, 3]);
    let shaped = |dimensions: &[u64]| file(&[], &[info("a", dimensions, I8, 0)], &[7; 6]);
    let accepted = [
        ("two", valid.clone()),
        ("none", meta(&[])),
        ("padded", [&valid[..], &[0; 29]].concat()),
        ("bool", meta(&[pair("k", 7, &[1])])),
        ("deep", meta(&[nested(16)])),
        ("alignment", alignment(4, 64)),
        ("alignment-8", alignment(4, 8)),
        ("strings", strings("é".as_bytes())),
        ("long-name", named(64)),
        ("name-65", named(65)),
        ("name-255", named(255)),
        ("dimensions", shaped(&[1, 3, 2, 1])),
        ("five-dimensions", shaped(&[1, 3, 2, 1, 1])),
        ("eight-dimensions", shaped(&[1, 3, 1, 1, 2, 1, 1, 1])),
        ("blocks", file(&[], &[info("q", &[32], Q4_0, 0)], &[7; 18])),
        ("empty-tensor", file(&[], &[info("e", &[0], F32, 0)], &[])),
    ];
    for (name, bytes) in accepted {
        cases.accept("gguf", &format!("{name}.gguf"), bytes);
    }
    let version = |bytes: [u8; 4]| [b"GGUF", &bytes[..], &valid[8..]].concat();
    let mut padding = valid.clone();
    let at = padding.len() - 35 + 9;
    padding[at] = 1;
    let mut not_text = pair("k", 0, &[1]);
    not_text[8] = 0xff;
    let long = [&u64::MAX.to_le_bytes()[..], b"x"].concat();
    let tensors = |infos: &[Vec<u8>]| file(&[], infos, &data);
    let mut wrong_name = info("a", &[2], F32, 0);
    wrong_name[8] = 0xff;
    let mut wrong_type = pair("k", 13, &[]);
    wrong_type.extend([0; 8]);
    let rejected = [
        ("gguf-magic", "letters", b"GGUX\x03\0\0\0".to_vec()),
        ("gguf-version", "1", version([1, 0, 0, 0])),
        ("gguf-version", "4", version([4, 0, 0, 0])),
        ("gguf-version", "0", version([0, 0, 0, 0])),
        ("gguf-truncated", "magic", valid[..6].to_vec()),
        ("gguf-truncated", "header", valid[..40].to_vec()),
        ("gguf-truncated", "length-of-a-text", meta(&[pair("k", 8, &long)])),
        ("gguf-utf8", "key", meta(&[not_text])),
        ("gguf-utf8", "string", meta(&[pair("k", 8, &text(b"\xc3"))])),
        ("gguf-utf8", "element", strings(b"\xe9")),
        ("gguf-utf8", "name", tensors(&[wrong_name])),
        ("gguf-name", "256", named(256)),
        ("gguf-duplicate-key", "key", meta(&[name.clone(), name.clone()])),
        ("gguf-duplicate-name", "name", tensors(&[first.clone(), info("a", &[3], I8, 32)])),
        ("gguf-value-type", "13", meta(&[wrong_type])),
        ("gguf-value-type", "elements", meta(&[pair("k", 9, &array(13, 0))])),
        ("gguf-bool-value", "2", meta(&[pair("k", 7, &[2])])),
        ("gguf-depth", "17", meta(&[nested(17)])),
        ("gguf-alignment", "3", alignment(4, 3)),
        ("gguf-alignment", "4", alignment(4, 4)[..60].to_vec()),
        ("gguf-alignment", "24", alignment(4, 24)),
        ("gguf-alignment", "type", alignment(5, 64)),
        ("gguf-tensor-type", "q8_1", tensors(&[info("a", &[32], 9, 0)])),
        ("gguf-tensor-type", "unknown", tensors(&[info("a", &[2], 99, 0)])),
        ("gguf-shape", "blocks", tensors(&[info("a", &[33], Q4_0, 0)])),
        ("gguf-shape", "dimensions", shaped(&[1, 3, 2, 1, 1, 1, 1, 1, 1])),
        ("gguf-shape", "overflow", tensors(&[info("a", &[1 << 40, 1 << 40], F32, 0)])),
        ("gguf-offset", "odd", tensors(&[info("a", &[2], F32, 1)])),
        ("gguf-bounds", "cut", valid[..valid.len() - 1].to_vec()),
        ("gguf-bounds", "far", tensors(&[info("a", &[2], F32, u64::MAX - 31)])),
        ("gguf-overlap", "shared", tensors(&[info("a", &[8], F32, 0), info("b", &[3], I8, 0)])),
        ("gguf-contiguous", "gap", file(&[], &[first.clone(), info("b", &[3], I8, 64)], &[0; 67])),
        ("gguf-padding", "between", padding),
        ("gguf-trailing", "behind", [&valid[..], &[0; 30]].concat()),
    ];
    for (rule, name, bytes) in rejected {
        cases.reject("gguf", (rule, &format!("{name}.gguf")), bytes);
    }
}
