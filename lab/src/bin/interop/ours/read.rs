//! Compares everything that `zten` reads in a file with the expected content.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use ciborium::Value;
use zten::{
    Component, Layout, OpenOptions,
    attributes::{Chunks, Item},
    manifest::ElementType,
    verify::{Verified, Verifier},
    view::View,
};

use crate::content::{Attributes, Content, Part, Sum, le, same_attributes};
use crate::elements::{Le as _, by_type};

/// Checks that zten reads `content` in the file at `path`, which may be of any generation. `sum` is the checksum of
/// all components, if they have the same one.
pub(crate) fn compare(
    path: &Path,
    content: &Content,
    sum: Option<Sum>,
    canonical: bool,
) -> Result<()> {
    let file = std::fs::read(path)?;
    let options = OpenOptions::default();
    let options = if canonical { options.canonical() } else { options };
    let archive = options.from_bytes(&file)?;
    let by_position = options.open(path)?;
    let mut verifier = Verifier::new(archive.manifest());
    ensure!(archive.len() == content.objects.len(), "{} objects", archive.len());
    let found = attributes(archive.attributes());
    ensure!(same_attributes(Some(&found), content.attributes.as_ref()), "attributes: {found:?}");
    for tensor in &archive {
        verifier.object(&tensor, |_, _| ())?;
    }
    if canonical {
        verifier.padding(archive.manifest(), archive.source())?;
    }
    for wanted in &content.objects {
        let whole = || -> Result<()> {
            let tensor = archive.tensor(&wanted.name)?;
            let shape: Vec<u64> = tensor.shape().to_vec();
            ensure!(shape == wanted.shape, "shape {shape:?}");
            ensure!(tensor.layout_name() == wanted.format, "format {}", tensor.layout_name());
            let found = attributes(tensor.attributes());
            let wanted_attributes = wanted.attributes.as_ref();
            ensure!(same_attributes(Some(&found), wanted_attributes), "attributes: {found:?}");
            ensure!(tensor.components().len() == wanted.parts.len(), "components");
            for part in &wanted.parts {
                let component = tensor.component(&part.role).context("no such component")?;
                component_is(&component, part, sum).with_context(|| part.role.clone())?;
            }
            let positioned = by_position.get(&wanted.name).context("not by position")?;
            for part in &wanted.parts {
                let component = positioned.component(&part.role).context("not by position")?;
                let bytes = component.read()?;
                ensure!(bytes[..] == part.bytes[..], "{}: bytes, read by position", part.role);
            }
            match &*wanted.format {
                "dense" => {
                    ensure!(tensor.dense()?.role() == "data", "the component of a dense object");
                }
                "sparse_csr" => {
                    let csr = tensor.csr()?;
                    indices(csr.indptr(), wanted.part("indptr"))?;
                    indices(csr.indices(), wanted.part("indices"))?;
                }
                "sparse_coo" => {
                    indices(tensor.coo()?.coords(), wanted.part("coords"))?;
                }
                "quantized_group" => ensure!(tensor.layout() == Layout::QuantizedGroup, "layout"),
                _ => {}
            }
            Ok(())
        };
        whole().with_context(|| format!("object {:?}", wanted.name))?;
    }
    Ok(())
}

fn component_is(component: &Component<'_>, part: &Part, sum: Option<Sum>) -> Result<()> {
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
    let decoded = component.read()?;
    ensure!(decoded[..] == part.bytes[..], "bytes");
    let digested = component.digest().is_some();
    let verified = if digested { Verified::Digest } else { Verified::NoDigest };
    ensure!(decoded.verified() == verified, "{:?}", decoded.verified());
    // Compares each element as a value of its type.
    by_type!(part.storage, T => {
        let mut bytes = Vec::with_capacity(part.bytes.len());
        decoded.view().elements::<T>()?.for_each(|element| element.add_to(&mut bytes));
        ensure!(bytes == part.bytes, "elements");
        if let Ok(view) = component.view() {
            let mut bytes = Vec::with_capacity(part.bytes.len());
            view.elements::<T>()?.for_each(|element| element.add_to(&mut bytes));
            ensure!(bytes == part.bytes, "elements where they lie");
        }
    });
    Ok(())
}

fn indices(indices: View<'_>, wanted: Option<&Part>) -> Result<()> {
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
