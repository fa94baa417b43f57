//! Cases of the corpus about streams of PyTorch before 1.6: five pickles, and then the storages.

use super::Cases;
use crate::other::torch::{
    call, dict, global, int, numbers, ordered, pickle, storage as storage_of_archive, stream,
    stream_of, tensor, text, tuple,
};

/// The magic number of streams, in a pickle of protocol 2.
pub(super) const MAGIC: &[u8] = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.";
/// Bytes of two elements of 16 bits.
const TWO: &[u8] = &[1, 0, 2, 0];

pub(super) fn all(cases: &mut Cases) {
    for (name, bytes) in accepted() {
        cases.accept("torch", &format!("stream-{name}.pth"), bytes);
    }
    for (rule, name, bytes) in rejected() {
        cases.reject("torch", (rule, &format!("stream-{name}.pth")), bytes);
    }
}

/// Returns the pickle instructions of a storage, given by a persistent id: the storage `key` of `length` elements of
/// 16 bits. `part` are the instructions that select a part of the storage.
fn storage(key: &str, length: u8, part: &[u8]) -> Vec<u8> {
    let id = [
        text("storage"),
        global("torch", "ShortStorage"),
        text(key),
        text("cpu"),
        int(length),
        part.to_vec(),
    ];
    [tuple(&id), b"Q".to_vec()].concat()
}

/// Returns the pickle instructions of a persistent id of the whole storage `key`, which has `length` elements.
pub(super) fn whole(key: &str, length: u8) -> Vec<u8> {
    storage(key, length, b"N")
}

/// Returns the pickle instructions of a persistent id of a part of storage `0`: `length` elements from `offset` on.
/// The part is called `key`.
fn part(key: &str, offset: u8, length: u8) -> Vec<u8> {
    storage("0", 4, &tuple(&[text(key), int(offset), int(length)]))
}

fn vector(storage: Vec<u8>) -> Vec<u8> {
    tensor(storage, 0, &[2], &[1])
}

fn accepted() -> Vec<(&'static str, Vec<u8>)> {
    let four: &[u8] = &[1, 0, 2, 0, 3, 0, 4, 0];
    let old_text =
        |text: &str| [&[b'U', u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let pairs =
        [b"](".to_vec(), b"](".to_vec(), old_text("w"), vector(whole("0", 2)), b"ee".to_vec()];
    let modern = |value: &[u8]| [&b"\x80\x04"[..], value, b"."].concat();
    vec![
        ("vector", stream(&dict(&[("w", vector(whole("0", 2)))]), &[("0", 2, TWO)])),
        ("two", {
            let both = [("a", vector(whole("0", 2))), ("b", vector(whole("1", 2)))];
            stream(&dict(&both), &[("0", 2, TWO), ("1", 2, TWO)])
        }),
        ("shared", {
            let tied = [
                b"}(".to_vec(),
                text("a"),
                vector(whole("0", 2)),
                b"q\0".to_vec(),
                text("b"),
                b"h\0u".to_vec(),
            ];
            stream(&tied.concat(), &[("0", 2, TWO)])
        }),
        ("parts", {
            let both = [("a", vector(part("7", 0, 2))), ("b", vector(part("8", 2, 2)))];
            stream(&dict(&both), &[("0", 4, four)])
        }),
        ("none", stream(b"}", &[])),
        ("empty", stream(&dict(&[("w", tensor(whole("0", 0), 0, &[0], &[1]))]), &[("0", 0, b"")])),
        ("python-2", {
            let value = call("collections", "OrderedDict", &[pairs.concat()]);
            stream(&value, &[("0", 2, TWO)])
        }),
        ("numpy-scalar", {
            let dtype = call("numpy", "dtype", &[text("i1"), int(0), int(1)]);
            let bytes = call("_codecs", "encode", &[text("x"), text("latin1")]);
            let scalar = call("numpy.core.multiarray", "scalar", &[dtype, bytes]);
            stream(&dict(&[("w", vector(whole("0", 2))), ("n", scalar)]), &[("0", 2, TWO)])
        }),
        ("protocol-4", {
            let magic = [b"\x80\x04\x95\x0d\0\0\0\0\0\0\0", &MAGIC[2..]].concat();
            let pickles = [magic, modern(b"M\xe9\x03"), modern(b"}"), modern(b"}"), modern(b"]")];
            stream_of(&pickles, &[])
        }),
    ]
}

fn rejected() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let value = || dict(&[("w", vector(whole("0", 2)))]);
    let good = stream(&value(), &[("0", 2, TWO)]);
    let pickles = |version: &[u8], value: &[u8], keys: &[u8]| {
        [MAGIC.to_vec(), pickle(version), pickle(b"}"), pickle(value), pickle(keys)]
    };
    let system = [global("os", "system"), tuple(&[text("true")]), b"R".to_vec()].concat();
    vec![
        ("torch-version", "1002", { stream_of(&pickles(b"M\xea\x03", b"}", b"]"), &[]) }),
        ("torch-storage", "cut", good[..good.len() - 1].to_vec()),
        ("torch-storage", "count", stream(&value(), &[("0", 3, TWO)])),
        ("torch-storage", "no-key", stream_of(&pickles(b"M\xe9\x03", &value(), b"]"), &[])),
        ("torch-storage", "unknown-key", stream(&value(), &[("1", 2, TWO)])),
        ("torch-storage", "key-twice", stream(&value(), &[("0", 2, TWO), ("0", 2, TWO)])),
        ("torch-storage", "part-beyond", {
            stream(&dict(&[("a", vector(part("7", 3, 2)))]), &[("0", 4, &[0; 8])])
        }),
        ("torch-storage", "parts-differ", {
            let both = [("a", vector(part("7", 0, 2))), ("b", vector(part("7", 2, 2)))];
            stream(&dict(&both), &[("0", 4, &[0; 8])])
        }),
        ("torch-storage", "part-with-a-key", {
            stream(&dict(&[("a", vector(part("0", 0, 2)))]), &[("0", 4, &[0; 8])])
        }),
        ("torch-tensor", "part", {
            let beyond = tensor(part("7", 0, 2), 1, &[2], &[1]);
            stream(&dict(&[("a", beyond)]), &[("0", 4, &[0; 8])])
        }),
        ("torch-trailing", "byte", [&good[..], b"\0"].concat()),
        ("torch-pickle", "keys", stream_of(&pickles(b"M\xe9\x03", b"}", b"}"), &[])),
        (
            "torch-pickle",
            "key",
            stream_of(
                &pickles(b"M\xe9\x03", b"}", &[b"]".to_vec(), int(0), b"a".to_vec()].concat()),
                &[],
            ),
        ),
        ("torch-global", "value", stream(&dict(&[("w", system.clone())]), &[])),
        ("torch-global", "keys", stream_of(&pickles(b"M\xe9\x03", b"}", &system), &[])),
        ("torch-persistent-id", "five", {
            stream(
                &dict(&[("w", vector(storage_of_archive("ShortStorage", "0", 2)))]),
                &[("0", 2, TWO)],
            )
        }),
        ("torch-persistent-id", "facts", {
            let facts = pickle(&[b"}".to_vec(), text("w"), whole("0", 2), b"s".to_vec()].concat());
            let keys = pickle(&[b"]".to_vec(), text("0"), b"a".to_vec()].concat());
            let all = [MAGIC.to_vec(), pickle(b"M\xe9\x03"), facts, pickle(&value()), keys];
            stream_of(&all, &[("0", 2, TWO)])
        }),
        ("torch-persistent-id", "module", {
            let id = tuple(&[text("module"), text("x"), text("y"), text("z")]);
            stream(&[id, b"Q".to_vec()].concat(), &[])
        }),
        ("torch-call", "tensor", {
            let args = [whole("0", 2), int(0), numbers(&[2]), numbers(&[1]), int(1), ordered()];
            stream(&call("torch._utils", "_rebuild_tensor_v2", &args), &[("0", 2, TWO)])
        }),
    ]
}
