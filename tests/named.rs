//! The names at the place of an error in a manifest that was refused.

use zten::open::Named;
use zten::source::{FileArchive, OpenError};
use zten::{Archive, Options};
use zten_testkit::{accepted, accepted_v2, body, reject_index};

#[test]
fn names_are_those_of_a_manifest_that_can_be_asked() {
    let mut compared = 0;
    for file in accepted().chain(accepted_v2()) {
        let archive = Archive::open(&file.bytes).unwrap();
        let (body, manifest) = body(&file.bytes, &Options::default()).unwrap();
        for component in archive.objects().flat_map(|object| object.components()) {
            let named = body.named(manifest, component.place());
            assert_eq!(named.generation, archive.generation(), "{}", file.name);
            assert_eq!(named.object, Some(component.object().name()), "{}", file.name);
            assert_eq!(named.component, Some(component.role()), "{}", file.name);
            compared += 1;
        }
    }
    assert!(compared > 1000, "{compared}");
}

#[test]
fn refused_files_have_names() {
    let (mut objects, mut components) = ([0; 2], [0; 2]);
    for row in reject_index().filter(|row| !row.content && row.expected.object.is_some()) {
        let bytes = row.read();
        let (body, manifest) = body(&bytes, &row.options).unwrap();
        let refused = body.clone().manifest(manifest).unwrap_err();
        let named = refused.named();
        assert_eq!(named, body.named(manifest, refused.error().place()), "{}", row.file);
        assert_eq!(refused.extent(), body.needs(), "{}", row.file);
        assert_eq!(refused.to_string(), refused.error().to_string(), "{}", row.file);
        assert!(format!("{refused:?}").contains(&format!("bytes: {} bytes", manifest.len())));
        let OpenError::Manifest(on_disk) = FileArchive::open(&row.path, &row.options).unwrap_err()
        else {
            panic!("{}: refused before its manifest", row.file);
        };
        assert_eq!((on_disk.error(), on_disk.named()), (refused.error(), named), "{}", row.file);
        objects[usize::from(named.object.is_some())] += 1;
        assert!(named.component.is_none() || row.expected.component.is_some(), "{}", row.file);
        if row.expected.component.is_some() {
            components[usize::from(named.component.is_some())] += 1;
        }
    }
    // The name itself may be what is wrong, or what should hold it.
    assert!(objects[1] > 1000 && objects[0] * 15 < objects[1], "{objects:?}");
    assert!(components[1] > 300 && components[0] * 20 < components[1], "{components:?}");
}

#[test]
fn of_a_manifest_that_is_cut_there_are_fewer_names_and_no_others() {
    for file in accepted().filter(|file| file.bytes.len() < 4096) {
        let (body, manifest) = body(&file.bytes, &Options::default()).unwrap();
        let archive = Archive::open(&file.bytes).unwrap();
        let places = archive.objects().flat_map(|object| object.components());
        for place in places.map(|component| component.place()).take(3) {
            let whole = body.named(manifest, place);
            for end in 0..manifest.len() {
                let Named { generation, object, component, .. } =
                    body.named(&manifest[..end], place);
                assert!(generation.is_none() || generation == whole.generation);
                assert!(object.is_none() || object == whole.object);
                assert!(component.is_none() || component == whole.component);
            }
        }
    }
}

#[test]
fn deep_and_endless_items_have_an_end() {
    let bytes = b"ZTEN0001\x80\x01\0\0\0\0\0\0\0";
    let (body, _) = body(bytes, &Options::default()).unwrap();
    let file = zten_testkit::read_accepted("1.2.3/dense_all.zt");
    let archive = Archive::open(&file).unwrap();
    let place = archive.objects().last().unwrap().components().next().unwrap().place();
    let tags = [0xd8, 0x40].repeat(1 << 20);
    for manifest in [&vec![0x9f; 1 << 20], &tags, &b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff".into()] {
        assert_eq!(body.named(manifest, place).object, None);
    }
}
