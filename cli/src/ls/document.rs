//! The JSON document: everything exact.

use std::io::{self, Write};
use std::path::Path;

use zten::{
    Component, Generation, Tensor, attributes::Attributes, element::ByteOrder, tools::ElementType,
};
use zten_formats::Block;
use zten_report::finding::format_name;

use super::blocks::Blocks;
use super::totals::FileTotals;
use crate::file::TensorFile;
use crate::json::Json;
use crate::remote::shown;
use crate::spelled::{digest, version};
use crate::value;
use crate::words::is_known;

/// Writes the document of one file, on one line.
pub(super) fn write(out: &mut impl Write, path: &Path, archive: &TensorFile) -> io::Result<()> {
    let mut json = Json::document(out)?;
    json.key("file")?;
    json.string(&shown(path).to_string_lossy())?;
    json.key("format")?;
    json.string(format_name(archive.manifest()))?;
    json.key("generation")?;
    json.string_or_null(archive.generation().map(Generation::as_str))?;
    json.key("version")?;
    json.string_or_null(version(archive.manifest()).as_deref())?;
    attributes(&mut json, archive.manifest().own_attributes())?;
    json.key("data_shard")?;
    json.plain(archive.manifest().is_data_shard())?;
    json.key("shards")?;
    shards(&mut json, archive)?;
    json.key("objects")?;
    json.open('[')?;
    for each in archive.tensors() {
        object(&mut json, &each)?;
    }
    json.close(']')?;
    json.key("totals")?;
    FileTotals::of(archive.tensors()).json(&mut json)?;
    json.close('}')?;
    json.line()
}

/// Attributes, or null where there are none.
fn attributes<W: Write>(
    json: &mut Json<'_, W>,
    attributes: Option<Attributes<'_>>,
) -> io::Result<()> {
    json.key("attributes")?;
    let Some(attributes) = attributes else {
        return json.null();
    };
    value::attributes(&attributes, json)
}

/// Other files that hold blobs.
fn shards<W: Write>(json: &mut Json<'_, W>, archive: &TensorFile) -> io::Result<()> {
    json.open('[')?;
    for shard in archive.manifest().shards() {
        json.open('{')?;
        json.key("name")?;
        json.string(shard.name())?;
        json.key("size")?;
        json.integer(shard.size())?;
        json.key("digest")?;
        json.string_or_null(shard.digest().map(|digest| digest.to_string()).as_deref())?;
        json.close('}')?;
    }
    json.close(']')
}

fn object<W: Write>(json: &mut Json<'_, W>, object: &Tensor<'_>) -> io::Result<()> {
    json.open('{')?;
    json.key("name")?;
    json.string(object.name())?;
    json.key("ordinal")?;
    json.plain(object.ordinal())?;
    json.key("format")?;
    json.string(object.layout_name())?;
    json.key("known")?;
    json.plain(is_known(object))?;
    json.key("shape")?;
    json.integers(object.shape())?;
    let blocks = Blocks::of(object);
    json.key("bits")?;
    json.integer_or_null(blocks.as_ref().and_then(|blocks| blocks.bits))?;
    json.key("group_size")?;
    json.integer_or_null(blocks.map(|blocks| blocks.size))?;
    attributes(json, object.own_attributes())?;
    json.key("components")?;
    json.open('[')?;
    for each in object.components() {
        component(json, &each)?;
    }
    json.close(']')?;
    json.close('}')
}

fn component<W: Write>(json: &mut Json<'_, W>, component: &Component<'_>) -> io::Result<()> {
    let element = component.element_type();
    let logical = match element {
        ElementType::Plain(_) | ElementType::Unknown(_) => {
            Block::of(&component.tensor()).map(|block| block.name)
        }
        _ => Some(element.name()),
    };
    let dtype = match element {
        ElementType::UnknownOnLogical(_, dtype) => dtype.name(),
        _ => match element.storage() {
            Some(storage) => storage.name(),
            None => element.name(),
        },
    };
    json.open('{')?;
    json.key("role")?;
    json.string(component.role())?;
    json.key("dtype")?;
    json.string(dtype)?;
    json.key("type")?;
    json.string_or_null(logical)?;
    json.key("offset")?;
    json.integer(component.extent().offset())?;
    json.key("length")?;
    json.integer(component.extent().length())?;
    json.key("decoded_length")?;
    json.integer_or_null(component.decoded_length())?;
    json.key("encoding")?;
    json.string(component.encoding_name())?;
    json.key("byte_order")?;
    json.string(match component.byte_order() {
        ByteOrder::Little => "little",
        ByteOrder::Big => "big",
    })?;
    json.key("digest")?;
    json.string_or_null(digest(component))?;
    json.key("shard")?;
    json.string_or_null(component.shard())?;
    json.close('}')
}
