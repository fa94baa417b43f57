//! What the manifest says: of the file, of its objects, of one of them. Whatever the file spells
//! is escaped, so that it can be shown as it comes.

use std::io::{self, Write};

use zten::attributes::Attributes;
use zten::element::ByteOrder;
use zten::tools::{ElementType, StorageType};
use zten::{Component, DType, Digest, Encoding, Generation, Layout, Tensor};

use crate::diagnostic;
use crate::escape::{Escaped, whole};
use crate::json::Json;
use crate::session::{self, File};
use crate::spelled::{digest, version};

/// Bytes of an attribute's value, at most.
const VALUE: usize = 4096;

/// Says what the file is.
pub fn file(file: &File, out: &mut impl Write) -> io::Result<()> {
    let manifest = file.manifest();
    let mut json = Json::new(out);
    json.open('{')?;
    json.key("verdict")?;
    json.string("manifest-valid")?;
    json.key("generation")?;
    json.string_or_null(manifest.generation().map(Generation::as_str))?;
    json.key("version")?;
    json.string_or_null(version(manifest).as_deref())?;
    let (mut components, mut stored) = (0_u64, 0_u64);
    for component in file.tensors().flat_map(|tensor| tensor.components()) {
        components = components.saturating_add(1);
        stored = stored.saturating_add(component.extent().length());
    }
    for (key, number) in [
        ("objects", u64::try_from(file.len()).unwrap_or(u64::MAX)),
        ("components", components),
        ("stored", stored),
        ("manifestStart", manifest.extent().start),
        ("manifestEnd", manifest.extent().end),
    ] {
        json.key(key)?;
        json.plain(number)?;
    }
    attributes(manifest.attributes(), &mut json)?;
    json.close('}')
}

/// Escapes a name that is not from the file.
pub fn name(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    Json::new(out).string(&whole(&String::from_utf8_lossy(bytes)))
}

/// Lists up to `count` objects from the one at `first` on.
pub fn list(file: &File, first: u32, count: u32, out: &mut impl Write) -> io::Result<()> {
    let mut json = Json::new(out);
    json.open('[')?;
    for tensor in session::tensors(file, first, count) {
        json.open('{')?;
        head(&tensor, &mut json)?;
        json.key("components")?;
        json.open('[')?;
        for component in tensor.components() {
            json.open('{')?;
            part(&component, &mut json)?;
            json.close('}')?;
        }
        json.close(']')?;
        json.close('}')?;
    }
    json.close(']')
}

/// Says all of one object.
pub fn object(file: &File, ordinal: u32, out: &mut impl Write) -> io::Result<()> {
    let mut json = Json::new(out);
    let Ok(tensor) = session::tensor(file, ordinal) else {
        return json.null();
    };
    json.open('{')?;
    head(&tensor, &mut json)?;
    attributes(tensor.attributes(), &mut json)?;
    json.key("components")?;
    json.open('[')?;
    for component in tensor.components() {
        json.open('{')?;
        part(&component, &mut json)?;
        json.key("digestText")?;
        json.string_or_null(digest(&component).map(whole).as_deref())?;
        json.key("order")?;
        json.string(match component.byte_order() {
            ByteOrder::Little => "little",
            ByteOrder::Big => "big",
        })?;
        json.close('}')?;
    }
    json.close(']')?;
    json.close('}')
}

fn head<W: Write>(tensor: &Tensor<'_>, json: &mut Json<'_, W>) -> io::Result<()> {
    json.key("name")?;
    json.display(&Escaped(tensor.name()))?;
    json.key("format")?;
    json.display(&Escaped(tensor.layout_name()))?;
    json.key("known")?;
    json.plain(tensor.layout() != Layout::Unknown)?;
    json.key("shape")?;
    // Dimensions have 64 bits, and the numbers of a page have 53.
    json.open('[')?;
    for dimension in tensor.shape() {
        json.string(&dimension.to_string())?;
    }
    json.close(']')
}

fn part<W: Write>(component: &Component<'_>, json: &mut Json<'_, W>) -> io::Result<()> {
    let element = component.element_type();
    let algorithm = component.digest().map(|digest| (digest.algorithm(), known(&digest)));
    json.key("role")?;
    json.display(&Escaped(component.role()))?;
    json.key("type")?;
    json.display(&Escaped(element.name()))?;
    json.key("storage")?;
    json.string_or_null(match element {
        ElementType::UnknownOnLogical(_, dtype) => Some(dtype.name()),
        _ => element.storage().map(StorageType::name),
    })?;
    json.key("typeKnown")?;
    json.plain(component.dtype() != DType::Unknown)?;
    json.key("offset")?;
    json.plain(component.extent().offset())?;
    json.key("length")?;
    json.plain(component.extent().length())?;
    json.key("decoded")?;
    json.number_or_null(component.decoded_length())?;
    json.key("encoding")?;
    json.display(&Escaped(component.encoding_name()))?;
    json.key("encodingKnown")?;
    json.plain(component.encoding() != Encoding::Unknown)?;
    json.key("digest")?;
    json.string_or_null(algorithm.map(|(name, _)| whole(name)).as_deref())?;
    json.key("verifiable")?;
    json.plain(algorithm.is_some_and(|(_, known)| known))
}

fn known(digest: &Digest<'_>) -> bool {
    !matches!(digest, Digest::Unverifiable(_))
}

/// Attributes as pairs of key and value, in diagnostic notation.
fn attributes<W: Write>(attributes: Attributes<'_>, json: &mut Json<'_, W>) -> io::Result<()> {
    json.key("attributes")?;
    json.open('[')?;
    for (key, item) in attributes {
        json.open('[')?;
        json.display(&Escaped(key))?;
        json.string(&diagnostic::cut(&item, VALUE))?;
        json.close(']')?;
    }
    json.close(']')
}
