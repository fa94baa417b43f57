//! Cases of the corpus about files that are not canonical because of a field that is unknown, redundant or not
//! normalized.

use super::canonical::{reject, with_empty};
use crate::base::{DATA, DATA_CRC32C, DATA_SHA256, zstd_frame};
use crate::canonical::{
    Part, attribute, bare, canonical, csr_parts, dense, one, part, tensor, two,
};
use crate::cbor::{Item, fields, raw, text, uint};
use crate::file::File;
use crate::table::Table;

const FIELD: &str = "canonical-field";
const DIGEST: &str = "canonical-digest";

pub(crate) fn cases(t: &mut Table) {
    unknown(t);
    redundant(t);
    compressed(t);
    digests(t);
}

/// Adds a field with the path `path` to the file, and expects the error at its key.
fn with(file: File, path: &str, value: Item) -> File {
    file.put(path, value).mark_key(path)
}

fn csr() -> File {
    canonical(None, vec![tensor("w", &[2, 3], "sparse_csr", csr_parts())])
}

fn unknown_format() -> File {
    let parts = vec![part("blocks", "f16", &DATA[..6]), part("mask", "bool", &[1, 0, 1])];
    let some = tensor("some", &[7, u64::MAX], "block_sparse", parts);
    canonical(None, vec![bare("none"), some])
}

fn unknown(t: &mut Table) {
    // Each key is unknown in its map. The keys sort before, between and after the known ones. Some are keywords of other
    // maps and versions.
    let keys = [
        ("root", "", ["x", "created", "Version", "shape", "components", "generator_of_this"]),
        ("object", "w:/", ["x", "dtype", "Shape", "layout", "version", "data_endianness"]),
        ("component", "w:data/", ["x", "size", "Digest", "format", "checksum", "attributes"]),
    ];
    for (map, path, keys) in keys {
        for key in keys {
            let file = with(one(), &format!("{path}{key}"), uint(0));
            reject(t, FIELD, format!("unknown-{key}-in-{map}"), file, "dense");
        }
        let file = with(one(), &format!("{path}x"), raw(&[0xf6]));
        reject(t, FIELD, format!("unknown-null-in-{map}"), file, "dense");
        let file = with(one(), &format!("{path}x"), fields([]));
        reject(t, FIELD, format!("unknown-map-in-{map}"), file, "dense");
    }
    for (map, path) in [("root", ""), ("object", "w:"), ("component", "w:data")] {
        let file = one().push_front(path, text(""), uint(0));
        let key = if path.is_empty() { "#0".to_owned() } else { format!("{path}/#0") };
        reject(t, FIELD, format!("empty-key-in-{map}"), file.mark_key(&key), "dense");
    }
    let file = with(csr(), "w:indices/x", uint(0));
    reject(t, FIELD, "unknown-in-third-component", file, "csr");
    let file = with(canonical(None, two()), "w:/x", uint(0));
    reject(t, FIELD, "unknown-in-second-object", file, "two");
    let file = with(canonical(None, two()), "w:data/x", uint(0));
    reject(t, FIELD, "unknown-in-second-data", file, "two");
    let file = with(unknown_format(), "none:/x", uint(0));
    reject(t, FIELD, "unknown-in-unknown-format", file, "unknown-format");
    let file = with(unknown_format(), "some:mask/x", uint(0));
    reject(t, FIELD, "unknown-in-mask", file, "unknown-format");
    let file = with(canonical(None, with_empty()), "e:data/x", uint(0));
    reject(t, FIELD, "unknown-in-empty-blob", file, "empty-blobs");
    let file = with(canonical(None, Vec::new()), "x", uint(0));
    reject(t, FIELD, "unknown-without-objects", file, "empty");
}

fn redundant(t: &mut Table) {
    let null = || raw(&[0xf6]);
    for (case, key, value) in [
        ("encoding-raw", "encoding", text("raw")),
        ("uncompressed-length", "uncompressed_length", uint(16)),
        ("type-of-dtype", "type", text("f32")),
        ("null-type", "type", null()),
        ("null-uncompressed-length", "uncompressed_length", null()),
        ("null-digest", "digest", null()),
    ] {
        let file = with(one(), &format!("w:data/{key}"), value);
        reject(t, FIELD, case, file, "dense");
    }
    let bools = vec![dense("all", &[2, 4], "bool", &[0, 1, 0, 1, 1, 0, 0, 1])];
    let file = with(canonical(None, bools), "all:data/type", text("bool"));
    reject(t, FIELD, "type-of-bool", file, "bool");
    let file = with(csr(), "w:values/type", text("f32"));
    reject(t, FIELD, "type-of-values", file, "csr");
    let file = with(csr(), "w:indptr/encoding", text("raw"));
    reject(t, FIELD, "encoding-raw-of-indptr", file, "csr");
    let file = with(csr(), "w:indptr/type", null());
    reject(t, FIELD, "null-type-of-indptr", file, "csr");
    let file = with(unknown_format(), "some:mask/type", text("bool"));
    reject(t, FIELD, "type-in-unknown-format", file, "unknown-format");
    let file = with(canonical(None, with_empty()), "a:data/uncompressed_length", uint(0));
    reject(t, FIELD, "uncompressed-length-of-0", file, "empty-blobs");
    let file = with(canonical(None, two()), "w:data/encoding", text("raw"));
    reject(t, FIELD, "encoding-raw-in-second", file, "two");
    let none = || fields([]);
    reject(t, FIELD, "empty-attributes", with(one(), "attributes", none()), "dense");
    reject(t, FIELD, "empty-object-attributes", with(one(), "w:/attributes", none()), "dense");
    let file = attribute().set("attributes", none()).mark_key("attributes");
    reject(t, FIELD, "emptied-attributes", file, "attribute");
    let file = attribute().set("w:/attributes", none()).mark_key("w:/attributes");
    reject(t, FIELD, "emptied-object-attributes", file, "attribute");
    let file = with(canonical(None, Vec::new()), "attributes", none());
    reject(t, FIELD, "empty-attributes-without-objects", file, "empty");
    let file = with(unknown_format(), "none:/attributes", none());
    reject(t, FIELD, "empty-attributes-of-unknown-format", file, "unknown-format");
    let file = with(canonical(None, two()), "w:/attributes", none());
    reject(t, FIELD, "empty-attributes-of-second", file, "two");
}

/// Returns a compressed component that is canonical except that it is compressed.
fn zstd(role: &str, dtype: &str, content: &[u8]) -> Part {
    part(role, dtype, &zstd_frame(content))
        .field("encoding", text("zstd"))
        .field("uncompressed_length", uint(content.len() as u64))
}

fn compressed(t: &mut Table) {
    let rule = "canonical-encoding";
    let of = |shape: &[u64], part: Part| tensor("w", shape, "dense", vec![part]);
    let file = canonical(None, vec![of(&[2, 2], zstd("data", "f32", &DATA))]);
    reject(t, rule, "dense", file.mark("w:data/encoding"), "dense");
    let file = canonical(None, vec![of(&[0], zstd("data", "f32", &[]))]);
    reject(t, rule, "nothing", file.mark("w:data/encoding"), "only-an-empty-blob");
    let complex = zstd("data", "f32", &DATA).of_type("complex64");
    let file = canonical(None, vec![of(&[2], complex)]).mark("w:data/encoding");
    reject(t, rule, "complex", file, "types");
    let mut second = two();
    second[1] = of(&[4], zstd("data", "f32", &DATA));
    let file = canonical(None, second).mark("w:data/encoding");
    reject(t, rule, "second-object", file, "two");
    let mut parts = csr_parts();
    parts[1] = zstd("values", "f32", &DATA[..12]);
    let file = canonical(None, vec![tensor("w", &[2, 3], "sparse_csr", parts)]);
    reject(t, rule, "values", file.mark("w:values/encoding"), "csr");
    let mask = vec![part("blocks", "f16", &DATA[..6]), zstd("mask", "bool", &[1, 0, 1])];
    let file = canonical(None, vec![tensor("some", &[7, u64::MAX], "block_sparse", mask)]);
    reject(t, rule, "unknown-format", file.mark("some:mask/encoding"), "unknown-format");
}

fn digests(t: &mut Table) {
    reject(t, DIGEST, "none", one().lacks("w:data/digest"), "dense");
    let file = canonical(None, two()).lacks("v:data/digest");
    reject(t, DIGEST, "none-of-first", file, "two");
    let file = canonical(None, two()).lacks("w:data/digest");
    reject(t, DIGEST, "none-of-second", file, "two");
    for role in ["indptr", "values", "indices"] {
        let file = csr().lacks(&format!("w:{role}/digest"));
        reject(t, DIGEST, format!("none-of-{role}"), file, "csr");
    }
    let file = canonical(None, with_empty()).lacks("c:data/digest");
    reject(t, DIGEST, "none-of-empty-blob", file, "empty-blobs");
    let file = unknown_format().lacks("some:mask/digest");
    reject(t, DIGEST, "none-of-unknown-format", file, "unknown-format");

    let digits = &DATA_SHA256["sha256:".len()..];
    let first = digits.find(|digit: char| digit.is_ascii_lowercase()).expect("a letter");
    let last = digits.rfind(|digit: char| digit.is_ascii_lowercase()).expect("a letter");
    let upper = |from: usize, to: usize| {
        let middle = digits[from..to].to_uppercase();
        format!("sha256:{}{middle}{}", &digits[..from], &digits[to..])
    };
    for (case, digest) in [
        ("crc32c-0x", DATA_CRC32C.to_owned()),
        ("crc32c-plain", DATA_CRC32C.replace("0x", "")),
        ("crc32c-lower-case", DATA_CRC32C.to_lowercase()),
        ("unverifiable", "blake3:0123456789abcdef".to_owned()),
        ("sha512", format!("sha512:{digits}{digits}")),
        ("name-in-upper-case", format!("SHA256:{digits}")),
        ("digits-in-upper-case", upper(0, 64)),
        ("half-in-upper-case", upper(32, 64)),
        ("first-letter-in-upper-case", upper(first, first + 1)),
        ("last-letter-in-upper-case", upper(last, last + 1)),
    ] {
        reject(t, DIGEST, case, one().bad("w:data/digest", text(&digest)), "dense");
    }
    let file = canonical(None, two()).bad("w:data/digest", text(DATA_CRC32C));
    reject(t, DIGEST, "crc32c-of-second", file, "two");
    let file = canonical(None, with_empty()).bad("e:data/digest", text("crc32c:00000000"));
    reject(t, DIGEST, "crc32c-of-empty-blob", file, "empty-blobs");
}
