//! Reads and writes files of generation 2 with the crate `ztensor` 2.1.1.

use std::fs;
use std::path::Path;

use super::subject::{Component, Report};
use ztensor_2::provide::Payload;
use ztensor_2::read::manifest_of;
use ztensor_2::{DType, Error, Part, Source, Vocabulary, Writer};

/// Reads everything from the file and its shards, and verifies digests.
pub fn stream(path: &Path, report: &mut Report) {
    everything(Source::options().map(false).open(path), report);
}

/// Reads everything, borrowed from the mapped files if possible, and verifies digests, through `Source::open`.
pub fn mapped(path: &Path, report: &mut Report) {
    everything(Source::open(path), report);
}

/// Opens a file, which it maps.
///
/// # Errors
/// The errors of `ztensor`.
pub fn open(path: &Path) -> Result<Source, Error> {
    Source::open(path)
}

/// Returns whether `ztensor` knows the layouts of all objects in a file, except for its shards, and so validates the objects. It
/// returns the components of objects with other layouts as they are.
///
/// # Errors
/// The errors of `ztensor`.
pub fn knows_layouts(path: &Path) -> Result<bool, Error> {
    let known = Vocabulary::standard();
    let manifest = manifest_of(path)?;
    let mut objects = manifest.iter().flat_map(|manifest| manifest.objects.values());
    Ok(objects.all(|object| known.layout(&object.layout).is_some()))
}

/// Writes matrices of `bf16` with this shape, as close to each other as the format allows. Each has different bytes, so that no two
/// share a blob.
///
/// # Errors
/// The errors of `ztensor`.
pub fn write(path: &Path, names: &[String], shape: [u64; 2]) -> Result<(), Error> {
    let elements: u64 = shape.iter().product();
    let mut writer = Writer::options().canonical(false).align(4096).create(path)?;
    for (place, name) in (0_u64..).zip(names) {
        let data: Vec<u8> = (0..elements / 4).flat_map(|_| place.to_le_bytes()).collect();
        writer.add(name.as_str(), shape, DType::BF16, &data)?;
    }
    writer.finish()?;
    Ok(())
}

fn everything(opened: Result<Source, Error>, report: &mut Report) {
    let Some(source) = report.opened(opened) else { return };
    report.read(source.verify_shards());
    for tensor in source.tensors() {
        report.read(tensor.verify());
        for part in tensor.parts() {
            if let Some(part) = report.read(tensor.part(part)) {
                read(tensor.name(), &part, report);
            }
        }
    }
}

/// Reads a part in every way in which `ztensor` says that it can be read.
fn read(tensor: &str, part: &Part<'_>, report: &mut Report) {
    let file = fs::read(part.store().path()).unwrap_or_default();
    let can = part.caps();
    if let Some(bytes) = report.read(part.bytes()) {
        report.size(&file, component(part.payload()), bytes.len());
        report.content(tensor, part.name(), &bytes);
    }
    if can.map
        && let Some(bytes) = report.read(part.map())
    {
        report.size(&file, component(part.payload()), bytes.len());
    }
    if can.locate
        && let Some(place) = report.read(part.locate())
    {
        report.read(part.store().read(place.offset, place.len));
    }
}

/// Returns the location of a component, as `ztensor` read it from the manifest.
fn component(payload: &Payload) -> Component {
    match payload {
        Payload::At(at) => Component { offset: at.offset, length: at.len, packed: false },
        Payload::Encoded { at, .. } => {
            Component { offset: at.offset, length: at.len, packed: true }
        }
        // Parts of other formats have no location in this file.
        Payload::Opaque { .. } => Component { offset: 0, length: 0, packed: false },
    }
}
