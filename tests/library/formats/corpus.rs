//! Tests of the files in `corpus/other`: each is accepted, or rejected by the rule in its name.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use zten::formats::{BesideNames, Rule};
use zten::open;
use zten::rules::Class;
use zten::verify::check;
use zten::{Archive, Error, ErrorKind, OpenOptions};
use zten_testkit::other_formats;

/// Returns whether the rule `id` is about a whole file, and not about one place in it.
fn is_of_the_whole(id: &str) -> bool {
    id.starts_with("format-") || id == "index-metadata"
}

/// Opens a file by its path and from memory, and validates its header and its content. Returns the number of components, or the
/// id of the rule that is broken.
fn validate(path: &Path) -> Result<usize, String> {
    let archive = open_both(path).map_err(|error| checked_id(path, &error))?;
    let report = check(&archive, &mut ());
    match report.fault() {
        Some(fault) => Err(checked_id(path, fault.error())),
        None => Ok(usize::try_from(report.summary().components()).unwrap()),
    }
}

/// Returns the id of the rule that the file at `path` breaks, after checking that `error` has the kind of the rule and names a
/// place.
fn checked_id(path: &Path, error: &Error) -> String {
    let id = error.rule().unwrap_or_else(|| panic!("{}: {error}", path.display()));
    let row = error.row().unwrap();
    // The error must have the kind that the catalog gives for its rule.
    assert_eq!(error.kind(), ErrorKind::from(row), "{id}");
    if Rule::ALL.iter().any(|rule| rule.row() == row) {
        let is_named = error.tensor().is_some() || error.file().is_some();
        let is_placed = is_named || error.offset().is_some();
        assert!(is_placed || is_of_the_whole(id), "{}: {error}", path.display());
    }
    id.to_owned()
}

/// Opens a file by its path and from memory, and compares the results.
fn open_both(path: &Path) -> Result<Archive, Error> {
    if BesideNames::of(path).is_some() {
        // A file in memory has no folder, so its sibling files cannot be found.
        return open(path);
    }
    let bytes = fs::read(path).unwrap();
    let (opened, borrowed) = (open(path), OpenOptions::default().from_bytes(&*bytes));
    match (opened, borrowed) {
        (Ok(archive), Ok(borrowed)) => {
            assert_eq!(archive.verify().is_ok(), borrowed.verify().is_ok());
            for (tensor, again) in borrowed.tensors().zip(archive.tensors()) {
                // Sparse tensors have no component `data`.
                let Some(data) = tensor.component("data") else { continue };
                let extent = data.extent();
                assert_eq!(again.component("data").unwrap().extent(), extent);
                if borrowed.verify().is_ok() {
                    let read = data.read().unwrap();
                    assert_eq!(u64::try_from(read.len()).ok(), data.decoded_length());
                    if let Ok(view) = tensor.dense().and_then(|data| data.view()) {
                        assert_eq!(u64::try_from(view.as_bytes().len()).unwrap(), extent.length());
                    }
                }
            }
            Ok(archive)
        }
        (Err(error), other) => {
            // A file that cannot be opened by its path cannot be opened from memory, either. The errors may differ,
            // because bytes in memory have no name from which the format would be recognized.
            assert!(other.is_err());
            Err(error)
        }
        (Ok(_), Err(error)) => panic!("{}: {error}", path.display()),
    }
}

#[test]
fn accepted_files_are_valid() {
    let files = other_formats("accept");
    assert!(files.len() > 30, "{files:#?}");
    let mut noted = BTreeSet::new();
    for path in files {
        let valid = validate(&path);
        assert!(valid.is_ok(), "{}: {}", path.display(), valid.unwrap_err());
        let of_torch = path.parent().unwrap().ends_with("torch/accept").then(|| {
            let name = path.file_stem().unwrap().to_str().unwrap();
            let rules = [("torch-left-out", LEFT_OUT), ("torch-weights-only", BEYOND_TORCH)];
            let noted = rules.into_iter().filter(move |(_, names)| names.contains(&name));
            noted.map(|(rule, _)| rule).collect::<Vec<_>>()
        });
        let others = NOTED.iter().filter(|(name, _)| path.ends_with(name)).map(|(_, rule)| *rule);
        let expected: Vec<_> = others.chain(of_torch.into_iter().flatten()).collect();
        noted.extend(expected.iter().copied());
        let archive = open(&path).unwrap();
        let report = check(&archive, &mut ());
        let findings = archive.manifest().findings().iter().chain(report.notes());
        let rules: Vec<_> = findings.map(|found| found.error().rule().unwrap()).collect();
        assert_eq!(rules, expected, "{}", path.display());
    }
    assert_eq!(noted, rules_of_notes());
}

#[test]
fn an_index_of_checkpoints_reads_strides_signs_and_streams() {
    let folder = other_formats("accept");
    let path = |name: &str| {
        folder
            .iter()
            .find(|path| path.ends_with(format!("index/accept/{name}.index.json")))
            .unwrap()
    };
    let archive = open(path("torch-forms")).unwrap();
    assert_eq!(archive.format(), "PyTorch index");
    let shorts = |name: &str| archive.tensor(name).unwrap().to_vec::<i16>().unwrap();
    assert_eq!((shorts("columns"), shorts("spaced")), (vec![1, 3, 5, 2, 4, 6], vec![1, 3, 5]));
    assert_eq!(archive.tensor("view").unwrap().to_vec::<f32>().unwrap(), [-1.0]);
    let archive = open(path("torch-stream")).unwrap();
    assert_eq!(archive.tensor("b").unwrap().to_vec::<i16>().unwrap(), [1]);
    // The attributes of the archive come from all its files.
    assert_eq!(archive.attributes().map(|(key, _)| key).collect::<Vec<_>>(), ["epoch"]);
}

/// The end of the path of each valid file for which zten reports a note, and the id of the rule that makes the note.
const NOTED: [(&str, &str); 27] = [
    ("index/accept/copy.index.json", "index-copy"),
    ("index/accept/unnamed.index.json", "index-unnamed"),
    ("index/accept/torch-copy.index.json", "index-copy"),
    ("index/accept/torch-unnamed.index.json", "index-unnamed"),
    ("index/accept/total-size-wrong.index.json", "index-total-size"),
    ("index/accept/total-size-text.index.json", "index-total-size"),
    ("index/accept/total-parameters-wrong.index.json", "index-total-parameters"),
    ("index/accept/unknown-key.index.json", "index-key"),
    ("npz/accept/readme.npz", "npz-name"),
    ("npz/accept/folder.npz", "npz-name"),
    ("gguf/accept/five-dimensions.gguf", "gguf-limits"),
    ("gguf/accept/eight-dimensions.gguf", "gguf-limits"),
    ("gguf/accept/name-65.gguf", "gguf-limits"),
    ("gguf/accept/name-255.gguf", "gguf-limits"),
    ("safetensors/accept/unaligned.safetensors", "safetensors-alignment"),
    ("safetensors/accept/quant-scale-255.safetensors", "quant-scale"),
    ("safetensors/accept/quant-scale-nan.safetensors", "quant-scale"),
    ("safetensors/accept/quant-scale-infinite.safetensors", "quant-scale"),
    ("safetensors/accept/quant-scale-state.safetensors", "quant-scale"),
    ("safetensors/accept/quant-parts-blocks.safetensors", "quant-parts"),
    ("safetensors/accept/quant-parts-zeros.safetensors", "quant-parts"),
    ("safetensors/accept/quant-parts-state.safetensors", "quant-parts"),
    ("safetensors/accept/quant-parts-no-shape.safetensors", "quant-parts"),
    ("safetensors/accept/quant-parts-packed.safetensors", "quant-parts"),
    ("safetensors/accept/quant-parts-rows.safetensors", "quant-parts"),
    ("torch/accept/no-checksums.pt", "torch-no-checksums"),
    ("torch/accept/big-untyped.pt", "torch-byte-order"),
];

/// The checkpoints of the corpus that hold values which zten leaves out.
const LEFT_OUT: &[&str] = &[
    "keys",
    "left-out-class",
    "left-out-device",
    "left-out-dictionary-attributes",
    "left-out-hooks",
    "left-out-large-number",
    "left-out-parameter-state",
    "left-out-storage",
    "left-out-typed-tensor",
    "parameter-with-state",
    "values-complex",
    "values-date",
    "values-datetime",
    "values-datetime-with-zone",
    "values-decimal",
    "values-fraction",
    "values-fraction-of-numbers",
    "values-frozenset-as-key",
    "values-numpy-array-objects",
    "values-numpy-dtype",
    "values-numpy-dtype-class",
    "values-numpy-scalar-text",
    "values-path",
    "values-range",
    "values-slice",
    "values-time",
    "values-timedelta",
    "values-uuid",
];

/// The checkpoints of the corpus that PyTorch does not read with `weights_only=True`.
const BEYOND_TORCH: &[&str] = &[
    "bytearray",
    "left-out-device",
    "protocol-4",
    "stream-numpy-scalar",
    "stream-protocol-4",
    "types-5",
    "values-bytes-empty",
    "values-date",
    "values-datetime",
    "values-datetime-with-zone",
    "values-decimal",
    "values-defaultdict",
    "values-defaultdict-none",
    "values-deque",
    "values-deque-of-length",
    "values-fraction",
    "values-fraction-of-numbers",
    "values-frozenset",
    "values-frozenset-as-key",
    "values-namespace",
    "values-numpy-array",
    "values-numpy-array-big",
    "values-numpy-array-columns",
    "values-numpy-array-empty",
    "values-numpy-array-objects",
    "values-numpy-array-records",
    "values-numpy-array-records-flags",
    "values-numpy-array-text",
    "values-numpy-array-without-bytes",
    "values-numpy-dtype",
    "values-numpy-dtype-class",
    "values-numpy-scalar",
    "values-numpy-scalar-big",
    "values-numpy-scalar-bool",
    "values-numpy-scalar-text",
    "values-path",
    "values-python-2",
    "values-range",
    "values-simple-namespace",
    "values-slice",
    "values-time",
    "values-timedelta",
    "values-uuid",
];

/// Returns the ids of all rules that make a note.
fn rules_of_notes() -> BTreeSet<&'static str> {
    let notes = Rule::ALL.iter().filter(|rule| rule.row().class() == Class::Note);
    notes.map(|rule| rule.row().id()).collect()
}

#[test]
fn rejected_files_break_the_rule_in_their_name() {
    let mut rules = BTreeSet::new();
    let mut wrong = Vec::new();
    for path in other_formats("reject") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some((rule, _)) = name.split_once("--") else {
            assert!(path.parent().unwrap().parent().unwrap().ends_with("index"), "{name}");
            continue;
        };
        if name.contains("-00002-of-") {
            // The second file of a rejected split model may be valid by itself. The rule is broken when the first file
            // is opened.
            continue;
        }
        rules.insert(rule.to_owned());
        match validate(&path) {
            Ok(_) => wrong.push(format!("{name}: valid")),
            Err(found) if found == rule => {}
            Err(found) => wrong.push(format!("{name}: {found}")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    rules.extend(rules_of_notes().into_iter().map(str::to_owned));
    let without: Vec<_> =
        Rule::ALL.iter().map(|rule| rule.row().id()).filter(|id| !rules.contains(*id)).collect();
    assert!(without.is_empty(), "no file breaks {without:?}");
}

#[test]
fn rules_are_described_and_have_names_of_their_own() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/other-formats.md");
    let docs = fs::read_to_string(docs).unwrap();
    for rule in Rule::ALL {
        let row = rule.row();
        assert!(zten::rules::find(row.id()).is_none(), "{} is a rule of zTensor, too", row.id());
        let line = format!("| `{}` | {} |", row.id(), row.holds());
        assert!(docs.contains(&line), "docs/other-formats.md lacks the line\n{line}");
    }
}

/// Checks that an index in a hub's cache opens if the index and the files that it names are links to blobs of the same repository,
/// and that `index-file` rejects a link to a file outside of the repository.
#[cfg(unix)]
#[test]
fn an_index_is_opened_in_a_hubs_cache() {
    use std::fs;
    use std::os::unix::fs::symlink;

    let hub = tempfile::tempdir().unwrap();
    let repository = hub.path().join("models--x--y");
    let snapshot = repository.join("snapshots/0123");
    fs::create_dir_all(&snapshot).unwrap();
    fs::create_dir_all(repository.join("blobs")).unwrap();
    let folder = zten_testkit::corpus().join("other/index/accept");
    for name in ["two.index.json", "a.safetensors", "b.safetensors"] {
        fs::copy(folder.join(name), repository.join("blobs").join(name)).unwrap();
        symlink(Path::new("../../blobs").join(name), snapshot.join(name)).unwrap();
    }
    let index = snapshot.join("two.index.json");
    open(&index).unwrap().verify().unwrap();
    fs::remove_file(snapshot.join("b.safetensors")).unwrap();
    symlink(folder.join("b.safetensors"), snapshot.join("b.safetensors")).unwrap();
    assert_eq!(open(&index).unwrap_err().rule(), Some("index-file"));
}
