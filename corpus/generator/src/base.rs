//! The valid zTensor files that cases of the corpus change to break a rule, and the maps of which they consist.

use crate::cbor::{Item, array, fields, keyed, text, uint, uints};
use crate::file::File;

/// The numbers 1.0, −2.0, 0.5 and 3.25 as little-endian `f32`: the data of most files.
pub const DATA: [u8; 16] = [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0x3f, 0, 0, 0x50, 0x40];
/// The CRC-32C of [`DATA`], as the reference writers spell it in a manifest.
pub const DATA_CRC32C: &str = "crc32c:0xC30D4189";
/// The SHA-256 of [`DATA`], as manifests spell it.
pub const DATA_SHA256: &str =
    "sha256:511521a121d228da0eba54ee5481104dd928880d040adfcf8be1fa42b41138f8";

/// An empty list of components, or of objects.
pub const NONE: [(&str, Item); 0] = [];

/// Returns the map of a component of generation 1 with its three required fields: dtype, offset and length.
pub fn component(dtype: &str, offset: u64, length: u64) -> Item {
    fields([("dtype", text(dtype)), ("offset", uint(offset)), ("length", uint(length))])
}

/// Returns the map of a zstd component of generation 1.2 with `length` stored bytes and `decoded` decoded bytes.
pub fn zstd_component(dtype: &str, offset: u64, length: u64, decoded: u64) -> Item {
    fields([
        ("dtype", text(dtype)),
        ("offset", uint(offset)),
        ("length", uint(length)),
        ("encoding", text("zstd")),
        ("uncompressed_length", uint(decoded)),
    ])
}

/// Returns the map of an object of generation 1 with its three required fields: shape, format and components.
pub fn object(
    shape: &[u64],
    format: &str,
    components: impl IntoIterator<Item = (impl AsRef<str>, Item)>,
) -> Item {
    let components = keyed(components);
    fields([("shape", uints(shape)), ("format", text(format)), ("components", components)])
}

/// Returns the map of a dense object of generation 1 whose only component is `data`.
pub fn dense_object(shape: &[u64], data: Item) -> Item {
    object(shape, "dense", vec![("data", data)])
}

/// Returns the map of the smallest object of generation 1, which has an unknown format and no components.
pub fn bare_object() -> Item {
    object(&[], "x", NONE)
}

/// Returns the map of the smallest object of generation 1 that can be read, which has no elements.
pub fn empty_object() -> Item {
    dense_object(&[0], component("u8", 0, 0))
}

/// Returns a 1.x file with `objects` and without data. `version` is written to its manifest.
pub fn v1(version: &str, objects: impl IntoIterator<Item = (impl AsRef<str>, Item)>) -> File {
    File::v1(fields([("version", text(version)), ("objects", keyed(objects))]))
}

/// Returns a 1.x file with one dense object `w` of `f32` and shape `[2, 2]`, whose data is raw and at offset 64.
pub fn dense(version: &str) -> File {
    v1(version, vec![("w", dense_object(&[2, 2], component("f32", 64, 16)))]).blob(64, &DATA)
}

/// Returns a 1.x file with a dense object `w` of 16 `f8_e4m3fn`, with every field that the tables of the
/// specification list.
pub fn full(version: &str) -> File {
    let data = fields([
        ("dtype", text("u8")),
        ("type", text("f8_e4m3fn")),
        ("offset", uint(64)),
        ("length", uint(16)),
        ("uncompressed_length", uint(16)),
        ("encoding", text("raw")),
        ("digest", text(DATA_CRC32C)),
    ]);
    let object = fields([
        ("shape", uints(&[16])),
        ("format", text("dense")),
        ("attributes", fields([("a", uint(1))])),
        ("components", fields([("data", data)])),
    ]);
    File::v1(fields([
        ("version", text(version)),
        ("attributes", fields([("a", uint(1))])),
        ("objects", fields([("w", object)])),
    ]))
    .blob(64, &DATA)
}

/// Returns the file of [`dense`], with an ignored field `x` at the end of every map that may have one.
pub fn ignored() -> File {
    let file = dense("1.2.0")
        .set("attributes", fields([("x", uint(0))]))
        .set("w:/attributes", fields([("x", uint(0))]));
    ["x", "w:/x", "w:data/x"].into_iter().fold(file, |file, path| file.set(path, uint(0)))
}

/// Returns an object (entry) of a 0.1 file with its required fields.
pub fn entry(name: &str, dtype: &str, shape: &[u64], offset: u64, size: u64) -> Item {
    fields([
        ("name", text(name)),
        ("offset", uint(offset)),
        ("size", uint(size)),
        ("dtype", text(dtype)),
        ("shape", uints(shape)),
        ("encoding", text("raw")),
    ])
}

/// Returns a 0.1 file with `entries` and without data.
pub fn v0(entries: Vec<Item>) -> File {
    File::v0(array(entries))
}

/// Returns a 0.1 file with one entry `w` of `float32` and shape `[2, 2]`, whose data is raw and at offset 64.
pub fn dense_v0() -> File {
    v0(vec![entry("w", "float32", &[2, 2], 64, 16)]).blob(64, &DATA)
}

/// Returns the file of [`dense_v0`], with every field that the tables of the specification list.
pub fn full_v0() -> File {
    dense_v0()
        .set("#0/layout", text("dense"))
        .set("#0/data_endianness", text("little"))
        .set("#0/checksum", text(DATA_CRC32C))
}

/// Returns the file of [`dense_v0`], with an ignored field `x`.
pub fn ignored_v0() -> File {
    dense_v0().set("#0/x", uint(0))
}

/// Returns the file of [`dense`] with its data compressed as one zstd frame.
pub fn dense_zstd(version: &str) -> File {
    let frame = zstd_frame(&DATA);
    let data = zstd_component("f32", 64, frame.len() as u64, 16);
    v1(version, vec![("w", dense_object(&[2, 2], data))]).blob(64, &frame)
}

/// Returns a 1.x file with a `sparse_csr` object `w` of shape `[2, 3]` with values at (0, 0), (0, 2) and (1, 1).
pub fn csr(version: &str) -> File {
    let components = vec![
        ("values", component("f32", 64, 12)),
        ("indices", component("u64", 128, 24)),
        ("indptr", component("u64", 192, 24)),
    ];
    v1(version, vec![("w", object(&[2, 3], "sparse_csr", components))])
        .blob(64, &DATA[..12])
        .blob(128, &words(&[0, 2, 1]))
        .blob(192, &words(&[0, 2, 3]))
}

/// Returns a 1.x file with a `sparse_coo` object `w` of shape `[2, 3]` with values at (0, 2) and (1, 1).
pub fn coo(version: &str) -> File {
    let components =
        vec![("values", component("f32", 64, 8)), ("coords", component("u64", 128, 32))];
    v1(version, vec![("w", object(&[2, 3], "sparse_coo", components))])
        .blob(64, &DATA[..8])
        .blob(128, &words(&[0, 1, 2, 1]))
}

/// Returns a 1.x file with a `quantized_group` object `w` of shape `[2, 8]`: each row is one `i32` of codes.
pub fn quantized(version: &str) -> File {
    let components = vec![
        ("packed_weight", component("i32", 64, 8)),
        ("scales", component("f16", 128, 4)),
        ("zeros", component("f16", 192, 4)),
    ];
    v1(version, vec![("w", object(&[2, 8], "quantized_group", components))])
        .blob(64, &ramp(8))
        .blob(128, &[0, 0x3c, 0, 0x40])
        .blob(192, &[0, 0, 0, 0x3c])
}

/// Returns a zstd frame of a single segment with the content size and one raw block of `content`.
pub fn zstd_frame(content: &[u8]) -> Vec<u8> {
    let size = u8::try_from(content.len()).expect("one byte holds the content size");
    let block = (u32::from(size) << 3 | 1).to_le_bytes();
    [&[0x28, 0xb5, 0x2f, 0xfd, 0x20, size], &block[..3], content].concat()
}

/// Returns `values` as little-endian `u64`.
pub fn words(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Returns `length` bytes that count from 1 to 250, again and again, so that no two adjacent bytes are equal.
pub fn ramp(length: usize) -> Vec<u8> {
    (1..=250).cycle().take(length).collect()
}
