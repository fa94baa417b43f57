//! Files made by hand, for what the corpus does not hold.

use std::fs;
use std::path::PathBuf;

use zten_corpus::cbor::{self, wide_head};
use zten_corpus::file::File;

/// A CBOR head.
pub(crate) fn head(major: u8, argument: usize) -> Vec<u8> {
    wide_head(major, argument as u64)
}

/// A CBOR text.
pub(crate) fn text(text: &str) -> Vec<u8> {
    [head(3, text.len()), text.as_bytes().to_vec()].concat()
}

/// A CBOR map of texts to what has been written already.
pub(crate) fn map(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = head(5, entries.len());
    for (key, value) in entries {
        bytes.extend(text(key));
        bytes.extend(value);
    }
    bytes
}

/// A CBOR array of unsigned integers.
pub(crate) fn shape(dimensions: &[usize]) -> Vec<u8> {
    let mut bytes = head(4, dimensions.len());
    bytes.extend(dimensions.iter().flat_map(|dimension| head(0, *dimension)));
    bytes
}

/// A component: its role and what its map says.
pub(crate) type Component<'a> = (&'a str, Vec<(&'a str, Vec<u8>)>);

/// A raw component at `offset`.
pub(crate) fn raw<'a>(
    dtype: &str,
    offset: usize,
    length: usize,
    more: &[(&'a str, Vec<u8>)],
) -> Vec<(&'a str, Vec<u8>)> {
    let mut fields =
        vec![("dtype", text(dtype)), ("offset", head(0, offset)), ("length", head(0, length))];
    fields.extend_from_slice(more);
    fields
}

/// An object of a 1.x file.
pub(crate) fn object(format: &str, dimensions: &[usize], components: &[Component<'_>]) -> Vec<u8> {
    let components: Vec<_> = components.iter().map(|(role, fields)| (*role, map(fields))).collect();
    map(&[("shape", shape(dimensions)), ("format", text(format)), ("components", map(&components))])
}

/// A 1.2 file of those objects; `data` begins at byte 64.
pub(crate) fn file(name: &str, objects: &[(&str, Vec<u8>)], data: &[u8]) -> PathBuf {
    let manifest = map(&[("version", text("1.2.0")), ("objects", map(objects))]);
    write(name, &around(File::v1(cbor::raw(&manifest)), data))
}

/// A file with `data` at byte 64, and its manifest behind that.
fn around(file: File, data: &[u8]) -> Vec<u8> {
    file.blob(64, data).start(64 + data.len()).build("").bytes
}

/// A 0.1 file of entries; `data` begins at byte 64.
pub(crate) fn old_file(name: &str, entries: &[Vec<(&str, Vec<u8>)>], data: &[u8]) -> PathBuf {
    let mut manifest = head(4, entries.len());
    manifest.extend(entries.iter().flat_map(|fields| map(fields)));
    write(name, &around(File::v0(cbor::raw(&manifest)), data))
}

/// An entry of a 0.1 file.
pub(crate) fn entry<'a>(
    name: &str,
    (dtype, layout): (&str, &str),
    dimensions: &[usize],
    (offset, size): (usize, usize),
    more: &[(&'a str, Vec<u8>)],
) -> Vec<(&'a str, Vec<u8>)> {
    let mut fields = vec![
        ("name", text(name)),
        ("dtype", text(dtype)),
        ("layout", text(layout)),
        ("encoding", text("raw")),
        ("shape", shape(dimensions)),
        ("offset", head(0, offset)),
        ("size", head(0, size)),
    ];
    fields.extend_from_slice(more);
    fields
}

/// Writes a file where tests may.
pub(crate) fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, bytes).unwrap();
    path
}
