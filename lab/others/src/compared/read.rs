//! Reads zTensor files of 1.x with ztensor 1.1.1.

use std::io::{Read, Seek};
use std::path::Path;

use zten_lab::by_type;
use zten_lab::readers::subject::Report;
use ztensor::{Encoding, Object, ZTensorReader};

use crate::component;

/// Reads everything from a file, and verifies checksums.
pub(crate) fn stream(path: &Path, file: &[u8], report: &mut Report) {
    let Some(mut reader) = report.opened(ZTensorReader::open(path)) else { return };
    for (name, object) in reader.list_objects().clone() {
        typed(&mut reader, (&name, &object), file, report);
        components(&mut reader, (&name, &object), report);
    }
}

/// Reads everything, borrowed from a mapped file if possible.
pub(crate) fn mapped(path: &Path, file: &[u8], report: &mut Report) {
    let Some(mut reader) = report.opened(ZTensorReader::open_mmap(path)) else { return };
    for (name, object) in reader.list_objects().clone() {
        match object.components.get("data") {
            Some(data) if object.format == "dense" && data.encoding == Encoding::Raw => {
                if let Some(bytes) = report.read(reader.get_object_slice(&name)) {
                    report.size(file, component(data), bytes.len());
                }
                by_type!(data.dtype, T => {
                    if let Some(elements) = report.read(reader.get_object_slice_as::<T>(&name)) {
                        report.elements(elements);
                    }
                });
            }
            _ => typed(&mut reader, (&name, &object), file, report),
        }
        components(&mut reader, (&name, &object), report);
    }
}

/// Reads an object by the functions for its format.
fn typed<R: Read + Seek>(
    reader: &mut ZTensorReader<R>,
    (name, object): (&str, &Object),
    file: &[u8],
    report: &mut Report,
) {
    let role = if object.format == "dense" { "data" } else { "values" };
    let part = object.components.get(role);
    match (&*object.format, part) {
        ("dense", part) => {
            let bytes = report.read(reader.read_object(name, true));
            let Some(part) = part else { return };
            if let Some(bytes) = bytes {
                report.size(file, component(part), bytes.len());
            }
            by_type!(part.dtype, T => {
                if let Some(elements) = report.read(reader.read_object_as::<T>(name)) {
                    let bytes = report.elements(&elements);
                    report.size(file, component(part), bytes);
                }
            });
        }
        ("sparse_csr", Some(values)) => by_type!(values.dtype, T => {
            if let Some(csr) = report.read(reader.read_csr_object::<T>(name)) {
                report.elements(&csr.values);
            }
        }),
        ("sparse_coo", Some(values)) => by_type!(values.dtype, T => {
            if let Some(coo) = report.read(reader.read_coo_object::<T>(name)) {
                report.elements(&coo.values);
            }
        }),
        ("sparse_csr", None) => drop(report.read(reader.read_csr_object::<u8>(name))),
        ("sparse_coo", None) => drop(report.read(reader.read_coo_object::<u8>(name))),
        _ => {}
    }
}

/// Reads the bytes of each component.
fn components<R: Read + Seek>(
    reader: &mut ZTensorReader<R>,
    (name, object): (&str, &Object),
    report: &mut Report,
) {
    for (role, part) in &object.components {
        if let Some(bytes) = report.read(reader.read_component(part)) {
            report.content(name, role, &bytes);
        }
    }
}
