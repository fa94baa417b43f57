//! By `zten`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use zten::write::{
    Encoded, FileSink, Level, NewComponent, NewObject, Settings, ShardWriter, Writer,
};
use zten::{Archive, ElementType, Generation, Limits, Options, StorageType, attributes::Value};

use super::{Object, Part};

fn settings() -> Settings {
    Settings::default().generation(Generation::V2)
}

/// Writes a new file. In canonical form, objects and parts come by their bytes.
pub(super) fn create(path: &Path, objects: &[Object], canonical: bool) -> Result<()> {
    let settings = if canonical { settings().canonical() } else { settings().sharing() };
    let mut writer = Writer::new(FileSink::create(path)?, &settings)?;
    let mut objects: Vec<&Object> = objects.iter().collect();
    if canonical {
        objects.sort_by(|a, b| a.name.cmp(&b.name));
    }
    for object in objects {
        add(&mut writer, object, canonical)?;
    }
    writer.finish()?.publish()?;
    Ok(())
}

/// Writes a root and shards of those names, in which objects are as it happens.
pub(super) fn create_sharded(
    path: &Path,
    places: &[(&str, PathBuf)],
    objects: &[Object],
    rng: &mut Rng,
) -> Result<()> {
    let settings = if rng.bool() { settings().sharing() } else { settings() };
    let mut writer = Writer::new(FileSink::create(path)?, &settings)?;
    let mut shards = Vec::new();
    for (name, place) in places {
        shards.push((*name, ShardWriter::new(FileSink::create(place)?, &settings)?));
    }
    for object in objects {
        match rng.choice(shards.iter_mut()).filter(|_| rng.u8(..4) > 0) {
            Some((name, shard)) => declare(object, false, |new, parts| {
                let mut out = writer.object_in(name, shard, new)?;
                parts.iter().try_for_each(|(role, bytes)| out.write(role, bytes))?;
                Ok(out.end()?)
            })?,
            None => add(&mut writer, object, false)?,
        }
    }
    for (name, shard) in shards {
        let (file, record) = shard.finish()?;
        writer.shard(name, &record)?;
        file.publish()?;
    }
    writer.finish()?.publish()?;
    Ok(())
}

/// Adds objects to a file.
pub(super) fn append(path: &Path, objects: &[Object]) -> Result<()> {
    let mut writer = zten::write::append(path, &Options::default(), &settings())?;
    for object in objects {
        add(&mut writer, object, false)?;
    }
    writer.finish()?.publish()?;
    Ok(())
}

fn add(writer: &mut Writer<FileSink>, object: &Object, canonical: bool) -> Result<()> {
    declare(object, canonical, |new, parts| Ok(writer.add(new, parts)?))
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

/// Compares everything in a file with what it should hold.
pub(super) fn compare(path: &Path, objects: &[Object], canonical: bool) -> Result<()> {
    let file = std::fs::read(path)?;
    let options = if canonical { Options::default().canonical() } else { Options::default() };
    let archive = Archive::open_with(&file, &options)?;
    ensure!(archive.generation() == Some(Generation::V2), "another generation");
    ensure!(archive.len() as usize == objects.len(), "{} objects", archive.len());
    match archive.verify() {
        Err(error) if error.id() == Some("unsupported-format") => {}
        outcome => drop(outcome?),
    }
    for wanted in objects {
        let object = archive.get(&wanted.name).context("there is none")?;
        ensure!(object.shape().iter().eq(wanted.shape.iter().copied()), "shape of {wanted:?}");
        ensure!(object.format_name() == wanted.layout, "layout {}", object.format_name());
        let mut attributes = Vec::new();
        for (key, item) in object.attributes().into_iter().flatten() {
            let Value::Text(text) = item.value() else { anyhow::bail!("an attribute is no text") };
            let text: Vec<u8> = text.pieces().flatten().copied().collect();
            attributes.push((key.to_owned(), String::from_utf8(text)?));
        }
        attributes.sort();
        ensure!(attributes == wanted.attributes, "attributes: {attributes:?}");
        ensure!(object.components().len() == wanted.parts.len(), "parts");
        for part in &wanted.parts {
            let component = object.component(part.role).context("no such part")?;
            ensure!(component.element_type() == element(part), "{:?}", component.element_type());
            ensure!(component.digest().map(|digest| digest.algorithm()) == Some("xxh3"), "digest");
            let content = component.read_to_vec(&file[..], &Limits::default())?;
            ensure!(content == part.bytes, "bytes of {:?}/{}", wanted.name, part.role);
            let is_bool = component.storage_type() == Some(StorageType::Bool);
            ensure!(is_bool == (part.storage == StorageType::Bool), "a bool");
        }
    }
    Ok(())
}
