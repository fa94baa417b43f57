//! Checks that every outcome is recognized, and that readers have the expected outcomes.
#![allow(
    clippy::allow_attributes,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

use std::path::Path;
use std::process::Output;

use zten_testkit::corpus;
use zten_testkit::process::command;

fn run(reader: &str, file: &Path, options: &str) -> Output {
    let mut program = command(env!("CARGO_BIN_EXE_comparison"));
    program.args(["one", reader]).arg(file).arg(options).output().unwrap()
}

/// Runs the program on one file. Returns the outcome and the message.
fn one(reader: &str, file: &Path, options: &str) -> (String, String) {
    let output = run(reader, file, options);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let (kind, words) = said.trim_end_matches('\n').split_once('\t').unwrap();
    (kind.to_owned(), words.to_owned())
}

fn demo(what: &str) -> (String, String) {
    one("demo", Path::new("/dev/null"), what)
}

fn assert_demo(what: &str, kind: &str, words: &str) {
    assert_eq!(demo(what), (kind.to_owned(), words.to_owned()), "{what}");
}

#[test]
fn a_returning_reader_is_reported() {
    assert_demo("returns", "accepted", "");
    assert_demo("rejects-opening", "rejected at opening", "not this one");
    assert_demo("rejects-reading", "rejected on reading", "not this one");
    assert_demo("invents", "wrong bytes", "invented: 11 bytes where there are 10");
    assert_demo("reads-outside", "wrong bytes", "outside: 11 bytes of a component of 10");
    assert_demo("is-exact", "accepted", "");
    // If a reader rejects a file and also returns wrong bytes, the wrong bytes count as the worse outcome.
    assert_demo("rejects-and-invents", "wrong bytes", "outside: 11 bytes of a component of 10");
}

#[test]
fn a_crashing_reader_is_reported() {
    for what in ["panics", "panics-opening"] {
        let (kind, words) = demo(what);
        assert_eq!(kind, "panicked", "{what}");
        assert!(words.ends_with(": on demand"), "{words}");
    }
    assert_demo("aborts", "aborted", "");
    assert_demo("exhausts", "out of memory", "memory allocation of 8589934592 bytes failed");
    assert_demo("lacks-memory", "out of memory", "MemoryError");
    assert_demo("overruns", "wrote past memory", "memory past an allocation was written");
    let (kind, words) = demo("overflows");
    assert_eq!(kind, "aborted");
    assert!(words.contains("overflowed its stack") || words.contains("signal 11"), "{words}");
}

#[test]
fn a_hanging_reader_is_reported() {
    assert_demo("spins", "timed out", "");
}

#[test]
fn an_unexpected_exit_is_an_error() {
    assert!(!run("demo", Path::new("/dev/null"), "exits").status.success());
}

/// Checks that the reader of generation 2 reads parts to their end, in the file and its shards, mapped or not. Otherwise its
/// accepting a file would mean nothing.
#[test]
fn generation_2_is_read_to_its_end() {
    for reader in ["ztensor-2.1.1", "ztensor-2.1.1-mapped"] {
        for (file, kind) in [
            ("accept/1.2.3/dense_all.zt", "rejected at opening"),
            ("v2/accept/dense.zt", "accepted"),
            ("v2/accept/frames.zt", "accepted"),
            ("v2/shards/dense.zt", "accepted"),
            ("v2/reject/digest-mismatch--v2-xxh3.zt", "rejected on reading"),
            ("v2/shards/shard-digest--v2-xxh3.zt", "rejected on reading"),
        ] {
            assert_eq!(one(reader, &corpus().join(file), "-").0, kind, "{reader}: {file}");
        }
    }
}

/// The undefined behavior comes from a reader that causes it, not from this test.
#[test]
fn an_invalid_bool_is_reported() {
    let file = corpus().join("reject/bool-value--v12-2-first.zt");
    let found = one("ztensor-1.2.3", &file, "-");
    assert_eq!(found, ("wrong bytes".to_owned(), "bool: a `bool` that is 2".to_owned()));
}
