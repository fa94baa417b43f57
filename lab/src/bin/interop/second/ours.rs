//! Reading and writing by `zten`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use zten::element::StorageType;
use zten::manifest::ElementType;
use zten::write::{
    Encoded, FileSink, Level, NewComponent, NewObject, ShardWriter, WriteOptions, Writer,
};
use zten::{Archive, Generation, OpenOptions, ReadAt, attributes::Value};

use super::{Object, Part};

fn options() -> WriteOptions {
    WriteOptions::default().generation(Generation::V2)
}

/// Writes a new file. In canonical form, objects and parts are sorted by the bytes of their names.
pub(super) fn create(path: &Path, objects: &[Object], canonical: bool) -> Result<()> {
    let options = if canonical { options().canonical() } else { options().sharing() };
    let mut writer = options.create(path)?;
    let mut objects: Vec<&Object> = objects.iter().collect();
    if canonical {
        objects.sort_by(|a, b| a.name.cmp(&b.name));
    }
    for object in objects {
        add(&mut writer, object, canonical)?;
    }
    Ok(writer.finish()?)
}

/// Writes a root and the shards in `places`, which are names and paths. The objects are distributed among these files at random.
pub(super) fn create_sharded(
    path: &Path,
    places: &[(&str, PathBuf)],
    objects: &[Object],
    rng: &mut Rng,
) -> Result<()> {
    let options = if rng.bool() { options().sharing() } else { options() };
    let mut writer = options.create(path)?;
    let mut shards = Vec::new();
    for (name, place) in places {
        shards.push((*name, ShardWriter::new(FileSink::create(place)?, &options)?));
    }
    for object in objects {
        match rng.choice(shards.iter_mut()).filter(|_| rng.u8(..4) > 0) {
            Some((name, shard)) => declare(object, false, |new, parts| {
                let mut out = writer.object_in(name, shard, new)?;
                parts.iter().try_for_each(|(role, bytes)| out.write_part(role, bytes))?;
                Ok(out.finish()?)
            })?,
            None => add(&mut writer, object, false)?,
        }
    }
    for (name, shard) in shards {
        let ((), record) = shard.finish()?;
        writer.shard(name, &record)?;
    }
    Ok(writer.finish()?)
}

/// Adds objects to a file.
pub(super) fn append(path: &Path, objects: &[Object]) -> Result<()> {
    let mut writer = options().append_to(path, &OpenOptions::default())?;
    for object in objects {
        add(&mut writer, object, false)?;
    }
    Ok(writer.finish()?)
}

fn add(writer: &mut Writer<FileSink>, object: &Object, canonical: bool) -> Result<()> {
    declare(object, canonical, |new, parts| Ok(writer.add_object(new, parts)?))
}

fn declare(
    object: &Object,
    canonical: bool,
    write: impl FnOnce(&NewObject<'_>, &[(&str, &[u8])]) -> Result<()>,
) -> Result<()> {
    let attributes: std::collections::BTreeMap<_, _> = object.attributes.iter().cloned().collect();
    let attributes = Encoded::from_value(&attributes)?;
    let mut parts: Vec<&Part> = object.parts.iter().collect();
    parts.sort_by_key(|part| part.role);
    let components: Vec<NewComponent<'_>> = parts
        .iter()
        .map(|part| {
            let component = NewComponent::new(part.role, element(part), part.elements);
            let compressed = object.compressed && !canonical;
            if compressed { component.compressed(Level::default()) } else { component }
        })
        .collect();
    let mut new = NewObject::custom(&object.name, &object.shape, object.layout, &components);
    if !object.attributes.is_empty() {
        new = new.attributes(&attributes);
    }
    let parts: Vec<_> = parts.iter().map(|part| (part.role, &*part.bytes)).collect();
    write(&new, &parts)
}

fn element(part: &Part) -> ElementType<'static> {
    part.logical.map_or(ElementType::Plain(part.storage), ElementType::Logical)
}

/// Verifies all of a file and its shards. The file may have objects of unknown layouts.
pub(super) fn verify(archive: &Archive<impl ReadAt>) -> Result<()> {
    match archive.verify() {
        Err(error) if error.rule() == Some("unsupported-format") => Ok(()),
        outcome => Ok(outcome.map(drop)?),
    }
}

/// Compares everything in a file with the expected content.
pub(super) fn compare(path: &Path, objects: &[Object], canonical: bool) -> Result<()> {
    let file = std::fs::read(path)?;
    let options = OpenOptions::default();
    let options = if canonical { options.canonical() } else { options };
    let archive = options.from_bytes(file)?;
    ensure!(archive.generation() == Some(Generation::V2), "another generation");
    ensure!(archive.len() == objects.len(), "{} objects", archive.len());
    verify(&archive)?;
    for wanted in objects {
        let tensor = archive.tensor(&wanted.name)?;
        ensure!(tensor.shape() == wanted.shape, "shape of {wanted:?}");
        ensure!(tensor.layout_name() == wanted.layout, "layout {}", tensor.layout_name());
        let mut attributes = Vec::new();
        for (key, item) in tensor.attributes() {
            let Value::Text(text) = item.value() else { anyhow::bail!("an attribute is no text") };
            let text: Vec<u8> = text.pieces().flatten().copied().collect();
            attributes.push((key.to_owned(), String::from_utf8(text)?));
        }
        attributes.sort();
        ensure!(attributes == wanted.attributes, "attributes: {attributes:?}");
        ensure!(tensor.components().len() == wanted.parts.len(), "parts");
        for part in &wanted.parts {
            let component = tensor.component(part.role).context("no such part")?;
            ensure!(component.element_type() == element(part), "{:?}", component.element_type());
            ensure!(component.digest().map(|digest| digest.algorithm()) == Some("xxh3"), "digest");
            ensure!(
                component.read()?[..] == part.bytes[..],
                "bytes of {:?}/{}",
                wanted.name,
                part.role
            );
            let is_bool = component.storage_type() == Some(StorageType::Bool);
            ensure!(is_bool == (part.storage == StorageType::Bool), "a bool");
        }
    }
    Ok(())
}
