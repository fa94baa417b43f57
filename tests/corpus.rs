//! The corpus: every rule has a file that breaks it, and every file does just what it should.

use std::collections::BTreeSet;

use zten::{Archive, Error, OpenOptions};
use zten_testkit::sample::least;
use zten_testkit::{Expected, accepted, check, corpus, is_lax, reject_index};

/// Returns whether an error has the names of its place, if it is in a tensor.
fn is_named(error: &Error) -> bool {
    let (place, names) = (error.place(), (error.tensor(), error.component()));
    (place.object().is_some(), place.component().is_some())
        == (names.0.is_some(), names.1.is_some())
}

#[test]
fn every_reject_file_ends_in_its_rule_at_its_place() {
    let mut wrong = Vec::new();
    let is_lax = |file: &str| cfg!(feature = "zstd-ruzstd") && is_lax(file);
    for row in reject_index().filter(|row| !is_lax(&row.file)) {
        let file = row.read();
        let opened = row.options.from_bytes(&file).map(drop);
        if row.content {
            assert!(opened.is_ok(), "{}: should open: {opened:?}", row.file);
        } else {
            assert!(opened.is_err(), "{}: should not open", row.file);
        }
        let found = check(&file, &row.options).map_err(|error| {
            assert!(!row.content || is_named(&error), "{}: {error}", row.file);
            Expected::from_error(&error)
        });
        if found != Err(row.expected.clone()) {
            wrong.push(format!("{}: {found:?}, not {:?}", row.file, row.expected));
        }
    }
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
#[cfg_attr(miri, ignore = "it needs the whole corpus")]
fn every_rule_has_a_reject_file() {
    let broken: BTreeSet<String> = reject_index().map(|row| row.expected.rule).collect();
    // What does not spoil a file has accepted files instead; a missing feature needs none.
    let listed = ["unsupported-dtype", "unsupported-encoding", "unsupported-layout"];
    let readable = ["unsupported-format", "unsupported-type"];
    let names: Vec<String> = accepted().map(|file| file.name).collect();
    for row in zten::rules::rows().filter(|row| row.scope != zten::rules::Scope::V2) {
        if listed.contains(&row.id) || readable.contains(&row.id) {
            let prefix = format!("{}--", row.id);
            assert!(names.iter().any(|name| name.starts_with(&prefix)), "no file for {}", row.id);
        } else if row.id != "unsupported-feature" {
            assert!(broken.contains(row.id), "no file breaks {}", row.id);
        }
    }
}

#[test]
fn every_reject_file_has_an_accepted_neighbour() {
    for row in reject_index() {
        let file = zten_testkit::read_accepted(&row.neighbour);
        Archive::from_bytes(&file).unwrap_or_else(|error| panic!("{}: {error}", row.neighbour));
    }
}

#[test]
#[cfg_attr(miri, ignore = "it reads nothing but names")]
fn the_index_names_every_reject_file() {
    let indexed: BTreeSet<_> = reject_index().map(|row| row.path).collect();
    let mut count = 0;
    for folder in ["reject", "reject/interop"] {
        for entry in std::fs::read_dir(corpus().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "zt") {
                assert!(indexed.contains(&path), "{} is not in the index", path.display());
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                let row = reject_index().find(|row| row.path == path).unwrap();
                assert!(name.starts_with(&format!("{}--", row.expected.rule)), "{name}");
                count += 1;
            }
        }
    }
    assert_eq!(count, indexed.len());
    assert!(count >= 250, "the corpus has only {count} reject files");
}

#[test]
fn the_corpus_tries_what_it_says() {
    let list = std::fs::read_to_string(corpus().join("checklist.tsv")).unwrap();
    let mut count = 0;
    for row in list.lines().skip(1) {
        let patterns = row.split('\t').skip(1).flat_map(str::split_whitespace);
        for pattern in patterns {
            let folder = if pattern.starts_with("accept/") { "" } else { "reject/" };
            let files = corpus().join(format!("{folder}{pattern}.zt"));
            let found = glob::glob(files.to_str().unwrap()).unwrap().count();
            assert!(found > 0, "{row}: no {pattern}");
            count += 1;
        }
    }
    assert!(count > 100, "only {count} patterns");
}

#[test]
fn every_accepted_file_is_good_or_opens() {
    let mut count = 0;
    for file in accepted() {
        let verdict = check(&file.bytes, &OpenOptions::default()).map_err(|error| {
            assert!(is_named(&error), "{}: {error}", file.name);
            error.rule()
        });
        match file.opens_only {
            None => assert_eq!(verdict, Ok(()), "{}", file.name),
            Some(id) => assert_eq!(verdict, Err(Some(id.as_str())), "{}", file.name),
        }
        count += 1;
    }
    assert!(count >= least(100), "the corpus has only {count} accepted files");
}

#[test]
#[cfg_attr(miri, ignore = "it needs the whole corpus")]
fn content_of_the_reference_writers_is_what_they_wrote() {
    let mut count = 0;
    for version in ["0.1.0", "1.0.2", "1.1.1", "1.2.0", "1.2.3"] {
        let folder = corpus().join("accept").join(version);
        let table = std::fs::read_to_string(folder.join("hashes.tsv")).unwrap();
        for line in table.lines().skip(1) {
            let [file, name, role, bytes, sha256]: [&str; 5] =
                line.split('\t').collect::<Vec<_>>().try_into().unwrap();
            let name: String = serde_json::from_str(name).unwrap();
            let file = std::fs::read(folder.join(file).with_extension("zt")).unwrap();
            let archive = Archive::from_bytes(&file).unwrap();
            let component = archive.get(&name).unwrap().component(role).unwrap();
            let content = component.read().unwrap();
            assert_eq!(content.len().to_string(), bytes, "{name}/{role}");
            let digest = <sha2::Sha256 as sha2::Digest>::digest(&*content);
            assert_eq!(zten_testkit::hex(&digest), sha256, "{name}/{role}");
            count += 1;
        }
    }
    assert!(count > 200, "only {count} components were compared");
}

/// One sum over the content of every accepted file, which stands beside them: whatever decodes
/// zstd, it decodes to the same bytes.
#[test]
#[cfg_attr(miri, ignore = "it needs the whole corpus")]
fn content_of_the_corpus_is_the_same_with_every_decoder() {
    let mut sum = <sha2::Sha256 as sha2::Digest>::new();
    let mut compressed = 0;
    for file in accepted() {
        let archive = Archive::from_bytes(&file.bytes).unwrap();
        for component in archive.tensors().flat_map(|object| object.components()) {
            let Ok(content) = component.read() else {
                continue;
            };
            sha2::Digest::update(&mut sum, (content.len() as u64).to_le_bytes());
            sha2::Digest::update(&mut sum, &*content);
            compressed += u32::from(component.encoding() == zten::Encoding::Zstd);
        }
    }
    let sum: [u8; 32] = sha2::Digest::finalize(sum).into();
    let golden = std::fs::read_to_string(corpus().join("accept/content.sha256")).unwrap();
    assert_eq!(zten_testkit::hex(&sum), golden.trim());
    assert!(compressed > 100, "only {compressed} compressed components");
}

#[test]
#[cfg_attr(miri, ignore = "it needs the whole corpus")]
fn the_corpus_is_what_its_generator_makes() {
    for output in zten_corpus::files() {
        let there = zten_testkit::read(&output.path);
        assert!(there == output.bytes, "{} is not what the generator makes", output.path);
    }
}
