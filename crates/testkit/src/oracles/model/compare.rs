//! Reads a written model back and compares it with the model.

use zten::element::LogicalType;
use zten::manifest::ElementType;
use zten::write::Checksum;
use zten::{Archive, Encoding, OpenOptions, attributes::Attributes, verify::Verifier};

use super::{Element, Model, ModelComponent, ModelObject};
use crate::oracles::file::around;
use crate::oracles::meaning::{self, Meaning};

/// Checks that `file` has exactly the objects `objects`, and the attributes of `model` if `attributes` says that the
/// writer accepted them.
pub(super) fn read_back(model: &Model, objects: &[&ModelObject], attributes: bool, file: &[u8]) {
    let options = OpenOptions::default();
    let options = if model.canonical { options.canonical() } else { options };
    let archive =
        options.from_bytes(file).unwrap_or_else(|error| panic!("written, and rejected: {error}"));
    let mut verifier = Verifier::new(archive.manifest());
    for object in archive.tensors() {
        let validated = verifier.object(&object, |_, _| ());
        validated.unwrap_or_else(|error| panic!("written, and rejected when read: {error}"));
    }
    if model.canonical {
        verifier
            .padding(archive.manifest(), archive.source())
            .expect("padding of the canonical form");
    }
    let given = model.attributes.as_deref().filter(|_| attributes);
    same_attributes(archive.attributes(), archive.manifest().fields(), given, model.canonical);
    let read: Vec<_> = archive.tensors().map(|object| object.name().to_owned()).collect();
    let wanted: Vec<_> = objects.iter().map(|object| object.name.clone()).collect();
    assert_eq!(read, wanted, "names");
    for (read, wanted) in archive.tensors().zip(objects) {
        assert!(read.shape() == wanted.shape, "shape of {wanted:?}");
        assert_eq!(read.layout_name(), wanted.format);
        let given = wanted.attributes.as_deref();
        same_attributes(read.attributes(), read.fields(), given, model.canonical);
        assert_eq!(read.components().len(), wanted.parts.len(), "components of {wanted:?}");
        for (read, wanted) in read.components().zip(&wanted.parts) {
            component(&read, wanted, model);
        }
    }
}

fn component(read: &zten::Component<'_>, wanted: &ModelComponent, model: &Model) {
    assert_eq!(read.role(), wanted.role);
    assert_eq!(read.element_type(), meant(&wanted.element), "{wanted:?}");
    let content = read.read().expect("found to be valid");
    assert!(*content == wanted.content, "bytes of {wanted:?}");
    let compressed = wanted.level.is_some() && !wanted.content.is_empty();
    assert_eq!(read.encoding() == Encoding::Zstd, compressed);
    let digest = match model.checksum {
        _ if model.canonical => Some("sha256"),
        Checksum::Sha256 => Some("sha256"),
        Checksum::Crc32c => Some("crc32c"),
        _ => None,
    };
    assert_eq!(read.digest().map(|digest| digest.algorithm()), digest);
}

/// Returns the type that a reader must report for an element type that was written. An element type that was written
/// by its name is reported as the known type of this name, if there is one.
fn meant(element: &Element) -> ElementType<'_> {
    match element {
        Element::Named(name, storage) if name == storage.name() => ElementType::Plain(*storage),
        Element::Named(name, _) => {
            let known = LogicalType::V1_2.into_iter().find(|logical| logical.name() == name);
            known.map_or(element.element(), ElementType::Logical)
        }
        _ => element.element(),
    }
}

/// Checks that the attributes `read` are those that were `given` to the writer: byte for byte, or in canonical form
/// with the same meaning.
fn same_attributes(
    read: Attributes<'_>,
    fields: Option<Attributes<'_>>,
    given: Option<&[u8]>,
    canonical: bool,
) {
    let spelled = fields.and_then(|fields| fields.item("attributes"));
    if canonical {
        assert_eq!(meaning::all(read), given.map(meaning_of).unwrap_or_default());
    } else {
        assert_eq!(spelled.map(|item| item.as_bytes()), given, "attributes");
    }
}

/// Returns the meaning of attributes in CBOR, sorted by key.
fn meaning_of(attributes: &[u8]) -> Vec<(String, Meaning)> {
    let file = around(attributes);
    let archive = Archive::from_bytes(&file).expect("attributes that were accepted");
    let all = archive.attributes().item("a");
    let Meaning::Map(entries) = Meaning::from_item(&all.expect("it was put there")).sorted() else {
        panic!("attributes are a map");
    };
    let entry = |(key, value)| match key {
        Meaning::Text(key) => (key, value),
        other => panic!("a key of another kind: {other:?}"),
    };
    let mut entries: Vec<_> = entries.into_iter().map(entry).collect();
    entries.sort();
    entries
}
