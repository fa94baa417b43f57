//! Accessors of a manifest: values, names, fields, orders.

use zten::{
    Archive, Component, DType, Generation, ReadAt as _,
    attributes::{Array, Item, Map, Value},
    element::ByteOrder,
    manifest::ElementType,
};
use zten_testkit::read_accepted as read;

/// Opens the accepted file `name`, and calls `with` on the first component of the first object.
fn first<O>(name: &str, with: impl FnOnce(Component<'_>) -> O) -> O {
    let file = read(name);
    let archive = Archive::from_bytes(&file).unwrap();
    with(archive.tensors().next().unwrap().components().next().unwrap())
}

/// Opens the accepted file `name`, and calls `with` on the unknown field `x` of the root map.
fn ignored<O>(name: &str, with: impl FnOnce(Item<'_>) -> O) -> O {
    let file = read(&format!("v12-ignored-{name}.zt"));
    let archive = Archive::from_bytes(&file).unwrap();
    with(archive.manifest().fields().unwrap().item("x").unwrap())
}

fn array(item: Item<'_>) -> Array<'_> {
    let Value::Array(array) = item.value() else { panic!("{item:?}") };
    array
}

fn map(item: Item<'_>) -> Map<'_> {
    let Value::Map(map) = item.value() else { panic!("{item:?}") };
    map
}

#[test]
fn simple_values_have_their_type_and_value() {
    let values = |name, wanted: &[Value<'_>]| {
        ignored(name, |item| {
            let found: Vec<_> = array(item).map(|item| item.value()).collect();
            assert_eq!(found, wanted, "{name}");
        });
    };
    values("null-and-undefined", &[Value::Null, Value::Undefined]);
    values("true-and-false", &[Value::Bool(true), Value::Bool(false)]);
    let simple = [0, 19, 32, 128, 255].map(Value::Simple);
    values("simple-values", &simple);
}

#[test]
fn nested_values_are_equal_if_all_their_items_are() {
    ignored("array", |item| {
        assert_eq!(array(item), array(item));
        let mut fewer = array(item);
        fewer.next();
        assert_ne!(fewer, array(item));
    });
    ignored("map-with-other-keys", |item| {
        assert_eq!(map(item), map(item));
        let mut fewer = map(item);
        fewer.next();
        assert_ne!(fewer, map(item));
    });
}

#[test]
fn debug_shows_values_without_their_encoding() {
    ignored("text", |item| assert_eq!(format!("{item:?}"), "Text(\"na\u{ef}ve\")"));
    ignored("bytes", |item| assert_eq!(format!("{item:?}"), "Bytes(2 bytes)"));
    ignored("chunked-bytes", |item| assert_eq!(format!("{item:?}"), "Bytes(6 bytes)"));
    ignored("array", |item| assert!(format!("{item:?}").contains("Array { items: ")));
    ignored("map-with-other-keys", |item| assert!(format!("{item:?}").contains("Map { entries: ")));
    ignored("no-chunks", |item| assert_eq!(format!("{item:?}"), "Text(1 bytes)"));
    let file = read("v12-dense.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let object = archive.get("w").unwrap();
    assert_eq!(format!("{object:?}"), "Tensor { name: \"w\", ordinal: 0 }");
    let data = format!("{:?}", object.component("data").unwrap());
    assert!(data.contains("\"data\"") && data.contains("F32") && data.contains("64"), "{data}");
}

#[test]
fn types_have_the_names_that_files_give_them() {
    for (file, name, dtype) in [
        ("v12-dense.zt", "f32", DType::F32),
        ("v01-dense.zt", "f32", DType::F32),
        ("v12-all-fields.zt", "f8_e4m3fn", DType::F8E4M3Fn),
        ("unsupported-dtype--v01-unknown.zt", "float8", DType::Unknown),
        ("unsupported-dtype--v01-empty.zt", "", DType::Unknown),
    ] {
        first(file, |part| {
            assert_eq!((part.type_name(), part.element_type().name()), (name, name), "{file}");
            assert_eq!((part.dtype(), part.tensor().dtype()), (dtype, dtype), "{file}");
        });
    }
    first("unsupported-type--v12-unknown.zt", |part| {
        let ElementType::UnknownLogical(name, storage) = part.element_type() else { panic!() };
        assert_eq!((part.type_name(), part.storage_type()), (name, Some(storage)));
        assert_eq!(part.dtype(), DType::Unknown);
        assert_eq!(part.fields().unwrap().get("type").unwrap(), Some(name));
    });
}

#[test]
fn encodings_and_formats_have_names() {
    for (file, encoding, format) in [
        ("v12-dense.zt", "raw", "dense"),
        ("v12-frame-packed.zt", "zstd", "dense"),
        ("unsupported-encoding--v01-unknown.zt", "lz4", "dense"),
        ("unsupported-layout--v01-blocked.zt", "raw", "blocked"),
        ("v01-layout-dense.zt", "raw", "dense"),
        ("unsupported-format--v12-unknown.zt", "raw", "block_sparse"),
        ("v12-csr.zt", "raw", "sparse_csr"),
    ] {
        first(file, |part| {
            assert_eq!(part.encoding_name(), encoding, "{file}");
            assert_eq!(part.tensor().layout_name(), format, "{file}");
        });
    }
}

#[test]
fn fields_of_a_component_are_found_by_key() {
    first("v12-ignored-fields.zt", |part| {
        let keys: Vec<_> = part.fields().unwrap().map(|(key, _)| key).collect();
        assert_eq!(keys, ["dtype", "offset", "length", "x"]);
    });
}

/// A 0.1 entry has no attributes, whatever its unknown fields are called.
#[test]
fn attributes_came_with_1_1() {
    let file = read("v01-fields-named-as-later.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let entry = archive.get("w").unwrap();
    assert_eq!(entry.attributes().count(), 0);
    assert_eq!(entry.layout_name(), "dense");
    assert_eq!(entry.fields().unwrap().item("attributes").unwrap().as_bytes(), [0xa0]);
}

#[test]
fn a_manifest_knows_its_generation_and_extent() {
    for (name, generation, version) in [
        ("v12-dense.zt", "1.2", Some((1, 2, Some(0)))),
        ("v11-dense.zt", "1.1", Some((1, 1, Some(0)))),
        ("v12-smallest-indefinite.zt", "1.2", Some((1, 2, None))),
        ("v01-dense.zt", "0.1", None),
        ("v01-empty.zt", "0.1", None),
    ] {
        let file = read(name);
        let archive = Archive::from_bytes(&file).unwrap();
        let manifest = archive.manifest();
        assert_eq!(manifest.generation().map(Generation::as_str), Some(generation), "{name}");
        let found = manifest.version().map(|found| (found.major, found.minor, found.patch));
        assert_eq!(found, version, "{name}");
        assert_eq!(manifest.fields().is_some(), version.is_some(), "{name}");
        assert_eq!(manifest.is_empty(), !name.contains("dense"), "{name}");
        let extent = manifest.extent();
        let range = usize::try_from(extent.start).unwrap()..usize::try_from(extent.end).unwrap();
        assert_eq!(manifest.as_bytes(), &file[range], "{name}");
    }
}

/// A vector lends its bytes as a slice does.
#[test]
fn bytes_in_memory_are_lent() {
    let bytes = vec![1, 2, 3];
    assert_eq!(bytes.bytes_at(1, 2), Some(&[2, 3][..]));
    assert_eq!(bytes.bytes_at(2, 2), None);
}

#[test]
fn unknown_fields_of_0_1_count_as_attributes() {
    for (name, has) in [
        ("v01-dense.zt", false),
        ("v01-ignored-fields.zt", true),
        ("v01-fields-named-as-later.zt", true),
        ("v12-dense.zt", false),
        ("canonical--attributes.zt", true),
    ] {
        let file = read(name);
        let archive = Archive::from_bytes(&file).unwrap();
        let mut objects = archive.tensors();
        assert_eq!(objects.any(|object| object.has_attributes()), has, "{name}");
    }
}

#[test]
fn one_byte_has_no_order() {
    first("v01-zstd-big-endian-bytes.zt", |part| {
        assert_eq!(part.dtype(), DType::U8);
        assert_eq!(part.byte_order(), ByteOrder::Little);
    });
    first("v01-big-endian.zt", |part| assert_eq!(part.byte_order(), ByteOrder::Big));
}
