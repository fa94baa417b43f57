//! The canonical form: one content has one file, and no bit of it is free to change.

use zten::{Archive, Error, ErrorKind, Generation, OpenOptions, attributes::Attributes};
use zten_corpus::base::{component, dense_object, v1};
use zten_corpus::cbor::text;
use zten_testkit::sample::{least, stride};
use zten_testkit::{Accepted, accepted, check};

/// The canonical form of a file.
fn rewritten(file: &[u8]) -> Vec<u8> {
    zten_testkit::canonical(file).unwrap()
}

/// Validates that a file is canonical, all of it.
fn validate(file: &[u8]) -> Result<(), Error> {
    check(file, &OpenOptions::default().canonical())
}

/// Everything that can be read of a file, with names and types.
fn content(file: &[u8]) -> Vec<String> {
    let archive = Archive::from_bytes(file).unwrap();
    let mut content: Vec<String> = archive
        .tensors()
        .flat_map(|object| {
            let shape: Vec<u64> = object.shape().to_vec();
            let head = format!(
                "{:?} {:?} {shape:?} {:?}",
                object.name(),
                object.layout_name(),
                spelled(object.attributes()),
            );
            let parts = object.components().map(move |part| {
                let bytes = part.read().unwrap();
                format!("{:?} {:?} {:x?}", part.role(), part.element_type(), &*bytes)
            });
            let parts: Vec<String> = parts.map(|part| format!("{head} {part}")).collect();
            if parts.is_empty() { vec![head] } else { parts }
        })
        .collect();
    content.sort();
    content.push(format!("{:?}", spelled(archive.attributes())));
    content
}

/// Attributes, with their values as the file spells them.
fn spelled(attributes: Attributes<'_>) -> Vec<(&str, &[u8])> {
    attributes.map(|(key, item)| (key, item.as_bytes())).collect()
}

fn readable() -> impl Iterator<Item = Accepted> {
    accepted().filter(|file| file.opens_only.is_none())
}

fn canonical() -> Vec<Accepted> {
    let files: Vec<_> = readable().filter(|file| file.name.starts_with("canonical--")).collect();
    assert!(files.len() >= least(12), "only {} canonical files", files.len());
    files
}

#[test]
fn writing_what_is_read_of_a_canonical_file_gives_its_bytes() {
    for Accepted { name, bytes, .. } in canonical() {
        validate(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(rewritten(&bytes) == bytes, "{name} becomes another file");
    }
}

#[test]
fn any_file_has_one_canonical_form() {
    let mut forms = 0;
    for Accepted { name, bytes, .. } in readable() {
        match zten_testkit::canonical(&bytes) {
            Ok(form) => {
                validate(&form).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(rewritten(&form) == form, "{name} has two forms");
                forms += 1;
            }
            // A value with a key that stands twice has no form; what is as deep as can be in a
            // 0.1 entry is too deep in the attributes of an object; a component has one type.
            Err(error) => {
                let known = ["duplicate-key", "limit-depth", "type-storage"];
                assert_eq!(error.kind(), ErrorKind::Inexpressible(Generation::V1_2), "{name}");
                assert!(error.rule().is_some_and(|id| known.contains(&id)), "{name}: {error}");
            }
        }
    }
    assert!(forms >= least(301), "only {forms} files have a form");
}

#[test]
fn unknown_fields_of_0_1_become_attributes() {
    for (name, fields) in [("v01-ignored-fields.zt", &["x"][..]), ("v01-all-fields.zt", &[])] {
        let file = rewritten(&zten_testkit::read_accepted(name));
        let archive = Archive::from_bytes(&file).unwrap();
        let attributes = archive.get("w").unwrap().attributes();
        assert_eq!(attributes.map(|(key, _)| key).collect::<Vec<_>>(), fields, "{name}");
    }
}

#[test]
fn no_bit_of_a_canonical_file_is_free() {
    let mut flips = 0;
    for Accepted { name, bytes, .. } in canonical() {
        let before = content(&bytes);
        let mut file = bytes.clone();
        for bit in (0..file.len() * 8).step_by(stride(1)) {
            file[bit / 8] ^= 1 << (bit % 8);
            if validate(&file).is_ok() {
                assert!(content(&file) != before, "{name}: bit {bit} is free");
            }
            flips += 1;
            file[bit / 8] ^= 1 << (bit % 8);
        }
    }
    assert!(flips >= least(10_001), "only {flips} bits");
}

#[test]
fn a_dtype_that_would_be_a_type_beside_another_is_refused() {
    let data = component("complex64", 64, 8);
    let valid = v1("1.1.0", vec![("x", dense_object(&[1], data))]).start(128);
    let wrong = valid.clone().set("x:data/type", text("foo"));
    validate(&rewritten(&valid.build("").bytes)).unwrap();
    let error = zten_testkit::canonical(&wrong.build("").bytes).unwrap_err();
    assert!(error.to_string().contains("there is another `type` already"));
}
