//! `Debug` shows little of a file, whatever is in it; and errors say what is behind them.

use core::error::Error as _;
use core::fmt::Debug;

use zten::write::{Encoded, NewComponent, NewObject, Settings, Writer};
use zten::{
    Archive, ElementType, ErrorKind, Limits, ReadError, StorageType, attributes::Value,
    error::OutOfMemory,
};
use zten_testkit::read_accepted as read;

/// Far more than is shown.
const MANY: usize = 10_000;

fn shown(what: &impl Debug) -> String {
    let text = format!("{what:?}");
    assert!(text.len() < 2000, "{} bytes: {}", text.len(), &text[..200]);
    text
}

/// A file of long names, texts and data.
fn file() -> Vec<u8> {
    let long = "x".repeat(MANY);
    let mut writer = Writer::new(Vec::new(), &Settings::default()).unwrap();
    let attributes = Encoded::from_value(
        &[(long.as_str(), long.as_str())].map(|(key, text)| {
            let list: Vec<_> = (0..MANY).collect();
            [(key, (text, list))].into_iter().collect::<std::collections::BTreeMap<_, _>>()
        })[0],
    )
    .unwrap();
    writer.attributes(&attributes).unwrap();
    let element = ElementType::UnknownLogical(&long, StorageType::U8);
    let parts = [NewComponent::new(&long, element, MANY as u64)];
    let object = NewObject::custom(&long, &[1; 64], &long, &parts);
    writer.add(&object.attributes(&attributes), &[(&long, &[1; MANY])]).unwrap();
    let data = [7; MANY];
    let dense = NewObject::dense("dense", &[MANY as u64], StorageType::U8);
    writer.add(&dense, &[("data", &data)]).unwrap();
    writer.finish().unwrap()
}

#[test]
fn little_of_a_file_is_shown() {
    let file = file();
    let archive = Archive::open(&file).unwrap();
    assert!(shown(&archive).contains("objects: 2"), "{archive:?}");
    shown(archive.manifest());
    let attributes = archive.attributes().unwrap();
    shown(&attributes);
    for (_, item) in attributes {
        shown(&item);
        let Value::Array(mut pair) = item.value() else { panic!("{item:?}") };
        shown(&pair);
        assert!(shown(&pair.next().unwrap()).starts_with("Text(\"xxx"));
        shown(&pair.next().unwrap());
    }
    for object in archive.objects() {
        shown(&object);
        shown(&object.shape());
        for component in object.components() {
            shown(&component);
            shown(&component.element_type());
            let view = component.bind(&file).unwrap();
            shown(&view);
            shown(&view.elements::<u8>().unwrap());
            let decoded = component.decode(&file[..], &Limits::default()).unwrap();
            shown(&decoded);
            shown(&decoded.view());
        }
    }
    shown(&archive.get("dense").unwrap().dense().unwrap());
}

/// Sparse and quantized views show no more.
#[test]
fn little_of_a_view_is_shown() {
    let file = read("v12-csr.zt");
    let archive = Archive::open(&file).unwrap();
    let csr = archive.get("w").unwrap().sparse_csr().unwrap();
    shown(&csr);
    assert!(!shown(&csr.view().unwrap()).contains("[0, 0, "));
    let file = read("v12-coo.zt");
    let archive = Archive::open(&file).unwrap();
    let coo = archive.get("w").unwrap().sparse_coo().unwrap();
    assert!(shown(&coo.view().unwrap()).contains("32 bytes"));
    shown(&coo.coords().bind(&file).unwrap());
}

/// What is not shown of a file is counted.
#[test]
fn what_is_shown_says_how_much_there_is() {
    let bytes = file();
    let archive = Archive::open(&bytes).unwrap();
    let mut attributes = archive.attributes().unwrap();
    let Value::Array(mut pair) = attributes.next().unwrap().1.value() else { panic!() };
    assert_eq!(shown(&pair), "Array { items: Some(2), .. }");
    let Value::Array(numbers) = pair.nth(1).unwrap().value() else { panic!() };
    assert_eq!(shown(&numbers), "Array { items: Some(10000), .. }");
    let component = archive.get("dense").unwrap().component("data").unwrap();
    let view = component.bind(&bytes).unwrap();
    assert!(shown(&view.elements::<u8>().unwrap()).contains("10000 bytes"));
    let decoded = component.decode(&bytes[..], &Limits::default()).unwrap();
    assert!(shown(&decoded).contains("10000 bytes"), "{decoded:?}");
    let missing = archive.manifest().require("dens").unwrap_err();
    assert!(shown(&missing).contains("\"dens\""));
    let csr = read("v12-csr.zt");
    let archive = Archive::open(&csr).unwrap();
    let object = archive.get("w").unwrap();
    let indices = object.sparse_csr().unwrap().view().unwrap();
    assert!(shown(&indices.indices().widened()).contains("bytes"));
}

#[test]
fn errors_have_sources() {
    let missing =
        zten::source::FileArchive::open("no such file".as_ref(), &zten::Options::default());
    let error = missing.unwrap_err();
    let source = error.source().unwrap().downcast_ref::<std::io::Error>().unwrap();
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
    let said = error.to_string();
    assert_eq!(said, format!("the bytes of the file could not be read: {source}"));
    assert_eq!(ReadError::from(error).to_string(), said);
    let same = ReadError::Source(std::io::Error::other("why"));
    assert_eq!(same.source().unwrap().to_string(), "why");
    let refusal = Archive::open(b"").unwrap_err();
    let refused = ReadError::<std::io::Error>::from(refusal);
    assert_eq!((refused.to_string(), refused.source().is_none()), (refusal.to_string(), true));
}

#[test]
fn want_of_memory_is_no_misuse() {
    let error = zten::Error::from(OutOfMemory);
    assert_eq!((error.kind(), error.id()), (ErrorKind::OutOfMemory, None));
    assert_eq!(error.to_string(), "out of memory");
}
