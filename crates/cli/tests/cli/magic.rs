//! Tests that `file` recognizes formats with `docs/zten.magic`.

use std::env::var_os;
use std::path::Path;
use std::process::Command;

use crate::corpus_folder;
use crate::files::write;

/// Returns the description that `file` prints for a file.
fn said(path: &Path) -> String {
    let magic = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/zten.magic");
    let output = Command::new("file").args(["-b", "-m"]).arg(magic).arg(path).output().unwrap();
    assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

#[test]
fn every_generation_is_known_by_its_magic() {
    if Command::new("file").arg("--version").output().is_err() {
        assert!(var_os("CI").is_none(), "`file` is missing");
        eprintln!("NOT TESTED: `file` is missing, so nothing has read docs/zten.magic");
        return;
    }
    for (folder, wanted) in [
        ("accept/0.1.0", "zTensor data, generation 0.1"),
        ("accept/1.1.1", "zTensor data, generation 1"),
        ("accept/1.2.3", "zTensor data, generation 1"),
        ("v2/accept", "zTensor data, generation 2"),
    ] {
        let entries = std::fs::read_dir(corpus_folder().join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let files: Vec<_> =
            paths.filter(|path| path.extension().is_some_and(|end| end == "zt")).collect();
        assert!(files.len() > 2, "{folder}");
        for path in files.iter().take(4) {
            assert_eq!(said(path), wanted, "{}", path.display());
        }
    }
    // A magic with one different byte is not recognized.
    for (name, bytes) in [
        ("magic-v0", &b"ZTEN0002"[..]),
        ("magic-v1", b"ZTEN1001"),
        ("magic-v2", b"\x89ZT2\r\n\x1a\r"),
        ("magic-lines", b"\x89ZT2\n\x1a\n\0"),
    ] {
        assert!(!said(&write(name, bytes)).contains("zTensor"), "{name}");
    }
}
