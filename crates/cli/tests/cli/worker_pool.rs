//! Tests of `zten check` with more files than can be open at the same time.

mod ended;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::sandbox::FILTERED;
use crate::{command, corpus_folder, ended, json_lines, succeeded_text};

/// A valid file and its verdict.
const VALID: (&str, &str) =
    ("accept/1.2.3/scalar.zt", "valid (1.2, 4 tensors, 4 components, 14 B of data)");
/// A file that breaks a rule.
const REJECTED: &str = "reject/blob-alignment--v12-72.zt";

/// Creates a folder with `number` names for one valid file, in subfolders of a thousand each.
fn folder_of(number: usize) -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let valid = folder.path().join("valid");
    fs::copy(corpus_folder().join(VALID.0), &valid).unwrap();
    let mut paths = Vec::new();
    for at in 0..number {
        let within = folder.path().join(format!("{:03}", at / 1000));
        if at % 1000 == 0 {
            fs::create_dir(&within).unwrap();
        }
        let path = within.join(format!("{:03}.zt", at % 1000));
        fs::hard_link(&valid, &path).unwrap();
        paths.push(path);
    }
    fs::remove_file(valid).unwrap();
    (folder, paths)
}

/// Replaces a file with one that breaks a rule.
fn reject(path: &Path) {
    fs::remove_file(path).unwrap();
    fs::copy(corpus_folder().join(REJECTED), path).unwrap();
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn check(args: &[&str]) -> Output {
    command().arg("check").args(args).output().unwrap()
}

/// Starts the command with pipes as its standard streams.
fn start(args: &[&str]) -> Child {
    command()
        .arg("check")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Returns the paths and the verdicts in lines of JSON.
fn verdicts(lines: &[Value]) -> Vec<(&str, &str)> {
    lines.iter().map(|line| (str_of(&line["file"]), str_of(&line["verdict"]))).collect()
}

fn str_of(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn any_number_of_files_at_any_limit_on_descriptors() {
    unless_emulated!();
    let (folder, paths) = folder_of(20_000);
    let line = "ulimit -n 256; exec \"$0\" check \"$@\"";
    let run = |args: &[&str]| {
        let program = command().get_program().to_owned();
        Command::new("sh").args(["-c", line]).arg(program).args(args).output().unwrap()
    };
    let required: &[&str] = if FILTERED { &["--require-sandbox"] } else { &[] };
    let root = text(folder.path());
    let lines = paths.iter().map(|path| format!("{}: {}", text(path), VALID.1));
    let wanted = [lines.collect(), vec!["20000 files: 20000 valid\n".to_owned()]].concat();
    let wanted = wanted.join("\n");
    let found = succeeded_text(run(&[required, &["-r", "--summary", root]].concat()));
    assert!(found == wanted);
    // The result is the same if a list names the files, and several processes check them.
    let list = folder.path().join("list");
    let names: Vec<_> = paths.iter().map(|path| text(path)).collect();
    fs::write(&list, names.join("\n")).unwrap();
    let listed = ["--files-from", text(&list), "--summary", "--jobs=3"];
    assert!(succeeded_text(run(&[required, &listed].concat())) == wanted);
    // The result is the same if the command line names the files.
    assert!(succeeded_text(run(&[&["--summary"], &names[..]].concat())) == wanted);
}

#[test]
fn nothing_is_lost_and_nothing_comes_twice() {
    unless_emulated!();
    let (folder, paths) = folder_of(3_000);
    paths.iter().skip(7).step_by(150).for_each(|path| reject(path));
    let root = text(folder.path());
    for form in [&["--json"][..], &["--sarif"], &[], &["--json", "--manifest-only"]] {
        let args = [&["-r", "--summary", root], form].concat();
        let one = check(&[&args[..], &["--no-sandbox"]].concat());
        assert_eq!(one.status.code(), Some(1));
        for jobs in ["--jobs=1", "--jobs=4"] {
            let several = check(&[&args[..], &[jobs]].concat());
            assert!(several == one, "{form:?} {jobs}");
        }
    }
    let lines = json_lines(&check(&["-r", "--json", "--jobs=4", root]).stdout);
    let rejected = verdicts(&lines).iter().filter(|(_, verdict)| *verdict == "invalid").count();
    assert_eq!((lines.len(), rejected), (3_000, 20));
}

#[test]
fn files_that_cannot_be_read_are_a_line_each() {
    unless_emulated!();
    let (folder, paths) = folder_of(40);
    fs::remove_file(&paths[3]).unwrap();
    fs::remove_file(&paths[5]).unwrap();
    fs::create_dir(&paths[5]).unwrap();
    fs::remove_file(&paths[7]).unwrap();
    std::os::unix::fs::symlink(&paths[7], &paths[7]).unwrap();
    fs::remove_file(&paths[9]).unwrap();
    assert!(Command::new("mkfifo").arg(&paths[9]).status().unwrap().success());
    let names: Vec<_> = paths.iter().map(|path| text(path)).collect();
    let failed = [3, 5, 7, 9].map(|number: usize| names[number]);
    for sandbox in [&[][..], &["--no-sandbox"], &["--jobs=2"]] {
        let output = check(&[&["--json"], sandbox, &names].concat());
        let lines = json_lines(&output.stdout);
        let wanted =
            names.iter().map(|name| (*name, if failed.contains(name) { "error" } else { "valid" }));
        assert_eq!(verdicts(&lines), wanted.collect::<Vec<_>>());
        assert_eq!((output.status.code(), &*output.stderr), (Some(2), &b""[..]));
        let output = check(&[sandbox, &names].concat());
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(complaint.lines().count(), failed.len(), "{complaint}");
        assert!(
            complaint.contains("without a model file; -r checks all files in it"),
            "{complaint}"
        );
        // In a folder, links are not followed and pipes are not read.
        let output = check(&[&["--json", "-r"], sandbox, &[text(folder.path())]].concat());
        let lines = json_lines(&output.stdout);
        let found = verdicts(&lines);
        let found: Vec<_> = found.into_iter().filter(|(_, verdict)| *verdict != "other").collect();
        assert_eq!((output.status.code(), found.len()), (Some(0), 36));
        let skipped = "2 entries skipped (1 linked, 1 not regular)\n";
        assert_eq!(String::from_utf8(output.stderr).unwrap(), skipped);
        assert!(found.iter().all(|(name, verdict)| *verdict == "valid" && !failed.contains(name)));
    }
}

#[test]
fn a_file_that_vanishes_is_a_line() {
    unless_emulated!();
    let (folder, paths) = folder_of(8_000);
    // The folder has no subfolders, so all names are known before the first file is read.
    for path in &paths {
        let name = format!(
            "{}-{}",
            text(path.parent().unwrap().file_name().unwrap().as_ref()),
            text(path.file_name().unwrap().as_ref())
        );
        fs::rename(path, folder.path().join(name)).unwrap();
    }
    let mut child = start(&["-r", "--json", text(folder.path())]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    // The command stops checking files while nobody reads its output. Of 8,000 files it has checked only the first ones by
    // now, so it has not yet opened the file that is removed here.
    let gone = folder.path().join("007-998.zt");
    fs::remove_file(&gone).unwrap();
    let lines: Vec<Value> = [first]
        .into_iter()
        .chain(out.lines().map(Result::unwrap))
        .map(|line| serde_json::from_str(&line).unwrap())
        .collect();
    let found = verdicts(&lines);
    let errors: Vec<_> = found.iter().filter(|(_, verdict)| *verdict != "valid").collect();
    assert_eq!((found.len(), errors), (8_000, vec![&(text(&gone), "error")]));
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn lists_hold_any_name() {
    unless_emulated!();
    let (folder, paths) = folder_of(3);
    let odd = folder.path().join("a\nb \u{1b}.zt");
    fs::rename(&paths[1], &odd).unwrap();
    let list = folder.path().join("list");
    fs::write(&list, format!("{}\0{}\0{}", text(&paths[0]), text(&odd), text(&paths[2]))).unwrap();
    for more in [&[][..], &["--no-sandbox"]] {
        let list = ["--json", "--null", "--files-from", text(&list)];
        let output = check(&[more, &list].concat());
        let lines = json_lines(&output.stdout);
        let wanted = [&paths[0], &odd, &paths[2]].map(|path| (text(path), "valid"));
        assert_eq!(verdicts(&lines), wanted);
        // Files of the command line come first; a list may contain folders.
        let output = check(&[more, &["-r", text(&paths[2])], &list].concat());
        assert_eq!(verdicts(&json_lines(&output.stdout))[0], wanted[2]);
        fs::write(folder.path().join("roots"), text(folder.path())).unwrap();
        let roots = folder.path().join("roots");
        let output = check(&[more, &["--json", "-r", "--files-from", text(&roots)]].concat());
        let lines = json_lines(&output.stdout);
        let valid = verdicts(&lines).iter().filter(|(_, verdict)| *verdict == "valid").count();
        assert_eq!(valid, 3);
    }
    let missing = check(&["--files-from", "no such list"]);
    assert_eq!((missing.status.code(), missing.stdout), (Some(2), vec![]));
    assert!(
        String::from_utf8(missing.stderr).unwrap().starts_with("--files-from \"no such list\": ")
    );
}

#[test]
fn names_are_answered_as_they_come() {
    unless_emulated!();
    let (_folder, paths) = folder_of(3);
    for more in [&["--jobs=1"][..], &["--jobs=2"], &["--no-sandbox"]] {
        let mut child = start(&[&["--files-from", "-"], more].concat());
        let (mut names, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut lines = BufReader::new(out).lines();
        for path in &paths {
            writeln!(names, "{}", text(path)).unwrap();
            let line = lines.next().unwrap().unwrap();
            assert_eq!(line, format!("{}: {}", text(path), VALID.1));
        }
        drop(names);
        assert!(lines.next().is_none() && child.wait().unwrap().success());
    }
}

/// Checks that the time limit of a worker grows with each file that it is sent, but not in advance.
#[test]
fn limits_follow_the_files() {
    unless_emulated!();
    let (_folder, paths) = folder_of(3);
    let mut child = start(&["--files-from", "-"]);
    let (mut names, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = BufReader::new(out).lines();
    let mut found = Vec::new();
    for path in &paths {
        writeln!(names, "{}", text(path)).unwrap();
        lines.next().unwrap().unwrap();
        let [worker] = ended::children(child.id()).try_into().unwrap();
        let limits = fs::read_to_string(format!("/proc/{worker}/limits")).unwrap();
        let seconds = limits.lines().find_map(|line| line.strip_prefix("Max cpu time"));
        let seconds = seconds.unwrap().split_whitespace().next().unwrap().parse::<u64>().unwrap();
        found.push((worker, seconds));
    }
    drop(names);
    assert!(child.wait().unwrap().success());
    let [(one, first), (two, second), (three, third)] = found.try_into().unwrap();
    assert_eq!((one, two), (two, three), "it is the same worker");
    assert!(first < second && second - first == third - second, "{first} {second} {third}");
}

#[test]
fn shards_are_handed_over() {
    unless_emulated!();
    let folder = corpus_folder().join("v2/shards");
    for more in [&[][..], &["--limit=shards=1"], &["--no-shards"], &["--manifest-only"]] {
        let args = [&["-r", "--json", text(&folder)], more].concat();
        let here = check(&[&args[..], &["--no-sandbox"]].concat());
        assert!(json_lines(&here.stdout).len() > 20);
        for jobs in ["--jobs=1", "--jobs=3"] {
            let handed = check(&[&args[..], &[jobs]].concat());
            assert_eq!(json_lines(&handed.stdout), json_lines(&here.stdout), "{more:?}");
        }
    }
}

/// Checks a name in a file that is too long for an answer, which then contains the object's ordinal instead.
#[test]
fn a_name_that_is_too_long_for_an_answer_is_a_number() {
    use crate::files::{file, object, raw};

    unless_emulated!();
    let name = "n".repeat(1 << 20);
    let objects = [(&*name, object("x", &[], &[("data", raw("bool", 64, 1, &[]))]))];
    let path = file("workers-long-name.zt", &objects, &[2; 64]);
    let here = check(&["--json", "--no-sandbox", text(&path)]);
    let [line] = json_lines(&here.stdout).try_into().unwrap();
    assert_eq!((&line["object"], &line["offset"]), (&name.into(), &64.into()));
    let output = check(&["--json", text(&path)]);
    let [line] = json_lines(&output.stdout).try_into().unwrap();
    assert_eq!((&line["object"], &line["rule"]), (&Value::Null, &"bool-value".into()));
    assert!(str_of(&line["message"]).contains(" in object 0"), "{line}");
}

#[test]
fn wrong_usage() {
    for args in [
        &["-0", "x"][..],
        &["--suffix", ".zt", "x"],
        &["--jobs=0", "x"],
        &["--jobs=257", "x"],
        &["--json", "--sarif", "x"],
    ] {
        let output = check(args);
        assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b""[..]), "{args:?}");
    }
    let (folder, _) = folder_of(2);
    let root = text(folder.path());
    let all = succeeded_text(check(&["-r", "--suffix=.txt,", "--summary", root]));
    assert!(all.ends_with("\n2 files: 2 valid\n"), "{all}");
}

/// Checks that every command that accepts a list of files accepts 5,000 of them, which is more than may run ahead of the
/// first unfinished file. Their names are longer than one packet to a confined process.
#[test]
fn every_command_takes_a_long_list_of_files() {
    let (folder, paths) = folder_of(5_000);
    let mut names: Vec<_> = paths.iter().map(|path| text(path)).collect();
    let run = |args: &[&str]| {
        let output = command().args(args).output().unwrap();
        assert_eq!((ended(&output).0, ended(&output).2), (Some(0), ""));
        String::from_utf8(output.stdout).unwrap()
    };
    let list = folder.path().join("list");
    fs::write(&list, run(&["hash", names[0]])).unwrap();
    let also: Vec<_> = names.iter().skip(1).map(|name| format!("--also={name}")).collect();
    let also: Vec<_> = also.iter().map(String::as_str).collect();
    let after = |line: &str, prefix: &str| line.strip_prefix(prefix).map(str::to_owned);
    let listed = run(&[&["ls", "--json", names[0]], &also[..]].concat());
    let listed: Vec<_> = json_lines(listed.as_bytes());
    assert!(listed.iter().map(|line| str_of(&line["file"])).eq(names.iter().copied()));
    let checked = run(&[&["hash", "--check", text(&list)], &names[..]].concat());
    let checked = checked.lines().map(|line| line.split_once(": ").unwrap().0);
    assert!(checked.eq(names.iter().copied()));
    let checked = run(&[&["check"], &names[..]].concat());
    let checked = checked.lines().map(|line| line.split_once(": ").unwrap().0);
    assert!(checked.eq(names.iter().copied()));
    // The names of 20,000 arguments take more than a megabyte.
    names.extend_from_within(..);
    names.extend_from_within(..);
    let hashed = run(&[&["hash"], &names[..]].concat());
    let hashed: Vec<_> = hashed.lines().filter_map(|line| after(line, "# /")).collect();
    assert!(hashed.iter().map(String::as_str).eq(names.iter().map(|name| &name[1..])));
}
