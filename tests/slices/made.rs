//! Files with one dense array, `t`, made from a kind of element, a shape and a blob.

fn head(major: u8, argument: u64) -> Vec<u8> {
    [&[(major << 5) | 0x1b][..], &argument.to_be_bytes()].concat()
}

fn text(text: &str) -> Vec<u8> {
    [head(3, text.len() as u64), text.as_bytes().to_vec()].concat()
}

fn map(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut map = head(5, entries.len() as u64);
    for (key, value) in entries {
        map.extend(text(key));
        map.extend(value);
    }
    map
}

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

/// What stands after a blob of that length at 64: a file's manifest and footer.
pub(crate) fn tail(kind: Kind, shape: &[u64], length: u64) -> Vec<u8> {
    let (v0, dtype, logical, big, ..) = kind;
    let dimensions: Vec<u8> = shape.iter().flat_map(|dimension| head(0, *dimension)).collect();
    let shape = [head(4, shape.len() as u64), dimensions].concat();
    let mut fields = vec![("dtype", text(dtype)), ("offset", head(0, 64))];
    let manifest = if v0 {
        let order = if big { "big" } else { "little" };
        fields.extend([("name", text("t")), ("size", head(0, length)), ("shape", shape)]);
        fields.extend([("encoding", text("raw")), ("data_endianness", text(order))]);
        [head(4, 1), map(&fields)].concat()
    } else {
        fields.push(("length", head(0, length)));
        if !logical.is_empty() {
            fields.push(("type", text(logical)));
        }
        let components = map(&[("data", map(&fields))]);
        let object =
            map(&[("shape", shape), ("format", text("dense")), ("components", components)]);
        map(&[("version", text("1.2.0")), ("objects", map(&[("t", object)]))])
    };
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

/// A small generator (xorshift64*), the same on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }
}
