//! GGUF files with the metadata of a model, and with the values of well-known keys on which loaders rely.

use super::Cases;
use crate::other::gguf::{file, pair, text};

/// The number that GGUF metadata has for the type of 8-bit unsigned integers.
const U8: u32 = 0;
/// The number that GGUF metadata has for the type of 32-bit unsigned integers.
const U32: u32 = 4;
/// The number that GGUF metadata has for the type of 32-bit signed integers.
const I32: u32 = 5;
/// The number that GGUF metadata has for the type of 32-bit floats.
const F32: u32 = 6;
/// The number that GGUF metadata has for the type of strings.
const STRING: u32 = 8;
/// The number that GGUF metadata has for the type of arrays.
const ARRAY: u32 = 9;
/// The number that GGUF metadata has for the type of 64-bit unsigned integers.
const U64: u32 = 10;
/// The number that GGUF metadata has for the type of 64-bit floats.
const F64: u32 = 12;
type Value = (u32, Vec<u8>);

fn string(value: &str) -> Value {
    (STRING, text(value))
}

fn u32(value: u32) -> Value {
    (U32, value.to_le_bytes().to_vec())
}

fn i32(value: i32) -> Value {
    (I32, value.to_le_bytes().to_vec())
}

fn u64(value: u64) -> Value {
    (U64, value.to_le_bytes().to_vec())
}

fn array(kind: u32, elements: &[Vec<u8>]) -> Value {
    let head = [&kind.to_le_bytes()[..], &(elements.len() as u64).to_le_bytes()].concat();
    (ARRAY, [head, elements.concat()].concat())
}

fn strings(elements: &[&str]) -> Value {
    array(STRING, &elements.iter().map(text).collect::<Vec<_>>())
}

fn numbers(kind: u32, elements: &[u32]) -> Value {
    array(kind, &elements.iter().map(|element| element.to_le_bytes().to_vec()).collect::<Vec<_>>())
}

fn scores(count: usize) -> Value {
    array(F32, &vec![0.5_f32.to_le_bytes().to_vec(); count])
}

/// Returns a GGUF file without tensors that has the metadata of a small model, in the order that most writers use. `changes`
/// replaces the values of some keys, and adds further keys at the end.
fn model(changes: &[(&str, Value)]) -> Vec<u8> {
    let mut pairs = vec![
        ("general.architecture", string("llama")),
        ("llama.block_count", u32(2)),
        ("llama.context_length", u32(64)),
        ("llama.embedding_length", u32(8)),
        ("llama.feed_forward_length", u32(16)),
        ("llama.attention.head_count", u32(2)),
        ("llama.attention.head_count_kv", u32(1)),
        ("llama.expert_count", u32(4)),
        ("llama.expert_used_count", u32(2)),
        ("tokenizer.ggml.model", string("llama")),
        ("tokenizer.ggml.tokens", strings(&["<unk>", "<s>", "</s>", "<0x4a>"])),
        ("tokenizer.ggml.scores", scores(4)),
        ("tokenizer.ggml.token_type", numbers(I32, &[2, 3, 3, 6])),
        ("tokenizer.ggml.merges", strings(&["a b"])),
        ("tokenizer.ggml.bos_token_id", u32(1)),
        ("tokenizer.ggml.eos_token_id", u32(2)),
        ("tokenizer.ggml.padding_token_id", u32(3)),
    ];
    for (key, value) in changes {
        match pairs.iter_mut().find(|(other, _)| other == key) {
            Some((_, other)) => other.clone_from(value),
            None => pairs.push((key, value.clone())),
        }
    }
    metadata(&pairs)
}

fn metadata(pairs: &[(&str, Value)]) -> Vec<u8> {
    let pairs: Vec<_> = pairs.iter().map(|(key, (kind, value))| pair(key, *kind, value)).collect();
    file(&pairs, &[], &[])
}

/// Adds cases about the metadata of models. Most invalid files are `model.gguf` with another value of one key, or with one more
/// key.
pub(super) fn all(cases: &mut Cases) {
    const TOKENS: &str = "tokenizer.ggml.tokens";
    const TYPES: &str = "tokenizer.ggml.token_type";
    const SCORES: &str = "tokenizer.ggml.scores";
    const PADDING: &str = "tokenizer.ggml.padding_token_id";
    const BLOCKS: &str = "llama.block_count";
    const HEADS: &str = "llama.attention.head_count";
    const HEADS_KV: &str = "llama.attention.head_count_kv";
    const USED: &str = "llama.expert_used_count";
    let tokens = |last: &str| strings(&["<unk>", "<s>", "</s>", last]);
    let accepted = [
        ("model", model(&[])),
        ("model-per-block", {
            let (heads, kv) = (numbers(I32, &[0, 2]), numbers(U32, &[1, 0]));
            let used = numbers(U32, &[0, 4]);
            model(&[(HEADS, heads), (HEADS_KV, kv), (USED, used)])
        }),
        ("model-of-other-types", {
            let types = numbers(U32, &[2, 3, 3, 6]);
            model(&[(BLOCKS, u64(1024)), (HEADS, i32(1)), (TYPES, types), (PADDING, i32(0))])
        }),
        ("model-without-tokens", {
            let none = ("tokenizer.ggml.unknown_token_id", i32(-1));
            let ends = ("tokenizer.ggml.eos_token_ids", numbers(I32, &[2, 3]));
            model(&[(PADDING, u32(u32::MAX)), none, ends])
        }),
        ("model-dense", model(&[("llama.expert_count", u32(0)), (USED, u32(0))])),
        // The token "<0x-1>" looks like a byte token, but has the type of a normal token, so its text is not checked.
        (
            "model-not-byte",
            model(&[(TOKENS, tokens("<0x-1>")), (TYPES, numbers(I32, &[2, 3, 3, 1]))]),
        ),
        ("recurrent", {
            let zeros = ["attention.head_count", "feed_forward_length", "expert_count"];
            let zeros = zeros.map(|end| (format!("mamba.{end}"), u32(0)));
            let mut pairs = vec![("general.architecture", string("mamba"))];
            pairs.extend(zeros.iter().map(|(key, value)| (&**key, value.clone())));
            metadata(&pairs)
        }),
        // These counts of 0 are accepted: they belong to another architecture, to one that zten does not know, and to a
        // part of a model.
        ("unknown-counts", {
            let counts = ["gpt2.block_count", "later.block_count", "llama.vision.block_count"];
            let counts = counts.map(|key| (key, u32(0)));
            metadata(&[&counts[..], &[("general.architecture", string("later"))]].concat())
        }),
        ("merged", {
            let count = |key, value: u16| pair(key, 2, &value.to_le_bytes());
            file(&[count("split.no", 0), count("split.count", 0)], &[], &[])
        }),
    ];
    for (name, bytes) in accepted {
        cases.accept("gguf", &format!("{name}.gguf"), bytes);
    }
    let rejected = [
        ("gguf-architecture", "number", "general.architecture", u32(1)),
        ("gguf-architecture", "array", "general.architecture", strings(&["llama"])),
        ("gguf-tokenizer-type", "tokens", TOKENS, numbers(U32, &[1, 2, 3, 4])),
        ("gguf-tokenizer-type", "scores", SCORES, array(F64, &vec![vec![0; 8]; 4])),
        (
            "gguf-tokenizer-type",
            "token-type",
            TYPES,
            array(U8, &[2, 3, 3, 6].map(|kind| vec![kind])),
        ),
        ("gguf-tokenizer-type", "merges", "tokenizer.ggml.merges", string("a b")),
        ("gguf-tokenizer-length", "scores", SCORES, scores(3)),
        ("gguf-tokenizer-length", "token-type", TYPES, numbers(I32, &[2, 3, 3, 6, 1])),
        ("gguf-token-id", "padding", PADDING, u32(4)),
        ("gguf-token-id", "negative", PADDING, i32(-2)),
        ("gguf-token-id", "float", PADDING, (F32, 1_f32.to_le_bytes().to_vec())),
        ("gguf-token-id", "list", "tokenizer.ggml.eos_token_ids", numbers(I32, &[2, 4])),
        ("gguf-byte-token", "sign", TOKENS, tokens("<0x-1>")),
        ("gguf-byte-token", "short", TOKENS, tokens("<0xa>")),
        ("gguf-byte-token", "letters", TOKENS, tokens("<0x4g>")),
        ("gguf-count", "no-blocks", BLOCKS, u32(0)),
        ("gguf-count", "many-blocks", BLOCKS, u32(1025)),
        ("gguf-count", "negative", BLOCKS, i32(-2)),
        ("gguf-count", "string", BLOCKS, string("2")),
        ("gguf-count", "array", BLOCKS, numbers(U32, &[2])),
        ("gguf-count", "no-heads", HEADS, u32(0)),
        ("gguf-count", "no-heads-in-any", HEADS, numbers(U32, &[0, 0])),
        ("gguf-count", "no-heads-kv", HEADS_KV, u32(0)),
        ("gguf-count", "negative-heads-in-one", HEADS, numbers(I32, &[2, u32::MAX])),
        ("gguf-count", "no-embedding", "llama.embedding_length", u32(0)),
        ("gguf-count", "context", "llama.context_length", u64(1 << 32)),
        ("gguf-count", "feed-forward", "llama.feed_forward_length", u64(u64::MAX)),
        ("gguf-count", "many-experts", "llama.expert_count", u32(4097)),
        ("gguf-experts", "more", USED, u32(5)),
        ("gguf-experts", "none", USED, u32(0)),
    ];
    for (rule, name, key, value) in rejected {
        cases.reject("gguf", (rule, &format!("{name}.gguf")), model(&[(key, value)]));
    }
    // The architecture may come after the keys about it: the count of 0 blocks is found all the same.
    let last = [(BLOCKS, u32(0)), ("general.architecture", string("llama"))];
    cases.reject("gguf", ("gguf-count", "architecture-last.gguf"), metadata(&last));
    let empty = metadata(&[("", u32(1))]);
    cases.reject("gguf", ("gguf-key", "empty.gguf"), empty);
}
