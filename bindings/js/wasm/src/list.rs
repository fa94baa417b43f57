//! What the manifest says of the file and of its objects, with names as the file has them.

use std::io;

use zten::element::ByteOrder;
use zten::{Component, Digest, ElementType, Encoding, Format, Generation, Object, StorageType};
use zten_guest::border::Answer;
use zten_guest::session::File;
use zten_present::finding::format_name;
use zten_present::json::Json;
use zten_present::spelled::version;

pub(crate) fn file(file: &'static File, out: &mut Answer) -> io::Result<()> {
    let manifest = &file.manifest;
    let mut json = Json::new(out);
    json.open('{')?;
    json.key("format")?;
    json.string(format_name(manifest))?;
    json.key("generation")?;
    json.string_or_null(manifest.generation().map(Generation::as_str))?;
    json.key("version")?;
    json.string_or_null(version(manifest).as_deref())?;
    json.key("objects")?;
    json.plain(manifest.len())?;
    json.close('}')
}

pub(crate) fn objects(file: &File, first: u32, count: u32, out: &mut Answer) -> io::Result<()> {
    let end = first.saturating_add(count).min(file.manifest.len());
    let mut json = Json::new(out);
    json.open('[')?;
    for object in (first..end).filter_map(|ordinal| file.manifest.object(ordinal)) {
        one(&object, &mut json)?;
    }
    json.close(']')
}

pub(crate) fn find(file: &File, name: &[u8], out: &mut Answer) -> io::Result<()> {
    let object = std::str::from_utf8(name).ok().and_then(|name| file.manifest.get(name));
    let mut json = Json::new(out);
    match object {
        Some(object) => one(&object, &mut json),
        None => json.null(),
    }
}

fn one(object: &Object<'_>, json: &mut Json<'_, Answer>) -> io::Result<()> {
    json.open('{')?;
    json.key("ordinal")?;
    json.plain(object.ordinal())?;
    json.key("name")?;
    json.string(object.name())?;
    json.key("format")?;
    json.string(object.format_name())?;
    json.key("dense")?;
    json.plain(object.format() == Format::Dense)?;
    // Its components are valid if each is by itself.
    json.key("independent")?;
    json.plain(match object.format() {
        Format::Dense => true,
        Format::Unknown => object.components().all(|component| component.generation().is_none()),
        _ => false,
    })?;
    json.key("shape")?;
    json.integers(object.shape())?;
    json.key("components")?;
    json.open('[')?;
    for component in object.components() {
        part(&component, json)?;
    }
    json.close(']')?;
    json.close('}')
}

fn part(component: &Component<'_>, json: &mut Json<'_, Answer>) -> io::Result<()> {
    let element = component.element_type();
    json.open('{')?;
    json.key("name")?;
    json.string(component.role())?;
    json.key("type")?;
    json.string(element.name())?;
    json.key("storage")?;
    json.string_or_null(match element {
        ElementType::UnknownOnLogical(_, dtype) => Some(dtype.name()),
        _ => element.storage().map(StorageType::name),
    })?;
    json.key("encoding")?;
    json.string(component.encoding_name())?;
    for (key, number) in [
        ("start", Some(component.read_range().start)),
        ("offset", Some(component.extent().offset())),
        ("length", Some(component.extent().length())),
        ("decoded", component.decoded_length()),
        ("elements", component.packed_elements()),
    ] {
        json.key(key)?;
        json.integer_or_null(number)?;
    }
    json.key("littleEndian")?;
    json.plain(component.byte_order() == ByteOrder::Little)?;
    json.key("windowed")?;
    json.plain(is_windowed(component))?;
    let digest = component.digest();
    json.key("digest")?;
    json.string_or_null(digest.map(|digest| digest.algorithm()))?;
    json.key("verifiable")?;
    json.plain(!matches!(digest, Some(Digest::Unverifiable(_))))?;
    json.key("shard")?;
    json.string_or_null(component.shard())?;
    json.close('}')
}

/// Returns whether its bytes are its elements in order, of which any part can be read without a later one.
fn is_windowed(component: &Component<'_>) -> bool {
    let is_bool = component.storage_type() == Some(StorageType::Bool);
    // A bool that is wrong is damage if the checksum is wrong, too, which takes the rest.
    component.encoding() == Encoding::Raw
        && !component.is_column_major()
        && !(is_bool && component.has_checksum())
}
