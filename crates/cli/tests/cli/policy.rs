//! Tests of `zten check --policy`: which files are accepted, and which findings are tolerated.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::Value;
use zten_corpus::cbor::Item;
use zten_testkit::safetensors;

use crate::files::{entry, file, object, old_file, raw};
use crate::schema::Schema;
use crate::{
    both_streams, command, corpus_folder, ended, failed, in_corpus, json_lines, succeeded_text,
    zten,
};

/// Writes a policy to a file.
fn policy(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("policy.toml");
    fs::write(&path, text).unwrap();
    path
}

/// Checks files of the corpus against a policy.
fn check(text: &str, more: &[&str], files: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = policy(folder.path(), text);
    let args = [&["check", "--policy", path.to_str().unwrap()], more, files].concat();
    let output = in_corpus(&args);
    // The check prints the same in a single process without a sandbox.
    let alone = in_corpus(&[&args[..], &["--no-sandbox"]].concat());
    assert_eq!((output.status, &output.stdout), (alone.status, &alone.stdout));
    assert_eq!(output.stderr, alone.stderr);
    output
}

/// Returns the exit status and the JSON documents of files.
fn found(text: &str, files: &[&str]) -> (i32, Vec<Value>) {
    let output = check(text, &["--json"], files);
    (output.status.code().unwrap(), json_lines(&output.stdout))
}

/// Returns the rule and the message of one file that is rejected.
fn rejected(text: &str, file: &str) -> (String, String) {
    let (status, documents) = found(text, &[file]);
    let [one] = documents.try_into().unwrap();
    assert_eq!((status, &one["verdict"], &one["level"]), (1, &"invalid".into(), &"error".into()));
    assert!(!one["advice"].is_null() && one["clause"] == "policy", "{one}");
    let text = |key: &str| one[key].as_str().unwrap().to_owned();
    (text("rule"), text("message"))
}

/// Policies, each with a file that meets it, a file that does not, and the rule and a part of the message for the latter.
const REQUIREMENTS: &str = r#"
allow-formats = ['safetensors', 'ztensor-2'] | v2/accept/dense.zt | accept/1.2.3/scalar.zt | policy-format | format ztensor-1.2 is not allowed (rule policy-format, policy)
forbid-formats = ['ztensor'] | other/gguf/accept/blocks.gguf | v2/accept/dense.zt | policy-format | format ztensor-2 is not allowed (rule policy-format, policy)
allow-dtypes = ['float32', 'q4_0', 'FP16', 'bfloat16', 'u64', 'i8', 'f64'] | other/gguf/accept/blocks.gguf | accept/1.2.3/scalar.zt | policy-dtype | is not allowed (rule policy-dtype, policy) in
allow-dtypes = ['u32'] | accept/1.2.3/empty.zt | v2/accept/coo-of-an-unknown-type.zt | policy-dtype | dtype "later" is not allowed (rule policy-dtype, policy) in
max-file-size = 200 | other/npy/accept/scalar.npy | accept/1.2.3/scalar.zt | policy-size | exceeds the maximum of 200 bytes (200 B) (rule policy-size, policy)
max-decoded-size = '13' | accept/1.2.3/empty.zt | accept/1.2.3/scalar.zt | policy-size | decoded size 14 exceeds the maximum of 13 bytes (13 B) (rule policy-size, policy)
max-tensor-size = 7 | accept/1.2.3/empty.zt | accept/1.2.3/scalar.zt | policy-size | decoded size 8 exceeds the maximum of 7 bytes (7 B) (rule policy-size, policy) in
max-tensors = 3 | accept/1.2.3/empty.zt | accept/1.2.3/scalar.zt | policy-size | number of tensors 4 exceeds the maximum of 3 (rule policy-size, policy)
require-digests = ['sha256'] | accept/1.2.3/sha256.zt | accept/1.2.3/complex.zt | policy-digest | expected a digest by sha256, found "crc32c" (rule policy-digest, policy) in
require-digests = ['sha256', 'xxh3'] | v2/accept/dense.zt | other/safetensors/accept/two.safetensors | policy-digest | expected a digest by sha256 or xxh3, found none (rule policy-digest, policy) in
forbid-compression = true | other/npz/accept/stored.npz | other/npz/accept/compressed.npz | policy-compression | encoding "deflate" is not allowed (rule policy-compression, policy) in
"#;

#[test]
fn each_requirement_has_a_rule() {
    for row in REQUIREMENTS.trim().lines() {
        let [text, accepted, file, rule, message] =
            row.split(" | ").collect::<Vec<_>>().try_into().unwrap();
        let (status, documents) = found(text, &[accepted]);
        assert_eq!(
            (status, &documents[0]["verdict"]),
            (0, &"valid".into()),
            "{text} {documents:?}"
        );
        let (own, sentence) = rejected(text, file);
        assert_eq!(own, rule, "{text}");
        assert!(sentence.contains(message), "{text}: {sentence}");
        let explained = succeeded_text(zten(["explain", rule]));
        assert!(
            explained.contains(
                "policy of the caller: the rule is checked only with a policy that demands it"
            ),
            "{explained}"
        );
    }
}

#[test]
fn a_tensor_is_named_and_the_others_are_counted() {
    let text = "allow-dtypes = ['bool']\nmax-file-size = '1GiB'";
    let why = failed(check(text, &[], &["accept/1.2.3/scalar.zt"]), 1);
    assert!(why.contains("\n  2 more tensors are against the policy: "), "{why}");
    assert!(why.contains("/data at byte 0x"), "{why}");
    let (_, documents) = found(text, &["accept/1.2.3/scalar.zt"]);
    let [one] = documents.try_into().unwrap();
    assert_eq!((&one["more"], &one["component"]), (&2.into(), &"data".into()));
    assert!(one["object"].is_string() && one["offset"].is_u64(), "{one}");
}

#[test]
fn formats_that_are_not_read_are_forbidden_by_name() {
    let pickle = "other/named/reject/format-pickle--protocol-4.bin";
    for text in ["forbid-formats = ['pickle']", "allow-formats = ['gguf']"] {
        let (rule, message) = rejected(text, pickle);
        assert_eq!(rule, "policy-format");
        assert!(message.starts_with("format pickle is not allowed"), "{message}");
    }
    let (status, documents) = found("forbid-formats = ['torch']", &[pickle]);
    assert_eq!((status, &documents[0]["verdict"]), (3, &"unsupported".into()));
    // A broken rule of the format takes precedence over the policy.
    let broken = "other/gguf/reject/gguf-magic--letters.gguf";
    let (status, documents) = found("allow-formats = ['npy']", &[broken]);
    assert_eq!((status, &documents[0]["rule"]), (1, &"gguf-magic".into()));
}

#[test]
fn a_tolerated_finding_is_a_note_and_the_file_is_not_valid() {
    let bools = "other/npy/reject/tensor-bool-value--2.npy";
    let graph = "other/named/reject/format-onnx--graph.onnx";
    let files = [bools, graph, "accept/1.2.3/scalar.zt"];
    let text = "tolerate = ['tensor-bool-value', 'format-onnx']";
    let (status, documents) = found(text, &files);
    let verdicts: Vec<_> = documents.iter().map(|one| one["verdict"].as_str().unwrap()).collect();
    assert_eq!((status, &verdicts[..]), (0, &["tolerated", "tolerated", "valid"][..]));
    assert_eq!((&documents[0]["level"], &documents[2]["level"]), (&"note".into(), &Value::Null));
    assert_eq!(documents[0]["rule"], "tensor-bool-value");
    let output = check(text, &["--summary"], &files);
    let (status, out, errors) = ended(&output);
    assert_eq!((status, errors), (Some(0), ""));
    assert!(
        out.ends_with("3 files: 1 valid, 2 tolerated\n  format-onnx: 1\n  tensor-bool-value: 1\n")
    );
    assert_eq!(
        out.matches("\n  tolerated by the policy; the file is not valid\n").count(),
        2,
        "{out}"
    );
    // A tolerated finding is still a finding, so `-q` prints it.
    let findings = both_streams(&check(text, &["-q"], &files));
    assert!(out.starts_with(&findings) && findings.lines().count() == 6, "{findings}");
    let output = check(text, &["--sarif"], &files);
    let [document] = json_lines(&output.stdout).try_into().unwrap();
    assert!(Schema::at("tests/data/sarif-2.1.0.schema.json").allows_whole(&document));
    let results = document["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for result in results {
        assert_eq!(
            (&result["level"], &result["properties"]["verdict"]),
            (&"note".into(), &"tolerated".into())
        );
        assert!(result["properties"]["advice"].is_string());
    }
}

/// Checks that a tolerated problem of one object hides no problem of another object, and that the file is tolerated if both
/// problems are.
#[test]
fn findings_after_a_tolerated_one_are_reported() {
    let text = "tolerate = ['bool-value', 'unsupported-digest']";
    let digest = |words: &str| [("digest", crate::files::text(words))];
    let bytes = |name: &str, second: &[(&str, Item)]| {
        let first = object("dense", &[1], &[("data", raw("bool", 64, 1, &[]))]);
        let second = object("dense", &[1], &[("data", raw("u8", 128, 1, second))]);
        let data = [&[2][..], &[0; 63], &[7]].concat();
        file(name, &[("a", first), ("b", second)], &data)
    };
    let whole = bytes("policy-whole.zt", &[]);
    let damaged = bytes("policy-damaged.zt", &digest("crc32c:0x00000000"));
    let unknown = bytes("policy-unknown.zt", &digest("later:00"));
    let files = [&whole, &damaged, &unknown].map(|path| path.to_str().unwrap());
    let (status, documents) = found(text, &files);
    let rules: Vec<_> = documents
        .iter()
        .map(|one| (one["verdict"].as_str().unwrap(), one["rule"].as_str().unwrap()))
        .collect();
    let wanted =
        [("tolerated", "bool-value"), ("invalid", "digest-mismatch"), ("tolerated", "bool-value")];
    assert_eq!((status, &rules[..]), (1, &wanted[..]));
    let (_, documents) = found("tolerate = ['bool-value']", &files[2..]);
    assert_eq!(documents[0]["rule"], "unsupported-digest");
    let output = check(text, &[], &files[1..2]);
    assert!(both_streams(&output).contains("\n  1 more tensor is tolerated: a\n"), "{output:?}");
}

/// Checks that neither a text that only begins like a digest nor a digest of an unknown algorithm counts as a digest.
#[test]
fn a_digest_is_one_that_can_be_verified() {
    let checksum = |words: &str| {
        let more = [("checksum", crate::files::text(words))];
        vec![entry("a", "uint8", &[1], (64, 1), &more)]
    };
    for (name, words, rule) in [
        ("policy-word.zt", "sha256", "policy-digest"),
        ("policy-other.zt", "blake3:00", "policy-digest"),
        ("policy-digest.zt", &format!("sha256:{}", "0".repeat(64)), "digest-mismatch"),
    ] {
        let path = old_file(name, &checksum(words), &[7]);
        let (_, documents) = found("require-digests = ['sha256']", &[path.to_str().unwrap()]);
        assert_eq!(documents[0]["rule"], rule, "{words} {documents:?}");
    }
}

#[test]
fn a_policy_applies_to_files_of_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = policy(
        folder.path(),
        "allow-formats = ['safetensors-index', 'safetensors', 'ztensor-2']\nmax-file-size = '10K'",
    );
    let policy = path.to_str().unwrap();
    let verdict = |output: &Output| {
        let document: Value = json_lines(&output.stdout).remove(0);
        (document["rule"].clone(), document["shard"].clone())
    };
    let valid = (Value::Null, Value::Null);
    // The policy also applies to shards and to the files of an index.
    for file in ["other/index/accept/two.index.json", "v2/shards/dense.zt"] {
        let output = in_corpus(&["check", "--json", "--policy", policy, file]);
        assert_eq!(
            (output.status.code(), verdict(&output)),
            (Some(0), valid.clone()),
            "{output:?}"
        );
    }
    let long = "1".repeat(400);
    let index = format!("{{\"metadata\":{{}},\"weight_map\":{{\"{long}\":\"a.safetensors\"}}}}");
    fs::write(folder.path().join("m.safetensors.index.json"), index).unwrap();
    let part = safetensors::file([(&long, "U8", [20_000], 20_000)], &vec![0; 20_000]);
    fs::write(folder.path().join("a.safetensors"), part).unwrap();
    let index = folder.path().join("m.safetensors.index.json");
    let output = zten(["check", "--json", "--policy", policy, index.to_str().unwrap()]);
    assert_eq!(verdict(&output), ("policy-size".into(), "a.safetensors".into()), "{output:?}");
    let stream = fs::File::open(corpus_folder().join("v2/accept/dense.zt")).unwrap();
    let output = command()
        .args(["check", "--json", "--policy", policy, "-"])
        .stdin(Stdio::from(stream))
        .output()
        .unwrap();
    assert_eq!(verdict(&output), valid);
    let output = in_corpus(&["check", "-r", "--json", "--policy", policy, "other/npy/accept"]);
    assert_eq!(output.status.code(), Some(1));
    let documents = json_lines(&output.stdout);
    assert!(documents.len() > 5 && documents.iter().all(|one| one["rule"] == "policy-format"));
}

#[test]
fn a_policy_that_is_not_understood_is_rejected_with_its_line_and_key() {
    for (text, message) in [
        ("", "the policy has no requirement"),
        ("# nothing\n", "the policy has no requirement"),
        (
            "\nallow-format = ['npy']",
            "line 2: unknown field `allow-format`, expected one of `allow-formats`, ",
        ),
        (
            "max-tensors = true",
            "line 1: invalid type: boolean `true`, expected u64 in `max-tensors`",
        ),
        ("\n\nmax-file-size = '12Q'", "line 3: invalid size \"12Q\": expected a number of bytes, "),
        ("max-file-size = -1", "line 1: invalid size -1 in `max-file-size`"),
        (
            "max-file-size = []",
            "expected a number of bytes, or a text such as \"10GiB\" in `max-file-size`",
        ),
        (
            "allow-formats = 'npy'",
            "line 1: invalid type: string \"npy\", expected a sequence in `allow-formats`",
        ),
        (
            "forbid-formats = ['pkl']",
            "line 1: unknown format \"pkl\": expected ztensor, ztensor-0.1, ",
        ),
        ("allow-dtypes = ['F33']", "unknown dtype \"F33\": expected f64, f32, "),
        (
            "require-digests = ['crc32c']",
            "unknown digest algorithm \"crc32c\": expected sha256, xxh3",
        ),
        ("tolerate = ['x']", "unknown rule \"x\"; `zten explain` lists all rules in `tolerate`"),
        ("deny = ['x']", "unknown rule \"x\"; `zten explain` lists all rules in `deny`"),
        (
            "tolerate = ['format-onnx']\ndeny = ['format-onnx']",
            "rule format-onnx is in `tolerate` and in `deny`",
        ),
        ("tolerate = ['header-magic']", "rule header-magic cannot be tolerated: "),
        ("tolerate = ['limit-rank']", "rule limit-rank cannot be tolerated: "),
        ("tolerate = ['digest-mismatch']", "rule digest-mismatch cannot be tolerated: "),
        ("[tensors]\nmax = 1", "line 1: unknown field `tensors`"),
        ("max-tensors = 1\nmax-tensors = 2", "line 2: duplicate key"),
        ("max-tensors", "line 1: "),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = policy(folder.path(), text);
        let output =
            in_corpus(&["check", "--policy", path.to_str().unwrap(), "accept/1.2.3/scalar.zt"]);
        let (status, out, why) = ended(&output);
        assert_eq!((status, out), (Some(2), ""), "{text}");
        assert!(why.contains(message), "{text}: {why}");
        assert!(why.starts_with("error: invalid value '"), "{why}");
    }
    let folder = tempfile::tempdir().unwrap();
    let large = policy(folder.path(), &"#".repeat((1 << 20) + 1));
    let largest = format!("max-tensors = 4 #{}", "-".repeat((1 << 20) - 17));
    let fits = folder.path().join("fits.toml");
    fs::write(&fits, largest).unwrap();
    let check = |path: &Path| {
        in_corpus(&["check", "--policy", path.to_str().unwrap(), "accept/1.2.3/scalar.zt"])
    };
    assert!(ended(&check(&large)).2.contains("policy exceeds the maximum of 1048576 bytes"));
    assert_eq!(check(&fits).status.code(), Some(0), "{:?}", check(&fits));
    assert!(ended(&check(&folder.path().join("none"))).2.contains("No such file"));
}

/// Checks that a policy may name a rule of an earlier version, so that a policy can be used with later versions of zten.
#[test]
fn a_policy_may_name_retired_rules() {
    let text = "tolerate = ['unsupported-container', 'npz-crc']\ndeny = ['torch-stride']";
    let (status, documents) = found(text, &["accept/1.2.3/scalar.zt"]);
    assert_eq!((status, &documents[0]["verdict"]), (0, &"valid".into()));
    assert_eq!(zten(["explain", "torch-stride"]).status.code(), Some(2));
}

#[test]
fn size_limits_of_a_policy_hold_for_formats_that_are_not_read() {
    let graph = "other/named/reject/format-onnx--graph.onnx";
    let tolerant = "tolerate = ['format-onnx']\n";
    for (requirement, message) in [
        ("max-file-size = 4", "exceeds the maximum of 4 bytes (4 B)"),
        ("max-tensors = 4", "unknown number of tensors: expected at most 4"),
        ("max-decoded-size = '100GiB'", "unknown decoded size: expected at most "),
        ("max-tensor-size = '100GiB'", "unknown size of the largest tensor: expected at most "),
    ] {
        for text in [requirement.to_owned(), format!("{tolerant}{requirement}")] {
            let (rule, sentence) = rejected(&text, graph);
            assert_eq!(rule, "policy-size", "{text}");
            assert!(sentence.contains(message), "{text}: {sentence}");
        }
    }
    let (status, documents) = found(&format!("{tolerant}max-file-size = '1MiB'"), &[graph]);
    assert_eq!((status, &documents[0]["verdict"]), (0, &"tolerated".into()));
    // A file that breaks both a rule of its format and the policy is reported for the rule of its format.
    let broken = "reject/blob-alignment--v12-72.zt";
    let (_, documents) = found("max-file-size = 4", &[broken]);
    assert_eq!(documents[0]["rule"], "blob-alignment");
}

#[test]
fn an_index_is_allowed_by_the_format_of_its_shards_and_forbidden_by_either_format() {
    let index = "other/index/accept/two.index.json";
    for (text, status) in [
        ("allow-formats = ['safetensors']", 0),
        ("allow-formats = ['safetensors-index']", 1),
        ("allow-formats = ['gguf']", 1),
        ("forbid-formats = ['gguf']", 0),
        ("forbid-formats = ['safetensors']", 1),
        ("forbid-formats = ['safetensors-index']", 1),
    ] {
        assert_eq!(found(text, &[index]).0, status, "{text}");
    }
}

/// Applies each example policy to valid files of each format and to files that are not read.
#[test]
fn examples_admit_what_they_say() {
    let files = [
        "accept/1.2.3/sha256.zt",
        "accept/1.2.3/dense_all.zt",
        "v2/accept/dense.zt",
        "other/safetensors/accept/two.safetensors",
        "other/index/accept/two.index.json",
        "other/gguf/accept/blocks.gguf",
        "other/npy/accept/two.npy",
        "other/npz/accept/compressed.npz",
        "other/torch/accept/module.pt",
        "other/torch/reject/torch-global--os.pt",
        "other/named/reject/format-pickle--protocol-4.bin",
        "other/named/reject/format-onnx--graph.onnx",
        "other/npy/reject/tensor-bool-value--2.npy",
    ];
    // Each file is abbreviated by a letter: for the rule of the policy, or the rule of its format, that it breaks.
    for (name, wanted) in [
        ("registry", "-DDFFFFFFGFFF"),
        ("lab-ci", "---------GFOB"),
        ("air-gapped", "TT----FFFGFFF"),
    ] {
        let path = format!("../docs/policies/{name}.toml");
        let output = in_corpus(&[&["check", "--json", "--policy", &path], &files[..]].concat());
        let letter = |line: &Value| match line["rule"].as_str() {
            None => '-',
            Some("policy-format") => 'F',
            Some("policy-digest") => 'D',
            Some("policy-dtype") => 'T',
            Some("torch-global") => 'G',
            Some("format-onnx") => 'O',
            Some("tensor-bool-value") => 'B',
            Some(other) => panic!("{name}: {other}"),
        };
        let found: String = json_lines(&output.stdout).iter().map(letter).collect();
        assert_eq!(found, wanted, "{name}");
    }
    let output = in_corpus(&["check", "--json", files[10]]);
    assert_eq!(json_lines(&output.stdout)[0]["rule"], "format-pickle");
}
