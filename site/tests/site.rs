//! The command line of `zten-site`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the program with `arguments`.
fn site(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_zten-site")).args(arguments).output().unwrap()
}

#[test]
fn wrong_calls_fail_and_write_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("site");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (root, out) = (root.to_str().unwrap(), out.to_str().unwrap());
    for (arguments, complaint) in [
        (&[][..], "usage: "),
        (&["sources", root], "usage: "),
        (&["sources", root, "no such command", out], "the command: "),
        (&["sources", out, "zten", out], "corpus/index.json cannot be read: "),
        // The program that is asked for its rules is not zten, and prints nothing about rules.
        (&["sources", root, env!("CARGO_BIN_EXE_zten-site"), out], "zten check "),
        (&["links", out], ""),
    ] {
        let output = site(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(complaint), "{arguments:?}: {text}");
        assert!(!Path::new(out).exists());
    }
}

#[test]
fn broken_links_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let page = folder.path().join("a.html");
    fs::write(&page, r#"<p id="b"><a href="a.html#b">"#).unwrap();
    let output = site(&["links", path]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"1 pages, 1 links, none is broken\n");
    fs::write(&page, r#"<a href="a.html#b">"#).unwrap();
    let output = site(&["links", path]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stderr, b"a.html: the link a.html#b is broken\n");
}
