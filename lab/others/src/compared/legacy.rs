//! Reads zTensor files of generation 0.1 with ztensor 1.1.1.

use std::io::{Read, Seek};
use std::path::Path;

use zten_lab::by_type;
use zten_lab::readers::subject::Report;
use ztensor::{Encoding, LegacyReader, Object};

use crate::component;

/// Reads everything from a file, and verifies checksums.
pub(crate) fn stream(path: &Path, file: &[u8], report: &mut Report) {
    let Some(mut reader) = report.opened(LegacyReader::open(path)) else { return };
    for (name, object) in reader.list_objects().clone() {
        owned(&mut reader, (&name, &object), file, report);
    }
}

/// Reads everything, borrowed from a mapped file if possible.
pub(crate) fn mapped(path: &Path, file: &[u8], report: &mut Report) {
    let Some(mut reader) = report.opened(LegacyReader::open_mmap(path)) else { return };
    for (name, object) in reader.list_objects().clone() {
        for (role, part) in &object.components {
            if part.encoding == Encoding::Zstd {
                owned(&mut reader, (&name, &object), file, report);
                continue;
            }
            if let Some(bytes) = report.read(reader.get_object_slice(&name)) {
                report.content(&name, role, bytes);
            }
            by_type!(part.dtype, T => {
                if let Some(elements) = report.read(reader.get_object_slice_as::<T>(&name)) {
                    report.elements(elements);
                }
            });
        }
    }
}

fn owned<R: Read + Seek>(
    reader: &mut LegacyReader<R>,
    (name, object): (&str, &Object),
    file: &[u8],
    report: &mut Report,
) {
    let whole = report.read(reader.read_object(name, true));
    for (role, part) in &object.components {
        if let Some(bytes) = &whole {
            report.size(file, component(part), bytes.len());
        }
        by_type!(part.dtype, T => {
            if let Some(elements) = report.read(reader.read_object_as::<T>(name)) {
                report.elements(&elements);
            }
        });
        if let Some(bytes) = report.read(reader.read_component(part)) {
            report.content(name, role, &bytes);
        }
    }
}
