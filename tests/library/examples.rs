//! Tests that run the programs in `examples/` as users run them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The folder with the built examples. Cargo builds them here, in the same profile as this test, unless they are built already.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--locked", "--quiet", "--workspace", "--examples"]);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    assert!(build.status().unwrap().success());
    // This program is `target/PROFILE/deps/library-HASH`, and Cargo puts the examples in `target/PROFILE/examples`.
    let own = std::env::current_exe().unwrap();
    own.parent().and_then(Path::parent).unwrap().join("examples")
});

/// Runs the example `name`. Returns its output as `Ok` if it succeeds, and as `Err` if it fails.
fn run(name: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(FOLDER.join(name)).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

const DENSE: &str = "corpus/accept/1.2.3/dense_all.zt";

#[test]
fn a_file_is_listed() {
    let text = run("verify", &["corpus/accept/1.1.1/crc32c.zt"]).unwrap();
    assert!(text.ends_with("with a digest that matches\n") && text.lines().count() > 2, "{text}");
    let text = run("verify", &[DENSE]).unwrap();
    assert!(text.contains("\"t_f32\" dense f32 [2, 3]\n  \"data\" \"f32\" raw\n"), "{text}");
    let error = run("verify", &["corpus/reject/blob-alignment--v12-72.zt"]).unwrap_err();
    assert!(error.contains("Invalid(\"blob-alignment\")"), "{error}");
}

#[test]
fn threads_sum_a_map() {
    let sums = run("map", &[DENSE]).unwrap();
    assert!(sums.lines().any(|line| line == "\"t_f32\" 0"), "{sums}");
}

#[test]
fn sparse_tensors_are_read() {
    let sums = run("sparse", &["corpus/accept/1.2.3/csr_raw.zt", "csr_f32"]).unwrap();
    assert_eq!(sums, "-2\n0\n0\n");
    let entries = run("sparse", &["corpus/accept/1.2.3/coo_zstd_crc.zt", "coo3d"]).unwrap();
    assert!(entries.lines().any(|line| line == "[0, 1, 3] -1.25"), "{entries}");
    let error = run("sparse", &[DENSE, "t_f32"]).unwrap_err();
    assert!(error.contains("Misuse(Layout)") && error.contains("t_f32"), "{error}");
}

#[test]
fn weights_are_dequantized() {
    let text = run("dequantize", &["corpus/accept/1.2.3/quantized_group.zt", "q_proj"]).unwrap();
    let first = -1.25 * (13.0 + 1.25);
    assert!(text.starts_with(&format!("[8, 8] [{first}, ")), "{text}");
    assert_eq!(text.matches(',').count(), 64);
}

#[test]
fn four_requests_read_a_row() {
    let text = run("ranges", &[DENSE, "t_f32"]).unwrap();
    assert_eq!(text, "[-1.25, -0.75, -0.25], 4 requests\n");
    let error = run("ranges", &["corpus/reject/blob-alignment--v12-72.zt", "w"]).unwrap_err();
    assert!(error.contains(r#"tensor: Some("w")"#), "{error}");
}

#[test]
fn every_rejection_has_a_status() {
    let answer = |path: &str| run("http_status", &[path]).unwrap();
    assert_eq!(answer("corpus/accept/1.2.3/csr_raw.zt"), "201 6 tensors\n");
    let text = answer("corpus/reject/blob-alignment--v12-72.zt");
    assert!(text.starts_with("422 blob-alignment at byte 226: "), "{text}");
    let mut statuses: Vec<String> = zten_testkit::reject_index()
        .map(|case| answer(case.path.to_str().unwrap())[..3].to_owned())
        .collect();
    statuses.sort_unstable();
    statuses.dedup();
    // Some files get the status 201, because they break a rule only with options that the example does not use.
    assert_eq!(statuses, ["201", "413", "415", "422"]);
}

#[test]
fn tensors_are_appended_and_written_into_shards() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let model = path("model.zt");
    run("append", &[&model, "a", "one"]).unwrap();
    run("append", &[&model, "b", "two"]).unwrap();
    let archive = zten::open(&model).unwrap();
    assert!(archive.names().eq(["a", "b"]));
    assert_eq!(archive.tensor("b").unwrap().to_vec::<u8>().unwrap(), b"two");
    assert!(run("append", &[&model, "a", "again"]).unwrap_err().contains("duplicate-name"));

    let root = path("root.zt");
    let text = run("shards", &[&root, "a=one", "b=two and a half"]).unwrap();
    assert_eq!(text, "2 components verified\n");
    std::fs::write(path("root-00002.zt"), "no shard").unwrap();
    assert_eq!(zten::open(&root).unwrap_err().rule(), Some("shard-length"));
    std::fs::remove_file(path("root-00002.zt")).unwrap();
    let error = zten::open(&root).unwrap().verify().unwrap_err();
    assert_eq!(error.rule(), Some("unsupported-shard"));
}
