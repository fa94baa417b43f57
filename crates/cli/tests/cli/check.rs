//! Tests of the verdicts, messages and exit statuses of `zten check`.

use std::fs;
use std::process::Command;

use crate::files::{entry, file, object, old_file, raw, text};
use crate::{both_streams, command, ended, failed, in_corpus, json_lines, succeeded_text, zten};

#[test]
fn one_message_for_each() {
    let file = "reject/blob-alignment--v12-72.zt";
    let output = in_corpus(&["check", file]);
    let message = "reject/blob-alignment--v12-72.zt: component offset 72 is not a multiple of 64 \
        (4096 in generation 2) (rule blob-alignment, v1.2 §4) in \"w\"/data at byte 0xe2, manifest byte 0x52\n  \
        Write the file again with a program that follows the specification.\n";
    assert_eq!(ended(&output), (Some(1), message, ""));

    let output = in_corpus(&["check", "reject/bool-value--v12-second-object.zt"]);
    let message = "reject/bool-value--v12-second-object.zt: a bool is stored as 7, expected 0 or 1 (rule \
        bool-value, v1.2 §2) in \"v\"/data at byte 0x80\n  Write the file again with a program \
        that follows the specification.\n";
    assert_eq!(ended(&output), (Some(1), message, ""));
}

#[test]
fn the_worst_status_wins_and_all_files_are_looked_at() {
    let valid = "accept/1.2.3/scalar.zt";
    let bad = "reject/blob-alignment--v12-72.zt";
    let status = |files: &[&str]| in_corpus(&[&["check"], files].concat()).status.code();
    assert_eq!(status(&[valid]), Some(0));
    assert_eq!(status(&[bad, valid]), Some(1));
    assert_eq!(status(&["missing", bad, valid]), Some(2));
    assert_eq!(status(&["accept", valid]), Some(2));
    let output = in_corpus(&["check", "missing", bad, valid]);
    let (_, out, complaint) = ended(&output);
    // Verdicts are on standard output, in the order of the arguments. The error of opening "missing" is on standard error.
    assert!(out.starts_with(&format!("{bad}: ")), "{out}");
    assert!(
        out.ends_with(&format!("{valid}: valid (1.2, 4 tensors, 4 components, 14 B of data)\n"))
    );
    assert!(complaint.starts_with("missing: ") && complaint.lines().count() == 1, "{complaint}");
    let output = in_corpus(&["check", "--json", "missing", "accept", bad, valid]);
    let verdicts: Vec<_> =
        json_lines(&output.stdout).iter().map(|line| line["verdict"].to_string()).collect();
    assert_eq!(verdicts, ["\"error\"", "\"error\"", "\"invalid\"", "\"valid\""]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn manifest_only_never_says_valid() {
    let file = "reject/bool-value--v12-2-first.zt";
    let text = succeeded_text(in_corpus(&["check", "--manifest-only", file]));
    assert_eq!(text, format!("{file}: manifest valid (1.2, 1 tensor, 1 component)\n"));
    let output = in_corpus(&["check", "--manifest-only", "--json", file]);
    assert_eq!(json_lines(&output.stdout)[0]["verdict"], "manifest-valid");
}

#[test]
fn padding_is_validated_on_request() {
    let file = "reject/canonical-padding--byte-ff.zt";
    let valid = succeeded_text(in_corpus(&["check", file]));
    assert!(valid.starts_with(&format!("{file}: valid (")), "{valid}");
    let valid = succeeded_text(in_corpus(&["check", "--canonical", "--manifest-only", file]));
    assert!(valid.starts_with(&format!("{file}: manifest valid and canonical (")), "{valid}");
    let output = in_corpus(&["check", "--canonical", file]);
    let message = format!(
        "{file}: a byte of padding is 255, not 0 (rule canonical-padding, policy) at byte 0x64\n  \
        `zten convert --canonical` writes the canonical form of a file.\n"
    );
    assert_eq!(ended(&output), (Some(1), message.as_str(), ""));
}

#[test]
fn wrong_usage() {
    let valid = "accept/1.2.3/scalar.zt";
    for args in [
        &["check"][..],
        &[],
        &["chekc", valid],
        &["check", "--limit", "widow=1", valid],
        &["check", "--limit", "window", valid],
        &["check", "--limit", "window=1X", valid],
        &["check", "--limit", "depth=65", valid],
        &["check", "--limit", "manifest=2GiB", valid],
        &["check", "--tolerate", "narrow-indices,everything", valid],
        &["check", "--canonical-please", valid],
        &["check", "--canonical", "--tolerate", "shared-blobs", "accept/canonical--csr.zt"],
    ] {
        let complaint = failed(in_corpus(args), 2);
        assert!(!complaint.is_empty(), "{args:?}");
    }
    let spelled = ["--limit=window=128MiB", "--limit", "decoded=4G", "--tolerate"];
    let args = [&["check", valid], &spelled[..], &["narrow-indices,shared-blobs"]].concat();
    succeeded_text(in_corpus(&args));
}

#[test]
fn limits_name_the_option_that_raises_them() {
    for (limit, file) in [
        ("manifest", "accept/1.2.3/dense_all.zt"),
        ("rank", "accept/1.2.3/dense_all.zt"),
        ("decoded-total", "accept/1.2.3/py_quantized.zt"),
        ("manifest", "other/safetensors/accept/types.safetensors"),
    ] {
        let complaint = failed(in_corpus(&["check", &format!("--limit={limit}=1"), file]), 1);
        assert!(complaint.contains(&format!("(--limit {limit}=SIZE)\n")), "{complaint}");
    }
    // The limit `depth` can only be lowered, so the message names no option.
    let output = in_corpus(&["check", "reject/limit-depth--arrays-in-root.zt"]);
    assert!(
        both_streams(&output).contains("limit-depth") && !both_streams(&output).contains("--limit")
    );
    let message = |limit: &str| {
        let output = in_corpus(&["check", "--limit", limit, "x"]);
        ended(&output).2.to_owned()
    };
    let size = "invalid size \"12Q\": expected a number of bytes, optionally with KB, MB, GB or TB (decimal), or KiB, ";
    assert!(message("window=12Q").contains(size), "{}", message("window=12Q"));
    assert!(message("widow=1").contains("unknown limit \"widow\": expected manifest, "));
}

#[test]
fn broken_rules_come_before_unsupported_features() {
    let checksum = [("checksum", text("crc32c:00000000"))];
    let unknown = |name| entry(name, "float8", &[8], (64, 8), &[]);
    let broken = entry("broken", "float32", &[2], (128, 8), &checksum);
    let path = old_file("unsupported-and-broken.zt", &[unknown("u"), broken], &[1; 128]);
    let output = zten(["check".as_ref(), path.as_os_str()]);
    let (status, complaint, _) = ended(&output);
    assert_eq!(status, Some(1));
    assert!(
        complaint.contains("(rule digest-mismatch, v0.1 §4) in \"broken\"/data"),
        "{complaint}"
    );

    let other = entry("v", "float8", &[8], (128, 8), &[]);
    let path = old_file("unsupported-twice.zt", &[unknown("u"), other], &[1; 128]);
    let complaint = failed(zten(["check".as_ref(), path.as_os_str()]), 3);
    assert!(complaint.contains("(rule unsupported-dtype, v0.1 §8) in \"u\"/data"), "{complaint}");
    assert!(complaint.ends_with("\n  1 more tensor is not supported: v\n"), "{complaint}");
}

/// Checks that the first invalid object in the order of the file is reported, although an unsupported one comes before it, and that
/// the other objects with errors are counted, with and without `--jobs` and the sandbox.
#[test]
fn errors_of_other_objects_are_counted() {
    let checksum = [("checksum", text("crc32c:00000000"))];
    let names: Vec<String> = (0..12).map(|number| format!("damaged {number}")).collect();
    let mut entries = vec![entry("u", "float8", &[8], (64, 8), &[])];
    for (name, offset) in names.iter().zip((128..).step_by(64)) {
        entries.push(entry(name, "float32", &[2], (offset, 8), &checksum));
    }
    entries.push(entry("fine", "float32", &[2], (1024, 8), &[]));
    let path = old_file("many-invalid.zt", &entries, &[1; 1024]);
    let check = |options: &[&str]| {
        let path = ["check", path.to_str().unwrap()];
        let output = zten(path.iter().chain(options));
        assert_eq!(output.status.code(), Some(1), "{options:?}");
        output
    };
    for options in [&[][..], &["--jobs=2"], &["--no-sandbox"]] {
        let output = check(options);
        let complaint = both_streams(&output);
        assert!(
            complaint.contains("(rule digest-mismatch, v0.1 §4) in \"damaged 0\"/data"),
            "{complaint}"
        );
        let shown: Vec<_> = (1..9).map(|number| format!("\"damaged {number}\"")).collect();
        let more = format!(
            "\n  11 more tensors are invalid: {}, …\n  1 more tensor is not supported: u\n",
            shown.join(", ")
        );
        assert!(complaint.ends_with(&more), "{complaint}");
        let document = &json_lines(&check(&[options, &["--json"]].concat()).stdout)[0];
        assert_eq!((&document["object"], &document["more"]), (&"damaged 0".into(), &12.into()));
    }
    let sarif: serde_json::Value = serde_json::from_slice(&check(&["--sarif"]).stdout).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["properties"]["more"], 12);
}

/// Checks that the number of other objects with errors is null if the other objects were not checked, and 0 if they were checked
/// and have none.
#[test]
fn a_message_says_if_objects_were_not_checked() {
    let more = |args: &[&str]| {
        let output = in_corpus(&[&["check", "--json"], args].concat());
        json_lines(&output.stdout)[0]["more"].clone()
    };
    assert_eq!(more(&["accept/1.2.3/scalar.zt"]), 0);
    assert_eq!(more(&["reject/bool-value--v12-2-first.zt"]), 0);
    assert!(more(&["accept/1.2.3/scalar.zt", "--manifest-only"]).is_null());
    assert!(more(&["reject/blob-alignment--v12-72.zt"]).is_null());
    assert!(more(&["missing.zt"]).is_null());
    // The limit `decoded-total` is on the whole file, so the check ends at the first object beyond it, and no other object
    // has an error.
    let limit = "--limit=decoded-total=100";
    assert_eq!(more(&["accept/1.2.3/py_quantized.zt", limit]), 0);
}

#[test]
fn unverifiable_digests_are_not_valid() {
    let digest = [("digest", text("md5:00"))];
    let component = raw("u8", 64, 4, &digest);
    let objects = [("w", object("dense", &[4], &[("data", component)]))];
    let path = file("unverifiable.zt", &objects, &[7; 64]);
    let output = zten(["check".as_ref(), path.as_os_str()]);
    let (status, complaint, errors) = ended(&output);
    assert_eq!((status, errors), (Some(3), ""));
    assert!(complaint.contains("(rule unsupported-digest, v1.2 §1) in \"w\"/data"), "{complaint}");
    // `cat` prints the values without calling the file valid, and `hash` prints no digests.
    let output = zten(["cat".as_ref(), path.as_os_str(), "w".as_ref()]);
    let (status, out, complaint) = ended(&output);
    assert_eq!((status, out), (Some(3), "[7, 7, 7, 7]\n"));
    assert!(complaint.contains("unsupported-digest"));
    let output = zten(["hash".as_ref(), path.as_os_str()]);
    assert_eq!((ended(&output).0, ended(&output).1), (Some(3), ""));
}

#[test]
fn names_are_escaped_and_cut() {
    let long = "n".repeat(5000);
    let hidden = "a\u{1b}[2J\u{202e}\"\\\n";
    for (name, shown) in [
        (hidden, "\"a\\u{1b}[2J\\u{202e}\\u{22}\\u{5c}\\u{a}\"".to_owned()),
        (long.as_str(), format!("\"{}\"…\"{}\"", "n".repeat(40), "n".repeat(39))),
        ("", "\"\"".to_owned()),
    ] {
        let component = raw("bool", 64, 1, &[]);
        let objects = [(name, object("x", &[], &[("a/b", component)]))];
        let path = file("names.zt", &objects, &[2; 64]);
        let output = zten(["check".as_ref(), path.as_os_str()]);
        let (status, complaint, _) = ended(&output);
        assert_eq!(status, Some(1));
        assert!(complaint.contains(&format!(" in {shown}/\"a/b\" at byte 0x40")), "{complaint}");
        // The name is also escaped and cut if the finding is made while the manifest is parsed: the blob is not aligned.
        let component = raw("bool", 65, 1, &[]);
        let objects = [(name, object("x", &[], &[("a/b", component)]))];
        let path = file("names-rejected.zt", &objects, &[2; 64]);
        let output = zten(["check".as_ref(), path.as_os_str()]);
        let complaint = both_streams(&output);
        assert!(complaint.contains(&format!("v1.2 §4) in {shown}/\"a/b\" at ")), "{complaint}");
        // JSON output contains the names unchanged.
        let output = zten(["check".as_ref(), "--json".as_ref(), path.as_os_str()]);
        let line = &json_lines(&output.stdout)[0];
        assert_eq!((&line["object"], &line["component"]), (&name.into(), &"a/b".into()));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command().arg("explain").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(ended(&output).2.starts_with("standard output: "));
}

#[cfg(unix)]
#[test]
fn pipes_are_not_waited_for() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("pipe.zt");
    let _ = fs::remove_file(&path);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let output = zten(["check".as_ref(), path.as_os_str()]);
    assert_eq!(output.status.code(), Some(2));
}
