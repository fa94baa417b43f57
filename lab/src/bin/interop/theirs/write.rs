//! Writes contents with `ztensor::Writer`, in one of the ways that it offers.

use std::path::Path;

use anyhow::{Context as _, Result};
use fastrand::Rng;
use zten::element::StorageType;
use ztensor::{Checksum, Compression, DType, Format, Writer};

use super::dtype;
use crate::content::{Content, Object, Part, Sum};

type FileWriter = Writer<std::io::BufWriter<std::fs::File>>;

/// Writes a new file. Sometimes writes an object and removes it again, or replaces bytes after writing them.
pub(crate) fn create(path: &Path, content: &Content, sum: Sum, rng: &mut Rng) -> Result<()> {
    let mut writer = Writer::create(path)?;
    if let Some(attributes) = &content.attributes {
        writer.set_attributes(attributes.clone());
    }
    let mut replaced = None;
    for object in &content.objects {
        if replaced.is_none() && replaceable(object) && rng.u8(..10) == 0 {
            let mut before = object.clone();
            before.parts.iter_mut().for_each(|part| part.bytes.fill(0));
            add(&mut writer, &before, sum, rng)?;
            replaced = Some(object);
        } else {
            add(&mut writer, object, sum, rng)?;
        }
    }
    // When an object is removed, all others are copied with the checksum and encoding of the first component.
    let removes = rng.u8(..5) == 0 && content.objects.iter().all(|object| !object.parts.is_empty());
    if removes {
        writer.add("to be removed", &[3], &[1_u16, 2, 3])?;
    }
    writer.finish()?;
    if let Some(object) = replaced {
        let data = &object.part("data").context("replaced")?.bytes;
        ztensor::replace_tensor(path, &object.name, data)?;
    }
    if removes {
        let before = path.with_extension("before");
        std::fs::rename(path, &before)?;
        ztensor::remove_tensors(&before, path, &["to be removed"])?;
        std::fs::remove_file(before)?;
    }
    Ok(())
}

/// Returns whether the bytes of an object can be replaced: it is dense and uncompressed, and has one component.
fn replaceable(object: &Object) -> bool {
    object.format == "dense" && !object.packed && object.parts.len() == 1
}

/// Adds objects to a file.
pub(crate) fn append(path: &Path, objects: &[Object], sum: Sum, rng: &mut Rng) -> Result<()> {
    let mut writer = Writer::append(path)?;
    for object in objects {
        add(&mut writer, object, sum, rng)?;
    }
    writer.finish()?;
    Ok(())
}

fn add(writer: &mut FileWriter, object: &Object, sum: Sum, rng: &mut Rng) -> Result<()> {
    let checksum = match sum {
        Sum::None => Checksum::None,
        Sum::Crc32c => Checksum::Crc32c,
        Sum::Sha256 => Checksum::Sha256,
    };
    // High compression levels are rare, because an encoder needs long to start with them.
    let level = [1, 1, 1, 3, 3, 6, 12, if rng.u8(..10) == 0 { 19 } else { 2 }][rng.usize(..8)];
    let compression = if object.packed { Compression::Zstd(level) } else { Compression::Raw };
    let plain =
        object.attributes.is_none() && object.parts.iter().all(|part| part.logical.is_none());
    let shape = object.shape.clone();
    let part = |role| object.part(role).with_context(|| format!("no {role}"));
    match (&*object.format, object.parts.len()) {
        ("dense", 1) if plain && rng.bool() => {
            let data = part("data")?;
            if checksum == Checksum::None && !object.packed && data.storage == StorageType::F32 {
                let elements: Vec<f32> = data.bytes.chunks_exact(4).map(single).collect();
                writer.add(&object.name, &shape, &elements)?;
                return Ok(());
            }
            let dtype = dtype(data.storage);
            writer.add_bytes(&object.name, shape, dtype, compression, &data.bytes, checksum)?;
        }
        ("sparse_csr", 3) if plain && rng.bool() => {
            let (values, dtype) = values(object)?;
            let (indices, indptr) = (numbers(part("indices")?), numbers(part("indptr")?));
            writer.add_csr_bytes(
                &object.name,
                shape,
                dtype,
                values,
                &indices,
                &indptr,
                compression,
                checksum,
            )?;
        }
        ("sparse_coo", 2) if plain && rng.bool() => {
            let (values, dtype) = values(object)?;
            let coords = numbers(part("coords")?);
            writer.add_coo_bytes(
                &object.name,
                shape,
                dtype,
                values,
                &coords,
                compression,
                checksum,
            )?;
        }
        _ => {
            let parts: Vec<_> = object
                .parts
                .iter()
                .map(|part| {
                    let logical = part.logical.as_deref();
                    (&*part.role, dtype(part.storage), logical, &*part.bytes)
                })
                .collect();
            let format = Format::from_str(&object.format);
            let attributes = object.attributes.clone();
            writer.add_object(
                &object.name,
                shape,
                format,
                &parts,
                attributes,
                compression,
                checksum,
            )?;
        }
    }
    Ok(())
}

fn values(object: &Object) -> Result<(&[u8], DType)> {
    let values = object.part("values").context("no values")?;
    Ok((&values.bytes, dtype(values.storage)))
}

fn single(bytes: &[u8]) -> f32 {
    bytes.try_into().map(f32::from_le_bytes).unwrap_or_default()
}

fn numbers(part: &Part) -> Vec<u64> {
    part.bytes
        .chunks_exact(8)
        .map(|bytes| bytes.try_into().map(u64::from_le_bytes).unwrap_or_default())
        .collect()
}
