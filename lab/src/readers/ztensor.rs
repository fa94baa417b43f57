//! Reads and writes files with the crate `ztensor` 1.2.3.

use std::fs;
use std::io::{Cursor, Read, Seek};
use std::path::Path;

use super::subject::{Component, Report};
use crate::by_type;
use ztensor::{
    Checksum, Component as Theirs, Compression, DType, Encoding, Error, Format, Object, Reader,
    TensorReader, Writer,
};

/// Reads everything from a file, and verifies checksums.
pub fn stream(path: &Path, report: &mut Report) {
    let file = fs::read(path).unwrap_or_default();
    let Some(reader) = report.opened(Reader::open_any_path(path)) else { return };
    for (name, object) in reader.tensors() {
        typed(&reader, (name, object), &file, report);
        components(&reader, (name, object), report);
    }
}

/// Reads everything, and borrows raw dense tensors from a mapped file.
pub fn mapped(path: &Path, report: &mut Report) {
    let file = fs::read(path).unwrap_or_default();
    let Some(reader) = report.opened(Reader::open_mmap_shared_any(path)) else { return };
    for (name, object) in reader.tensors() {
        match object.components.get("data") {
            Some(data) if object.format == Format::Dense && data.encoding == Encoding::Raw => {
                if let Some(bytes) = report.read(reader.view(name)) {
                    report.size(&file, component(data), bytes.len());
                }
                by_type!(data.dtype, T => {
                    if let Some(elements) = report.read(reader.view_as::<T>(name)) {
                        report.elements(elements);
                    }
                });
            }
            _ => typed(&reader, (name, object), &file, report),
        }
        components(&reader, (name, object), report);
    }
}

/// Opens a file that is in memory.
///
/// # Errors
/// The errors of `ztensor`.
pub fn open(file: &[u8]) -> Result<Reader<Cursor<&[u8]>>, Error> {
    Reader::open_any(Cursor::new(file))
}

/// Writes vectors of `f32` to a file, raw and without checksums.
///
/// # Errors
/// The errors of `ztensor`.
pub fn write(path: &Path, tensors: &[(String, Vec<u8>)]) -> Result<(), Error> {
    let mut writer = Writer::create(path)?;
    for (name, bytes) in tensors {
        let shape = vec![bytes.len() as u64 / 4];
        let (raw, none) = (Compression::Raw, Checksum::None);
        writer.add_bytes(name, shape, DType::F32, raw, bytes, none)?;
    }
    writer.finish()?;
    Ok(())
}

/// Reads an object by the functions for its format.
fn typed<R: Read + Seek>(
    reader: &Reader<R>,
    (name, object): (&str, &Object),
    file: &[u8],
    report: &mut Report,
) {
    let role = if object.format == Format::Dense { "data" } else { "values" };
    let part = object.components.get(role);
    match (&object.format, part) {
        (Format::Dense, part) => {
            let bytes = report.read(reader.read(name, true));
            let Some(part) = part else { return };
            if let Some(bytes) = bytes {
                report.size(file, component(part), bytes.len());
            }
            by_type!(part.dtype, T => {
                if let Some(elements) = report.read(reader.read_as::<T>(name)) {
                    let bytes = report.elements(&elements);
                    report.size(file, component(part), bytes);
                }
            });
        }
        (Format::SparseCsr, Some(values)) => by_type!(values.dtype, T => {
            if let Some(csr) = report.read(reader.read_csr::<T>(name)) {
                report.elements(&csr.values);
            }
        }),
        (Format::SparseCoo, Some(values)) => by_type!(values.dtype, T => {
            if let Some(coo) = report.read(reader.read_coo::<T>(name)) {
                report.elements(&coo.values);
            }
        }),
        (Format::SparseCsr, None) => drop(report.read(reader.read_csr::<u8>(name))),
        (Format::SparseCoo, None) => drop(report.read(reader.read_coo::<u8>(name))),
        _ => {}
    }
}

/// Reads the bytes of each component.
fn components(reader: &impl TensorReader, (name, object): (&str, &Object), report: &mut Report) {
    for role in object.components.keys() {
        if let Some(bytes) = report.read(reader.read_component_data(name, role)) {
            report.content(name, role, bytes.as_slice());
        }
    }
}

/// Returns the location of a component, as `ztensor` read it from the manifest.
fn component(theirs: &Theirs) -> Component {
    Component {
        offset: theirs.offset,
        length: theirs.length,
        packed: theirs.encoding == Encoding::Zstd,
    }
}
