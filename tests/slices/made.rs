//! Files with one dense array, `t`, made from a kind of element, a shape and a blob.

use zten_corpus::cbor::{Item, array, fields, map, text, uint, uints};

/// An element: whether in 0.1, its dtype, its type if that is another, big-endian or not, bytes
/// of a storage element, storage elements.
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

fn keyed(pairs: Vec<(&str, Item)>) -> Item {
    map(pairs.into_iter().map(|(key, value)| (text(key), value)).collect())
}

/// What stands after a blob of that length at 64: a file's manifest and footer.
pub(crate) fn tail(kind: Kind, shape: &[u64], length: u64) -> Vec<u8> {
    let (v0, dtype, logical, big, ..) = kind;
    let mut component = vec![("dtype", text(dtype)), ("offset", uint(64))];
    let manifest = if v0 {
        let order = if big { "big" } else { "little" };
        component.extend([("name", text("t")), ("size", uint(length)), ("shape", uints(shape))]);
        component.extend([("encoding", text("raw")), ("data_endianness", text(order))]);
        array(vec![keyed(component)])
    } else {
        component.push(("length", uint(length)));
        if !logical.is_empty() {
            component.push(("type", text(logical)));
        }
        let object = fields([
            ("shape", uints(shape)),
            ("format", text("dense")),
            ("components", fields([("data", keyed(component))])),
        ]);
        fields([("version", text("1.2.0")), ("objects", fields([("t", object)]))])
    };
    let manifest = manifest.encode().bytes;
    let size = (manifest.len() as u64).to_le_bytes();
    let magic: &[u8] = if v0 { b"" } else { b"ZTEN1000" };
    [&manifest[..], &size, magic].concat()
}

/// A file of that blob, at 64.
pub(crate) fn file(kind: Kind, shape: &[u64], blob: &[u8]) -> Vec<u8> {
    let magic = if kind.0 { b"ZTEN0001" } else { b"ZTEN1000" };
    let mut file = [magic, &[0; 56][..], blob].concat();
    file.extend(tail(kind, shape, blob.len() as u64));
    file
}
