//! Builds files that the corpus does not contain.

use std::fs;
use std::path::PathBuf;

use zten_corpus::base;
use zten_corpus::cbor::Item;
pub(crate) use zten_corpus::cbor::text;
use zten_corpus::file::File;

/// Converts a shape or a size to the type that the generator of the corpus takes.
fn wide(dimensions: &[usize]) -> Vec<u64> {
    dimensions.iter().map(|dimension| *dimension as u64).collect()
}

/// Adds fields to a map.
fn with(mut map: Item, more: &[(&str, Item)]) -> Item {
    map.pairs("").extend(more.iter().map(|(key, value)| (text(key), value.clone())));
    map
}

/// Returns a raw component at `offset`.
pub(crate) fn raw(dtype: &str, offset: usize, length: usize, more: &[(&str, Item)]) -> Item {
    with(base::component(dtype, offset as u64, length as u64), more)
}

/// Returns an object of a 1.x file.
pub(crate) fn object(format: &str, dimensions: &[usize], components: &[(&str, Item)]) -> Item {
    base::object(&wide(dimensions), format, components.iter().cloned())
}

/// Writes a 1.2 file with these objects, whose `data` begins at byte 64.
pub(crate) fn file(name: &str, objects: &[(&str, Item)], data: &[u8]) -> PathBuf {
    write(name, &around(base::v1("1.2.0", objects.iter().cloned()), data))
}

/// Returns a file with `data` at byte 64, followed by its manifest.
pub(crate) fn around(file: File, data: &[u8]) -> Vec<u8> {
    file.blob(64, data).start(64 + data.len()).build("").bytes
}

/// Writes a 0.1 file with these entries, whose `data` begins at byte 64.
pub(crate) fn old_file(name: &str, entries: &[Item], data: &[u8]) -> PathBuf {
    write(name, &around(base::v0(entries.to_vec()), data))
}

/// Returns a dense entry of a 0.1 file.
pub(crate) fn entry(
    name: &str,
    dtype: &str,
    dimensions: &[usize],
    (offset, size): (usize, usize),
    more: &[(&str, Item)],
) -> Item {
    let entry = base::entry(name, dtype, &wide(dimensions), offset as u64, size as u64);
    with(with(entry, &[("layout", text("dense"))]), more)
}

/// Writes a file to the temporary folder of the tests.
pub(crate) fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, bytes).unwrap();
    path
}
