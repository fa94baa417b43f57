//! Raw content that is expensive to validate.

use zten_corpus::base::{component, dense_object, object, v1, words};
use zten_corpus::cbor::{Item, fields, text, uint, uints};
use zten_corpus::file::File;
use zten_corpus::sha256;

/// Where the first blob lies, and the multiple that each begins at.
const BLOB: usize = 64;

/// A file being laid out: objects, and blobs one after the other.
#[derive(Default)]
pub(super) struct Layout {
    objects: Vec<(String, Item)>,
    blobs: Vec<(usize, Vec<u8>)>,
    end: usize,
}

impl Layout {
    /// Puts a blob behind the others: where it lies.
    pub(super) fn blob(&mut self, bytes: Vec<u8>) -> u64 {
        let at = self.end.max(BLOB).next_multiple_of(BLOB);
        self.end = at + bytes.len();
        self.blobs.push((at, bytes));
        at as u64
    }

    /// Puts a blob behind the others: the map of its component.
    pub(super) fn raw(&mut self, dtype: &str, bytes: Vec<u8>) -> Item {
        let length = bytes.len() as u64;
        component(dtype, self.blob(bytes), length)
    }

    /// Adds an object, whose name follows those of the others.
    pub(super) fn object(&mut self, item: Item) {
        self.objects.push((format!("{:06}", self.objects.len()), item));
    }

    /// The file.
    pub(super) fn build(self, version: &str) -> Vec<u8> {
        let objects = self.objects.iter().map(|(name, item)| (name.as_str(), item.clone()));
        let file = v1(version, objects.collect());
        let start = self.end.max(BLOB).next_multiple_of(BLOB);
        let blobs = self.blobs.iter();
        blobs.fold(file, |file, (at, bytes)| file.blob(*at, bytes)).start(start).build("").bytes
    }
}

/// A file with one dense object of those bytes.
fn one(dtype: &str, bytes: Vec<u8>) -> Vec<u8> {
    let mut layout = Layout::default();
    let length = bytes.len() as u64;
    let data = layout.raw(dtype, bytes);
    layout.object(dense_object(&[length], data));
    layout.build("1.2.0")
}

/// Components that an object may have.
const PARTS: usize = 4096;

/// Objects of as many components as may be.
fn parts(size: usize, each: usize, bytes: &[u8], digest: bool) -> Vec<u8> {
    let sum = text(&sha256::sha256(bytes));
    let mut layout = Layout::default();
    let mut left = super::count(size, each);
    while left > 0 {
        let count = left.min(PARTS);
        let roles: Vec<String> = (0..count).map(|n| format!("{n:04}")).collect();
        let components = roles
            .iter()
            .map(|role| {
                let mut item = layout.raw("u8", bytes.to_vec());
                if let (Item::Map(_, pairs), true) = (&mut item, digest) {
                    pairs.push((text("digest"), sum.clone()));
                }
                (role.as_str(), item)
            })
            .collect();
        layout.object(object(&[], "x", components));
        left -= count;
    }
    layout.build("1.2.0")
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

/// One dense object with that digest.
fn digested(bytes: Vec<u8>, digest: &str) -> Vec<u8> {
    let mut layout = Layout::default();
    let length = bytes.len() as u64;
    let data = fields([
        ("dtype", text("u8")),
        ("digest", text(digest)),
        ("length", uint(length)),
        ("offset", uint(layout.blob(bytes))),
    ]);
    let fields = fields([
        ("shape", uints(&[length])),
        ("format", text("dense")),
        ("components", fields([("data", data)])),
    ]);
    layout.object(fields);
    layout.build("1.2.0")
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

/// A canonical file of tiny objects.
pub(super) fn canonical(size: usize) -> Vec<u8> {
    let digest = sha256::sha256(&[7]);
    let mut layout = Layout::default();
    for _ in 0..super::count(size, 160 + BLOB) {
        let data = fields([
            ("dtype", text("u8")),
            ("digest", text(&digest)),
            ("length", uint(1)),
            ("offset", uint(layout.blob(vec![7]))),
        ]);
        layout.object(fields([
            ("shape", uints(&[1])),
            ("format", text("dense")),
            ("components", fields([("data", data)])),
        ]));
    }
    let start = layout.end.next_multiple_of(BLOB);
    let objects = layout.objects.iter().map(|(name, item)| (text(name), item.clone())).collect();
    let manifest =
        fields([("objects", zten_corpus::cbor::map(objects)), ("version", text("1.2.0"))]);
    let blobs = layout.blobs.iter();
    let file = blobs.fold(File::v1(manifest), |file, (at, bytes)| file.blob(*at, bytes));
    file.start(start).build("").bytes
}

/// A matrix of empty rows, but for one value in the last.
pub(super) fn rows(size: usize) -> Vec<u8> {
    let rows = size / 8;
    let mut layout = Layout::default();
    let components = vec![
        ("values", layout.raw("u8", vec![1])),
        ("indices", layout.raw("u64", words(&[0]))),
        ("indptr", layout.raw("u64", words(&[vec![0; rows], vec![1]].concat()))),
    ];
    layout.object(object(&[rows as u64, 1], "sparse_csr", components));
    layout.build("1.2.0")
}

/// Matrices of one row and one value.
pub(super) fn tiny_csr(size: usize) -> Vec<u8> {
    let mut layout = Layout::default();
    for _ in 0..super::count(size, 165 + 3 * BLOB) {
        let components = vec![
            ("values", layout.raw("u8", vec![1])),
            ("indices", layout.raw("u64", words(&[0]))),
            ("indptr", layout.raw("u64", words(&[0, 1]))),
        ];
        layout.object(object(&[1, 1], "sparse_csr", components));
    }
    layout.build("1.2.0")
}

/// A tensor of as many dimensions as may be.
pub(super) fn coo(size: usize) -> Vec<u8> {
    let values = super::count(size, 64 * 8 + 1);
    coordinates("u64", vec![1; values], vec![0; values * 64 * 8])
}

/// The same in one byte each, in a generation that has this.
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
    let mut layout = Layout::default();
    let components =
        vec![("values", layout.raw("u8", values)), ("coords", layout.raw(dtype, indices))];
    layout.object(object(&[2; 64], "sparse_coo", components));
    layout.build(if dtype == "u64" { "1.2.0" } else { "1.1.0" })
}
