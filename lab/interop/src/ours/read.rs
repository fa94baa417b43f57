//! Everything in a file, as `zten` reads it, is compared with what it should hold.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use ciborium::Value;
use zten::source::FileArchive;
use zten::{
    Archive, Component, ElementType, Limits, Options,
    attributes::{Chunks, Item},
    verify::{Verified, Verifier},
    view::View,
};

use crate::content::{Attributes, Content, Part, Sum, le, same_attributes};
use crate::elements::{Le as _, by_type};

/// Compares a file of any generation. Where all components have one kind of checksum, `sum` is
/// that.
pub(crate) fn compare(
    path: &Path,
    content: &Content,
    sum: Option<Sum>,
    canonical: bool,
) -> Result<()> {
    let file = std::fs::read(path)?;
    let options = if canonical { Options::default().canonical() } else { Options::default() };
    let archive = Archive::open_with(&file, &options)?;
    let by_position = FileArchive::open(path, &options)?;
    let limits = Limits::default();
    let mut verifier = Verifier::new(file.len() as u64, &limits);
    ensure!(archive.len() as usize == content.objects.len(), "{} objects", archive.len());
    let found = archive.attributes().map(attributes);
    ensure!(same_attributes(found.as_ref(), content.attributes.as_ref()), "attributes: {found:?}");
    for object in archive.objects() {
        verifier.object(&object, &file[..], |_, _| ())?;
    }
    if canonical {
        verifier.padding(archive.manifest(), &file[..])?;
    }
    for wanted in &content.objects {
        let whole = || -> Result<()> {
            let object = archive.get(&wanted.name).context("there is none")?;
            let shape: Vec<u64> = object.shape().to_vec();
            ensure!(shape == wanted.shape, "shape {shape:?}");
            ensure!(object.format_name() == wanted.format, "format {}", object.format_name());
            let found = object.attributes().map(attributes);
            let wanted_attributes = wanted.attributes.as_ref();
            ensure!(same_attributes(found.as_ref(), wanted_attributes), "attributes: {found:?}");
            ensure!(object.components().len() == wanted.parts.len(), "components");
            for part in &wanted.parts {
                let component = object.component(&part.role).context("no such component")?;
                component_is(&component, part, &file, sum).with_context(|| part.role.clone())?;
            }
            let positioned = by_position.get(&wanted.name).context("not by position")?;
            for part in &wanted.parts {
                let component = positioned.component(&part.role).context("not by position")?;
                let bytes = component.read_to_vec(&by_position, &limits)?;
                ensure!(bytes == part.bytes, "{}: bytes, read by position", part.role);
            }
            match &*wanted.format {
                "dense" => {
                    let dense = object.dense()?;
                    ensure!(dense.component().role() == "data", "the component of a dense object");
                }
                "sparse_csr" => {
                    let csr = object.sparse_csr()?.decode(&file[..], &limits)?;
                    let csr = csr.view();
                    indices(csr.indptr(), wanted.part("indptr"))?;
                    indices(csr.indices(), wanted.part("indices"))?;
                }
                "sparse_coo" => {
                    let coo = object.sparse_coo()?.decode(&file[..], &limits)?;
                    indices(coo.view().coords(), wanted.part("coords"))?;
                }
                "quantized_group" => drop(object.quantized_group()?),
                _ => {}
            }
            Ok(())
        };
        whole().with_context(|| format!("object {:?}", wanted.name))?;
    }
    Ok(())
}

fn component_is(
    component: &Component<'_>,
    part: &Part,
    file: &[u8],
    sum: Option<Sum>,
) -> Result<()> {
    let element = match (part.known(), &part.logical) {
        (Some(known), _) => ElementType::Logical(known),
        (None, Some(name)) => ElementType::UnknownLogical(name, part.storage),
        (None, None) => ElementType::Plain(part.storage),
    };
    ensure!(component.element_type() == element, "type {:?}", component.element_type());
    if let Some(sum) = sum {
        let found = component.digest().map_or("none", |digest| digest.algorithm());
        let wanted = match sum {
            Sum::None => "none",
            Sum::Crc32c => "crc32c",
            Sum::Sha256 => "sha256",
        };
        ensure!(found == wanted, "digest {found}");
    }
    let decoded = component.decode(file, &Limits::default())?;
    ensure!(decoded[..] == part.bytes[..], "bytes");
    let digested = component.digest().is_some();
    let verified = if digested { Verified::Digest } else { Verified::NoDigest };
    ensure!(decoded.verified() == verified, "{:?}", decoded.verified());
    // Each element, as a value of its type.
    by_type!(part.storage, T => {
        let mut bytes = Vec::with_capacity(part.bytes.len());
        decoded.view().elements::<T>()?.for_each(|element| element.add_to(&mut bytes));
        ensure!(bytes == part.bytes, "elements");
        if let Ok(view) = component.bind(file) {
            let mut bytes = Vec::with_capacity(part.bytes.len());
            view.elements::<T>()?.for_each(|element| element.add_to(&mut bytes));
            ensure!(bytes == part.bytes, "elements where they lie");
        }
    });
    Ok(())
}

fn indices(indices: &View<'_>, wanted: Option<&Part>) -> Result<()> {
    let found: Vec<u64> = indices.widened().collect();
    ensure!(wanted.is_some_and(|part| part.bytes == le(&found)), "indices");
    Ok(())
}

fn attributes(attributes: zten::attributes::Attributes<'_>) -> Attributes {
    attributes.map(|(key, item)| (key.to_owned(), value(&item))).collect()
}

fn value(item: &Item<'_>) -> Value {
    match item.value() {
        zten::attributes::Value::Uint(number) => Value::Integer(number.into()),
        zten::attributes::Value::Negative(below) => {
            let negative = -1 - i128::from(below);
            negative.try_into().map_or(Value::Null, Value::Integer)
        }
        zten::attributes::Value::Bytes(chunks) => Value::Bytes(whole(&chunks)),
        zten::attributes::Value::Text(chunks) => {
            Value::Text(String::from_utf8_lossy(&whole(&chunks)).into_owned())
        }
        zten::attributes::Value::Array(array) => {
            Value::Array(array.map(|item| value(&item)).collect())
        }
        zten::attributes::Value::Map(map) => {
            Value::Map(map.map(|(key, item)| (value(&key), value(&item))).collect())
        }
        zten::attributes::Value::Tag(tag, item) => Value::Tag(tag, Box::new(value(&item))),
        zten::attributes::Value::Bool(value) => Value::Bool(value),
        zten::attributes::Value::Float(float) => Value::Float(float),
        _ => Value::Null,
    }
}

fn whole(chunks: &Chunks<'_>) -> Vec<u8> {
    chunks.pieces().flatten().copied().collect()
}
