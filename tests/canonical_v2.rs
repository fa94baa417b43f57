//! The canonical form of generation 2: one content has one file, and no bit of it is free to change.

use zten::error::{ErrorKind, Misuse};
use zten::write::{NewComponent, NewObject, WriteOptions, Writer};
use zten::{Archive, DType, Error, Generation, OpenOptions};
use zten_testkit::{Accepted, accepted, accepted_v2, check};

fn settings() -> WriteOptions {
    WriteOptions::default().generation(Generation::V2).canonical()
}

fn rewritten(file: &[u8]) -> Result<Vec<u8>, Error> {
    zten_testkit::copy(file, &settings())
}

fn validate(file: &[u8]) -> Result<(), Error> {
    check(file, &OpenOptions::default().canonical())
}

fn canonical() -> impl Iterator<Item = Accepted> {
    accepted_v2().filter(|file| file.name.starts_with("canonical--"))
}

/// Returns the content of a file, in the order of its manifest.
fn content(file: &[u8]) -> Vec<String> {
    let archive = Archive::from_bytes(file).unwrap();
    let mut content = vec![format!("{:?}", archive.attributes().collect::<Vec<_>>())];
    for object in archive.tensors() {
        let shape: Vec<u64> = object.shape().to_vec();
        let own: Vec<_> = object.attributes().collect();
        content.push(format!("{:?} {:?} {shape:?} {own:?}", object.name(), object.layout_name()));
        for part in object.components() {
            let bytes = part.read().map(|bytes| bytes.to_vec()).map_err(|error| error.rule());
            content.push(format!("{:?} {:?} {bytes:x?}", part.role(), part.element_type()));
        }
    }
    content
}

#[test]
fn writing_what_is_read_of_a_canonical_file_gives_its_bytes() {
    let mut count = 0;
    for Accepted { name, bytes, .. } in canonical() {
        validate(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(rewritten(&bytes).unwrap() == bytes, "{name}");
        count += 1;
    }
    assert!(count >= 5, "only {count} files");
}

#[test]
#[cfg_attr(miri, ignore = "it needs the whole corpus")]
fn any_file_has_one_canonical_form() {
    let mut forms = 0;
    for Accepted { name, bytes, .. } in accepted_v2().chain(accepted()) {
        match rewritten(&bytes) {
            Ok(form) => {
                let verdict = validate(&form).map_err(|error| error.rule());
                let unknown = [Some("unsupported-format"), Some("unsupported-type")];
                assert!(verdict.is_ok() || unknown.contains(&verdict.unwrap_err()), "{name}");
                assert!(rewritten(&form).unwrap() == form, "{name}");
                if Archive::from_bytes(&bytes).unwrap().generation() == Some(Generation::V2) {
                    assert_eq!(content(&form), content(&bytes), "{name}");
                }
                forms += 1;
            }
            // What cannot be written, or cannot be read.
            Err(error) => assert!(error.rule().is_some(), "{name}: {error:?}"),
        }
    }
    assert!(forms > 400, "only {forms} files have a form");
}

#[test]
#[cfg_attr(miri, ignore = "it is a matter of sizes")]
fn no_bit_of_a_canonical_file_is_free() {
    for Accepted { name, bytes, .. } in canonical() {
        let before = content(&bytes);
        let mut file = bytes.clone();
        // Every bit of what is not padding, and some of that.
        let near = |at: usize| {
            bytes[at.saturating_sub(8)..(at + 9).min(bytes.len())].iter().any(|byte| *byte != 0)
        };
        for at in 0..bytes.len() {
            let bits = if near(at) {
                0..8
            } else if at % 509 == 0 {
                at % 8..at % 8 + 1
            } else {
                0..0
            };
            for bit in bits {
                file[at] ^= 1 << bit;
                if validate(&file).is_ok() {
                    assert!(content(&file) != before, "{name}: bit {bit} of byte {at} is free");
                }
                file[at] ^= 1 << bit;
            }
        }
        assert!(file == bytes);
    }
}

/// Two objects of the same bytes, all at once or in pieces.
fn twice(settings: &WriteOptions, announced: Option<&[u8; 32]>) -> Result<Vec<u8>, Error> {
    let mut writer = Writer::new(Vec::new(), settings)?;
    let data: Vec<u8> = (0..1000_u32).flat_map(u32::to_le_bytes).collect();
    let part = [NewComponent::new("data", DType::U8, 4000)];
    let part = part.map(|part| announced.map_or(part, |sha256| part.announced(sha256)));
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
fn equal_bytes_share_a_blob_where_that_is_asked_for() {
    let own = WriteOptions::default().generation(Generation::V2);
    let data: Vec<u8> = (0..1000_u32).flat_map(u32::to_le_bytes).collect();
    let sha256 = sha256(&data);
    for (settings, blobs) in [(own, 2), (own.sharing(), 1), (settings(), 1)] {
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
    // What is announced has to be what comes; 1.2 shares nothing.
    assert!(twice(&own.sharing(), Some(&[7; 32])).is_err());
    assert!(twice(&WriteOptions::default().sharing(), None).is_err());
    // In pieces and not announced, the second is found too late.
    let mut writer = Writer::new(Vec::new(), &settings()).unwrap();
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

/// The parts of one object may be as many as the manifest has bytes for.
#[test]
fn many_parts_of_one_object_are_validated_in_little_time() {
    let roles: Vec<_> = (0..60_000).map(|part| format!("{part:06}")).collect();
    let parts: Vec<_> =
        roles.iter().map(|role| NewComponent::of_bytes(role, DType::U8, 0)).collect();
    let mut writer = Writer::new(Vec::new(), &settings()).unwrap();
    writer.add_object(&NewObject::custom("w", &[1], "mine/1", &parts), &[]).unwrap();
    let file = writer.finish().unwrap();
    let opened = |options: &OpenOptions| {
        let start = std::time::Instant::now();
        options.from_bytes(&file).unwrap();
        start.elapsed()
    };
    let (any, canonical) =
        (opened(&OpenOptions::default()), opened(&OpenOptions::default().canonical()));
    // Looking for each part from the first one on takes hundreds of times as long.
    assert!(canonical < any * 100, "{canonical:?} beside {any:?}");
}
