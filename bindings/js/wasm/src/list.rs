//! What the manifest says of the file and of its objects, with names as the file has them.

use std::io;

use zten::element::ByteOrder;
use zten::tools::{ElementType, StorageType};
use zten::{Component, DType, Digest, Encoding, Generation, Layout, Tensor};
use zten_guest::border::Answer;
use zten_guest::session::{self, File};
use zten_report::finding::format_name;
use zten_report::json::Json;
use zten_report::spelled::version;

pub(crate) fn file(file: &'static File, out: &mut Answer) -> io::Result<()> {
    let manifest = file.manifest();
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
    let mut json = Json::new(out);
    json.open('[')?;
    for tensor in session::tensors(file, first, count) {
        one(&tensor, &mut json)?;
    }
    json.close(']')
}

pub(crate) fn find(file: &File, name: &[u8], out: &mut Answer) -> io::Result<()> {
    let tensor = std::str::from_utf8(name).ok().and_then(|name| session::find(file, name));
    let mut json = Json::new(out);
    match tensor {
        Some(tensor) => one(&tensor, &mut json),
        None => json.null(),
    }
}

fn one(tensor: &Tensor<'_>, json: &mut Json<'_, Answer>) -> io::Result<()> {
    json.open('{')?;
    json.key("ordinal")?;
    json.plain(tensor.ordinal())?;
    json.key("name")?;
    json.string(tensor.name())?;
    json.key("format")?;
    json.string(tensor.layout_name())?;
    json.key("dense")?;
    json.plain(tensor.layout() == Layout::Dense)?;
    // Its components are valid if each is by itself.
    json.key("independent")?;
    json.plain(match tensor.layout() {
        Layout::Dense => true,
        Layout::Unknown => tensor.components().all(|component| component.generation().is_none()),
        _ => false,
    })?;
    json.key("shape")?;
    json.integers(tensor.shape())?;
    json.key("components")?;
    json.open('[')?;
    for component in tensor.components() {
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
    let is_bool = component.dtype() == DType::Bool;
    // A bool that is wrong is damage if the checksum is wrong, too, which takes the rest.
    component.encoding() == Encoding::Raw
        && !component.is_column_major()
        && !(is_bool && component.has_checksum())
}
