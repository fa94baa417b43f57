//! Writes contents with `zten::write`, in one of the ways that it offers.

use std::path::Path;

use anyhow::Result;
use ciborium::Value;
use fastrand::Rng;
use zten::write::{
    Checksum, Encoded, FileSink, Level, NewComponent, NewObject, WriteOptions, Writer,
    canonical_order,
};
use zten::{OpenOptions, manifest::ElementType};

use crate::content::{Attributes, Content, Object, Part, Sum};

/// The checksum and the form in which a file is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub(crate) sum: Sum,
    pub(crate) canonical: bool,
}

impl Manner {
    fn options(self) -> WriteOptions {
        let checksum = match self.sum {
            Sum::None => Checksum::None,
            Sum::Crc32c => Checksum::Crc32c,
            Sum::Sha256 => Checksum::Sha256,
        };
        let options = WriteOptions::default().checksum(checksum);
        if self.canonical { options.canonical() } else { options }
    }
}

/// Writes a new file. In canonical form, the objects are written in canonical order.
pub(crate) fn create(path: &Path, content: &Content, manner: Manner, rng: &mut Rng) -> Result<()> {
    let mut writer = manner.options().create(path)?;
    if let Some(attributes) = &content.attributes {
        writer.attributes_encoded(&encoded(attributes, rng)?)?;
    }
    let mut objects: Vec<&Object> = content.objects.iter().collect();
    if manner.canonical {
        objects.sort_by(|a, b| canonical_order(&a.name, &b.name));
    }
    for object in objects {
        add(&mut writer, object, manner, rng)?;
    }
    Ok(writer.finish()?)
}

/// Adds objects to a file.
pub(crate) fn append(path: &Path, objects: &[Object], manner: Manner, rng: &mut Rng) -> Result<()> {
    let mut writer = manner.options().append_to(path, &OpenOptions::default())?;
    for object in objects {
        add(&mut writer, object, manner, rng)?;
    }
    Ok(writer.finish()?)
}

fn add(
    writer: &mut Writer<FileSink>,
    object: &Object,
    manner: Manner,
    rng: &mut Rng,
) -> Result<()> {
    let attributes = object.attributes.as_ref().map(|all| encoded(all, rng)).transpose()?;
    let packed = object.packed && !manner.canonical;
    let level = Level::new(rng.u8(1..=5))?;
    // An object of a known format is created either by the function for that format, or by the general one, as any
    // other object.
    let mut parts: Vec<&Part> = object.parts.iter().collect();
    let named = named(object).filter(|_| rng.bool());
    if named.is_none() {
        if manner.canonical {
            parts.sort_by(|a, b| canonical_order(&a.role, &b.role));
        } else {
            rng.shuffle(&mut parts);
        }
    }
    let components: Vec<NewComponent<'_>> = parts
        .iter()
        .map(|part| {
            let component = NewComponent::new(&part.role, element(part), part.elements());
            if packed { component.compressed(level) } else { component }
        })
        .collect();
    let mut new = match named {
        Some(named) if packed => named.compressed(level),
        Some(named) => named,
        None => NewObject::custom(&object.name, &object.shape, &object.format, &components),
    };
    if let Some(attributes) = &attributes {
        new = new.attributes(attributes);
    }
    if rng.bool() {
        let parts: Vec<_> = parts.iter().map(|part| (&*part.role, &*part.bytes)).collect();
        writer.add_object(&new, &parts)?;
        return Ok(());
    }
    let mut out = writer.object(&new)?;
    for part in parts {
        let size = if part.bytes.len() > 5000 { 4097 } else { rng.usize(1..100) };
        for piece in part.bytes.chunks(size) {
            out.write_part(&part.role, piece)?;
        }
    }
    Ok(out.finish()?)
}

/// Returns the object as the function for its format creates it, if the object has nothing else.
fn named(object: &Object) -> Option<NewObject<'_>> {
    let part = |role| object.part(role);
    let plain = |role| part(role).map(|part| (part.storage.into(), part.elements()));
    Some(match (&*object.format, object.parts.len()) {
        ("dense", 1) => NewObject::dense(&object.name, &object.shape, element(part("data")?)),
        ("sparse_csr", 3) => {
            let shape = object.shape.as_slice().try_into().ok()?;
            let values = part("values")?;
            NewObject::sparse_csr(&object.name, shape, element(values), values.elements())
        }
        ("sparse_coo", 2) => {
            let values = part("values")?;
            NewObject::sparse_coo(&object.name, &object.shape, element(values), values.elements())
        }
        ("quantized_group", 3) => {
            let types = [plain("packed_weight")?, plain("scales")?, plain("zeros")?];
            NewObject::quantized_group(&object.name, &object.shape, types)
        }
        _ => return None,
    })
}

fn element(part: &Part) -> ElementType<'_> {
    match (part.known(), &part.logical) {
        (Some(known), _) => ElementType::Logical(known),
        (None, Some(name)) => ElementType::UnknownLogical(name, part.storage),
        (None, None) => ElementType::Plain(part.storage),
    }
}

/// Encodes attributes as CBOR, with our encoder through serde or with another library.
fn encoded(attributes: &Attributes, rng: &mut Rng) -> Result<Encoded> {
    if attributes.values().all(plain) && rng.bool() {
        return Ok(Encoded::from_value(attributes)?);
    }
    let mut bytes = Vec::new();
    ciborium::into_writer(attributes, &mut bytes)?;
    Ok(Encoded::from_cbor(bytes))
}

/// Returns whether serde's data model can express a value: no tags, and no integers beyond 64 bits.
fn plain(value: &Value) -> bool {
    match value {
        Value::Tag(..) => false,
        Value::Integer(number) => i64::try_from(*number).is_ok() || u64::try_from(*number).is_ok(),
        Value::Array(items) => items.iter().all(plain),
        Value::Map(entries) => entries.iter().all(|(key, value)| plain(key) && plain(value)),
        _ => true,
    }
}
