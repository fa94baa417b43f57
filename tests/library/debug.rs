//! Tests of `Debug`: its output stays short whatever the file holds. Errors give their cause as `source`.

use core::error::Error as _;
use core::fmt::Debug;
use std::collections::BTreeMap;
use std::io;

use zten::element::StorageType;
use zten::manifest::ElementType;
use zten::write::{Encoded, NewComponent, NewObject, WriteOptions, Writer};
use zten::{Archive, Error, ErrorKind, attributes::Value, error::OutOfMemory};
use zten_testkit::read_accepted as read;

/// Far more items than `Debug` shows.
const MANY: usize = 10_000;

fn shown(what: &impl Debug) -> String {
    let text = format!("{what:?}");
    assert!(text.len() < 2000, "{} bytes: {}", text.len(), &text[..200]);
    text
}

/// Returns a file with long names, long texts and long data.
fn file() -> Vec<u8> {
    let long = "x".repeat(MANY);
    let mut writer = Writer::new(Vec::new(), &WriteOptions::default()).unwrap();
    let list: Vec<_> = (0..MANY).collect();
    let attributes = Encoded::from_value(&BTreeMap::from([(&long, (&long, list))])).unwrap();
    writer.attributes_encoded(&attributes).unwrap();
    let element = ElementType::UnknownLogical(&long, StorageType::U8);
    let parts = [NewComponent::new(&long, element, MANY as u64)];
    let object = NewObject::custom(&long, &[1; 64], &long, &parts);
    writer.add_object(&object.attributes(&attributes), &[(&long, &[1; MANY])]).unwrap();
    writer.add("dense", &[MANY as u64], &[7_u8; MANY]).unwrap();
    writer.finish().unwrap()
}

#[test]
fn debug_of_a_file_is_short() {
    let file = file();
    let archive = Archive::from_bytes(&file).unwrap();
    assert!(shown(&archive).contains("objects: 2"), "{archive:?}");
    shown(archive.manifest());
    let attributes = archive.attributes();
    shown(&attributes);
    for (_, item) in attributes {
        shown(&item);
        let Value::Array(mut pair) = item.value() else { panic!("{item:?}") };
        shown(&pair);
        assert!(shown(&pair.next().unwrap()).starts_with("Text(\"xxx"));
        shown(&pair.next().unwrap());
    }
    for object in archive.tensors() {
        shown(&object);
        shown(&object.shape());
        for component in object.components() {
            shown(&component);
            shown(&component.element_type());
            let view = component.view().unwrap();
            shown(&view);
            shown(&view.elements::<u8>().unwrap());
            shown(&component.reader().unwrap());
            let decoded = component.read().unwrap();
            shown(&decoded);
            shown(&decoded.view());
        }
    }
    let dense = archive.get("dense").unwrap();
    shown(&dense.dense().unwrap());
    shown(&dense.slice(0..1).unwrap());
    let long = "x".repeat(MANY);
    for error in [
        archive.get(&long).unwrap().dense().unwrap_err(),
        archive.get(&long).unwrap().component(&long).unwrap().read_into(&mut []).unwrap_err(),
        archive.tensor(&long[1..]).unwrap_err(),
    ] {
        shown(&error);
        assert!(error.to_string().len() < 2000);
        assert!(error.tensor().is_some_and(|name| name.starts_with("xxx")), "{error}");
    }
}

/// `Debug` of sparse and quantized views is short, too.
#[test]
fn debug_of_a_view_is_short() {
    let file = read("v12-csr.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let csr = archive.get("w").unwrap().csr().unwrap();
    assert!(!shown(&csr).contains("[0, 0, "));
    let file = read("v12-coo.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let coo = archive.get("w").unwrap().coo().unwrap();
    assert!(shown(&coo).contains("32 bytes"));
    shown(&coo.coords());
}

/// For what `Debug` leaves out of a file, it shows a size.
#[test]
fn debug_shows_sizes_of_what_it_leaves_out() {
    let bytes = file();
    let archive = Archive::from_bytes(&bytes).unwrap();
    let mut attributes = archive.attributes();
    let Value::Array(mut pair) = attributes.next().unwrap().1.value() else { panic!() };
    assert_eq!(shown(&pair), "Array { items: Some(2), .. }");
    let Value::Array(numbers) = pair.nth(1).unwrap().value() else { panic!() };
    assert_eq!(shown(&numbers), "Array { items: Some(10000), .. }");
    let component = archive.get("dense").unwrap().component("data").unwrap();
    let view = component.view().unwrap();
    assert!(shown(&view.elements::<u8>().unwrap()).contains("10000 bytes"));
    let decoded = component.read().unwrap();
    assert!(shown(&decoded).contains("10000 bytes"), "{decoded:?}");
    let missing = archive.tensor("dens").unwrap_err();
    assert!(shown(&missing).contains("\"dens\""));
    let csr = read("v12-csr.zt");
    let archive = Archive::from_bytes(&csr).unwrap();
    let csr = archive.get("w").unwrap().csr().unwrap();
    assert!(shown(&csr.indices().widened()).contains("bytes"));
}

#[test]
fn errors_have_sources() {
    let error = zten::open("no such file").unwrap_err();
    assert_eq!((error.kind(), error.rule()), (ErrorKind::Read, None));
    let source = error.source().unwrap().downcast_ref::<io::Error>().unwrap();
    assert_eq!(source.kind(), io::ErrorKind::NotFound);
    let (said, reason) = (error.to_string(), source.to_string());
    assert_eq!(said, format!("the bytes of the file could not be read: {reason}"));
    // Converting the error to an `io::Error` returns the original error of the operating system.
    let system = io::Error::from(error);
    assert_eq!((system.kind(), system.to_string()), (io::ErrorKind::NotFound, reason));
    let same = Error::from(io::Error::other("why"));
    assert_eq!(same.source().unwrap().to_string(), "why");
    let rejection = Archive::from_bytes(b"").unwrap_err();
    assert!(rejection.source().is_none());
    let (said, rejected) = (rejection.to_string(), io::Error::from(rejection));
    assert_eq!((rejected.kind(), rejected.to_string()), (io::ErrorKind::InvalidData, said));
}

#[test]
fn out_of_memory_is_not_misuse() {
    let error = Error::from(OutOfMemory);
    assert_eq!((error.kind(), error.rule()), (ErrorKind::OutOfMemory, None));
    assert_eq!(error.to_string(), "out of memory");
}
