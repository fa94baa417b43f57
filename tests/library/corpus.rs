//! Tests of the corpus: every rule has a file that breaks it, and every file has the verdict that its name and index state.

use std::collections::BTreeSet;

use zten::rules::Scope;
use zten::{Archive, Error, Generation, OpenOptions};
use zten_testkit::sample::least;
use zten_testkit::{Accepted, Expected, Reject, accepted, accepted_v2, check, corpus, is_lax};
use zten_testkit::{open_in_steps, open_ztensor, read, reject_index, reject_index_v2, sharded};

/// Returns all files of the corpus that zten must reject.
fn rejected() -> impl Iterator<Item = Reject> {
    reject_index().chain(reject_index_v2())
}

/// Returns every accepted file, and whether it is of generation 2.
fn all_accepted() -> impl Iterator<Item = (bool, Accepted)> {
    accepted().map(|file| (false, file)).chain(accepted_v2().map(|file| (true, file)))
}

/// Opens `file` with `Opening`, which does no I/O, and drops the archive.
fn steps(file: &[u8], options: &OpenOptions) -> Result<(), Error> {
    open_in_steps("x.zt", (&file, file.len()), options).map(drop)
}

/// Returns everything that an error reports, as one text.
fn said(error: &Error) -> String {
    format!("{error} {error:?}")
}

/// Each rejected file gives an error that names its tensor and component, rule, byte and clause, whether the file is in memory,
/// on disk, or opened in steps. Its neighbor opens.
#[test]
fn every_reject_file_breaks_its_rule_at_its_byte() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    let is_lax = |file: &str| cfg!(feature = "zstd-ruzstd") && is_lax(file);
    for row in rejected().filter(|row| !is_lax(&row.file)) {
        let (file, what) = (row.read(), &row.file);
        let steps = steps(&file, &row.options);
        let error = match (open_ztensor(&file, &row.options), row.content) {
            (Err(error), false) => {
                let steps = steps.unwrap_err();
                assert_eq!(steps, error, "{what}");
                assert_eq!(said(&steps), said(&error), "{what}");
                error
            }
            (Ok(archive), true) => {
                assert_eq!(steps, Ok(()), "{what}");
                archive.verify().expect_err(what)
            }
            (opened, _) => panic!("{what}: {:?}", opened.err()),
        };
        let found = Expected::from_error(&error);
        if found != row.expected {
            wrong.push(format!("{what}: {found:?}, not {:?}", row.expected));
        }
        let text = error.to_string();
        assert!(
            error.rule().is_none_or(|rule| text.contains(&format!("(rule {rule}, "))),
            "{text}"
        );
        let (place, names) = (error.location(), (error.tensor(), error.component()));
        let has_names = (names.0.is_some(), names.1.is_some());
        let is_placed = (place.object().is_some(), place.component().is_some());
        // An error about a name itself may lack that name.
        let is_partly = is_placed.0 >= has_names.0 && is_placed.1 >= has_names.1;
        assert!(is_placed == has_names || !row.content && is_partly, "{what}: {text}");
        assert!(names.0.is_none() || text.contains(" in tensor "), "{what}: {text}");
        assert!(names.1.is_none() || text.contains(", component "), "{what}: {text}");
        count += usize::from(names.0 == Some("w"));
        let disk = row.options.open(&row.path).and_then(|archive| archive.verify());
        assert_eq!(disk.map_err(|error| said(&error)).unwrap_err(), said(&error), "{what}");
        let near = if row.path.to_str().unwrap().contains("/v2/") { "v2/accept" } else { "accept" };
        let near = read(&format!("{near}/{}", row.neighbor));
        Archive::from_bytes(&near).unwrap_or_else(|error| panic!("{}: {error}", row.neighbor));
    }
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 100, "{count}");
}

#[test]
#[cfg_attr(miri, ignore = "it needs the whole corpus")]
fn every_rule_has_a_reject_file() {
    let mut broken: BTreeSet<String> = rejected().map(|row| row.expected.rule).collect();
    broken.extend(sharded().filter_map(|row| row.expected).map(|expected| expected.rule));
    let of_1: BTreeSet<String> = reject_index().map(|row| row.expected.rule).collect();
    // Rules that leave the rest of a file readable have files among the accepted ones. Missing features of zten need no such file.
    let listed = ["unsupported-dtype", "unsupported-encoding", "unsupported-layout"];
    let readable = ["unsupported-format", "unsupported-type"];
    let names: Vec<String> = accepted().map(|file| file.name).collect();
    for row in zten::rules::rows() {
        if listed.contains(&row.id()) || readable.contains(&row.id()) {
            let prefix = format!("{}--", row.id());
            assert!(names.iter().any(|name| name.starts_with(&prefix)), "no file for {}", row.id());
        } else if row.id() != "unsupported-feature" {
            let broken = if row.scope() == Scope::V2 { &broken } else { &of_1 };
            assert!(broken.contains(row.id()), "no file breaks {}", row.id());
        }
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
fn the_corpus_covers_what_its_index_lists() {
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
fn every_accepted_file_is_valid_or_opens() {
    let mut count = 0;
    for (is_v2, file) in all_accepted() {
        let name = &file.name;
        let verdict = check(&file.bytes, &OpenOptions::default()).map_err(|error| {
            let place = error.location();
            assert_eq!(
                (place.object().is_some(), place.component().is_some()),
                (error.tensor().is_some(), error.component().is_some()),
                "{name}: {error}"
            );
            error.rule().map(str::to_owned)
        });
        assert_eq!(verdict.err(), file.opens_only.map(Some), "{name}");
        let archive = Archive::from_bytes(&file.bytes).unwrap();
        assert_eq!(archive.generation() == Some(Generation::V2), is_v2, "{name}");
        assert_eq!(archive.manifest().is_data_shard(), name == "data-shard.zt", "{name}");
        count += 1;
    }
    assert!(count >= least(150), "the corpus has only {count} accepted files");
}

#[test]
#[cfg_attr(miri, ignore = "it needs the whole corpus")]
fn files_of_the_reference_writers_have_the_recorded_content() {
    let mut count = 0;
    let folders = ["0.1.0", "1.0.2", "1.1.1", "1.2.0", "1.2.3"].map(|of| format!("accept/{of}"));
    for folder in folders.into_iter().chain(["v2/2.1".to_owned()]) {
        let folder = corpus().join(folder);
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

/// A recorded SHA-256 over all readable components of the accepted files before generation 2, so that every zstd decoder that can
/// be chosen must decode to the same bytes.
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
