//! Tests that `zten convert --shard-size` writes several files, and that they can be converted back to one.

use std::fs;
use std::path::Path;

use zten::write::{WriteOptions, Writer};

use super::{ended, hash_of, names_in, succeeded, succeeded_text, zten};

fn convert(from: &Path, to: &Path, options: &[&str]) -> String {
    let args = ["convert", from.to_str().unwrap(), to.to_str().unwrap()];
    succeeded_text(zten(args.iter().chain(options)))
}

/// Writes a file of ten objects of 400 bytes each, with one attribute of the file.
fn input(path: &Path) {
    let mut writer = Writer::new(Vec::new(), &WriteOptions::default()).unwrap();
    let attributes = std::collections::BTreeMap::from([("format", "pt")]);
    writer.attributes(&attributes).unwrap();
    for at in 0..10_u8 {
        writer.add(&format!("layers.{at}.weight"), &[100], &[f32::from(at); 100]).unwrap();
    }
    fs::write(path, writer.finish().unwrap()).unwrap();
}

#[test]
fn several_files_are_written_and_become_one_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    input(&path("in.zt"));
    let wanted = hash_of(&path("in.zt"));

    let text = convert(&path("in.zt"), &path("m.safetensors"), &["--shard-size=1600"]);
    assert!(
        text.contains("m.safetensors.index.json: written (safetensors, 10 tensors, 4 files, "),
        "{text}"
    );
    let names = [1, 2, 3].map(|at| format!("m-0000{at}-of-00003.safetensors"));
    assert_eq!(
        names_in(folder.path(), "m"),
        [&names[..], &["m.safetensors.index.json".into()]].concat()
    );
    let index = fs::read(path("m.safetensors.index.json")).unwrap();
    let index: serde_json::Value = serde_json::from_slice(&index).unwrap();
    assert_eq!(index["metadata"]["total_size"], 4000);
    assert_eq!(index["weight_map"]["layers.4.weight"], *names[1]);
    let text = convert(&path("in.zt"), &path("r.zt"), &["--to=2", "--shard-size", "1600"]);
    assert!(text.contains("r.zt: written (2, 10 tensors, 4 files, "), "{text}");
    assert_eq!(names_in(folder.path(), "r"), ["r-00001.zt", "r-00002.zt", "r-00003.zt", "r.zt"]);
    for from in ["m.safetensors.index.json", "r.zt"] {
        succeeded(zten(["check", path(from).to_str().unwrap()]));
        assert_eq!(hash_of(&path(from)), wanted);
        for to in ["one.zt", "one.safetensors"] {
            convert(&path(from), &path(to), &["--force"]);
            assert_eq!(hash_of(&path(to)), wanted);
        }
    }
    // Content that fits in one file is written to one file.
    convert(&path("in.zt"), &path("s.safetensors"), &["--shard-size=4000"]);
    convert(&path("in.zt"), &path("s.zt"), &["--to=2", "--shard-size=1KiB", "--only=*.[01].*"]);
    assert_eq!(names_in(folder.path(), "s"), ["s.safetensors", "s.zt"]);
    // Half-precision elements take half as many bytes.
    let options = ["--to=2", "--shard-size=1000", "--dtype=f16", "--zstd", "--set=a=1"];
    convert(&path("in.zt"), &path("h.zt"), &options);
    assert_eq!(names_in(folder.path(), "h"), ["h-00001.zt", "h-00002.zt", "h.zt"]);
    succeeded(zten(["check", path("h.zt").to_str().unwrap()]));
}

#[test]
fn a_failed_conversion_leaves_no_shard() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    input(&path("in.zt"));
    fs::write(path("m-00002-of-00003.safetensors"), "there").unwrap();
    let rejected = |to: &str, options: &[&str], wanted: &str| {
        let (from, to) = (path("in.zt"), path(to));
        let args = ["convert", from.to_str().unwrap(), to.to_str().unwrap()];
        let output = zten([&args, options].concat());
        let (status, out, why) = ended(&output);
        assert!((status, out) == (Some(2), "") && why.contains(wanted), "{why}");
        assert_eq!(names_in(folder.path(), "").len(), 2);
    };
    let sandbox = "--no-sandbox";
    rejected("m.safetensors", &["--shard-size=1600", sandbox], "--force replaces it");
    rejected("n.npz", &["--shard-size=1600", sandbox], "requires an OUT that ends in");
    let format = ["--shard-size=1600", "--format=safetensors", sandbox];
    rejected("n.bin", &format, "requires an OUT that ends in .safetensors or .zt");
    rejected("n.zt", &["--shard-size=1600", sandbox], "requires --to 2");
    rejected("n.zt", &["--shard-size=0"], "expected a number of bytes above 0");
    let limit = ["--shard-size=1", sandbox, "--limit=shards=9", "--to=2"];
    rejected(
        "n.zt",
        &limit,
        "10 shards, which exceeds the maximum of 9; --limit shards=10 allows them",
    );
    rejected("n.safetensors", &limit[..3], "10 shards, which exceeds the maximum of 9");
}

/// Checks that `convert` rejects a safetensors output whose shards an `*.index.json` file could not name, before it creates any
/// file. Names that begin with a dot, and all of these characters in names of zTensor files, are accepted.
#[test]
fn output_names_that_an_index_cannot_hold_are_rejected_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    input(&path("in.zt"));
    let run = |name: &str, to: &[&str]| {
        let (from, to_path) = (path("in.zt"), path(name));
        let args =
            ["convert", from.to_str().unwrap(), to_path.to_str().unwrap(), "--shard-size=1600"];
        zten([&args, to].concat())
    };
    let long = format!("{}.safetensors", "x".repeat(230));
    for name in ["a:b.safetensors", "a\\b.safetensors", "a\tb.safetensors", &long] {
        let output = run(name, &[]);
        let (status, out, why) = ended(&output);
        assert!((status, out) == (Some(2), "") && why.contains("--shard-size requires"), "{why}");
        assert_eq!(names_in(folder.path(), ""), ["in.zt"], "{name:?}");
    }
    // The name of a shard in an index may begin with a dot. The names of shards of zTensor files may also have the
    // characters that are rejected above.
    succeeded(run(".m.safetensors", &[]));
    succeeded(zten(["check", path(".m.safetensors.index.json").to_str().unwrap()]));
    for name in [".m.zt", "a:b.zt", "a\\b.zt", "a\tb.zt"] {
        succeeded(run(name, &["--to=2"]));
        succeeded(zten(["check", path(name).to_str().unwrap()]));
    }
}

/// `check` accepts every file that `convert` and `edit` write, with random names and combinations of options.
#[test]
fn check_accepts_what_convert_and_edit_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    input(&path("in.zt"));
    let mut random = fastrand::Rng::with_seed(53);
    let names = ["m", ".m", "a b", "a:b", "a\\b", "a\nb", "é", "m.safetensors", "-m"];
    let options = [
        "--rename=s/layers/l/",
        "--rename=s/$/\u{1}/",
        "--rename=s/\\d/é/",
        "--only=*.[0-3].*",
        "--set=a=[1,{}]",
        "--set=zten.json-keys=1",
        "--set=b=\"\\u0000\"",
        "--set==1",
        "--dtype=f16",
        "--drop-attributes",
        "--rename=layers.1.weight=__metadata__",
        "--rename=layers.1.weight=",
        "--set=c=1e400",
        "--shard-size=1",
        "--shard-size=900",
        "--to=2",
        "--zstd",
        "--canonical",
        "--digest=none",
        "--rename=s/weight/\\/..\\/x/",
        "--rename=s/.*/&&&&&&&&/g",
    ];
    let keys: Vec<_> = (0..4100).map(|key| format!("--set=k{key}=\"v\"")).collect();
    let mut written = 0;
    for run in 0..120 {
        let out = folder.path().join(run.to_string());
        fs::create_dir(&out).unwrap();
        let end = ["zt", "safetensors", "npz"][random.usize(0..3)];
        let to = out.join(format!("{}.{end}", names[random.usize(0..names.len())]));
        let mut chosen: Vec<_> =
            (0..random.usize(0..4)).map(|_| options[random.usize(0..options.len())]).collect();
        if run % 10 == 0 {
            chosen.extend(keys.iter().map(String::as_str).take(4090 + run));
        }
        let from = path("in.zt");
        let mut args = vec!["convert", "-q", from.to_str().unwrap(), to.to_str().unwrap()];
        args.extend(&chosen);
        let mut is_written = zten(&args).status.success();
        if is_written && to.is_file() && end == "safetensors" {
            let mut args = vec!["edit", "-q", to.to_str().unwrap(), "--rename=s/a/b/", "--set=x=1"];
            args.extend(
                chosen.iter().filter(|own| own.starts_with("--set") || own.starts_with("--rename")),
            );
            is_written |= zten(&args).status.success();
        }
        written += u32::from(is_written);
        let made = names_in(&out, "");
        if made.is_empty() {
            continue;
        }
        let suffixes = [
            "-r",
            "--suffix=.zt",
            "--suffix=.safetensors",
            "--suffix=.npz",
            "--suffix=.index.json",
        ];
        let output = zten([&["check"], &suffixes[..], &[out.to_str().unwrap()]].concat());
        assert_eq!(ended(&output).0, Some(0), "{args:?}: {output:?}");
    }
    assert!(written > 30, "{written}");
}
