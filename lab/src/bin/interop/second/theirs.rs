//! Reading and writing by the crate `ztensor` 2.1.1.

use std::path::Path;
use std::str::FromStr as _;

use anyhow::{Context as _, Result, ensure};
use zten::element::{LogicalType, StorageType};
use ztensor_2::format::cbor::Value;
use ztensor_2::read::manifest_of;
use ztensor_2::{DType, DigestAlgorithm, Source, Writer};

use super::{Object, Part};

/// Writes a new file with the crate `ztensor`.
pub(super) fn create(path: &Path, objects: &[Object], canonical: bool) -> Result<()> {
    let mut objects: Vec<&Object> = objects.iter().collect();
    if canonical {
        objects.sort_by(|a, b| a.name.cmp(&b.name));
    }
    let align = if canonical { 1 << 16 } else { 4096 };
    let mut writer = Writer::options().canonical(canonical).align(align).create(path)?;
    for object in objects {
        add(&mut writer, object, canonical)?;
    }
    writer.finish()?;
    Ok(())
}

/// Adds objects to a file.
pub(super) fn append(path: &Path, objects: &[Object]) -> Result<()> {
    let mut writer = Writer::options().canonical(false).append(path)?;
    for object in objects {
        add(&mut writer, object, false)?;
    }
    writer.finish()?;
    Ok(())
}

fn add(writer: &mut Writer, object: &Object, canonical: bool) -> Result<()> {
    let types: Vec<(DType, Option<&str>)> =
        object.parts.iter().map(spelled).collect::<Result<_>>()?;
    writer.object(object.name.as_str(), |mut new| {
        new = new.shape(object.shape.clone()).layout(object.layout);
        for (key, text) in &object.attributes {
            new = new.attr(key.as_str(), Value::Text(text.clone()));
        }
        for (part, (dtype, logical)) in object.parts.iter().zip(types) {
            new = new.part(part.role, |mut own| {
                own = own.dtype(dtype).bytes(&part.bytes);
                if let Some(logical) = logical {
                    own = own.logical(logical);
                }
                if object.compressed && !canonical {
                    own = own.encoding("zt.zstd-seekable/1");
                }
                own
            });
        }
        new
    })?;
    Ok(())
}

/// Returns a type as 2 spells it, in which bools are a type on `u8`.
fn spelled(part: &Part) -> Result<(DType, Option<&'static str>)> {
    if part.storage == StorageType::Bool {
        return Ok((DType::U8, Some("bool")));
    }
    let dtype = DType::from_str(part.storage.name()).ok().context("a dtype")?;
    Ok((dtype, part.logical.map(LogicalType::name)))
}

/// Compares everything in a file with the expected content.
pub(super) fn compare(path: &Path, objects: &[Object]) -> Result<()> {
    let source = Source::open(path)?;
    ensure!(source.len() == objects.len(), "{} objects", source.len());
    for wanted in objects {
        let tensor = source.tensor(&wanted.name)?;
        ensure!(tensor.shape() == wanted.shape && tensor.layout() == wanted.layout, "{wanted:?}");
        let mut attributes = Vec::new();
        if let Some(Value::Map(entries)) = tensor.attributes() {
            for (key, value) in entries {
                let (key, value) = (key.as_text(), value.as_text());
                let (key, value) = key.zip(value).context("an attribute is no text")?;
                attributes.push((key.to_owned(), value.to_owned()));
            }
        }
        attributes.sort();
        ensure!(attributes == wanted.attributes, "attributes: {attributes:?}");
        ensure!(tensor.parts().count() == wanted.parts.len(), "parts");
        tensor.verify()?;
        for part in &wanted.parts {
            let found = tensor.part(part.role)?;
            ensure!((found.dtype(), found.logical()) == spelled(part)?, "type of {wanted:?}");
            ensure!(found.bytes()? == part.bytes, "bytes of {:?}/{}", wanted.name, part.role);
        }
    }
    Ok(())
}

/// Verifies all bytes of the shards of a file.
pub(super) fn verify_shards(path: &Path) -> Result<()> {
    Ok(Source::open(path)?.verify_shards()?)
}

/// Returns the content digest by xxh3.
pub(super) fn content_digest(path: &Path) -> Result<String> {
    let manifest = manifest_of(path)?.context("a manifest")?;
    Ok(manifest.content_digest(DigestAlgorithm::Xxh3)?)
}
