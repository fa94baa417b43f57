//! Tests of the digests that `zten hash` prints, and of lists that `zten hash --check` compares.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::files::{entry, file, object, old_file, raw, write};
use crate::{
    command, corpus_folder, ended, failed, in_corpus, succeeded, succeeded_json, succeeded_text,
    zten,
};

const HEADER: &str = "# zten digests 1\n";

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

#[test]
fn one_file_by_hand() {
    // The only tensor has two floats, which take the bytes 64 to 71 of the file.
    let bytes = fs::read(corpus_folder().join("accept/1.2.3/attributes.zt")).unwrap();
    let sum = hex(&bytes[64..72]);
    let text = succeeded_text(in_corpus(&["hash", "accept/1.2.3/attributes.zt"]));
    assert_eq!(text, format!("{HEADER}{sum}  8  f32[2]  t/data\n"));
    let identity = hex(text.as_bytes());
    let text = succeeded_text(in_corpus(&["hash", "--json", "accept/1.2.3/attributes.zt"]));
    let wanted = format!(
        ",\"file\":\"accept/1.2.3/attributes.zt\",\"identity\":\"{identity}\",\"content\":null,\"objects\":[{{\"name\":\"t\",\
        \"components\":[{{\"role\":\"data\",\"type\":\"f32[2]\",\"bytes\":8,\"sha256\":\"{sum}\"}}]}}]}}\n"
    );
    assert!(text.ends_with(&wanted), "{text}");
}

/// The sums of real files were computed from the data that their writers had been given.
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
            let mut found =
                succeeded_json(zten(["hash".as_ref(), "--json".as_ref(), path.as_os_str()]));
            for object in found["objects"].as_array_mut().unwrap() {
                for component in object["components"].as_array_mut().unwrap() {
                    component.as_object_mut().unwrap().remove("type").unwrap();
                }
            }
            let role = |component: &Value| component["role"].as_str().unwrap().to_owned();
            let objects: Vec<_> = objects
                .into_iter()
                .map(|(name, mut components)| {
                    components.sort_by_key(role);
                    json!({ "name": name, "components": components })
                })
                .collect();
            assert_eq!(found["objects"], json!(objects), "{}", path.display());
            tried += 1;
        }
    }
    assert!(tried > 20, "{tried}");
}

#[test]
fn rejects_what_check_rejects() {
    let output = in_corpus(&["hash", "reject/bool-value--v12-second-object.zt"]);
    let (status, out, complaint) = ended(&output);
    assert_eq!((status, out), (Some(1), ""));
    assert!(complaint.contains("(rule bool-value, v1.2 §2) in \"v\"/data at byte 0x80"));
    assert_eq!(in_corpus(&["hash", "missing.zt"]).status.code(), Some(2));
}

#[test]
fn slashes_in_names_differ_from_separators() {
    let hashed = |name: &str, role: &str| {
        let component = [(role, raw("u8", 64, 1, &[]))];
        let path = file("hash-slash.zt", &[(name, object("other", &[1], &component))], &[7]);
        let text = succeeded_text(zten(["hash".as_ref(), path.as_os_str()]));
        let line = format!("{HEADER}{}  1  other:u8[1]  ", hex(&[7]));
        text.strip_prefix(&line).unwrap().to_owned()
    };
    assert_eq!(hashed("a", "b/c"), "a/\"b/c\"\n");
    assert_eq!(hashed("a/b", "c"), "\"a/b\"/c\n");
    assert_eq!(hashed("a\"/\"b", "c"), "\"a\\u{22}/\\u{22}b\"/c\n");
}

#[test]
fn entries_that_cannot_be_read_have_no_sum() {
    let entries =
        [entry("z", "float32", &[1], (64, 4), &[]), entry("\n", "float8", &[8], (128, 8), &[])];
    let path = old_file("hash-unsupported.zt", &entries, &[3; 128]);
    let output = zten(["hash".as_ref(), path.as_os_str()]);
    let (status, out, complaint) = ended(&output);
    assert_eq!(status, Some(3));
    let line = format!("{}  4  f32[1]  z/data", hex(&[3; 4]));
    assert_eq!(out, format!("{HEADER}-  8  float8[8]  \"\\u{{a}}\"/data\n{line}\n"));
    assert!(complaint.contains("unsupported-dtype"));
    let output = zten(["hash".as_ref(), "--json".as_ref(), path.as_os_str()]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["objects"][0]["name"], "\n");
    assert_eq!(found["objects"][0]["components"][0]["sha256"], Value::Null);
    assert_eq!(output.status.code(), Some(3));
}

/// The content digests are those that the reference implementation computed.
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
    let rejected = |file: &str, flag: &str, wanted: &str| {
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
        rejected(&path, "--content", &format!("unsupported-{what}"));
    }
    rejected("v2/accept/tied.zt", "--content", "a component has no digest");
    rejected("accept/1.2.3/dense_all.zt", "--content", "only files of generation 2 have one");
    let weak = "the digest of a component is weaker than the content digest, or of an unknown algorithm in ";
    rejected("v2/2.1/walk.zt", "--content=sha256", weak);
    let advice =
        "\n  `zten convert --to 2 --digest sha256` writes a file that has a content digest.\n";
    rejected("v2/2.1/walk.zt", "--content=sha256", advice);
    // Converts the file as the message advises. The new file has a content digest.
    let strong = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hash-strong.zt");
    let strong = strong.to_str().unwrap();
    let walk = corpus_folder().join("v2/2.1/walk.zt");
    let walk = walk.to_str().unwrap();
    succeeded_text(zten(["convert", "--force", "--to", "2", "--digest", "sha256", walk, strong]));
    let digest = succeeded_text(zten(["hash", "--content=sha256", strong]));
    assert!(digest.starts_with("sha256:"), "{digest}");
}

/// Compares a file with a list. Returns the exit status and both streams.
fn checked(list: &str, file: &Path, options: &[&str]) -> (Option<i32>, String, String) {
    let list = write("hash.digests", list.as_bytes());
    let arguments = ["hash".as_ref(), "--check".as_ref(), list.as_os_str(), file.as_os_str()];
    let output = zten(arguments.into_iter().chain(options.iter().map(AsRef::as_ref)));
    let (status, out, complaint) = ended(&output);
    (status, out.to_owned(), complaint.to_owned())
}

/// Writes a file of three tensors of four bytes each. `data` has the first byte of each tensor, and `shape` is the shape of the
/// second tensor, `b`. Returns its path and its list.
fn listed(name: &str, shape: &[usize], data: [u8; 3]) -> (PathBuf, String) {
    let [a, b, c] = [0, 64, 128].map(|at| [("data", raw("u8", 64 + at, 4, &[]))]);
    let mut bytes = vec![0; 132];
    for (at, byte) in data.into_iter().enumerate() {
        bytes[at * 64] = byte;
    }
    let objects = [
        ("a", object("dense", &[4], &a)),
        ("b", object("dense", shape, &b)),
        ("c", object("dense", &[4], &c)),
    ];
    let path = file(name, &objects, &bytes);
    let list = succeeded_text(zten(["hash".as_ref(), path.as_os_str()]));
    (path, list)
}

#[test]
fn a_list_names_the_changed_tensors() {
    let (path, list) = listed("hash-listed.zt", &[4], [1, 2, 3]);
    let shown = path.display();
    let all = format!("{shown}: 3 of 3 components match\n");
    assert_eq!(checked(&list, &path, &[]), (Some(0), all, String::new()));
    assert_eq!(checked(&list, &path, &["-q"]), (Some(0), String::new(), String::new()));
    // First the bytes of a tensor change, then only its shape.
    for (shape, data) in [(&[4][..], [1, 9, 3]), (&[2, 2], [1, 2, 3])] {
        let (other, _) = listed("hash-changed.zt", shape, data);
        let shown = other.display();
        let wanted = format!(
            "changed  b/data\n{shown}: 2 of 3 components match: 1 changed, 0 missing, 0 added\n"
        );
        assert_eq!(checked(&list, &other, &[]), (Some(1), wanted, String::new()));
        assert_eq!(checked(&list, &other, &["--quiet"]), (Some(1), String::new(), String::new()));
    }
    let line = |name: &str| list.lines().find(|line| line.ends_with(name)).unwrap();
    let renamed = list.replace("  b/", "  \"b b\"/");
    let wanted = format!(
        "added    b/data\nmissing  \"b b\"/data\n\
         {shown}: 2 of 3 components match: 0 changed, 1 missing, 1 added\n"
    );
    assert_eq!(checked(&renamed, &path, &[]), (Some(1), wanted, String::new()));
    let (status, out, _) = checked(&renamed, &path, &["--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(status, Some(1));
    assert_eq!((&found["equal"], &found["changed"]), (&json!(false), &json!([])));
    assert_eq!(found["missing"], json!([{ "name": "b b", "role": "data" }]));
    assert_eq!(found["added"], json!([{ "name": "b", "role": "data" }]));
    let (_, out, _) = checked(&list, &path, &["--json"]);
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["equal"], true);
    // The lines of a list may be in any order, with comments between them.
    let turned = [HEADER.trim(), "# mine", line("c/data"), line("a/data"), line("b/data"), ""];
    assert_eq!(checked(&turned.join("\n"), &path, &[]).0, Some(0));
    // Several files are compared with one list, one file after another, and one of them does not match.
    let text = list.as_bytes();
    let list = write("hash-several.digests", text);
    let (other, _) = listed("hash-other.zt", &[4], [0, 2, 3]);
    let arguments = ["hash".as_ref(), "--check".as_ref(), list.as_os_str(), path.as_os_str()];
    let output = zten(arguments.into_iter().chain([other.as_os_str(), path.as_os_str()]));
    let (status, out, _) = ended(&output);
    let matches = out.lines().filter(|line| line.ends_with(": 3 of 3 components match")).count();
    assert_eq!((status, matches, out.contains("changed  a/data")), (Some(1), 2, true), "{out}");
}

#[test]
fn unusable_lists_are_errors() {
    let (path, list) = listed("hash-unusable.zt", &[4], [1, 2, 3]);
    for (list, options, wanted) in [
        ("", &[][..], "hash.digests: incomplete list of digests"),
        (
            "{}",
            &[],
            "not a list of digests: expected the first line \"# zten digests 1\", in line 1",
        ),
        (&list.repeat(2), &[], "a second list of digests begins, expected one, in line 5"),
        (list.trim_end(), &[], "incomplete list of digests"),
        (
            &list.replace("u8[4]", "u8"),
            &["--limit=manifest=100"],
            "exceeds the limit manifest of 100 bytes",
        ),
    ] {
        let (status, out, complaint) = checked(list, &path, options);
        assert_eq!((status, out.as_str()), (Some(2), ""), "{list}");
        assert!(complaint.contains(wanted), "{complaint}");
    }
    let missing = zten(["hash", "--check", "/missing", path.to_str().unwrap()]);
    assert_eq!(ended(&missing).0, Some(2));
    // A rejected file is not compared with the list.
    let bad = corpus_folder().join("reject/bool-value--v12-second-object.zt");
    let (status, out, complaint) = checked(&list, &bad, &[]);
    assert_eq!((status, out.as_str()), (Some(1), ""));
    assert!(complaint.contains("bool-value"), "{complaint}");
    for usage in [&["-q"][..], &["--json", "-q", "-c", "x"], &["--content", "-c", "x"]] {
        assert_eq!(zten([&["hash", "x"], usage].concat()).status.code(), Some(2), "{usage:?}");
    }
}

/// A conversion of a file has the same list, whatever its format is.
#[test]
fn conversions_keep_the_list() {
    let (path, list) = listed("hash-converted.zt", &[4], [1, 2, 3]);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (end, options) in
        [("zt", &["--to", "2", "--zstd=3"][..]), ("safetensors", &[]), ("npz", &[]), ("zt", &[])]
    {
        let other = folder.join(format!("hash-conversion.{end}"));
        let paths = [path.to_str().unwrap(), other.to_str().unwrap()];
        succeeded_text(zten([&["convert", "--force"], options, &paths].concat()));
        assert_eq!(succeeded_text(zten(["hash", paths[1]])), list, "{end}");
        assert_eq!(checked(&list, &other, &[]).0, Some(0));
        let identity = succeeded_text(zten(["hash", "--id", paths[1]]));
        assert_eq!(identity, format!("{}\n", hex(list.as_bytes())), "{end}");
    }
    let mut tried = 0;
    for file in fs::read_dir(corpus_folder().join("other/gguf/accept")).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_none_or(|end| end != "gguf") {
            continue;
        }
        let list = succeeded_text(zten(["hash".as_ref(), file.as_os_str()]));
        for generation in ["1.2", "2"] {
            let other = folder.join("hash-of-gguf.zt");
            let paths = [file.to_str().unwrap(), other.to_str().unwrap()];
            let arguments = [&["convert", "--force", "--to", generation], &paths[..]].concat();
            if zten(&arguments).status.code() == Some(0) {
                assert_eq!(succeeded_text(zten(["hash", paths[1]])), list, "{arguments:?}");
                tried += 1;
            }
        }
    }
    assert!(tried > 20, "{tried}");
}

#[test]
fn several_files_have_a_list_each() {
    let (path, list) = listed("hash-each.zt", &[4], [1, 2, 3]);
    let shown = path.display().to_string();
    let text = succeeded_text(zten(["hash", &shown, &shown]));
    let named = list.replace(HEADER, &format!("{HEADER}# {shown}\n"));
    assert_eq!(text, named.repeat(2));
    let output = zten(["hash", &shown, "missing.zt", &shown]);
    assert_eq!((ended(&output).0, ended(&output).1), (Some(2), text.as_str()));
}

/// A list names its files from its own folder, wherever the command runs.
#[test]
fn files_of_a_list_are_found_from_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("models/sub dir")).unwrap();
    let corpus = corpus_folder().join("accept/1.2.3");
    for (from, to) in [("scalar.zt", "a.zt"), ("zstd.zt", "sub dir/b.zt")] {
        fs::copy(corpus.join(from), folder.path().join("models").join(to)).unwrap();
    }
    let of = |at: &str, args: &[&str]| {
        command().args(args).current_dir(folder.path().join(at)).output().unwrap()
    };
    let list = succeeded(of("models", &["hash", "a.zt", "sub dir/b.zt"]));
    fs::write(folder.path().join("models/list"), list).unwrap();
    for mode in [&[][..], &["--no-sandbox"]] {
        let text = succeeded_text(of(".", &[&["hash", "-c", "models/list"], mode].concat()));
        let wanted = "models/a.zt: 4 of 4 components match\n\"models/sub dir/b.zt\": ";
        assert!(text.starts_with(wanted) && text.ends_with(" components match\n"), "{text}");
        let text = succeeded_text(of("models", &[&["hash", "-c", "list"], mode].concat()));
        assert!(text.starts_with("a.zt: 4 of 4"), "{text}");
        // A named file is looked up from the folder of the list, too.
        let one = of(".", &[&["hash", "-c", "models/list", "models/a.zt"], mode].concat());
        assert_eq!(succeeded_text(one), "models/a.zt: 4 of 4 components match\n");
        // `./` does not count, in the list or on the command line.
        let one = of("models", &[&["hash", "-c", "list", "./a.zt"], mode].concat());
        assert_eq!(succeeded_text(one), "./a.zt: 4 of 4 components match\n");
        let dotted = succeeded(of("models", &["hash", "./a.zt", "./sub dir/b.zt"]));
        fs::write(folder.path().join("models/dotted"), dotted).unwrap();
        let one = of("models", &[&["hash", "-c", "dotted", "a.zt"], mode].concat());
        assert_eq!(succeeded_text(one), "a.zt: 4 of 4 components match\n");
        let other = of("models", &[&["hash", "-c", "dotted", "sub dir/b.zt"], mode].concat());
        assert!(succeeded_text(other).ends_with(" components match\n"));
    }
    fs::remove_file(folder.path().join("models/a.zt")).unwrap();
    let output = of(".", &["hash", "-c", "models/list"]);
    let (status, out, why) = ended(&output);
    assert!(status == Some(2) && out.contains("b.zt") && why.contains("models/a.zt: "), "{why}");
    let single = succeeded(of("models", &["hash", "sub dir/b.zt"]));
    fs::write(folder.path().join("single"), single).unwrap();
    let complaint = failed(of(".", &["hash", "-c", "single"]), 2);
    let wanted = "single: the list names no file: give the file to compare with the list\n";
    assert_eq!(complaint, wanted);
    assert_eq!(failed(of(".", &["hash", "-c", "none"]), 2).lines().count(), 1);
    // A list does not choose which servers get requests.
    for (other, shown) in
        [("https://h/x?secret", "https://h/x?..."), ("hf://o/m/x", "hf://o/m/x"), ("-", "-")]
    {
        let part = |path: &str| format!("{HEADER}# {path}\n{}  1  u8  x/data\n", "0".repeat(64));
        fs::write(folder.path().join("models/list"), part("sub dir/b.zt") + &part(other)).unwrap();
        for (at, list) in [(".", "models/list"), ("models", "list")] {
            let complaint = failed(of(at, &["hash", "-c", list]), 2);
            let wanted = format!(
                "{list}: {shown} is not a file on this machine: give the files to compare with the list\n"
            );
            assert_eq!(complaint, wanted);
        }
    }
    assert_eq!(of(".", &["hash"]).status.code(), Some(2));
}

/// With `--only`, the list has the lines of the tensors whose names match a pattern. A pattern that matches nothing is an error.
#[test]
fn a_list_of_some_tensors() {
    let path = corpus_folder().join("other/safetensors/accept/types.safetensors");
    let whole = succeeded_text(zten(["hash", path.to_str().unwrap()]));
    let names: Vec<_> = whole.lines().skip(1).collect();
    for mode in [&[][..], &["--no-sandbox"]] {
        let hash = |globs: &[&str]| {
            let options: Vec<_> = globs.iter().map(|glob| format!("--only={glob}")).collect();
            let options: Vec<_> = options.iter().map(String::as_str).collect();
            zten([&["hash", path.to_str().unwrap()], mode, &options[..]].concat())
        };
        let some = succeeded_text(hash(&["f*", "*8"]));
        let is_wanted = |line: &&str| {
            let name = line.split_whitespace().next_back().unwrap().split('/').next().unwrap();
            name.starts_with('f') || name.ends_with('8')
        };
        let wanted: Vec<_> = names.iter().copied().filter(is_wanted).collect();
        assert!(!wanted.is_empty() && wanted.len() < names.len(), "{whole}");
        assert_eq!(some.lines().skip(1).collect::<Vec<_>>(), wanted);
        let complaint = failed(hash(&["f*", "nothing*"]), 2);
        assert!(complaint.contains("nothing*"), "{complaint}");
    }
}

/// Returns a safetensors file of tensors of one byte each, in this order.
fn bytes_file(name: &str, tensors: &[(&str, u8)]) -> PathBuf {
    let entries = tensors.iter().enumerate().map(|(at, (name, _))| {
        format!(
            "{}:{{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[{at},{}]}}",
            json!(name),
            at + 1
        )
    });
    let header = format!("{{{}}}", entries.collect::<Vec<_>>().join(","));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(tensors.iter().map(|(_, byte)| byte));
    write(name, &bytes)
}

/// The identity is the SHA-256 of the output of `zten hash FILE`, in every format. If `zten hash FILE` fails, no identity is
/// printed.
#[test]
fn the_identity_is_the_sha256_of_the_list() {
    let corpus = corpus_folder();
    let mut paths: Vec<_> = [
        "accept/1.2.3/dense_all.zt",
        "accept/1.2.3/sparse.zt",
        "v2/accept/mx.zt",
        "v2/shards/dense.zt",
    ]
    .map(|name| corpus.join(name))
    .into();
    for format in ["gguf", "npy", "npz", "safetensors", "torch"] {
        let files = fs::read_dir(corpus.join("other").join(format).join("accept")).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        paths.extend(files.into_iter().take(12));
    }
    let mut tried = 0;
    for path in paths.iter().filter(|path| path.exists()) {
        let output = zten(["hash".as_ref(), path.as_os_str()]);
        let identity = zten(["hash".as_ref(), "--id".as_ref(), path.as_os_str()]);
        if output.status.code() == Some(0) {
            assert_eq!(succeeded_text(identity), format!("{}\n", hex(&output.stdout)));
            tried += 1;
        } else {
            assert_eq!((identity.status, identity.stdout), (output.status, Vec::new()));
        }
    }
    assert!(tried > 30, "{tried}");
}

#[test]
fn the_identity_depends_on_the_tensors_alone() {
    let id =
        |path: &Path| succeeded_text(zten(["hash".as_ref(), "--id".as_ref(), path.as_os_str()]));
    let names =
        ["", "a", "a b", "a.b", "a/b", "a/data", "a\"b", "\\", "\u{200b}", "é", "…", "\u{1f600}"];
    let tensors: Vec<_> = names.into_iter().zip(1..).collect();
    let turned: Vec<_> = tensors.iter().copied().rev().collect();
    let first = bytes_file("hash-id.safetensors", &tensors);
    let other = bytes_file("hash-id-turned.safetensors", &turned);
    assert_ne!(fs::read(&first).unwrap(), fs::read(&other).unwrap());
    let wanted = id(&first);
    assert_eq!(id(&other), wanted);
    // The same tensors have the same identity in one file and in shards.
    let folder = tempfile::tempdir().unwrap();
    let sharded = folder.path().join("model.safetensors.index.json");
    let convert = |options: &[&str], to: &Path| {
        let paths = [first.to_str().unwrap(), to.to_str().unwrap()];
        succeeded_text(zten([&["convert", "--force"], options, &paths].concat()));
    };
    convert(&["--shard-size", "4"], &folder.path().join("model.safetensors"));
    assert!(fs::read_dir(folder.path()).unwrap().count() > 2);
    assert_eq!(id(&sharded), wanted);
    assert_eq!(id(folder.path()), wanted);
    // The identity changes if the name of a tensor or a byte changes, or if a tensor is missing.
    for (position, change) in [(1, ("b", 2)), (1, ("a", 9))] {
        let mut changed = tensors.clone();
        changed[position] = change;
        assert_ne!(id(&bytes_file("hash-id-changed.safetensors", &changed)), wanted);
    }
    assert_ne!(id(&bytes_file("hash-id-changed.safetensors", &tensors[1..])), wanted);
    let empty = bytes_file("hash-id-empty.safetensors", &[]);
    assert_eq!(id(&empty), format!("{}\n", hex(HEADER.as_bytes())));
    // For several files there is a line for each, and JSON has the same digest.
    let [first, other] = [&first, &other].map(|path| path.to_str().unwrap());
    let line = |path| format!("{}  {path}\n", wanted.trim());
    let several = succeeded_text(zten(["hash", "--id", first, other]));
    assert_eq!(several, line(first) + &line(other));
    for options in [&["--json"][..], &["--json", "--id"]] {
        let document = succeeded_json(zten([&["hash", first], options].concat()));
        assert_eq!(document["identity"], wanted.trim());
    }
    for usage in [&["-c", "x"][..], &["--content"]] {
        assert_eq!(zten([&["hash", "--id", "x"], usage].concat()).status.code(), Some(2));
    }
}

#[test]
fn a_file_that_is_not_read_whole_has_no_identity() {
    let path = corpus_folder().join("accept/unsupported-dtype--v01-unknown.zt");
    let path = path.to_str().unwrap();
    let complaint = failed(zten(["hash", "--id", path]), 3);
    assert!(complaint.contains("unsupported-dtype"), "{complaint}");
    let output = zten(["hash", "--json", path]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &document["identity"]), (Some(3), &Value::Null));
}
