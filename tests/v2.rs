//! The corpus of generation 2: every rule has a file that breaks it, and every file does just what it
//! should.
#![cfg(feature = "v2")]

use std::collections::BTreeSet;

use zten::rules::Scope;
use zten::{Archive, Generation, Options, element::F4E2M1};
use zten_testkit::{Expected, accepted_v2, check, corpus, reject_index_v2};

#[test]
fn every_reject_file_ends_in_its_rule_at_its_place() {
    let mut wrong = Vec::new();
    for row in reject_index_v2() {
        let file = row.read();
        let opened = Archive::open(&file).map(drop);
        assert_eq!(opened.is_ok(), row.content, "{}: {opened:?}", row.file);
        let found = check(&file, &row.options).map_err(|error| Expected::from_error(&error));
        if found != Err(row.expected.clone()) {
            wrong.push(format!("{}: {found:?}, not {:?}", row.file, row.expected));
        }
        let near = corpus().join("v2/accept").join(&row.neighbour);
        let near = std::fs::read(near).unwrap();
        Archive::open(&near).unwrap_or_else(|error| panic!("{}: {error}", row.neighbour));
    }
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
#[cfg_attr(miri, ignore = "it needs the whole corpus")]
fn every_rule_of_2_alone_has_a_reject_file() {
    let broken: BTreeSet<String> = reject_index_v2().map(|row| row.expected.rule).collect();
    for row in zten::rules::rows().filter(|row| row.scope == Scope::V2) {
        let listed = row.id == "unsupported-shard";
        assert!(listed || broken.contains(row.id), "no file breaks {}", row.id);
    }
}

#[test]
fn every_accepted_file_is_good_or_opens() {
    for file in accepted_v2() {
        let verdict = check(&file.bytes, &Options::default()).map_err(|error| error.id());
        match file.opens_only {
            None => assert_eq!(verdict, Ok(()), "{}", file.name),
            Some(id) => assert_eq!(verdict, Err(Some(id.as_str())), "{}", file.name),
        }
        let archive = Archive::open(&file.bytes).unwrap();
        assert_eq!(archive.generation(), Generation::V2);
        assert_eq!(archive.is_data_shard(), file.name == "data-shard.zt", "{}", file.name);
        for object in archive.objects() {
            let found = archive.get(object.name()).map(|object| object.ordinal());
            assert_eq!(found, Some(object.ordinal()), "{}", object.name());
        }
        assert!(archive.get("no such name").is_none());
    }
}

#[test]
#[cfg_attr(miri, ignore = "it needs the whole corpus")]
fn content_of_the_reference_writer_is_what_it_wrote() {
    let folder = corpus().join("v2/2.1");
    let table = std::fs::read_to_string(folder.join("hashes.tsv")).unwrap();
    for line in table.lines().skip(1) {
        let [file, name, role, bytes, sha256]: [&str; 5] =
            line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let name: String = serde_json::from_str(name).unwrap();
        let file = std::fs::read(folder.join(file).with_extension("zt")).unwrap();
        let archive = Archive::open(&file).unwrap();
        let component = archive.get(&name).unwrap().component(role).unwrap();
        let content = component.read_to_vec(&file[..], &zten::Limits::default()).unwrap();
        assert_eq!(content.len().to_string(), bytes, "{name}/{role}");
        let digest: [u8; 32] = <sha2::Sha256 as sha2::Digest>::digest(&content).into();
        assert_eq!(zten_testkit::hex(&digest), sha256, "{name}/{role}");
    }
}

#[test]
fn nibbles_are_unpacked_low_ones_first() {
    let file = std::fs::read(corpus().join("v2/accept/nibbles.zt")).unwrap();
    let archive = Archive::open(&file).unwrap();
    let dense = archive.get("w").unwrap().dense().unwrap();
    assert_eq!(dense.component().packed_elements(), Some(3));
    let view = dense.bind(&file).unwrap();
    let values: Vec<f32> = view.nibbles(3).unwrap().map(F4E2M1::to_f32).collect();
    assert_eq!(values, [0.5, 1.0, 1.5]);
    assert!(view.nibbles(5).is_err());
}

#[test]
fn files_of_2_are_not_made_into_1_2_yet() {
    let file = std::fs::read(corpus().join("v2/accept/dense.zt")).unwrap();
    let archive = Archive::open(&file).unwrap();
    let limits = zten::Limits::default();
    let copier = zten::write::Copier::new(file.len() as u64, &limits);
    let settings = zten::write::Settings::default();
    let outcome = copier.file(archive.manifest(), &file[..], Vec::new(), &settings);
    let Err(zten::write::CopyError::Read(error)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(zten::Error::from(error).id(), Some("unsupported-container"));
}

/// Whatever one byte of a small file becomes: an error, or a manifest that can be read to its end.
#[test]
#[cfg_attr(miri, ignore = "it opens a file a few thousand times")]
fn damage_is_refused_or_harmless() {
    for name in ["dense", "csr", "unsupported-shard--v2", "frames"] {
        let mut file =
            std::fs::read(corpus().join("v2/accept").join(name).with_extension("zt")).unwrap();
        let length = file.len();
        for at in (4096..length).filter(|at| at % 4096 < 320 || at + 48 > length) {
            for flip in [1, 0x20, 0x80, 0xff] {
                file[at] ^= flip;
                let _ = check(&file, &Options::default());
                file[at] ^= flip;
            }
        }
    }
}
