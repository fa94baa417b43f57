//! Tests of opaque and unread arrays in NumPy files, next to which other arrays are read.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use zten_corpus::other::npy;
use zten_corpus::other::zip::{Archive, Member};

use crate::schema::Schema;
use crate::{ended, failed, run, succeeded, succeeded_json, succeeded_text, zten};

/// The dtype of records of a float, a text and two integers.
const RECORDS: &str = "[('x', '<f4'), ('name', '<U2'), ('pair', '>i2', (2,))]";

/// Returns the text `text` as UTF-32, filled with zeros up to `length` characters.
fn utf32(text: &str, length: usize) -> Vec<u8> {
    let mut units: Vec<_> = text.chars().map(u32::from).collect();
    units.resize(length, 0);
    units.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Returns a file with an array whose dtype is the Python literal `descr`.
fn array(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let literal = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
    npy::versioned(1, &literal, data)
}

/// Returns two records of the dtype [`RECORDS`].
fn records() -> Vec<u8> {
    let record = |x: f32, name: &str, pair: [i16; 2]| {
        let pair = pair.map(i16::to_be_bytes);
        [&x.to_le_bytes()[..], &utf32(name, 2), pair.as_flattened()].concat()
    };
    [record(1.5, "ab", [1, 2]), record(-2.0, "c", [-3, 4])].concat()
}

/// Writes an archive of arrays, and returns its folder and path.
fn archive(members: &[(&str, Vec<u8>)]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.npz");
    let members: Vec<_> =
        members.iter().map(|(name, bytes)| (format!("{name}.npy"), bytes)).collect();
    let members: Vec<_> = members.iter().map(|(name, bytes)| Member::stored(name, bytes)).collect();
    fs::write(&path, Archive::new(&members).bytes()).unwrap();
    (folder, path)
}

/// Writes an archive of numbers, text, records and Python objects.
fn mixed() -> (TempDir, PathBuf) {
    archive(&[
        ("labels", array("'<U3'", "(2,)", &[utf32("cat", 3), utf32("é", 3)].concat())),
        ("numbers", array("'<f4'", "(2,)", &[0, 0, 0, 0, 0, 0, 128, 63])),
        ("objects", array("'|O'", "(1,)", b"\x80\x03]q\0.")),
        ("rec", array(RECORDS, "(2,)", &records())),
    ])
}

#[test]
fn states_are_listed() {
    let (_folder, path) = mixed();
    let text = succeeded_text(run("ls", &path, &[]));
    let wanted = "\
NAME                     TYPE                          SHAPE   STATE     STORED
labels                   <U3                           [2]     opaque      24 B
numbers                  f32                           [2]     readable     8 B
objects                  |O?                           [1]     unread       6 B
rec                      \"[('x', '<f4'\"…\"i2', (2,))]\"  [2]     opaque      32 B
\"rec[\\u{22}pair\\u{22}]\"  i16                           [2, 2]  readable       -
\"rec[\\u{22}x\\u{22}]\"     f32                           [2]     readable       -
6 tensors, 6 components, 70 B, .npz
all dense, raw, no digest
8 parameters: 62 B of other types, 8 B of f32
2 opaque, 1 unread: objects (npy-objects)
";
    assert_eq!(text, wanted);
    let tree = succeeded_text(run("ls", &path, &["--tree"]));
    assert!(tree.contains("\n2 opaque, 1 unread: objects (npy-objects)\n"), "{tree}");
    let document = succeeded_json(run("ls", &path, &["--json"]));
    let states: Vec<_> = document["objects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|object| json!([object["name"], object["state"], object["reason"]]))
        .collect();
    let readable = |name: &str| json!([name, "readable", null]);
    assert_eq!(
        states,
        [
            json!(["labels", "opaque", null]),
            readable("numbers"),
            json!(["objects", "unread", "npy-objects"]),
            json!(["rec", "opaque", null]),
            readable("rec[\"x\"]"),
            readable("rec[\"pair\"]"),
        ]
    );
    let totals = &document["totals"];
    assert_eq!((&totals["stored"], &totals["parameters"]), (&json!(70), &json!(8)));
    let dtypes = totals["dtypes"].as_array().unwrap();
    assert_eq!(
        dtypes.iter().map(|own| &own["dtype"]).collect::<Vec<_>>(),
        [&Value::Null, &json!("f32")]
    );
}

/// Checks that the bytes of fields are counted once, with their records.
#[test]
fn bytes_of_records_are_counted_once() {
    let (_folder, path) = archive(&[("rec", array(RECORDS, "(2,)", &records()))]);
    let text = succeeded_text(zten(["check".as_ref(), path.as_os_str()]));
    assert!(text.ends_with(": valid .npz file: 3 tensors, 32 B\n"), "{text}");
}

#[test]
fn opaque_elements_are_printed() {
    let dates = [0_i64, 86_399, i64::MIN].map(i64::to_le_bytes);
    let hidden = [utf32("a\u{1b}[31m", 6), utf32("", 6)].concat();
    let (_folder, path) = archive(&[
        ("dates", array("'<M8[s]'", "(3,)", dates.as_flattened())),
        ("hidden", array("'<U6'", "(2,)", &hidden)),
        ("rec", array(RECORDS, "(2,)", &records())),
        ("void", npy::file("|V1", true, "(2, 2)", &[1, 2, 3, 4])),
        ("words", array("'|S2'", "(2, 2)", b"ab\xff\0c\0\0\0")),
        ("empty", array("'<U0'", "(2,)", b"")),
        ("nothing", array("'<U0'", "(1000000000,)", b"")),
    ]);
    let text = |name: &str, options: &[&str]| {
        succeeded_text(run("cat", &path, &[&[name], options].concat()))
    };
    let document =
        |name: &str| succeeded_json(run("cat", &path, &[name, "--json"]))["elements"].take();
    assert_eq!(text("dates", &[]), "[1970-01-01T00:00:00, 1970-01-01T23:59:59, NaT]\n");
    assert_eq!(document("dates"), json!(["1970-01-01T00:00:00", "1970-01-01T23:59:59", "NaT"]));
    // Control characters in the elements are escaped, so none of them reaches a terminal.
    assert_eq!(text("hidden", &[]), "[\"a\\u{1b}[31m\", \"\"]\n");
    assert_eq!(document("hidden"), json!(["a\u{1b}[31m", ""]));
    let wanted = "[{x: 1.5, name: \"ab\", pair: [1, 2]}, {x: -2.0, name: \"c\", pair: [-3, 4]}]\n";
    assert_eq!(text("rec", &[]), wanted);
    let second = json!({ "x": -2.0, "name": "c", "pair": [-3, 4] });
    assert_eq!(document("rec")[1], second);
    // Column-major arrays are printed in row-major order, also if their elements are not numbers.
    assert_eq!(text("void", &[]), "[[0x01, 0x03],\n [0x02, 0x04]]\n");
    assert_eq!(text("words", &[]), "[[b\"ab\", b\"\\xff\"],\n [b\"c\", b\"\"]]\n");
    assert_eq!(document("words"), json!([["ab", { "$bytes": "ff" }], ["c", ""]]));
    assert_eq!(text("empty", &[]), "[\"\", \"\"]\n");
    assert_eq!(text("nothing", &[]), "[]\n");
    for (name, slice, wanted) in [
        ("dates", "1:2", "[1970-01-01T23:59:59]\n"),
        ("rec", "1:", "[{x: -2.0, name: \"c\", pair: [-3, 4]}]\n"),
        ("words", ":, 0", "[b\"ab\", b\"c\"]\n"),
        ("void", "1, ::2", "[0x02]\n"),
        ("rec[\"pair\"]", "1", "[-3, 4]\n"),
    ] {
        assert_eq!(text(name, &[&format!("--slice={slice}")]), wanted, "{name} {slice}");
    }
    // `cat --npy` writes records with their dtype.
    let copied = succeeded(run("cat", &path, &["rec", "--npy", "--slice=:1"]));
    let path = path.with_file_name("copied.npy");
    fs::write(&path, &copied).unwrap();
    let again = succeeded_text(run("cat", &path, &["copied"]));
    assert_eq!(again, "[{x: 1.5, name: \"ab\", pair: [1, 2]}]\n");
    let schema = Schema::at("../../docs/json.schema.json");
    let document = succeeded_json(run("cat", &path, &["copied", "--json"]));
    assert!(schema.allows_whole(&document), "{document}");
}

#[test]
fn unread_objects_are_not_printed() {
    let (_folder, path) = mixed();
    for options in [&[][..], &["--json"], &["--raw"], &["--npy"], &["--slice=0"]] {
        let complaint = failed(run("cat", &path, &[&["objects"], options].concat()), 3);
        assert!(complaint.contains("(rule npy-objects, "), "{complaint}");
        assert!(complaint.contains(" in \"objects\""), "{complaint}");
    }
}

#[test]
fn statistics_name_what_they_skip() {
    let (_folder, path) = mixed();
    let text = succeeded_text(run("stat", &path, &[]));
    let line = text.lines().find(|line| line.starts_with("labels")).unwrap();
    assert!(line.contains(" <U3 ") && line.ends_with("  opaque"), "{text}");
    assert!(text.contains("  unread (npy-objects)\n"), "{text}");
    let last = text.lines().rev().take(2).collect::<Vec<_>>();
    assert!(last.iter().any(|line| line.contains("1 skipped: unread (npy-objects)")), "{text}");
    let document = succeeded_json(run("stat", &path, &["--json"]));
    let skipped: Vec<_> =
        document["objects"].as_array().unwrap().iter().map(|object| &object["skipped"]).collect();
    let wanted = [
        json!("opaque"),
        json!(null),
        json!("unread (npy-objects)"),
        json!("opaque"),
        json!(null),
        json!(null),
    ];
    assert_eq!(skipped, wanted.iter().collect::<Vec<_>>());
}

#[test]
fn sums_cover_opaque_bytes() {
    let (_folder, path) = mixed();
    let output = run("hash", &path, &["--json"]);
    let (status, text, complaint) = ended(&output);
    assert_eq!(status, Some(3));
    assert!(
        complaint.contains("(rule npy-objects, ") && complaint.contains("\"objects\""),
        "{complaint}"
    );
    let document: Value = serde_json::from_str(text).unwrap();
    let sum = |name: &str| {
        let objects = document["objects"].as_array().unwrap();
        let object = objects.iter().find(|object| object["name"] == name).unwrap();
        object["components"][0]["sha256"].clone()
    };
    let labels = [utf32("cat", 3), utf32("é", 3)].concat();
    let wanted = zten_report::digests::hex(&Sha256::digest(labels).into());
    assert_eq!((sum("labels"), sum("objects")), (json!(wanted), Value::Null));
}

#[test]
fn opaque_objects_are_compared() {
    let labels = |descr: &str, text: &str| {
        let numbers = array("'<f4'", "(1,)", &[0; 4]);
        archive(&[("labels", array(descr, "(1,)", &utf32(text, 2))), ("numbers", numbers)])
    };
    let (_folder, old) = labels("'<U2'", "ab");
    let compared = |new: &PathBuf| {
        let output = zten(["diff".as_ref(), old.as_os_str(), new.as_os_str()]);
        let (status, text, complaint) = ended(&output);
        assert_eq!(complaint, "");
        (status, text.to_owned())
    };
    let (_folder, same) = labels("'<U2'", "ab");
    let wanted = "tensors: 0 changed, 0 added, 0 removed, 0 renamed, 2 equal\n";
    assert_eq!(compared(&same), (Some(0), wanted.to_owned()));
    let (_folder, other) = labels("'<U2'", "ac");
    let (status, text) = compared(&other);
    assert!(
        status == Some(1) && text.contains("~ \"labels\": 1 of 8 elements changed\n"),
        "{text}"
    );
    let (_folder, other) = labels("'|V8'", "ab");
    let (status, text) = compared(&other);
    assert!(status == Some(1) && text.contains("~ \"labels\": dtype <U2 -> |V8\n"), "{text}");
    let (_folder, mixed) = mixed();
    let output = zten(["diff".as_ref(), mixed.as_os_str(), mixed.as_os_str()]);
    let (status, text, complaint) = ended(&output);
    let wanted =
        "tensors: 0 changed, 0 added, 0 removed, 0 renamed, 5 equal, 1 unread and not compared\n";
    assert_eq!((status, text), (Some(3), wanted));
    assert!(complaint.contains("(rule npy-objects, "), "{complaint}");
}

#[test]
fn opaque_objects_are_copied_to_numpy_files() {
    let (folder, path) = mixed();
    let out = folder.path().join("out.npz");
    let output = run("convert", &path, &[out.to_str().unwrap()]);
    let (status, text, complaint) = ended(&output);
    assert_eq!(status, Some(3), "{complaint}");
    assert!(text.contains(": written (npz, 3 tensors, "), "{text}");
    assert!(complaint.ends_with(": left out: objects (unread: npy-objects)\n"), "{complaint}");
    let listed = succeeded_json(run("ls", &out, &["--json"]));
    let names: Vec<_> =
        listed["objects"].as_array().unwrap().iter().map(|object| &object["name"]).collect();
    assert_eq!(names, ["labels", "numbers", "rec", "rec[\"x\"]", "rec[\"pair\"]"]);
    assert_eq!(listed["objects"][2]["components"][0]["dtype"], RECORDS);
    let output = zten(["diff".as_ref(), path.as_os_str(), out.as_os_str()]);
    assert!(ended(&output).1.contains(" 0 changed, 0 added, 0 removed, 0 renamed, 5 equal, "));
    // A `.npy` file can hold one array of text, and one field of records that is written without its records.
    for (name, rest) in [("labels", "opaque"), ("rec[\"x\"]", "readable")] {
        let out = folder.path().join("one.npy");
        let only = format!("--only={}", name.replace(['[', ']'], "?"));
        succeeded(run("convert", &path, &[out.to_str().unwrap(), &only, "--force"]));
        let listed = succeeded_json(run("ls", &out, &["--json"]));
        assert_eq!(listed["objects"][0]["state"], rest, "{name}");
        assert_eq!(listed["totals"]["objects"], 1);
    }
}

#[test]
fn other_formats_are_written_without_opaque_objects() {
    for suffix in ["zt", "safetensors"] {
        let (folder, path) = mixed();
        let out = folder.path().join(format!("out.{suffix}"));
        let output = run("convert", &path, &[out.to_str().unwrap(), "-q"]);
        let (status, text, complaint) = ended(&output);
        assert_eq!((status, text), (Some(3), ""), "{complaint}");
        let line = format!(
            "left out: labels (opaque: a .{suffix} file cannot hold the type <U3), objects (unread: npy-objects), rec (opaque: "
        );
        assert!(complaint.contains(&line), "{complaint}");
        assert_eq!(complaint.lines().count(), 1);
        let listed = succeeded_json(run("ls", &out, &["--json"]));
        let mut names: Vec<_> = listed["objects"]
            .as_array()
            .unwrap()
            .iter()
            .map(|object| object["name"].as_str().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["numbers", "rec[\"pair\"]", "rec[\"x\"]"]);
        // Opaque objects alone do not change the status.
        let numbers = ["--only=labels", "--only=numbers", "--force", "-q"];
        let output = run("convert", &path, &[&[out.to_str().unwrap()], &numbers[..]].concat());
        assert_eq!(ended(&output).0, Some(0));
        assert!(ended(&output).2.contains(": left out: labels (opaque: "));
        // If every selected tensor is left out, the command fails, because a file without any tensors would not be a
        // copy.
        for (name, status) in [("labels", 2), ("objects", 3)] {
            let out = folder.path().join(format!("none.{suffix}"));
            let only = format!("--only={name}");
            failed(run("convert", &path, &[out.to_str().unwrap(), &only]), status);
            assert!(!out.exists());
        }
    }
}

#[test]
fn policies_name_opaque_types() {
    let (folder, path) = mixed();
    let policy = folder.path().join("policy.toml");
    let checked = |dtypes: &[&str]| {
        fs::write(&policy, format!("allow-dtypes = {dtypes:?}\n")).unwrap();
        let option = format!("--policy={}", policy.to_str().unwrap());
        let output = run("check", &path, &[&option]);
        let (status, text, _) = ended(&output);
        (status, text.to_owned())
    };
    let (status, text) = checked(&["f32", "i16"]);
    assert_eq!(status, Some(1));
    assert!(
        text.contains("dtype \"<U3\" is not allowed (rule policy-dtype, policy) in \"labels\""),
        "{text}"
    );
    assert!(text.contains("2 more tensors are against the policy: objects, rec"), "{text}");
    // An allowed unread array passes the policy, and is still unsupported.
    let (status, text) = checked(&["f32", "i16", "<U3", "|O", RECORDS]);
    assert!(status == Some(3) && text.contains("(rule npy-objects, "), "{text}");
    let (status, text) = checked(&["f32", "i16", "<U4", "|O", RECORDS]);
    assert!(status == Some(1) && text.contains("dtype \"<U3\" is not allowed"), "{text}");
}
