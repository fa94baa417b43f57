//! The small valid files of generation 2 that cases start from.

use twox_hash::{XxHash3_64, XxHash64};

use super::FileV2;
use crate::cbor::{Item, array, fields, keyed, text, uint, uints};

/// Returns the map of a raw component of generation 2, whose blob has this offset and length.
pub fn part(dtype: &str, offset: u64, length: u64) -> Item {
    fields([("blob", uints(&[offset, length])), ("dtype", text(dtype))])
}

/// Returns the map of a raw component of generation 2 with the logical type `logical`.
pub fn typed(dtype: &str, logical: &str, offset: u64, length: u64) -> Item {
    fields([("blob", uints(&[offset, length])), ("type", text(logical)), ("dtype", text(dtype))])
}

/// Returns the map of an object of generation 2.
pub fn object(
    shape: &[u64],
    layout: &str,
    parts: impl IntoIterator<Item = (impl AsRef<str>, Item)>,
) -> Item {
    fields([("parts", keyed(parts)), ("shape", uints(shape)), ("layout", text(layout))])
}

/// Returns a file with `objects`, which must be sorted by their names, and without blobs.
pub fn file(objects: impl IntoIterator<Item = (impl AsRef<str>, Item)>) -> FileV2 {
    FileV2::new(fields([("objects", keyed(objects))]))
}

/// Returns a file with one dense object `w`, whose blob `bytes` is at offset 4096.
pub fn dense(shape: &[u64], data: Item, bytes: &[u8]) -> FileV2 {
    file(vec![("w", object(shape, "dense", vec![("data", data)]))]).blob(4096, bytes)
}

/// Returns the file that most cases start from: a dense object `w` of `f32` and shape `[2, 2]`, with a digest, and with
/// attributes of the file and of the object.
pub fn full() -> FileV2 {
    let bytes = &crate::base::DATA;
    let digest = format!("xxh3:{:016x}", XxHash3_64::oneshot(bytes));
    dense(&[2, 2], part("f32", 4096, 16), bytes)
        .set("w:data/digest", text(&digest))
        .set("w:/attributes", fields([("a", uint(1))]))
        .set("attributes", fields([("a", uint(1))]))
}

/// Returns `values` as little-endian `u32`.
pub fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Returns a file with a CSR matrix `w` of shape `[2, 3]` with values at (0, 0), (0, 2) and (1, 1).
pub fn csr() -> FileV2 {
    let parts = vec![
        ("indptr", part("u32", 12288, 12)),
        ("values", part("f32", 4096, 12)),
        ("indices", part("u32", 8192, 12)),
    ];
    file(vec![("w", object(&[2, 3], "zt.sparse_csr/1", parts))])
        .blob(4096, &crate::base::DATA[..12])
        .blob(8192, &words(&[0, 2, 1]))
        .blob(12288, &words(&[0, 2, 3]))
        .start(16384)
}

/// Returns a file with a COO matrix `w` of shape `[2, 3]` with values at (0, 2) and (1, 1).
pub fn coo() -> FileV2 {
    let parts = vec![("coords", part("u32", 8192, 16)), ("values", part("f32", 4096, 8))];
    file(vec![("w", object(&[2, 3], "zt.sparse_coo/1", parts))])
        .blob(4096, &crate::base::DATA[..8])
        .blob(8192, &words(&[0, 1, 2, 1]))
        .start(12288)
}

/// Returns a root file whose object `w` is in the shard `s`. The shard does not exist: its size and digest are made up.
pub fn sharded() -> FileV2 {
    let shard = fields([("size", uint(8192)), ("digest", text("xxh3:0123456789abcdef"))]);
    dense(&[4], part("f32", 4096, 16), &[])
        .set("shards", fields([("s", shard)]))
        .set("w:data/shard", text("s"))
}

/// Returns `depth` nested arrays around 0.
pub fn nested(depth: usize) -> Item {
    (0..depth).fold(uint(0), |inner, _| array(vec![inner]))
}

/// Returns a zstd frame of one raw block, with a checksum.
pub fn frame(content: &[u8]) -> Vec<u8> {
    let sum = XxHash64::oneshot(0, content).to_le_bytes();
    let block = (u32::try_from(content.len()).expect("a small block") << 3 | 1).to_le_bytes();
    let size = u8::try_from(content.len()).expect("one byte holds the content size");
    [&[0x28, 0xb5, 0x2f, 0xfd, 0x24, size], &block[..3], content, &sum[..4]].concat()
}

/// Returns a seek table of frames. Each of `entries` is the stored and the decoded size of a frame in bytes.
pub fn table(entries: &[(usize, usize)], descriptor: u8) -> Vec<u8> {
    let mut bytes = vec![0x5e, 0x2a, 0x4d, 0x18];
    let number = |number: usize| u32::try_from(number).expect("a small number").to_le_bytes();
    bytes.extend(number(entries.len() * 8 + 9));
    for (stored, decoded) in entries {
        bytes.extend(number(*stored));
        bytes.extend(number(*decoded));
    }
    bytes.extend(number(entries.len()));
    bytes.push(descriptor);
    bytes.extend([0xb1, 0xea, 0x92, 0x8f]);
    bytes
}

/// Returns a file with a dense object `w` of `length` elements of `u8`, stored as the seekable zstd frames `stored`.
pub fn encoded(length: u64, stored: &[u8]) -> FileV2 {
    let data = fields([
        ("blob", uints(&[4096, stored.len() as u64])),
        ("dtype", text("u8")),
        ("encoding", text("zt.zstd-seekable/1")),
        ("decoded_length", uint(length)),
    ]);
    dense(&[length], data, stored)
}

/// Returns a file with a `zt.mx/1` object `w` of shape `[2, 4]`: `f4_e2m1` in blocks of 2.
pub fn mx() -> FileV2 {
    let parts = vec![
        ("data", typed("u8", "f4_e2m1", 4096, 4)),
        ("scales", typed("u8", "f8_e8m0", 8192, 4)),
    ];
    let attributes = fields([("block_size", uint(2)), ("scale_form", text("e8m0_exponent"))]);
    file(vec![("w", object(&[2, 4], "zt.mx/1", parts))])
        .set("w:/attributes", attributes)
        .blob(4096, &[0x21, 0x65, 0x76, 0xa8])
        .blob(8192, &[0x80, 0x7e, 0x80, 0x7e])
        .start(12288)
}

/// Returns a file with a `zt.quant_group/1` object `w` of shape `[4, 2]`: codes of 4 bits in groups of 2 along the
/// first axis.
pub fn quant_group() -> FileV2 {
    let parts = vec![
        ("data", part("u8", 4096, 4)),
        ("zeros", part("u8", 8192, 2)),
        ("scales", part("f16", 12288, 8)),
    ];
    let packing =
        fields([("word", text("u8")), ("order", text("lsb_first")), ("per_word", uint(2))]);
    let zero_point = fields([("form", text("tensor")), ("packing", text("same_as_data"))]);
    let attributes = fields([
        ("axis", uint(0)),
        ("bits", uint(4)),
        ("packing", packing),
        ("group_size", uint(2)),
        ("scale_form", text("f16_factors")),
        ("zero_point", zero_point),
    ]);
    file(vec![("w", object(&[4, 2], "zt.quant_group/1", parts))])
        .set("w:/attributes", attributes)
        .blob(4096, &[0x10, 0x32, 0x54, 0x76])
        .blob(8192, &[0x88, 0x88])
        .blob(12288, &[0, 0x3c, 0, 0x40, 0, 0x3c, 0, 0x40])
        .start(16384)
}

/// Returns a file with a `gguf.q8_0/1` object `w` of shape `[2, 32]`.
pub fn gguf() -> FileV2 {
    let attributes = fields([("block_bytes", uint(34)), ("elems_per_block", uint(32))]);
    file(vec![("w", object(&[2, 32], "gguf.q8_0/1", vec![("data", part("u8", 4096, 68))]))])
        .set("w:/attributes", attributes)
        .blob(4096, &[7; 68])
}
