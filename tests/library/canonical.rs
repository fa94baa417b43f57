//! Tests of the canonical form: changing any bit of a canonical file makes the file invalid or changes its content.
//! `tests/library/oracles.rs` tests that each content has exactly one canonical file.

use zten::error::{ErrorKind, Misuse};
use zten::write::{NewComponent, NewObject, WriteOptions, Writer};
use zten::{Archive, DType, Error, Generation, OpenOptions, attributes::Attributes};
use zten_corpus::base::{component, dense_object, v1};
use zten_corpus::cbor::text;
use zten_testkit::sample::{least, stride};
use zten_testkit::{Accepted, accepted, accepted_v2, check, reject_index};

/// Settings for the canonical form of generation 2.
fn canonical_v2() -> WriteOptions {
    WriteOptions::default().generation(Generation::V2).canonical()
}

/// Checks that all of `file` is valid and in canonical form.
fn validate(file: &[u8]) -> Result<(), Error> {
    check(file, &OpenOptions::default().canonical())
}

/// Returns all content of a file as texts, in the order of the manifest.
fn content(file: &[u8]) -> Vec<String> {
    let archive = Archive::from_bytes(file).unwrap();
    let mut content = vec![spelled(archive.attributes())];
    for object in archive.tensors() {
        let (shape, own) = (object.shape().to_vec(), spelled(object.attributes()));
        content.push(format!("{:?} {:?} {shape:?} {own}", object.name(), object.layout_name()));
        for part in object.components() {
            let bytes = part.read().map(|bytes| bytes.to_vec()).map_err(|error| error.rule());
            content.push(format!("{:?} {:?} {bytes:x?}", part.role(), part.element_type()));
        }
    }
    content
}

/// Returns attributes as text: each key, and the bytes that encode its value in the file.
fn spelled(attributes: Attributes<'_>) -> String {
    format!("{:?}", attributes.map(|(key, item)| (key, item.as_bytes())).collect::<Vec<_>>())
}

#[test]
fn unknown_fields_of_0_1_become_attributes() {
    for (name, fields) in [("v01-ignored-fields.zt", &["x"][..]), ("v01-all-fields.zt", &[])] {
        let file = zten_testkit::canonical(&zten_testkit::read_accepted(name)).unwrap();
        let archive = Archive::from_bytes(&file).unwrap();
        let attributes = archive.get("w").unwrap().attributes();
        assert_eq!(attributes.map(|(key, _)| key).collect::<Vec<_>>(), fields, "{name}");
    }
}

#[test]
fn every_flipped_bit_invalidates_or_changes_a_canonical_file() {
    let (mut files, mut flips) = (0, 0);
    let all = accepted().chain(accepted_v2().filter(|_| !cfg!(miri)));
    for Accepted { name, bytes, .. } in all.filter(|file| file.name.starts_with("canonical--")) {
        validate(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let before = content(&bytes);
        let mut file = bytes.clone();
        // Flips every bit outside of padding, every bit of the padding next to other content, and few bits of the rest
        // of the padding.
        let near = |at: usize| {
            bytes[at.saturating_sub(64)..(at + 65).min(bytes.len())].iter().any(|byte| *byte != 0)
        };
        for bit in (0..bytes.len() * 8).step_by(stride(1)) {
            let at = bit / 8;
            if !near(at) && (at % 509 != 0 || bit % 8 != at % 8) {
                continue;
            }
            file[at] ^= 1 << (bit % 8);
            if validate(&file).is_ok() {
                assert!(content(&file) != before, "{name}: bit {bit} is free");
            }
            flips += 1;
            file[at] ^= 1 << (bit % 8);
        }
        files += 1;
    }
    assert!(files >= least(17) && flips >= least(10_001), "only {flips} bits of {files} files");
}

/// `docs/canonical.md` says in which order broken rules are reported. `canonical-cbor` comes before the rules of fields
/// and blobs, even if the CBOR item that breaks it comes last in the manifest.
#[test]
fn cbor_that_is_not_deterministic_is_reported_before_other_rules() {
    let later_rules = [
        "canonical-field",
        "canonical-encoding",
        "canonical-digest",
        "canonical-blob",
        "canonical-manifest",
    ];
    let mut rules = std::collections::BTreeMap::<String, usize>::new();
    for row in reject_index().filter(|row| later_rules.contains(&row.expected.rule.as_str())) {
        let (mut file, version) = (row.read(), b"\x67version\x651.2.0");
        let key = file.windows(version.len()).rposition(|window| window == version);
        let Some(value) = key.map(|key| key + 8) else { panic!("{}: no version", row.file) };
        // The head of the text "1.2.0" gets a separate length byte, which deterministic CBOR forbids. The manifest is then
        // one byte longer, so its size in the footer grows, too.
        file.splice(value..=value, [0x78, 5]);
        let size = file.len() - 16;
        file[size] = file[size].checked_add(1).unwrap();
        let error = validate(&file).unwrap_err();
        let reported = (error.rule(), error.offset());
        assert_eq!(reported, (Some("canonical-cbor"), Some(value as u64)), "{}: {error}", row.file);
        *rules.entry(row.expected.rule).or_default() += 1;
    }
    assert_eq!(rules.len(), later_rules.len(), "{rules:?}");
}

#[test]
fn a_dtype_that_would_become_a_second_type_is_rejected() {
    let data = component("complex64", 64, 8);
    let valid = v1("1.1.0", vec![("x", dense_object(&[1], data))]).start(128);
    let wrong = valid.clone().set("x:data/type", text("foo"));
    validate(&zten_testkit::canonical(&valid.build("").bytes).unwrap()).unwrap();
    let error = zten_testkit::canonical(&wrong.build("").bytes).unwrap_err();
    assert!(error.to_string().contains("the component has another `type`"));
}

/// Writes two objects with equal bytes. If `announced` is a SHA-256, the bytes come in pieces with this announcement; otherwise
/// they come in one call.
fn twice(settings: &WriteOptions, announced: Option<&[u8; 32]>) -> Result<Vec<u8>, Error> {
    let mut writer = Writer::new(Vec::new(), settings)?;
    let data: Vec<u8> = (0..1000_u32).flat_map(u32::to_le_bytes).collect();
    let part = [NewComponent::new("data", DType::U8, 4000)];
    let part = part.map(|part| announced.map_or(part, |sha256| part.with_known_sha256(sha256)));
    for name in ["a", "b"] {
        let mut object = writer.object(&NewObject::custom(name, &[4000], "dense", &part))?;
        for piece in data.chunks(if announced.is_some() { 7 } else { 4000 }) {
            object.write_part("data", piece)?;
        }
        object.finish()?;
    }
    writer.finish()
}

#[test]
fn equal_bytes_share_a_blob_on_request() {
    let own = WriteOptions::default().generation(Generation::V2);
    let data: Vec<u8> = (0..1000_u32).flat_map(u32::to_le_bytes).collect();
    let sha256 = sha256(&data);
    for (settings, blobs) in [(own, 2), (own.sharing(), 1), (canonical_v2(), 1)] {
        for announced in [None, Some(&sha256)] {
            let file = twice(&settings, announced).unwrap();
            check(&file, &OpenOptions::default()).unwrap();
            let archive = Archive::from_bytes(&file).unwrap();
            let parts = archive.tensors().flat_map(|object| object.components());
            let mut offsets: Vec<u64> = parts.map(|part| part.extent().offset()).collect();
            offsets.dedup();
            assert_eq!(offsets.len(), blobs);
        }
    }
    // Bytes that do not have the announced SHA-256 are rejected. Files of 1.2 never share blobs, so a writer of 1.2
    // that is told to share them fails.
    assert!(twice(&own.sharing(), Some(&[7; 32])).is_err());
    assert!(twice(&WriteOptions::default().sharing(), None).is_err());
    // Without an announcement, the writer learns only after the last piece that the blob equals an earlier one. That is too late to
    // share the blob.
    let mut writer = Writer::new(Vec::new(), &canonical_v2()).unwrap();
    let mut write = |name| {
        let mut object = writer.begin(name, &[2], DType::U8).unwrap();
        object.write_part("data", &[1])?;
        object.write_part("data", &[2])?;
        object.finish()
    };
    write("a").unwrap();
    let kind = write("b").unwrap_err().kind();
    assert_eq!(kind, ErrorKind::Misuse(Misuse::Announced));
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    let text = zten_corpus::sha256::sha256(bytes);
    let digits = text.strip_prefix("sha256:").unwrap();
    core::array::from_fn(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap())
}

/// The number of components of one object is bounded only by the size of the manifest, so the check of their order must be linear.
#[test]
fn many_parts_of_one_object_are_validated_in_linear_time() {
    let roles: Vec<_> = (0..60_000).map(|part| format!("{part:06}")).collect();
    let parts: Vec<_> =
        roles.iter().map(|role| NewComponent::of_bytes(role, DType::U8, 0)).collect();
    let mut writer = Writer::new(Vec::new(), &canonical_v2()).unwrap();
    writer.add_object(&NewObject::custom("w", &[1], "mine/1", &parts), &[]).unwrap();
    let file = writer.finish().unwrap();
    let opened = |options: &OpenOptions| {
        let start = std::time::Instant::now();
        options.from_bytes(&file).unwrap();
        start.elapsed()
    };
    let (any, canonical) =
        (opened(&OpenOptions::default()), opened(&OpenOptions::default().canonical()));
    // A check that searched the parts from the first one for each part would take hundreds of times as long.
    assert!(canonical < any * 100, "{canonical:?} beside {any:?}");
}
