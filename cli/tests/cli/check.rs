//! `zten check`

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::files::{entry, file, object, old_file, raw, text};
use crate::{corpus, ended, good_text, in_corpus, zten};

/// The lines of JSON on standard output.
fn lines(output: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(output).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// All accepted files, by their path in the corpus.
fn accepted() -> Vec<String> {
    let mut files = Vec::new();
    let root = corpus().join("accept");
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "zt") {
                let relative = path.strip_prefix(corpus()).unwrap();
                files.push(relative.to_str().unwrap().to_owned());
            }
        }
    }
    assert!(files.len() > 300);
    files
}

/// Whether an accepted file holds what only its writer knows, and which rule says so.
fn foreign(file: &str) -> Option<&'static str> {
    if file.contains("-unverifiable-") {
        return Some("unsupported-digest");
    }
    [
        "unsupported-dtype",
        "unsupported-encoding",
        "unsupported-layout",
    ]
    .into_iter()
    .find(|rule| file.contains(&format!("/{rule}--")))
}

#[test]
fn accepts_the_good_ones() {
    let files = accepted();
    let (foreign, plain): (Vec<_>, Vec<_>) = files.iter().partition(|file| foreign(file).is_some());
    let plain: Vec<&str> = plain.into_iter().map(String::as_str).collect();
    let text = good_text(in_corpus(&[&["check"], plain.as_slice()].concat()));
    assert_eq!(text.lines().count(), plain.len());
    for (line, file) in text.lines().zip(&plain) {
        assert!(line.starts_with(&format!("{file}: good (")), "{line}");
    }
    let foreign: Vec<&str> = foreign.into_iter().map(String::as_str).collect();
    assert!(!foreign.is_empty());
    let manifest_only = [&["check", "--manifest-only"], foreign.as_slice()].concat();
    let text = good_text(in_corpus(&manifest_only));
    assert!(text.lines().all(|line| line.contains(": manifest good (")));
}

#[test]
fn reports_what_only_the_writer_knows() {
    for file in accepted() {
        let Some(rule) = foreign(&file) else { continue };
        let output = in_corpus(&["check", "--json", &file]);
        let (status, _, complaint) = ended(&output);
        assert_eq!((status, complaint), (Some(1), ""), "{file}");
        let line = &lines(&output.stdout)[0];
        assert_eq!(
            (&line["rule"], &line["verdict"]),
            (&rule.into(), &"unsupported".into())
        );
        assert!(line["object"].is_string());
        assert_eq!(in_corpus(&["ls", &file]).status.code(), Some(0));
    }
}

/// One row of the index of refused files.
struct Row {
    file: String,
    rule: String,
    offset: Option<u64>,
    object: bool,
    options: String,
}

fn refused() -> Vec<Row> {
    let index = fs::read_to_string(corpus().join("reject/index.tsv")).unwrap();
    let rows: Vec<_> = index
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<_> = line.split('\t').collect();
            Row {
                file: format!("reject/{}", cells[0]),
                rule: cells[1].to_owned(),
                offset: cells[2].parse().ok(),
                object: cells[3] != "-",
                options: cells[6].to_owned(),
            }
        })
        .collect();
    assert!(rows.len() > 1000);
    rows
}

#[test]
fn refuses_the_others_by_the_right_rule() {
    let rows = refused();
    let plain: Vec<_> = rows.iter().filter(|row| row.options == "-").collect();
    let mut args = vec!["check", "--json"];
    args.extend(plain.iter().map(|row| row.file.as_str()));
    let output = in_corpus(&args);
    assert_eq!((output.status.code(), ended(&output).2), (Some(1), ""));
    let lines = lines(&output.stdout);
    assert_eq!(lines.len(), plain.len());
    let mut named = 0;
    let mut wrong = Vec::new();
    for (line, row) in lines.iter().zip(&plain) {
        let verdict = match row.rule.split_once('-') {
            Some(("unsupported", _)) => "unsupported",
            Some(("limit", _)) => "limit",
            _ => "refused",
        };
        assert_eq!(line["file"], *row.file);
        if line["rule"] != *row.rule
            || line["verdict"] != verdict
            || line["offset"].as_u64() != row.offset
        {
            wrong.push(format!("{} {}: {line}", row.file, row.rule));
        }
        let message = line["message"].as_str().unwrap();
        if let Some(rule) = line["rule"].as_str() {
            assert!(message.contains(&format!("(rule {rule}, ")), "{message}");
        }
        // The name itself may be what is wrong: then there is only its number.
        assert!(row.object || line["object"].is_null(), "{}", row.file);
        named += usize::from(line["object"].is_string());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let objects = plain.iter().filter(|row| row.object).count();
    assert!(
        named * 100 > objects * 95,
        "{named} of {objects} objects have names"
    );
}

#[test]
fn refuses_with_options() {
    let mut tried = 0;
    for row in refused().iter().filter(|row| row.options != "-") {
        let (name, value) = row.options.split_once('=').unwrap();
        let option = format!("--{name}={}", value.replace(':', "="));
        let output = in_corpus(&["check", "--json", &option, &row.file]);
        assert_eq!(output.status.code(), Some(1), "{}", row.file);
        assert_eq!(lines(&output.stdout)[0]["rule"], *row.rule, "{}", row.file);
        tried += 1;
    }
    assert!(tried > 10);
}

#[test]
fn one_message_for_each() {
    let file = "reject/blob-alignment--v12-72.zt";
    let output = in_corpus(&["check", file]);
    let message = "reject/blob-alignment--v12-72.zt: component offset 72 is not a multiple of 64 \
        (rule blob-alignment, v1.2 §4) in \"w\"/data at byte 0xe2, manifest byte 0x52\n  The \
        writer is at fault: write the file again with one that follows the specification.\n";
    assert_eq!(ended(&output), (Some(1), "", message));

    let output = in_corpus(&["check", "reject/bool-value--v12-second-object.zt"]);
    let message = "reject/bool-value--v12-second-object.zt: a bool is stored as 7 (rule \
        bool-value, v1.2 §2) in \"v\"/data at byte 0x80\n  The writer is at fault: write the file \
        again with one that follows the specification.\n";
    assert_eq!(ended(&output), (Some(1), "", message));
}

#[test]
fn the_worst_status_wins_and_all_files_are_looked_at() {
    let good = "accept/1.2.3/scalar.zt";
    let bad = "reject/blob-alignment--v12-72.zt";
    let status = |files: &[&str]| in_corpus(&[&["check"], files].concat()).status.code();
    assert_eq!(status(&[good]), Some(0));
    assert_eq!(status(&[bad, good]), Some(1));
    assert_eq!(status(&["missing", bad, good]), Some(2));
    assert_eq!(status(&["accept", good]), Some(2));
    let output = in_corpus(&["check", "missing", bad, good]);
    let (_, out, complaint) = ended(&output);
    assert_eq!(
        out,
        format!("{good}: good (1.2, 4 objects, 4 components, 14 bytes of data)\n")
    );
    assert!(complaint.starts_with("missing: ") && complaint.contains(bad));
    let output = in_corpus(&["check", "--json", "missing", "accept", bad, good]);
    let verdicts: Vec<_> = lines(&output.stdout)
        .iter()
        .map(|line| line["verdict"].to_string())
        .collect();
    assert_eq!(
        verdicts,
        ["\"error\"", "\"error\"", "\"refused\"", "\"good\""]
    );
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn manifest_only_is_not_good() {
    let file = "reject/bool-value--v12-2-first.zt";
    let text = good_text(in_corpus(&["check", "--manifest-only", file]));
    assert_eq!(
        text,
        format!("{file}: manifest good (1.2, 1 object, 1 component)\n")
    );
    let output = in_corpus(&["check", "--manifest-only", "--json", file]);
    assert_eq!(lines(&output.stdout)[0]["verdict"], "manifest-good");
}

#[test]
fn wrong_usage() {
    let good = "accept/1.2.3/scalar.zt";
    for args in [
        &["check"][..],
        &[],
        &["chekc", good],
        &["check", "--limit", "widow=1", good],
        &["check", "--limit", "window", good],
        &["check", "--limit", "window=1X", good],
        &["check", "--limit", "depth=65", good],
        &["check", "--limit", "manifest=2GiB", good],
        &["check", "--tolerate", "narrow-indices,everything", good],
        &["check", "--canonical-please", good],
    ] {
        let output = in_corpus(args);
        let (status, out, complaint) = ended(&output);
        assert_eq!((status, out), (Some(2), ""), "{args:?}");
        assert!(!complaint.is_empty(), "{args:?}");
    }
    let spelled = [
        "--limit=window=128MiB",
        "--limit",
        "decoded=4G",
        "--tolerate",
    ];
    let args = [
        &["check", good],
        &spelled[..],
        &["narrow-indices,shared-blobs"],
    ]
    .concat();
    good_text(in_corpus(&args));
}

#[test]
fn broken_rules_come_before_what_is_not_supported() {
    let checksum = [("checksum", text("crc32c:00000000"))];
    let unknown = |name| entry(name, ("float8", "dense"), &[8], (64, 8), &[]);
    let broken = entry("broken", ("float32", "dense"), &[2], (128, 8), &checksum);
    let path = old_file(
        "unsupported-and-broken.zt",
        &[unknown("u"), broken],
        &[1; 128],
    );
    let output = zten(["check".as_ref(), path.as_os_str()]);
    let (status, _, complaint) = ended(&output);
    assert_eq!(status, Some(1));
    assert!(
        complaint.contains("(rule digest-mismatch, v0.1 §4) in \"broken\"/data"),
        "{complaint}"
    );

    let other = entry("v", ("float8", "dense"), &[8], (128, 8), &[]);
    let path = old_file("unsupported-twice.zt", &[unknown("u"), other], &[1; 128]);
    let output = zten(["check".as_ref(), path.as_os_str()]);
    let (status, _, complaint) = ended(&output);
    assert_eq!(status, Some(1));
    assert!(
        complaint.contains("(rule unsupported-dtype, v0.1 §8) in \"u\"/data"),
        "{complaint}"
    );
    assert!(
        complaint.ends_with("\n  1 more object is not supported.\n"),
        "{complaint}"
    );
}

#[test]
fn digests_that_cannot_be_verified_are_no_success() {
    let digest = [("digest", text("md5:00"))];
    let component = raw("u8", 64, 4, &digest);
    let objects = [("w", object("dense", &[4], &[("data", component)]))];
    let path = file("unverifiable.zt", &objects, &[7; 64]);
    let output = zten(["check".as_ref(), path.as_os_str()]);
    let (status, out, complaint) = ended(&output);
    assert_eq!((status, out), (Some(1), ""));
    assert!(
        complaint.contains("(rule unsupported-digest, v1.2 §1) in \"w\"/data"),
        "{complaint}"
    );
    // `cat` shows what there is, and does not call it good; `hash` gives no sum.
    let output = zten(["cat".as_ref(), path.as_os_str(), "w".as_ref()]);
    let (status, out, complaint) = ended(&output);
    assert_eq!((status, out), (Some(1), "[7, 7, 7, 7]\n"));
    assert!(complaint.contains("unsupported-digest"));
    let output = zten(["hash".as_ref(), path.as_os_str()]);
    assert_eq!(ended(&output).0, Some(1));
    assert_eq!(ended(&output).1, "");
}

#[test]
fn names_are_escaped_and_cut() {
    let long = "n".repeat(5000);
    let hidden = "a\u{1b}[2J\u{202e}\"\\\n";
    for (name, shown) in [
        (
            hidden,
            "\"a\\u{1b}[2J\\u{202e}\\u{22}\\u{5c}\\u{a}\"".to_owned(),
        ),
        (
            long.as_str(),
            format!("\"{}…{}\"", "n".repeat(40), "n".repeat(39)),
        ),
        ("", "\"\"".to_owned()),
    ] {
        let component = raw("bool", 64, 1, &[]);
        let objects = [(name, object("x", &[], &[("a/b", component)]))];
        let path = file("names.zt", &objects, &[2; 64]);
        let output = zten(["check".as_ref(), path.as_os_str()]);
        let (status, _, complaint) = ended(&output);
        assert_eq!(status, Some(1));
        assert!(
            complaint.contains(&format!(" in {shown}/\"a/b\" at byte 0x40")),
            "{complaint}"
        );
        // The same when it is refused before there is a manifest to ask.
        let component = raw("bool", 65, 1, &[]);
        let objects = [(name, object("x", &[], &[("a/b", component)]))];
        let path = file("names-refused.zt", &objects, &[2; 64]);
        let output = zten(["check".as_ref(), path.as_os_str()]);
        let complaint = ended(&output).2;
        assert!(
            complaint.contains(&format!("v1.2 §4) in {shown}/\"a/b\" at ")),
            "{complaint}"
        );
        // JSON has them as they are.
        let output = zten(["check".as_ref(), "--json".as_ref(), path.as_os_str()]);
        let line = &lines(&output.stdout)[0];
        assert_eq!(
            (&line["object"], &line["component"]),
            (&name.into(), &"a/b".into())
        );
    }
}

#[test]
fn readers_that_leave_are_no_failure() {
    let mut files = vec!["check"];
    files.extend(std::iter::repeat_n("accept/1.2.3/scalar.zt", 5000));
    for args in [files, vec!["explain"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_zten"))
            .args(args)
            .current_dir(corpus())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), ended(&output).2), (Some(0), ""));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is() {
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_zten"));
    let output = command.arg("explain").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(ended(&output).2.starts_with("standard output: "));
}

#[cfg(unix)]
#[test]
fn pipes_are_not_waited_for() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("pipe.zt");
    let _ = fs::remove_file(&path);
    assert!(
        Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    let output = zten(["check".as_ref(), path.as_os_str()]);
    assert_eq!(output.status.code(), Some(2));
}
