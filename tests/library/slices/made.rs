//! Makes 0.1 and 1.2 files with one dense array, `t`, from a kind of element, a shape and a blob, for the tests of
//! slices.

use zten_corpus::base::{component, dense_object, entry, v0, v1};
use zten_corpus::cbor::text;
use zten_corpus::file::File;

/// A kind of element: whether the file is of 0.1, the dtype, the logical type if it is not the dtype, whether the
/// elements are big-endian, the size of a storage element in bytes, and the number of storage elements of an element.
pub(crate) type Kind = (bool, &'static str, &'static str, bool, usize, usize);

pub(crate) const KINDS: &[Kind] = &[
    (false, "u8", "", false, 1, 1),
    (false, "bf16", "", false, 2, 1),
    (false, "f32", "", false, 4, 1),
    (false, "i64", "", false, 8, 1),
    (false, "u8", "f8_e5m2", false, 1, 1),
    (false, "f32", "complex64", false, 4, 2),
    (false, "f64", "complex128", false, 8, 2),
    (false, "i16", "something", false, 2, 1),
    (true, "float32", "", false, 4, 1),
    (true, "float32", "", true, 4, 1),
    (true, "int16", "", true, 2, 1),
    (true, "uint64", "", true, 8, 1),
    (true, "bool", "", true, 1, 1),
];

/// Returns a file without its blob, which has `length` bytes and begins at offset 64.
fn around(kind: Kind, shape: &[u64], length: u64) -> File {
    let (is_v0, dtype, logical, big, ..) = kind;
    if is_v0 {
        let file = v0(vec![entry("t", dtype, shape, 64, length)]);
        return file.set("#0/data_endianness", text(if big { "big" } else { "little" }));
    }
    let file = v1("1.2.0", [("t", dense_object(shape, component(dtype, 64, length)))]);
    if logical.is_empty() { file } else { file.set("t:data/type", text(logical)) }
}

/// Returns the manifest and the footer of a file whose blob has `length` bytes and begins at offset 64.
pub(crate) fn tail(kind: Kind, shape: &[u64], length: u64) -> Vec<u8> {
    around(kind, shape, length).start(64).build("").bytes.split_off(64)
}

/// Returns a file with `blob` at offset 64.
pub(crate) fn file(kind: Kind, shape: &[u64], blob: &[u8]) -> Vec<u8> {
    around(kind, shape, blob.len() as u64).blob(64, blob).start(64 + blob.len()).build("").bytes
}
