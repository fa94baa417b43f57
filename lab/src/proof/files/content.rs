//! Raw content that is expensive to validate.

use zten_corpus::base::{dense_object, object, words};
use zten_corpus::cbor::{fields, text, uint};
use zten_corpus::sha256;
use zten_testkit::Layout;

/// The alignment of blobs in bytes.
const BLOB: usize = 64;

/// Returns the layout of a file of 1.2, to which blobs are added.
pub(super) fn layout() -> Layout {
    Layout::new(BLOB)
}

/// Returns the bytes of the file.
pub(super) fn built(layout: Layout) -> Vec<u8> {
    layout.v1("1.2.0").build("").bytes
}

/// Returns a file with one dense object of these bytes.
fn one(dtype: &str, bytes: Vec<u8>) -> Vec<u8> {
    let mut layout = layout();
    let length = bytes.len() as u64;
    let data = layout.raw(dtype, bytes);
    layout.object(dense_object(&[length], data));
    built(layout)
}

/// The largest number of components in an object.
const PARTS: usize = 4096;

/// Returns objects with as many components as they may have.
fn parts(size: usize, each: usize, bytes: &[u8], digest: bool) -> Vec<u8> {
    let sum = text(&sha256::sha256(bytes));
    let mut layout = layout();
    let mut left = super::count(size, each);
    while left > 0 {
        let count = left.min(PARTS);
        let roles: Vec<String> = (0..count).map(|n| format!("{n:04}")).collect();
        let part = |role| {
            let mut item = layout.raw("u8", bytes.to_vec());
            if digest {
                item.pairs("").push((text("digest"), sum.clone()));
            }
            (role, item)
        };
        let components: Vec<_> = roles.iter().map(part).collect();
        layout.object(object(&[], "x", components));
        left -= count;
    }
    built(layout)
}

pub(super) fn empty(size: usize) -> Vec<u8> {
    parts(size, 36, &[], false)
}

pub(super) fn tiny(size: usize) -> Vec<u8> {
    parts(size, 36 + BLOB, &[7], false)
}

pub(super) fn tiny_sha256(size: usize) -> Vec<u8> {
    parts(size, 36 + 81 + BLOB, &[7], true)
}

pub(super) fn bools(size: usize) -> Vec<u8> {
    one("bool", (0..size).map(|n| u8::from(n % 3 == 0)).collect())
}

pub(super) fn bad_bool(size: usize) -> Vec<u8> {
    one("bool", [vec![1; size], vec![2]].concat())
}

/// Adds a dense object with this digest.
fn add_digested(layout: &mut Layout, bytes: Vec<u8>, digest: &str) {
    let length = bytes.len() as u64;
    let data = fields([
        ("dtype", text("u8")),
        ("digest", text(digest)),
        ("length", uint(length)),
        ("offset", uint(layout.blob(bytes))),
    ]);
    layout.object(dense_object(&[length], data));
}

/// Returns a file with one dense object with this digest.
fn digested(bytes: Vec<u8>, digest: &str) -> Vec<u8> {
    let mut layout = layout();
    add_digested(&mut layout, bytes, digest);
    built(layout)
}

pub(super) fn sha256(size: usize) -> Vec<u8> {
    let bytes = vec![7; size];
    let digest = sha256::sha256(&bytes);
    digested(bytes, &digest)
}

pub(super) fn bad_sha256(size: usize) -> Vec<u8> {
    digested(vec![7; size], &sha256::sha256(&[]))
}

pub(super) fn bad_crc32c(size: usize) -> Vec<u8> {
    digested(vec![7; size], "crc32c:0x01234567")
}

/// Returns a canonical file of tiny objects.
pub(super) fn canonical(size: usize) -> Vec<u8> {
    let digest = sha256::sha256(&[7]);
    let mut layout = layout();
    for _ in 0..super::count(size, 160 + BLOB) {
        add_digested(&mut layout, vec![7], &digest);
    }
    let file = layout.v1("1.2.0");
    let objects = file.clone().take("objects");
    file.set("", fields([("objects", objects), ("version", text("1.2.0"))])).build("").bytes
}

/// Returns a matrix of empty rows, except for one value in the last row.
pub(super) fn rows(size: usize) -> Vec<u8> {
    let rows = size / 8;
    let mut layout = layout();
    let components = vec![
        ("values", layout.raw("u8", vec![1])),
        ("indices", layout.raw("u64", words(&[0]))),
        ("indptr", layout.raw("u64", words(&[vec![0; rows], vec![1]].concat()))),
    ];
    layout.object(object(&[rows as u64, 1], "sparse_csr", components));
    built(layout)
}

/// Returns matrices with one row and one value.
pub(super) fn tiny_csr(size: usize) -> Vec<u8> {
    let mut layout = layout();
    for _ in 0..super::count(size, 165 + 3 * BLOB) {
        let components = vec![
            ("values", layout.raw("u8", vec![1])),
            ("indices", layout.raw("u64", words(&[0]))),
            ("indptr", layout.raw("u64", words(&[0, 1]))),
        ];
        layout.object(object(&[1, 1], "sparse_csr", components));
    }
    built(layout)
}

/// Returns a tensor with as many dimensions as it may have.
pub(super) fn coo(size: usize) -> Vec<u8> {
    let values = super::count(size, 64 * 8 + 1);
    coordinates("u64", vec![1; values], vec![0; values * 64 * 8])
}

/// Returns the file of [`coo`] with indices of one byte each, in a generation that allows such indices.
pub(super) fn narrow_coo(size: usize) -> Vec<u8> {
    let values = super::count(size, 65);
    coordinates("i8", vec![1; values], vec![1; values * 64])
}

pub(super) fn bad_coo(size: usize) -> Vec<u8> {
    let values = super::count(size, 64 * 8 + 1);
    let mut indices = vec![0; values * 64 * 8];
    indices[(values * 64 - 1) * 8] = 2;
    coordinates("u64", vec![1; values], indices)
}

fn coordinates(dtype: &str, values: Vec<u8>, indices: Vec<u8>) -> Vec<u8> {
    let mut layout = layout();
    let components =
        vec![("values", layout.raw("u8", values)), ("coords", layout.raw(dtype, indices))];
    layout.object(object(&[2; 64], "sparse_coo", components));
    layout.v1(if dtype == "u64" { "1.2.0" } else { "1.1.0" }).build("").bytes
}
