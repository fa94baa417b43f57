//! Tests of the names in an error about a rejected manifest.

use std::ops::Range;

use twox_hash::XxHash3_64;
use zten::attributes::Value;
use zten::{Archive, Component, Error, Generation};
use zten_testkit::{accepted, accepted_v2, open_in_steps, reject_index};

/// Returns the range of the manifest in a valid file.
fn manifest_of(file: &[u8]) -> Range<usize> {
    let Range { start, end } = Archive::from_bytes(file).unwrap().manifest().extent();
    usize::try_from(start).unwrap()..usize::try_from(end).unwrap()
}

/// Returns the file with `manifest` in place of its own manifest, and a footer that fits the new one. In generation 2, the new
/// manifest must have the same length.
fn with_manifest(file: &[u8], own: Range<usize>, manifest: &[u8]) -> Vec<u8> {
    let mut new = [&file[..own.start], manifest, &file[own.end..]].concat();
    let (number, from_end) = match file {
        [b'Z', b'T', b'E', b'N', b'0', ..] => (manifest.len() as u64, 8),
        [b'Z', b'T', b'E', b'N', b'1', ..] => (manifest.len() as u64, 16),
        _ => (XxHash3_64::oneshot(manifest), 24),
    };
    let at = new.len() - from_end;
    new[at..at + 8].copy_from_slice(&number.to_le_bytes());
    new
}

/// Returns the position in `manifest` of the offset of `component`: the field `offset`, or in generation 2 the first number of
/// the field `blob`.
fn offset_at(component: &Component<'_>, manifest: &[u8]) -> usize {
    let fields = component.fields().unwrap();
    let offset = fields.item("offset").unwrap_or_else(|| {
        let Value::Array(mut blob) = fields.item("blob").unwrap().value() else { panic!() };
        blob.next().unwrap()
    });
    offset.as_bytes().as_ptr().addr() - manifest.as_ptr().addr()
}

#[test]
fn rejected_and_valid_manifests_give_the_same_names() {
    let mut compared = 0;
    for file in accepted().chain(accepted_v2()) {
        let archive = Archive::from_bytes(&file.bytes).unwrap();
        let manifest = archive.manifest().as_bytes();
        for component in archive.tensors().flat_map(|tensor| tensor.components()) {
            // Setting this bit makes the number negative, so the manifest is rejected.
            let mut wrong = manifest.to_vec();
            wrong[offset_at(&component, manifest)] |= 0x20;
            let wrong = with_manifest(&file.bytes, manifest_of(&file.bytes), &wrong);
            let error = Archive::from_bytes(&wrong).unwrap_err();
            assert_eq!(error.location().object(), component.location().object(), "{}", file.name);
            assert_eq!(error.generation(), archive.generation(), "{}", file.name);
            assert_eq!(error.tensor(), Some(component.tensor().name()), "{}", file.name);
            // In 0.1, the offset is a field of the object itself, so the error names no component.
            if archive.generation() == Some(Generation::V0_1) {
                assert_eq!(error.component(), None, "{}", file.name);
                continue;
            }
            assert_eq!(error.location(), component.location(), "{}", file.name);
            assert_eq!(error.component(), Some(component.role()), "{}", file.name);
            compared += 1;
        }
    }
    assert!(compared > 1000, "{compared}");
}

/// Returns the generation, the object and the component that an error names.
fn names(error: &Error) -> (Option<Generation>, Option<&str>, Option<&str>) {
    (error.generation(), error.tensor(), error.component())
}

#[test]
fn rejected_files_have_names() {
    let (mut objects, mut components) = ([0; 2], [0; 2]);
    for row in reject_index().filter(|row| !row.content && row.expected.object.is_some()) {
        let bytes = row.read();
        let rejected = open_in_steps("x.zt", (&bytes, bytes.len()), &row.options).unwrap_err();
        let range = rejected.manifest_range().unwrap();
        assert!(range.end < bytes.len() as u64 && range.start > 0, "{}", row.file);
        let on_disk = row.options.open(&row.path).unwrap_err();
        for other in [row.options.from_bytes(&bytes).unwrap_err(), on_disk] {
            assert_eq!(other, rejected, "{}", row.file);
            assert_eq!(names(&other), names(&rejected), "{}", row.file);
            assert_eq!(other.manifest_range(), rejected.manifest_range(), "{}", row.file);
            assert_eq!(other.to_string(), rejected.to_string(), "{}", row.file);
        }
        let (_, tensor, component) = names(&rejected);
        let text = rejected.to_string();
        assert_eq!(text.contains(" in tensor \""), tensor.is_some(), "{text}");
        assert_eq!(text.contains(", component \""), component.is_some(), "{text}");
        objects[usize::from(tensor.is_some())] += 1;
        assert!(component.is_none() || row.expected.component.is_some(), "{}", row.file);
        if row.expected.component.is_some() {
            components[usize::from(component.is_some())] += 1;
        }
    }
    // An error about a name, or about the map that has it, cannot give the name. Such errors must be rare.
    assert!(objects[1] > 1000 && objects[0] * 15 < objects[1], "{objects:?}");
    assert!(components[1] > 300 && components[0] * 20 < components[1], "{components:?}");
}

#[test]
fn a_cut_manifest_gives_only_true_names() {
    let (mut tensors, mut components) = (0, 0);
    for file in accepted().filter(|file| file.bytes.len() < 4096) {
        let archive = Archive::from_bytes(&file.bytes).unwrap();
        let own = manifest_of(&file.bytes);
        for end in own.clone() {
            let cut = with_manifest(&file.bytes, own.clone(), &file.bytes[own.start..end]);
            let error = Archive::from_bytes(&cut).unwrap_err();
            let tensor = error.location().object().and_then(|at| archive.manifest().tensor_at(at));
            let component = error.location().component().zip(tensor);
            let component = component.and_then(|(at, tensor)| tensor.component_at(at));
            let (generation, own_tensor, own_component) = names(&error);
            assert!(generation.is_none() || generation == archive.generation());
            assert!(own_tensor.is_none() || own_tensor == tensor.map(|tensor| tensor.name()));
            let role = component.map(|component| component.role());
            assert!(own_component.is_none() || own_component == role);
            tensors += usize::from(own_tensor.is_some());
            components += usize::from(own_component.is_some());
        }
    }
    assert!(tensors > 1000 && components > 1000, "{tensors} {components}");
}

#[test]
fn deep_and_unterminated_items_are_skipped_in_bounded_work() {
    // Returns an entry of 0.1 in which an ignored field comes before the name.
    let name = |field: &[u8]| {
        let entry = [b"\x81\xa2\x61x", field, b"\x64name\x61w"].concat();
        let length = (entry.len() as u64).to_le_bytes();
        let file = [&b"ZTEN0001"[..], &entry, &length].concat();
        let error = Archive::from_bytes(&file).unwrap_err();
        assert_eq!(error.location().object(), Some(0), "{error}");
        error.tensor().map(str::to_owned)
    };
    let tags = [0xd8, 0x40].repeat(1 << 20);
    let endless = vec![0x9f; 1 << 20];
    for field in [&endless, &tags, &b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff".into()] {
        assert_eq!(name(field), None);
    }
    assert_eq!(name(&[0]).as_deref(), Some("w"));
}
