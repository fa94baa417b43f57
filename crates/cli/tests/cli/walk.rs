//! Tests of the files that `zten check` reads in folders, of its messages about other files, and of its exit status.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::{corpus_folder, ended, in_corpus, json_lines, succeeded_text, zten};

const VALID: &str = "accept/1.2.3/scalar.zt";
const INVALID: &str = "reject/blob-alignment--v12-72.zt";
const UNSUPPORTED: &str = "accept/unsupported-dtype--v01-unknown.zt";

/// Runs `check` in each way in which files may be opened.
pub(crate) fn each_way(args: &[&str], check: impl Fn(&Output)) {
    for way in [&[][..], &["--no-sandbox"], &["--jobs=2"]] {
        if !way.contains(&"--jobs=2") || cfg!(target_os = "linux") {
            check(&zten([&["check"], args, way].concat()));
        }
    }
}

#[test]
fn unsupported_files_have_their_own_exit_status() {
    let status = |args: &[&str]| in_corpus(&[&["check"], args].concat()).status.code();
    for ways in [&[][..], &["--jobs=1"], &["--no-sandbox"]] {
        let status = |args: &[&str]| status(&[args, ways].concat());
        assert_eq!(status(&[VALID, UNSUPPORTED]), Some(3));
        assert_eq!(status(&[UNSUPPORTED, INVALID]), Some(1));
        assert_eq!(status(&[INVALID, UNSUPPORTED, "missing"]), Some(2));
        assert_eq!(status(&[UNSUPPORTED, "--limit=manifest=8"]), Some(1), "a limit");
        assert_eq!(status(&[UNSUPPORTED, "--allow-unsupported"]), Some(0));
        assert_eq!(status(&[UNSUPPORTED, INVALID, "--allow-unsupported"]), Some(1));
        // With `--allow-unsupported`, the unsupported file is still reported.
        for form in [&[][..], &["--json"], &["--sarif"]] {
            let args = [&["check", "--allow-unsupported", UNSUPPORTED], form, ways].concat();
            let output = in_corpus(&args);
            let (_, out, complaint) = ended(&output);
            assert!(format!("{out}{complaint}").contains("unsupported-dtype"), "{form:?}");
            if form == ["--sarif"] {
                let document: serde_json::Value = serde_json::from_str(out).unwrap();
                assert_eq!(document["runs"][0]["invocations"][0]["exitCode"], 0);
            }
        }
    }
    assert_eq!(in_corpus(&["hash", UNSUPPORTED]).status.code(), Some(3));
}

#[test]
fn quiet_prints_findings_only() {
    for way in [&[][..], &["--jobs=1"], &["--no-sandbox"]] {
        let run = |args: &[&str]| in_corpus(&[&["check", "-q"], args, way].concat());
        assert_eq!(succeeded_text(run(&[VALID])), "");
        assert_eq!(succeeded_text(run(&["--json", "--summary", VALID])), "");
        let output = run(&[VALID, INVALID, "--summary"]);
        let (status, complaint, errors) = ended(&output);
        assert_eq!((status, errors), (Some(1), ""));
        assert!(complaint.starts_with(INVALID) && complaint.lines().count() == 2, "{complaint}");
        let output = run(&[VALID, INVALID, "--json"]);
        assert_eq!(json_lines(&output.stdout).len(), 1);
        // A file that the walk skips is no finding, so `-q` prints nothing.
        assert_eq!(succeeded_text(run(&["-r", "accept/1.2.3"])), "");
    }
}

#[test]
fn folders_are_checked_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().to_str().unwrap();
    each_way(&[name], |output| {
        assert_eq!(
            ended(output),
            (
                Some(2),
                "",
                &*format!("{name}: is a folder without a model file; -r checks all files in it\n")
            )
        );
    });
    let output = zten(["ls", name]);
    assert_eq!(
        ended(&output),
        (Some(2), "", &*format!("{name}: is a folder without a model file\n"))
    );
}

#[test]
fn skipped_files_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    each_way(&["-r", root], |output| {
        let (status, out, complaint) = ended(output);
        assert_eq!((status, out), (Some(2), ""));
        assert!(complaint.starts_with("no file was checked: the folders are empty"), "{complaint}");
    });
    let list = folder.path().join("list");
    fs::write(&list, "").unwrap();
    each_way(&["--files-from", list.to_str().unwrap()], |output| {
        assert_eq!(ended(output).0, Some(2));
    });
    for name in ["b.bin", "a.txt", "readme"] {
        fs::write(folder.path().join(name), "no tensors").unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(corpus_folder().join(VALID), folder.path().join("l.zt")).unwrap();
    let links = if cfg!(unix) { ", 1 linked" } else { "" };
    let total = if cfg!(unix) { 5 } else { 4 };
    let skipped = format!("{total} entries skipped (4 with another suffix{links})\n");
    each_way(&["-r", "--suffix=.zt", root], |output| {
        let (status, out, complaint) = ended(output);
        assert_eq!((status, out), (Some(2), ""));
        assert!(complaint.starts_with(&format!("no file was checked: {}", skipped.trim_end())));
        assert!(complaint.contains("expected names that end in .zt"), "{complaint}");
    });
    fs::copy(corpus_folder().join(VALID), folder.path().join("v.zt")).unwrap();
    each_way(&["-r", "--suffix=.zt", root], |output| {
        let (status, out, complaint) = ended(output);
        assert_eq!((status, complaint, out.lines().count()), (Some(0), &*skipped, 1));
    });
    each_way(&["-r", "--suffix=.zt", root, "--summary"], |output| {
        let (status, out, complaint) = ended(output);
        assert_eq!((status, complaint), (Some(0), ""));
        assert!(out.ends_with(&format!("\n1 file: 1 valid\n{skipped}")), "{out}");
    });
    each_way(&["-r", root, "--summary", "--json"], |output| {
        let summary = json_lines(&output.stdout).pop().unwrap()["summary"].clone();
        assert_eq!((&summary["skipped"]["suffix"], &summary["files"]), (&0.into(), &5.into()));
        assert_eq!(summary["skipped"]["link"], u32::from(cfg!(unix)));
        assert_eq!(
            (&summary["verdicts"]["other"], &summary["verdicts"]["valid"]),
            (&4.into(), &1.into())
        );
    });
}

#[test]
fn standard_input_is_a_file_like_any_other() {
    use std::io::Write as _;
    use std::process::Stdio;

    let path = corpus_folder().join(VALID);
    let named = succeeded_text(zten(["check", path.to_str().unwrap()]));
    let expected = format!("-: {}", named.split_once(": ").unwrap().1);
    for way in [&[][..], &["--jobs=1"], &["--no-sandbox"]] {
        let mut regular = crate::command();
        regular.args([&["check", "-"], way].concat()).stdin(fs::File::open(&path).unwrap());
        assert_eq!(succeeded_text(regular.output().unwrap()), expected);
        let mut piped = crate::command();
        piped.args([&["check", "-"], way].concat()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(succeeded_text(child.wait_with_output().unwrap()), expected);
    }
    let mut regular = crate::command();
    regular.args(["hash", "-"]).stdin(fs::File::open(&path).unwrap());
    let sums = succeeded_text(zten(["hash", path.to_str().unwrap()]));
    assert_eq!(succeeded_text(regular.output().unwrap()), sums);
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Makes a hub's cache with a model in two files and their index, and with a second link to the first of the files, in the
    /// layout that the client of the hub uses.
    fn hub(root: &Path) {
        let repository = root.join("models--x--y");
        let snapshot = repository.join("snapshots/0123");
        fs::create_dir_all(repository.join("blobs")).unwrap();
        fs::create_dir_all(repository.join("refs")).unwrap();
        fs::create_dir_all(snapshot.join("deep")).unwrap();
        fs::write(repository.join("refs/main"), "0123").unwrap();
        let from = corpus_folder().join("other/index/accept");
        for (name, as_name, digest) in [
            ("two.index.json", "two.index.json", "00aa"),
            ("a.safetensors", "a.safetensors", "00bb"),
            ("b.safetensors", "b.safetensors", "00cc"),
        ] {
            fs::copy(from.join(name), repository.join("blobs").join(digest)).unwrap();
            symlink(format!("../../blobs/{digest}"), snapshot.join(as_name)).unwrap();
        }
        symlink("../../../blobs/00bb", snapshot.join("deep/c.safetensors")).unwrap();
    }

    fn names(output: &Output) -> Vec<(String, String)> {
        let lines = json_lines(&output.stdout);
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        lines.iter().map(|line| (text(&line["file"]), text(&line["verdict"]))).collect()
    }

    #[test]
    fn a_hubs_cache_is_followed() {
        let root = tempfile::tempdir().unwrap();
        hub(root.path());
        let snapshot = root.path().join("models--x--y/snapshots/0123");
        let wanted = ["a.safetensors", "b.safetensors", "two.index.json"]
            .map(|name| (snapshot.join(name).to_str().unwrap().to_owned(), "valid".to_owned()));
        each_way(&["-r", "--json", root.path().to_str().unwrap()], |output| {
            let mut found = names(output);
            found.retain(|(_, verdict)| verdict != "other");
            assert_eq!((found, output.status.code()), (wanted.to_vec(), Some(0)));
        });
        // An index is recognized by its name, even if the path contains no folder.
        let index = snapshot.join("two.index.json");
        for command in ["check", "ls", "hash"] {
            for way in ["--no-sandbox", "--color=auto"] {
                succeeded_text(zten([command, index.to_str().unwrap(), way]));
                let mut here = crate::command();
                let output = here.args([command, "two.index.json", way]).current_dir(&snapshot);
                succeeded_text(output.output().unwrap());
            }
        }
    }

    #[test]
    fn no_other_link_is_followed_unless_all_are() {
        let root = tempfile::tempdir().unwrap();
        hub(root.path());
        let repository = root.path().join("models--x--y");
        let snapshot = repository.join("snapshots/0123");
        let outside = root.path().join("outside");
        fs::copy(repository.join("blobs/00bb"), &outside).unwrap();
        fs::remove_file(snapshot.join("two.index.json")).unwrap();
        fs::remove_file(snapshot.join("b.safetensors")).unwrap();
        fs::remove_file(snapshot.join("deep/c.safetensors")).unwrap();
        let named = repository.join("blobs/00bb");
        for (number, target) in [
            outside.to_str().unwrap(),
            named.to_str().unwrap(),
            "../../../outside",
            "../../refs/main",
            "../../blobs/../../outside",
            "../blobs/00bb",
            "a.safetensors",
        ]
        .into_iter()
        .enumerate()
        {
            symlink(target, snapshot.join(format!("{number}.safetensors"))).unwrap();
        }
        // The folder `other` has the structure of a hub's repository, but not the name of one, so the link in it is not
        // followed.
        fs::create_dir_all(root.path().join("other/snapshots/1")).unwrap();
        fs::create_dir_all(root.path().join("other/blobs")).unwrap();
        fs::copy(&outside, root.path().join("other/blobs/00bb")).unwrap();
        symlink("../../blobs/00bb", root.path().join("other/snapshots/1/a.safetensors")).unwrap();
        let args = ["-r", "--json", "--suffix=.safetensors", root.path().to_str().unwrap()];
        each_way(&args, |output| {
            let valid = snapshot.join("a.safetensors").to_str().unwrap().to_owned();
            assert_eq!(names(output), [(valid, "valid".to_owned())]);
            assert!(ended(output).2.contains(", 8 linked"), "{}", ended(output).2);
        });
        symlink(&outside, repository.join("blobs/link")).unwrap();
        symlink("../../blobs/link", snapshot.join("on.safetensors")).unwrap();
        symlink("../../blobs/gone", snapshot.join("gone.safetensors")).unwrap();
        each_way(&args, |output| {
            let failed: Vec<_> =
                names(output).into_iter().filter(|(_, is)| is == "error").collect();
            assert_eq!((failed.len(), output.status.code()), (2, Some(2)), "{failed:?}");
            assert!(ended(output).1.contains("is a link to a file that is not found"));
        });
        fs::remove_file(snapshot.join("gone.safetensors")).unwrap();
        fs::remove_file(snapshot.join("4.safetensors")).unwrap();
        fs::remove_file(snapshot.join("5.safetensors")).unwrap();
        fs::remove_file(snapshot.join("3.safetensors")).unwrap();
        // The walk ends in spite of the circle, and checks a file that is reached twice only once.
        symlink(root.path(), snapshot.join("circle")).unwrap();
        symlink(snapshot.join("loop"), snapshot.join("loop")).unwrap();
        each_way(&[&args[..], &["--follow"]].concat(), |output| {
            let valid = names(output).iter().filter(|(_, is)| is == "valid").count();
            assert_eq!((valid, output.status.code()), (7, Some(0)), "{:?}", ended(output));
            assert!(ended(output).2.contains(", 1 visited before"));
        });
    }

    /// Checks that the command does not wait for a pipe, a socket or a device, but names what it is, and that `-r` skips pipes and
    /// sockets.
    #[test]
    fn files_that_are_not_regular_are_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe.zt");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let name = path.to_str().unwrap();
        let socket = folder.path().join("socket.zt");
        let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let socket = socket.to_str().unwrap();
        for (name, what) in
            [(name, "a named pipe"), (socket, "a socket"), ("/dev/null", "a device")]
        {
            let message = format!("{name}: is {what}, not a regular file\n");
            each_way(&[name], |output| {
                assert_eq!(ended(output), (Some(2), "", &*message));
            });
            for command in ["ls", "hash"] {
                assert_eq!(ended(&zten([command, name])), (Some(2), "", &*message));
            }
        }
        each_way(&["-r", folder.path().to_str().unwrap()], |output| {
            assert!(ended(output).2.contains("2 entries skipped (2 not regular)"));
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn no_terminal_becomes_that_of_the_process() {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        // A session leader without a controlling terminal acquires the first terminal that it opens.
        let run = |command: &mut std::process::Command| {
            let output = command.args(["--", &name, "/dev/tty"]).output().unwrap();
            String::from_utf8(output.stderr).unwrap()
        };
        let mut zten = std::process::Command::new("setsid");
        zten.args(["--wait", crate::command().get_program().to_str().unwrap(), "check"]);
        let complaint = run(&mut zten);
        assert!(complaint.contains(&format!("{name}: is a device")), "{complaint}");
        assert!(complaint.contains("/dev/tty: No such device"), "{complaint}");
    }
}
