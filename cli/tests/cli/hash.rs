//! `zten hash`

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::files::{entry, file, object, old_file, raw};
use crate::{corpus_folder, ended, in_corpus, succeeded_json, succeeded_text, zten};

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

#[test]
fn one_file_by_hand() {
    // Two floats, at byte 64.
    let bytes = fs::read(corpus_folder().join("accept/1.2.3/attributes.zt")).unwrap();
    let sum = hex(&bytes[64..72]);
    let text = succeeded_text(in_corpus(&["hash", "accept/1.2.3/attributes.zt"]));
    assert_eq!(text, format!("{sum}  8  t/data\n"));
    let text = succeeded_text(in_corpus(&["hash", "--json", "accept/1.2.3/attributes.zt"]));
    let wanted = "{\"schema\":2,\"content\":null,\"objects\":[{\"name\":\"t\",\"components\":\
        [{\"role\":\"data\",\"bytes\":8,\"sha256\":\"";
    assert_eq!(text, format!("{wanted}{sum}\"}}]}}]}}\n"));
}

/// Real files, whose sums were taken from what their writers had been given.
#[test]
fn real_files() {
    let mut tried = 0;
    for folder in fs::read_dir(corpus_folder().join("accept")).unwrap() {
        let folder = folder.unwrap().path();
        let Ok(table) = fs::read_to_string(folder.join("hashes.tsv")) else {
            continue;
        };
        let mut files: BTreeMap<&str, BTreeMap<String, Vec<Value>>> = BTreeMap::new();
        for line in table.lines().skip(1) {
            let cells: Vec<_> = line.split('\t').collect();
            let name: String = serde_json::from_str(cells[1]).unwrap();
            let bytes: u64 = cells[3].parse().unwrap();
            let component = json!({ "role": cells[2], "bytes": bytes, "sha256": cells[4] });
            files.entry(cells[0]).or_default().entry(name).or_default().push(component);
        }
        for (file, objects) in files {
            let path = folder.join(format!("{file}.zt"));
            let found =
                succeeded_json(zten(["hash".as_ref(), "--json".as_ref(), path.as_os_str()]));
            let role = |component: &Value| component["role"].as_str().unwrap().to_owned();
            let objects: Vec<_> = objects
                .into_iter()
                .map(|(name, mut components)| {
                    components.sort_by_key(role);
                    json!({ "name": name, "components": components })
                })
                .collect();
            assert_eq!(
                found,
                json!({ "schema": 2, "content": null, "objects": objects }),
                "{}",
                path.display()
            );
            tried += 1;
        }
    }
    assert!(tried > 20, "{tried}");
}

#[test]
fn refuses_what_check_refuses() {
    let output = in_corpus(&["hash", "reject/bool-value--v12-second-object.zt"]);
    let (status, out, complaint) = ended(&output);
    assert_eq!((status, out), (Some(1), ""));
    assert!(complaint.contains("(rule bool-value, v1.2 §2) in \"v\"/data at byte 0x80"));
    assert_eq!(in_corpus(&["hash", "missing.zt"]).status.code(), Some(2));
}

#[test]
fn a_slash_is_in_a_name_or_between_two() {
    let hashed = |name: &str, role: &str| {
        let component = [(role, raw("u8", 64, 1, &[]))];
        let path = file("hash-slash.zt", &[(name, object("other", &[1], &component))], &[7]);
        let text = succeeded_text(zten(["hash".as_ref(), path.as_os_str()]));
        text.strip_prefix(&format!("{}  1  ", hex(&[7]))).unwrap().to_owned()
    };
    assert_eq!(hashed("a", "b/c"), "a/\"b/c\"\n");
    assert_eq!(hashed("a/b", "c"), "\"a/b\"/c\n");
    assert_eq!(hashed("a\"/\"b", "c"), "\"a\\u{22}/\\u{22}b\"/c\n");
}

#[test]
fn entries_that_cannot_be_read_have_no_sum() {
    let entries = [
        entry("z", ("float32", "dense"), &[1], (64, 4), &[]),
        entry("\n", ("float8", "dense"), &[8], (128, 8), &[]),
    ];
    let path = old_file("hash-unsupported.zt", &entries, &[3; 128]);
    let output = zten(["hash".as_ref(), path.as_os_str()]);
    let (status, out, complaint) = ended(&output);
    assert_eq!(status, Some(1));
    assert_eq!(out, format!("-  8  \"\\u{{a}}\"/data\n{}  4  z/data\n", hex(&[3; 4])));
    assert!(complaint.contains("unsupported-dtype"));
    let output = zten(["hash".as_ref(), "--json".as_ref(), path.as_os_str()]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["objects"][0]["name"], "\n");
    assert_eq!(found["objects"][0]["components"][0]["sha256"], Value::Null);
    assert_eq!(output.status.code(), Some(1));
}

/// Those that the reference implementation computed.
#[test]
fn content_digests() {
    let folder = corpus_folder().join("v2/2.1");
    let table = fs::read_to_string(folder.join("content.tsv")).unwrap();
    for line in table.lines().skip(1) {
        let (file, xxh3) = line.split_once('\t').unwrap();
        let path = folder.join(file).with_extension("zt");
        let path = path.to_str().unwrap();
        for flag in ["--content", "--content=xxh3"] {
            assert_eq!(succeeded_text(zten(["hash", flag, path])), format!("{xxh3}\n"), "{file}");
            let document = succeeded_json(zten(["hash", flag, "--json", path]));
            assert_eq!(document["content"], xxh3, "{file}");
            assert_eq!(
                document["objects"],
                succeeded_json(zten(["hash", "--json", path]))["objects"]
            );
        }
    }
}

#[test]
fn a_content_digest_covers_what_was_verified_by_digests_as_strong() {
    let refused = |file: &str, flag: &str, wanted: &str| {
        for more in [&[][..], &["--json"]] {
            let output = in_corpus(&[&["hash", flag, file], more].concat());
            let (status, out, error) = ended(&output);
            assert_eq!(out, "", "{file}");
            assert_ne!(status, Some(0), "{file}");
            assert!(error.contains(wanted), "{file}: {error}");
        }
    };
    for file in ["encoding--v2", "type--v2", "format--v2", "format--v2-gguf", "shard--v2"] {
        let (what, _) = file.split_once("--").unwrap();
        let path = format!("v2/accept/unsupported-{file}.zt");
        refused(&path, "--content", &format!("unsupported-{what}"));
    }
    refused("v2/accept/tied.zt", "--content", "the part has no digest");
    refused("accept/1.2.3/dense_all.zt", "--content", "files of this kind have no content digest");
    let weak = "the digest of the part is weaker, or of an unknown algorithm; \
        `zten convert --to 2 --digest sha256` writes a file that has one in";
    refused("v2/2.1/walk.zt", "--content=sha256", weak);
    // What the message says helps.
    let strong = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hash-strong.zt");
    let strong = strong.to_str().unwrap();
    let walk = corpus_folder().join("v2/2.1/walk.zt");
    let walk = walk.to_str().unwrap();
    succeeded_text(zten(["convert", "--force", "--to", "2", "--digest", "sha256", walk, strong]));
    let digest = succeeded_text(zten(["hash", "--content=sha256", strong]));
    assert!(digest.starts_with("sha256:"), "{digest}");
}
