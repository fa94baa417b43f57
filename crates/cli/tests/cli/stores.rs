//! Tests of stores: caches of the Hugging Face hub, and stores of Ollama. The blobs in a store are compared with their names while
//! they are checked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use zten_testkit::hex;

use crate::schema::Schema;
use crate::walk::each_way;
use crate::{corpus_folder, ended, failed, json_lines, succeeded_text, zten};

/// Returns the name of a large file in a cache of the hub.
fn sha256(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

/// Returns the name of a small file in a cache of the hub, which is what `git hash-object` prints.
fn git_sha1(content: &[u8]) -> String {
    hex(&Sha1::new_with_prefix(format!("blob {}\0", content.len()))
        .chain_update(content)
        .finalize())
}

/// Writes a file, and creates the folders above it.
fn put(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Returns a safetensors file with one tensor of `length` bytes.
fn weights(length: usize) -> Vec<u8> {
    let header =
        format!(r#"{{"w":{{"dtype":"U8","shape":[{length}],"data_offsets":[0,{length}]}}}}"#);
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend((0..length).map(|at| u8::try_from(at % 251).unwrap()));
    bytes
}

/// Returns the names of the files and the rules of the findings and notes in lines of JSON, sorted.
fn rules(output: &Output) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for line in json_lines(&output.stdout) {
        let path = Path::new(line["file"].as_str().unwrap());
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let notes = line["notes"].as_array().into_iter().flatten().map(|note| &note["rule"]);
        let rules = [&line["rule"]].into_iter().chain(notes).filter_map(Value::as_str);
        found.extend(rules.map(|rule| (name.clone(), rule.to_owned())));
    }
    found.sort();
    found
}

/// Checks `paths` in each way, and expects the exit status and the rules of the files.
#[track_caller]
fn expect(paths: &[&Path], (status, wanted): (i32, &[(&str, &str)])) {
    let paths = paths.iter().map(|path| path.to_str().unwrap());
    let args: Vec<_> = ["-r", "--json"].into_iter().chain(paths).collect();
    let wanted: Vec<_> =
        wanted.iter().map(|(name, rule)| ((*name).to_owned(), (*rule).to_owned())).collect();
    each_way(&args, |output| {
        assert_eq!(
            (rules(output), output.status.code()),
            (wanted.clone(), Some(status)),
            "{:?}",
            ended(output)
        );
    });
}

/// Writes a policy with the text `text` to a folder, and returns the option `--policy` with its path.
fn policy(folder: &Path, text: &str) -> String {
    let path = folder.join("policy.toml");
    fs::write(&path, text).unwrap();
    format!("--policy={}", path.to_str().unwrap())
}

/// Changes a byte of a file.
fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// A repository in a cache of the hub.
struct Hub {
    root: TempDir,
    repository: PathBuf,
}

impl Hub {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let repository = root.path().join("models--x--y");
        fs::create_dir_all(repository.join("blobs")).unwrap();
        fs::create_dir_all(repository.join("snapshots/0123")).unwrap();
        put(&repository.join("refs/main"), b"0123");
        Self { root, repository }
    }

    fn blob(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.repository.join("blobs").join(name);
        put(&path, content);
        path
    }

    /// Makes the link `name` of a revision to a blob, and returns the path of the link.
    #[cfg(unix)]
    fn link(&self, revision: &str, name: &str, blob: &Path) -> PathBuf {
        let path = self.repository.join("snapshots").join(revision).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let blob = Path::new("../../blobs").join(blob.file_name().unwrap());
        std::os::unix::fs::symlink(blob, &path).unwrap();
        path
    }
}

#[test]
fn blobs_of_a_hub_are_compared_with_their_names() {
    let hub = Hub::new();
    let (large, small) = (weights(3 << 20), br#"{"model_type":"x"}"#);
    let weights = hub.blob(&sha256(&large), &large);
    let config = hub.blob(&git_sha1(small), small);
    let [weights_name, config_name] =
        [&weights, &config].map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
    let (root, blobs) = (hub.root.path(), hub.repository.join("blobs"));
    for path in [root, &hub.repository, &blobs] {
        expect(&[path], (0, &[]));
    }
    // Changes a byte in the header, the first byte of the data, a byte in the middle, and the last byte.
    for at in [0, 20, 100, 1 << 20, large.len() - 1] {
        flip(&weights, at);
        for path in [root, &hub.repository, &blobs] {
            expect(&[path], (1, &[(&weights_name, "store-digest")]));
        }
        flip(&weights, at);
    }
    // The file is cut, and then has one byte too many.
    for content in [&large[..large.len() - 1], &[&large[..], b"x"].concat()] {
        fs::write(&weights, content).unwrap();
        expect(&[root], (1, &[(&weights_name, "store-digest")]));
    }
    fs::write(&weights, &large).unwrap();
    for at in [0, 5, small.len() - 1] {
        flip(&config, at);
        expect(&[root], (1, &[(&config_name, "store-digest")]));
        flip(&config, at);
    }
    expect(&[root], (0, &[]));
    // A mirror of the hub may give the SHA-1 of the content alone.
    let plain = hex(&Sha1::digest(small));
    let mirrored = hub.blob(&plain, small);
    expect(&[root], (0, &[]));
    flip(&mirrored, 5);
    expect(&[root], (1, &[(&plain, "store-digest")]));
    fs::remove_file(mirrored).unwrap();
    // The blob has the bytes of another file, whose digest is known and whose content is valid.
    fs::copy(&config, &weights).unwrap();
    expect(&[root], (1, &[(&weights_name, "store-digest")]));
    // With `--manifest-only` the data is not read, so no digest is compared.
    each_way(&["-r", "--manifest-only", root.to_str().unwrap()], |output| {
        assert_eq!(output.status.code(), Some(0));
    });
}

#[test]
fn a_digest_that_differs_is_a_finding_like_others() {
    let hub = Hub::new();
    let content = weights(1000);
    let blob = hub.blob(&sha256(&content), &content);
    flip(&blob, 500);
    let found = sha256(&fs::read(&blob).unwrap());
    let path = blob.to_str().unwrap();
    let message = format!(
        "SHA-256 of the content is {found}, but the name of the file says {}",
        sha256(&content)
    );
    each_way(&[path], |output| {
        let text = format!("{path}: {message} (rule store-digest, policy)\n");
        let (status, out, error) = ended(output);
        assert!(out.starts_with(&text), "{out}");
        assert!(
            out.contains("\n  The download of the file failed, or the file has changed since."),
            "{out}"
        );
        assert_eq!((status, error), (Some(1), ""));
    });
    let schema = Schema::at("../../docs/json.schema.json");
    each_way(&["--json", path], |output| {
        let [line] = json_lines(&output.stdout).try_into().unwrap();
        assert!(schema.allows_whole(&line), "{line}");
        assert_eq!(line["verdict"], "invalid");
        assert_eq!(
            (&line["rule"], &line["format"]),
            (&json!("store-digest"), &json!("safetensors"))
        );
        assert_eq!(output.status.code(), Some(1));
    });
    each_way(&["--sarif", path], |output| {
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let result = &document["runs"][0]["results"][0];
        assert_eq!(
            (&result["ruleId"], &result["level"]),
            (&json!("store-digest"), &json!("error"))
        );
        let rules = document["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
        assert!(rules.iter().any(|rule| rule["id"] == "store-digest"));
    });
    for rule in [
        "store-digest",
        "store-manifest",
        "store-missing",
        "store-size",
        "store-unfinished",
        "policy-store",
    ] {
        assert!(succeeded_text(zten(["explain", rule])).starts_with(rule), "{rule}");
    }
    // A different digest is reported instead of the rule that the changed bytes break, because it tells the user more.
    flip(&blob, 10);
    expect(&[&blob], (1, &[(blob.file_name().unwrap().to_str().unwrap(), "store-digest")]));
}

/// Only blobs whose name has the form of a digest are compared. Servers other than the hub may use other names, and such files stay
/// valid.
#[test]
fn names_of_another_form_are_not_compared() {
    let hub = Hub::new();
    let content = weights(100);
    let digest = sha256(&content);
    let wrong = "0".repeat(64);
    for name in
        ["abc", &digest[1..], &digest.to_uppercase(), &format!("{wrong}0"), &format!("W-{wrong}")]
    {
        let path = hub.blob(name, &content);
        expect(&[hub.root.path()], (0, &[]));
        expect(&[&path], (0, &[]));
        let required = policy(hub.root.path(), "require-store-digest = true");
        let found = failed(zten(["check", &required, path.to_str().unwrap()]), 1);
        assert!(found.contains("policy-store"), "{name}: {found}");
        fs::remove_file(path).unwrap();
        fs::remove_file(hub.root.path().join("policy.toml")).unwrap();
    }
    let path = hub.blob(&wrong, &content);
    expect(&[&path], (1, &[(&wrong, "store-digest")]));
    // A file with the same wrong name in a folder that is not part of a store is not compared with its name.
    let elsewhere = hub.root.path().join("blobs").join(&wrong);
    put(&elsewhere, &content);
    expect(&[&elsewhere], (0, &[]));
}

#[test]
fn files_that_a_hub_keeps_for_itself_may_be_empty() {
    let hub = Hub::new();
    let content = weights(100);
    hub.blob(&sha256(&content), &content);
    put(&hub.root.path().join(".locks/models--x--y").join(sha256(&content) + ".lock"), b"");
    let absent = hub.repository.join(".no_exist/0123/deep");
    put(&absent.join("model.safetensors"), b"");
    put(&hub.repository.join("refs/refs/pr/1"), b"0123");
    hub.blob(&(sha256(&content) + ".lock"), b"");
    for name in ["CACHEDIR.TAG", "version.txt", "version_diffusers_cache.txt"] {
        put(&hub.root.path().join(name), b"1");
    }
    let folder = tempfile::tempdir().unwrap();
    let required = policy(folder.path(), "require-store-digest = true");
    for path in [hub.root.path(), &hub.repository, &hub.repository.join(".no_exist"), &absent] {
        expect(&[path], (0, &[]));
        each_way(&["-r", "-q", &required, path.to_str().unwrap()], |output| {
            assert_eq!(ended(output), (Some(0), "", ""));
        });
    }
    // No name gives the digest of a tensor file in these folders, so a policy that requires a comparison rejects it.
    put(&absent.join("model.safetensors"), &content);
    expect(&[hub.root.path()], (0, &[]));
    each_way(&["-r", "--json", &required, hub.root.path().to_str().unwrap()], |output| {
        assert_eq!(rules(output), [("model.safetensors".to_owned(), "policy-store".to_owned())]);
    });
    fs::remove_file(absent.join("model.safetensors")).unwrap();
    // A file beside the repositories is none of the hub client's own files, so the policy that requires a comparison
    // rejects it.
    put(&hub.root.path().join("notes.txt"), b"1");
    each_way(&["-r", "--json", &required, hub.root.path().to_str().unwrap()], |output| {
        assert_eq!(rules(output), [("notes.txt".to_owned(), "policy-store".to_owned())]);
    });
    // Files in these folders are checked like other files.
    put(&absent.join("model.safetensors"), b"cos\nsystem\n.");
    expect(&[hub.root.path()], (1, &[("model.safetensors", "torch-global")]));
    // Outside of a cache, folders with these names have no special meaning.
    for name in [".locks", ".no_exist", "refs"] {
        let root = tempfile::tempdir().unwrap();
        put(&root.path().join(name).join("model.safetensors"), b"");
        expect(&[root.path()], (1, &[("model.safetensors", "safetensors-size")]));
    }
}

#[test]
fn unfinished_downloads_are_not_supported() {
    let hub = Hub::new();
    let content = weights(1000);
    let digest = sha256(&content);
    let ends = [".0a1b2c3d.incomplete", ".downloadInProgress", ".incomplete", ".sync.part"];
    let mut names: Vec<_> = ends.iter().map(|end| format!("{digest}{end}")).collect();
    for name in &names {
        hub.blob(name, &content[..500]);
    }
    let ollama = Ollama::new();
    let partial = format!("sha256-{digest}-partial");
    ollama.put(&partial, &content[..500]);
    ollama.put(&format!("{partial}-0"), b"{}");
    // An interrupted `ollama create` leaves a file with such a name.
    ollama.put("sha256-2893749283", &content[..500]);
    names.extend([format!("{partial}-0"), partial, "sha256-2893749283".to_owned()]);
    names.sort();
    let wanted: Vec<_> = names.iter().map(|name| (&**name, "store-unfinished")).collect();
    let roots = [hub.root.path(), ollama.0.path()];
    expect(&roots, (3, &wanted));
    each_way(&["-r", "--allow-unsupported", hub.root.path().to_str().unwrap()], |output| {
        let (status, out, _) = ended(output);
        assert_eq!(status, Some(0));
        assert!(out.contains(": the download or creation of the file has not ended, so its content is not checked (rule store-unfinished, policy)"), "{out}");
    });
    let tolerates = policy(ollama.0.path(), "tolerate = ['store-unfinished']");
    let output = zten([
        "check",
        "-r",
        "--json",
        &tolerates,
        ollama.0.path().join("blobs").to_str().unwrap(),
    ]);
    assert_eq!((output.status.code(), rules(&output).len()), (Some(0), 3));
    // Outside of a cache, the suffix of unfinished downloads has no meaning.
    let elsewhere = hub.root.path().join(format!("{digest}.incomplete"));
    put(&elsewhere, b"text");
    expect(&[&elsewhere], (0, &[]));
}

#[cfg(unix)]
#[test]
fn snapshots_lead_to_blobs() {
    let hub = Hub::new();
    let content = weights(2 << 20);
    let blob = hub.blob(&sha256(&content), &content);
    let first = hub.link("0123", "a.safetensors", &blob);
    let second = hub.link("4567", "b.safetensors", &blob);
    // Two snapshots of the same blob are one file.
    each_way(&["-r", "--json", hub.root.path().to_str().unwrap()], |output| {
        let lines = json_lines(&output.stdout);
        let [own] = lines
            .iter()
            .filter(|line| line["verdict"] == "valid")
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        assert_eq!((&own["file"], &own["also"][0]), (&json!(first), &json!(second)));
    });
    flip(&blob, 1 << 20);
    expect(&[hub.root.path()], (1, &[("a.safetensors", "store-digest")]));
    // A single file is compared with the name of the blob at its real path.
    for (path, name) in [(&first, "a.safetensors"), (&second, "b.safetensors")] {
        expect(&[path], (1, &[(name, "store-digest")]));
    }
    let snapshot = hub.repository.join("snapshots/4567");
    expect(&[&snapshot], (1, &[("b.safetensors", "store-digest")]));
    // The folder itself is the argument, and the command finds the model in it.
    each_way(&["--json", snapshot.to_str().unwrap()], |output| {
        assert_eq!(rules(output), [("b.safetensors".to_owned(), "store-digest".to_owned())]);
    });
    // A link from outside of the cache leads to the damaged blob, which is compared with its own name.
    let elsewhere = hub.root.path().join("elsewhere.safetensors");
    std::os::unix::fs::symlink(&blob, &elsewhere).unwrap();
    expect(&[&elsewhere], (1, &[("elsewhere.safetensors", "store-digest")]));
    fs::remove_file(elsewhere).unwrap();
    // The links to a blob that is missing are reported as one error.
    fs::remove_file(&blob).unwrap();
    each_way(&["-r", "--json", hub.root.path().to_str().unwrap()], |output| {
        let lines = json_lines(&output.stdout);
        let failed: Vec<_> = lines.iter().filter(|line| line["verdict"] == "error").collect();
        assert_eq!((failed.len(), output.status.code()), (1, Some(2)), "{lines:?}");
        let message = failed[0]["message"].as_str().unwrap();
        assert!(message.contains("is a link to a file that is not found"), "{message}");
    });
}

/// Some Windows systems have no links. The snapshots there hold the files themselves, so no name gives their digests.
#[test]
fn snapshots_of_files_are_valid_and_not_compared() {
    let hub = Hub::new();
    let path = hub.repository.join("snapshots/0123/model.safetensors");
    put(&path, &weights(100));
    expect(&[hub.root.path()], (0, &[]));
    expect(&[&path], (0, &[]));
    let required = policy(&hub.root.path().join("models--x--y"), "require-store-digest = true");
    let output = zten(["check", "--json", &required, path.to_str().unwrap()]);
    assert_eq!(
        (rules(&output), output.status.code()),
        (vec![("model.safetensors".to_owned(), "policy-store".to_owned())], Some(1))
    );
}

#[test]
fn a_policy_requires_a_comparison() {
    let hub = Hub::new();
    let content = weights(100);
    let blob = hub.blob(&sha256(&content), &content);
    let small = hub.blob(&git_sha1(b"text"), b"text");
    let outside = tempfile::tempdir().unwrap();
    let required = policy(outside.path(), "require-store-digest = true");
    let check = |path: &Path, more: &[&str]| {
        let args =
            [&["check", "-r", "--json", &required], more, &[path.to_str().unwrap()]].concat();
        let output = zten(&args);
        let alone = zten([&args[..], &["--no-sandbox"]].concat());
        assert_eq!((&output.stdout, output.status), (&alone.stdout, alone.status));
        (output.status.code(), rules(&output).into_iter().map(|(_, rule)| rule).collect::<Vec<_>>())
    };
    let violated = (Some(1), vec!["policy-store".to_owned()]);
    assert_eq!(check(hub.root.path(), &[]), (Some(0), Vec::new()));
    assert_eq!(check(&small, &[]), (Some(0), Vec::new()));
    assert_eq!(check(&blob, &["--manifest-only"]), violated);
    let copy = outside.path().join("copy.safetensors");
    fs::copy(&blob, &copy).unwrap();
    assert_eq!(check(&copy, &[]), violated);
    // An unsupported file must be compared, too. An invalid file is reported as invalid.
    let corpus = corpus_folder();
    assert_eq!(check(&corpus.join("accept/unsupported-dtype--v01-unknown.zt"), &[]), violated);
    let (status, rules) = check(&corpus.join("reject/blob-alignment--v12-72.zt"), &[]);
    assert_eq!((status, &*rules[0]), (Some(1), "blob-alignment"));
    hub.blob(&format!("{}.incomplete", sha256(&content)), b"");
    assert_eq!(check(hub.root.path(), &[]), (Some(1), vec!["policy-store".to_owned()]));
    flip(&blob, 90);
    assert_eq!(check(&blob, &[]), (Some(1), vec!["store-digest".to_owned()]));
    // The policy rejects this file by its size, so its data is not read.
    policy(outside.path(), "require-store-digest = true\nmax-file-size = 50");
    assert_eq!(check(&blob, &[]), (Some(1), vec!["policy-size".to_owned()]));
    // A policy cannot tolerate this rule.
    let tolerant = policy(outside.path(), "tolerate = ['store-digest']");
    assert_eq!(zten(["check", &tolerant, blob.to_str().unwrap()]).status.code(), Some(2));
}

/// Files of every format are compared as blobs, in whatever order their readers read the bytes.
#[test]
fn every_format_is_hashed_as_it_is_read() {
    let hub = Hub::new();
    let mut expected = Vec::new();
    for folder in [
        "accept/1.2.3",
        "v2/2.1",
        "v2/accept",
        "other/gguf/accept",
        "other/npy/accept",
        "other/npz/accept",
        "other/torch/accept",
        "other/safetensors/accept",
        "reject",
    ] {
        let files = fs::read_dir(corpus_folder().join(folder)).unwrap();
        let mut files: Vec<_> =
            files.map(|file| file.unwrap().path()).filter(|path| path.is_file()).collect();
        files.sort();
        for file in files.into_iter().take(40) {
            let content = fs::read(file).unwrap();
            let name = if expected.len() % 2 == 0 { sha256(&content) } else { git_sha1(&content) };
            hub.blob(&name, &content);
            expected.push(name);
        }
    }
    assert!(expected.len() > 200, "{}", expected.len());
    let root = hub.root.path().to_str().unwrap();
    each_way(&["-r", "--json", root], |output| {
        let found = rules(output);
        assert!(found.iter().all(|(_, rule)| rule != "store-digest"), "{found:?}");
        assert!(found.iter().any(|(_, rule)| rule == "blob-alignment"));
    });
    // One byte is appended to each file, so that its digest differs from its name.
    for name in &expected {
        let path = hub.repository.join("blobs").join(name);
        let mut content = fs::read(&path).unwrap();
        content.push(0);
        fs::write(path, content).unwrap();
    }
    expected.sort();
    expected.dedup();
    each_way(&["-r", "--json", root], |output| {
        let found = rules(output);
        let changed: Vec<_> =
            found.iter().filter(|(_, rule)| rule == "store-digest").map(|(name, _)| name).collect();
        assert_eq!(changed, expected.iter().collect::<Vec<_>>());
    });
}

/// A store of Ollama, without blobs and manifests at first.
struct Ollama(TempDir);

impl Ollama {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("blobs")).unwrap();
        fs::create_dir_all(root.path().join("manifests")).unwrap();
        Self(root)
    }

    /// Writes the file `name` among the blobs.
    fn put(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.path().join("blobs").join(name);
        put(&path, content);
        path
    }

    fn blob(&self, content: &[u8]) -> PathBuf {
        self.put(&format!("sha256-{}", sha256(content)), content)
    }

    fn manifest(&self, tag: &str, text: &str) -> PathBuf {
        let path = self.0.path().join("manifests/registry.ollama.ai/library/model").join(tag);
        put(&path, text.as_bytes());
        path
    }
}

/// Returns the entry of a blob in a manifest.
fn layer(content: &[u8]) -> Value {
    let digest = format!("sha256:{}", sha256(content));
    json!({ "mediaType": "application/vnd.ollama.image.model", "digest": digest, "size": content.len() })
}

fn manifest(config: &Value, layers: &[Value]) -> String {
    json!({ "schemaVersion": 2, "config": config, "layers": layers }).to_string()
}

fn gguf() -> Vec<u8> {
    fs::read(corpus_folder().join("other/gguf/accept/two.gguf")).unwrap()
}

#[test]
fn a_store_of_ollama_is_compared() {
    let store = Ollama::new();
    let (model, template, config) = (gguf(), b"{{ .Prompt }}", br#"{"model_format":"gguf"}"#);
    let blobs = [store.blob(&model), store.blob(template), store.blob(config)];
    let names = blobs.each_ref().map(|path| path.file_name().unwrap().to_str().unwrap());
    let text = manifest(&layer(config), &[layer(&model), layer(template)]);
    let tag = store.manifest("latest", &text);
    let (root, manifests) = (store.0.path(), store.0.path().join("manifests"));
    for path in [root, &manifests, &manifests.join("registry.ollama.ai/library"), &tag] {
        expect(&[path], (0, &[]));
    }
    each_way(&["--any-kind", tag.to_str().unwrap()], |output| {
        let (status, out, _) = ended(output);
        let wanted = ": a manifest of Ollama, which lists 3 blobs\n";
        assert!(status == Some(0) && out.ends_with(wanted), "{out}");
    });
    // In this mode only tensor files are accepted, and the manifest is a JSON file like any other.
    each_way(&[tag.to_str().unwrap()], |output| {
        assert!(ended(output).1.contains("format-unknown"), "{:?}", ended(output));
    });
    // Changes a byte of each blob: the model, the template, and the configuration.
    for (path, name) in blobs.iter().zip(names) {
        for at in [0, fs::read(path).unwrap().len() - 1] {
            flip(path, at);
            expect(&[root], (1, &[(name, "store-digest")]));
            expect(&[path], (1, &[(name, "store-digest")]));
            expect(&[&manifests], (0, &[]));
            flip(path, at);
        }
    }
    // Removes each blob in turn. The message names it.
    for (path, name) in blobs.iter().zip(names) {
        let content = fs::read(path).unwrap();
        fs::remove_file(path).unwrap();
        for path in [root, &manifests, &tag] {
            expect(&[path], (1, &[("latest", "store-missing")]));
        }
        let found = failed(zten(["check", "--any-kind", tag.to_str().unwrap()]), 1);
        assert!(found.contains(&format!("1 blob of the model is missing: {name} (")), "{found}");
        fs::write(path, content).unwrap();
    }
    // A manifest that gives a wrong size for a blob is reported.
    let mut short = layer(&model);
    short["size"] = json!(model.len() + 1);
    store.manifest("latest", &manifest(&layer(config), &[short, layer(template)]));
    expect(&[root], (1, &[("latest", "store-size")]));
    // A blob that no manifest lists is compared as well. A file in the same folder as the manifests is checked like any other file.
    store.manifest("latest", &text);
    store.blob(b"orphan");
    put(&manifests.join("notes.txt"), b"text");
    put(&manifests.join("registry.ollama.ai/library/model/deep/er"), b"text");
    put(&manifests.join("registry.ollama.ai/library/model/.DS_Store"), b"text");
    expect(&[root], (0, &[]));
    let required = policy(store.0.path(), "require-store-digest = true");
    let check = zten([
        "check",
        "-r",
        "--json",
        &required,
        manifests.join("registry.ollama.ai/library/model/latest").to_str().unwrap(),
    ]);
    assert_eq!(check.status.code(), Some(0));
}

#[test]
fn a_manifest_of_another_form_is_invalid() {
    let store = Ollama::new();
    let config = layer(&[]);
    store.blob(&[]);
    let digest = |text: &str| manifest(&json!({ "digest": text, "size": 0 }), &[]);
    let sum = sha256(&[]);
    let wrong = [
        String::new(),
        "no JSON".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        "{\"layers\":".to_owned() + &"[".repeat(500_000),
        manifest(&config, &[]) + "}",
        " ".repeat(5 << 20) + &manifest(&config, &[]),
        digest(&sum),
        digest(&format!("sha256{sum}")),
        digest(&format!("sha256:{}", sum.to_uppercase())),
        digest(&format!("sha256:../{}", &sum[3..])),
        digest(&format!("sha512:{sum}{sum}")),
        digest("sha256:\u{1b}[31m\u{202e}"),
        manifest(&config, &[json!({ "digest": "x".repeat(1 << 20), "size": 1 })]),
        manifest(&config, &[json!({ "digest": config["digest"], "size": "x".repeat(1 << 20) })]),
        manifest(&config, &[]).replace("layers", "layer"),
        manifest(&config, &[]).replace("\"layers\"", "\"layers\":[],\"layers\""),
    ];
    for text in wrong {
        let path = store.manifest("latest", &text);
        expect(&[store.0.path()], (1, &[("latest", "store-manifest")]));
        let found = failed(zten(["check", "-r", path.to_str().unwrap()]), 1);
        assert!(found.len() < 1000, "{found}");
    }
    store.manifest("latest", &manifest(&config, &[]));
    expect(&[store.0.path()], (0, &[]));
    store.manifest("latest", &(manifest(&config, &[]) + "\n"));
    expect(&[store.0.path()], (0, &[]));
    // For a model without layers, Ollama writes `null`, and for a model without a configuration an empty digest.
    store.manifest("latest", &manifest(&config, &[]).replace("[]", "null"));
    expect(&[store.0.path()], (0, &[]));
    store.manifest("latest", &digest(""));
    expect(&[store.0.path()], (0, &[]));
    // A manifest of many blobs is checked in bounded time, and the message names some of the missing blobs.
    let layers: Vec<_> = (0_u32..20_000).map(|at| layer(&at.to_le_bytes())).collect();
    let path = store.manifest("latest", &manifest(&config, &layers));
    let found = failed(zten(["check", "-r", path.to_str().unwrap()]), 1);
    assert!(found.contains("20000 blobs of the model are missing: sha256-"), "{found}");
    assert!(found.len() < 2000, "{found}");
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out_of_a_store() {
    use std::os::unix::fs::symlink;

    let store = Ollama::new();
    let model = gguf();
    let outside = tempfile::tempdir().unwrap();
    put(&outside.path().join("model"), &model);
    let blob = store.0.path().join("blobs").join(format!("sha256-{}", sha256(&model)));
    symlink(outside.path().join("model"), &blob).unwrap();
    let tag = store.manifest("latest", &manifest(&Value::Null, &[layer(&model)]));
    let manifests = store.0.path().join("manifests");
    let args = ["-r", "--json", store.0.path().to_str().unwrap()];
    let message =
        |output: &Output| json_lines(&output.stdout)[0]["message"].as_str().unwrap().to_owned();
    each_way(&args, |output| {
        assert!(message(output).contains("is a link; --follow follows it"), "{:?}", ended(output));
        assert_eq!(output.status.code(), Some(2));
    });
    each_way(&[&args[..], &["--follow"]].concat(), |output| {
        assert_eq!((rules(output), output.status.code()), (Vec::new(), Some(0)));
    });
    // A blob that is a link to itself, and a folder that is a link to the folder around it, are errors.
    fs::remove_file(&blob).unwrap();
    symlink(&blob, &blob).unwrap();
    symlink(&manifests, manifests.join("circle")).unwrap();
    for follow in [&[][..], &["--follow"]] {
        each_way(&[&args[..], follow].concat(), |output| {
            assert_eq!(output.status.code(), Some(2), "{:?}", ended(output));
        });
    }
    // If a pipe has the name of a blob, it is not opened.
    fs::remove_file(&blob).unwrap();
    assert!(Command::new("mkfifo").arg(&blob).status().unwrap().success());
    each_way(&args, |output| {
        assert_eq!(output.status.code(), Some(2), "{:?}", ended(output));
    });
    // If the folder of blobs is a link, the folder around it is not treated as a store, and files elsewhere whose names look like
    // those of blobs are not compared.
    let other = tempfile::tempdir().unwrap();
    put(&other.path().join("manifests/a/b/c/latest"), &fs::read(&tag).unwrap());
    symlink(outside.path(), other.path().join("blobs")).unwrap();
    expect(&[other.path()], (0, &[]));
}
