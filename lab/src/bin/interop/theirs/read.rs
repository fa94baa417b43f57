//! Compares everything that `ztensor` reads in a file with the expected content.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use ztensor::{Error, Reader, TensorElement, TensorReader};

use super::dtype;
use crate::content::{Content, Object, Part, Sum, same_attributes};
use crate::elements::{Le, by_type, le_bytes};

/// Compares a file of this version, read as a stream, which verifies checksums, and mapped, which does not. `sum` is the checksum
/// of all components, if they have the same one.
pub(crate) fn compare(
    path: &Path,
    content: &Content,
    (version, sum): (&str, Option<Sum>),
) -> Result<()> {
    let stream = Reader::open(path)?;
    let mapped = Reader::open_mmap(path)?;
    ensure!(stream.manifest.version == version, "version {}", stream.manifest.version);
    everything(&stream, content, sum).context("as a stream")?;
    everything(&mapped, content, sum).context("mapped")?;
    for object in &content.objects {
        let typed = || -> Result<()> {
            match &*object.format {
                "dense" => dense(&stream, &mapped, object),
                "sparse_csr" => csr(&stream, object),
                "sparse_coo" => coo(&stream, object),
                _ => Ok(()),
            }
        };
        typed().with_context(|| format!("object {:?}, typed", object.name))?;
    }
    Ok(())
}

fn everything(reader: &impl TensorReader, content: &Content, sum: Option<Sum>) -> Result<()> {
    let manifest = reader.manifest();
    let found = manifest.attributes.as_ref();
    ensure!(same_attributes(found, content.attributes.as_ref()), "attributes: {found:?}");
    ensure!(manifest.objects.len() == content.objects.len(), "{} objects", manifest.objects.len());
    for wanted in &content.objects {
        one(reader, wanted, sum).with_context(|| format!("object {:?}", wanted.name))?;
    }
    Ok(())
}

fn one(reader: &impl TensorReader, wanted: &Object, sum: Option<Sum>) -> Result<()> {
    let object = reader.get(&wanted.name).context("there is none")?;
    ensure!(object.shape == wanted.shape, "shape {:?}", object.shape);
    ensure!(object.format.as_str() == wanted.format, "format {}", object.format);
    let found = object.attributes.as_ref();
    ensure!(same_attributes(found, wanted.attributes.as_ref()), "attributes: {found:?}");
    ensure!(object.components.len() == wanted.parts.len(), "components");
    let whole = reader.read_object(&wanted.name)?;
    for part in &wanted.parts {
        let component = object.components.get(&part.role).context("no such component")?;
        ensure!(component.dtype == dtype(part.storage), "{}: {:?}", part.role, component.dtype);
        ensure!(component.r#type == part.logical, "{}: type {:?}", part.role, component.r#type);
        if let Some(sum) = sum {
            // `ztensor` verifies only digests with this prefix, and accepts all others without verifying them.
            let found = component.digest.as_deref().unwrap_or_default();
            ensure!(found.starts_with(sum.prefix()), "{}: digest {found}", part.role);
            ensure!(found.is_empty() == (sum == Sum::None), "{}: digest {found}", part.role);
        }
        let data = reader.read_component_data(&wanted.name, &part.role)?;
        ensure!(data.as_slice() == part.bytes, "{}: bytes", part.role);
        let read = whole.components.get(&part.role).context("not read")?;
        ensure!(read.data.as_slice() == part.bytes, "{}: bytes, with the object", part.role);
        ensure!(read.logical_type == part.logical, "{}: type, with the object", part.role);
    }
    Ok(())
}

/// Compares all elements as values of their type.
fn dense(
    stream: &Reader<std::io::BufReader<std::fs::File>>,
    mapped: &Reader<impl std::io::Read + std::io::Seek>,
    object: &Object,
) -> Result<()> {
    let part = object.part("data").context("no data")?;
    if part.ratio() > 1 {
        // The reference implementation reads elements that consist of several storage elements, such as complex
        // numbers, wrongly. The module `disagreements` demonstrates that.
        return Ok(());
    }
    ensure!(stream.read(&object.name, true)? == part.bytes, "bytes");
    by_type!(part.storage, T => {
        let elements: Vec<T> = stream.read_as(&object.name)?;
        ensure!(le_bytes(&elements) == part.bytes, "elements");
        let elements: Vec<T> = mapped.read_as(&object.name)?;
        ensure!(le_bytes(&elements) == part.bytes, "elements, mapped");
    });
    Ok(())
}

type Stream = Reader<std::io::BufReader<std::fs::File>>;

fn csr(stream: &Stream, object: &Object) -> Result<()> {
    let part = |role| object.part(role).context("a component");
    let values = part("values")?;
    by_type!(values.storage, T => {
        let csr = stream.read_csr::<T>(&object.name)?;
        ensure!(csr.shape == object.shape, "shape");
        ensure!(le_bytes(&csr.indptr) == part("indptr")?.bytes, "indptr");
        ensure!(le_bytes(&csr.indices) == part("indices")?.bytes, "indices");
        values_are(&csr.values, values)?;
    });
    Ok(())
}

fn coo(stream: &Stream, object: &Object) -> Result<()> {
    let part = |role| object.part(role).context("a component");
    let values = part("values")?;
    if values.ratio() > 1 {
        // The reference implementation reads values that consist of several storage elements, such as complex numbers,
        // wrongly. The module `disagreements` demonstrates that.
        return Ok(());
    }
    by_type!(values.storage, T => {
        let coo = stream.read_coo::<T>(&object.name)?;
        ensure!(coo.shape == object.shape, "shape");
        let mut coords = Vec::new();
        for dimension in 0..object.shape.len() {
            coords.extend(coo.indices.iter().filter_map(|entry| entry.get(dimension).copied()));
        }
        ensure!(le_bytes(&coords) == part("coords")?.bytes, "coords");
        values_are(&coo.values, values)?;
    });
    Ok(())
}

fn values_are<T: TensorElement + Le>(values: &[T], part: &Part) -> Result<()> {
    ensure!(le_bytes(values) == part.bytes, "values");
    Ok(())
}

/// Checks that `ztensor` rejects a component because of its checksum.
pub(crate) fn rejects(path: &Path, name: &str, role: &str) -> Result<()> {
    match Reader::open(path)?.read_component_data(name, role) {
        Err(Error::ChecksumMismatch { .. }) => Ok(()),
        Err(other) => bail!("not for its checksum: {other}"),
        Ok(_) => bail!("bytes that are not those of the checksum were read"),
    }
}
