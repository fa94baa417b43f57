//! Tests of `zten convert`: an output has the content of its input, and a message names what the output cannot hold.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use zten::DType;
use zten::element::StorageType;
use zten::manifest::ElementType;
use zten::write::{Checksum, Encoded, NewObject, WriteOptions, Writer};
use zten_corpus::other::gguf;
use zten_testkit::safetensors;

use super::{
    corpus_folder, ended, failed, hash_of, names_in, other_format, run, succeeded, succeeded_json,
    succeeded_text, zten,
};

/// A temporary folder in which the command runs.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Converts a file into `out.zt`.
    fn convert(&self, input: &Path, options: &[&str]) -> Output {
        let (input, output) = (input.to_str().unwrap(), self.path("out.zt"));
        let mut args = vec!["convert", "--force", input, output.to_str().unwrap()];
        args.extend(options);
        zten(args)
    }

    fn files(&self) -> Vec<String> {
        names_in(self.0.path(), "")
    }
}

const OPTIONS: [&[&str]; 10] = [
    &[],
    &["--to", "1.2"],
    &["--to", "2"],
    &["--to=2", "--zstd", "--digest=sha256"],
    &["--canonical"],
    &["--to=2", "--canonical"],
    &["--zstd"],
    &["--zstd", "1", "--digest", "crc32c"],
    &["--zstd=5", "--digest=none"],
    &["--digest", "none"],
];

#[test]
fn other_formats_keep_their_tensors() {
    let files = ["columns.npy", "stored.npz", "compressed.npz", "types.safetensors", "tiny.gguf"];
    for from in files.map(other_format) {
        let (folder, sums) = (Folder::new(), hash_of(&from));
        assert!(!sums.as_array().unwrap().is_empty(), "{from:?}");
        let sorted = |sums: &serde_json::Value| {
            let mut sums: Vec<_> =
                sums.as_array().unwrap().iter().map(ToString::to_string).collect();
            sums.sort();
            sums
        };
        for options in OPTIONS {
            succeeded(folder.convert(&from, options));
            let (out, canonical) = (folder.path("out.zt"), options.contains(&"--canonical"));
            succeeded(run("check", &out, if canonical { &["--canonical"] } else { &[] }));
            // The canonical form orders the objects itself.
            let again = hash_of(&out);
            assert!(again == sums || canonical && sorted(&again) == sorted(&sums), "{options:?}");
            // Generation 1.2 lacks some types, and the attributes of blocks depend on the generation of the written file,
            // so `diff` is run only for these files.
            let is_2 = options.contains(&"--to=2") || options.contains(&"2");
            if is_2 && from.ends_with("types.safetensors") || from.to_str().unwrap().contains(".np")
            {
                succeeded(run("diff", &from, &["-q", out.to_str().unwrap()]));
            }
            assert_eq!(folder.files(), ["out.zt"]);
        }
        let why = failed(run("hash", &from, &["--content"]), 2);
        assert!(why.contains("no content digest: only files of generation 2 have one"), "{why}");
    }
}

#[test]
fn values_are_those_that_other_programs_wrote() {
    let folder = Folder::new();
    succeeded(folder.convert(&other_format("columns.npy"), &[]));
    let out = folder.path("out.zt");
    let printed = succeeded_json(zten(["cat", "--json", out.to_str().unwrap(), "columns"]));
    let wanted: serde_json::Value = serde_json::from_str(
        "[[[0,1,2,3],[4,5,6,7],[8,9,10,11]],[[12,13,14,15],[16,17,18,19],[20,21,22,23]]]",
    )
    .unwrap();
    assert_eq!(printed["elements"], wanted);

    succeeded(folder.convert(&other_format("stored.npz"), &[]));
    let rows = succeeded_json(zten(["cat", "--json", out.to_str().unwrap(), "rows"]));
    assert_eq!(rows["elements"], serde_json::json!([0, 1, 2, 3]));
    let columns = succeeded_json(zten(["cat", "--json", out.to_str().unwrap(), "columns"]));
    assert_eq!(columns["elements"], serde_json::json!([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]));

    succeeded(folder.convert(&other_format("tiny.gguf"), &[]));
    let listed = succeeded_json(run("ls", &out, &["--json"])).to_string();
    for wanted in ["gguf.q4_0", "gguf.q6_k", "\"ggml_type\""] {
        assert!(listed.contains(wanted), "{wanted} is not in {listed}");
    }
}

#[test]
fn files_of_every_generation_become_the_same_content() {
    for version in ["0.1.0", "1.0.2", "1.1.1", "1.2.0", "1.2.3"] {
        let mut files = 0;
        for entry in fs::read_dir(corpus_folder().join("accept").join(version)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension() != Some("zt".as_ref()) {
                continue;
            }
            for options in [&[][..], &["--zstd"]] {
                let folder = Folder::new();
                succeeded(folder.convert(&path, options));
                let out = folder.path("out.zt");
                let same = zten(["diff", "-q", path.to_str().unwrap(), out.to_str().unwrap()]);
                assert_eq!(succeeded(same), b"", "{}", path.display());
            }
            files += 1;
        }
        assert!(files > 0, "no files of {version}");
    }
}

/// Checks that files which can be converted to 1.2 keep their content when they are converted from 1.2 to 2 and back. If a file
/// cannot be written as 2, the message says so.
#[test]
fn files_are_converted_between_all_generations() {
    let mut files = 0;
    let folders =
        ["accept/0.1.0", "accept/1.1.1", "accept/1.2.0", "accept/1.2.3", "v2/accept", "v2/2.1"];
    for (folder, levels) in
        folders.iter().zip([[&[][..], &["--zstd"]], [&["--zstd"][..], &[]]].iter().cycle())
    {
        for entry in fs::read_dir(corpus_folder().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension() != Some("zt".as_ref()) {
                continue;
            }
            let folder = Folder::new();
            // The file is converted to 1.2, then to 2, then to 1.2 again.
            let name = |number: u8| folder.path(&format!("{number}.zt"));
            let to = |from: &Path, to: &Path, generation: &str, level: &[&str]| {
                let (from, to) = (from.to_str().unwrap(), to.to_str().unwrap());
                zten([&["convert", from, to, "--to", generation][..], level].concat())
            };
            if ended(&to(&path, &name(1), "1.2", levels[0])).0 != Some(0) {
                continue;
            }
            let other = to(&name(1), &name(2), "2", levels[1]);
            let (status, text, why) = ended(&other);
            if status != Some(0) {
                assert_eq!((status, text), (Some(2), ""), "{}: {why}", path.display());
                assert!(why.contains(" can be read, but not written: "), "{why}");
                continue;
            }
            assert!(text.contains(": written (2, "), "{text}");
            succeeded(zten(["check", "--manifest-only", name(2).to_str().unwrap()]));
            succeeded(to(&name(2), &name(3), "1.2", levels[0]));
            let same = zten(["diff", "-q", name(1).to_str().unwrap(), name(3).to_str().unwrap()]);
            assert_eq!(succeeded(same), b"", "{}", path.display());
            files += 1;
        }
    }
    assert!(files > 80, "{files}");
}

#[test]
fn the_canonical_form_does_not_depend_on_the_order() {
    let folder = Folder::new();
    let tensors = [("bb", 3_u8), ("a", 1), ("c", 2), ("aaaa", 4)];
    let mut forms = Vec::new();
    for turn in 0..tensors.len() {
        let path = folder.path("in.zt");
        let options = WriteOptions::default().checksum(Checksum::None);
        let mut writer = options.create(&path).unwrap();
        for (name, byte) in tensors.iter().cycle().skip(turn).take(tensors.len()) {
            writer.add(name, &[1], &[*byte]).unwrap();
        }
        writer.finish().unwrap();
        succeeded(folder.convert(&path, &["--canonical"]));
        forms.push(fs::read(folder.path("out.zt")).unwrap());
    }
    assert!(forms.iter().all(|form| *form == forms[0]));
}

#[test]
fn a_rejected_conversion_leaves_the_old_file() {
    let folder = Folder::new();
    fs::write(folder.path("out.zt"), b"what was there").unwrap();
    let whole = fs::read(other_format("types.safetensors")).unwrap();
    let cut = folder.path("cut.safetensors");
    fs::write(&cut, &whole[..whole.len() - 1]).unwrap();
    let text = folder.path("text.txt");
    fs::write(&text, b"no tensors at all").unwrap();
    let corpus = corpus_folder();
    let broken = [
        (cut, 1),
        (text, 3),
        (corpus.join("reject/blob-alignment--v12-72.zt"), 1),
        (corpus.join("reject/digest-mismatch--v01-crc32c-first-digit.zt"), 1),
    ];
    for (input, expected) in &broken {
        let output = folder.convert(input, &[]);
        let (status, out, complaint) = ended(&output);
        assert_eq!((status, out), (Some(*expected), ""), "{}: {complaint}", input.display());
        assert!(complaint.contains(input.to_str().unwrap()), "{complaint}");
        assert_eq!(fs::read(folder.path("out.zt")).unwrap(), b"what was there");
    }
    assert_eq!(folder.files(), ["cut.safetensors", "out.zt", "text.txt"]);
}

#[test]
fn a_type_that_cannot_be_held_is_named() {
    let folder = Folder::new();
    for dtype in ["F6_E3M2", "F6_E2M3"] {
        let file = safetensors::file([("odd one", dtype, [4], 3)], &[0; 3]);
        fs::write(folder.path("in.safetensors"), file).unwrap();
        let complaint = failed(folder.convert(&folder.path("in.safetensors"), &[]), 3);
        for wanted in [dtype, "odd one"] {
            assert!(complaint.contains(wanted), "{wanted} is not in {complaint}");
        }
        assert_eq!(folder.files(), ["in.safetensors"]);
    }
}

/// A file that `check` calls valid is converted, or the message names what the new file cannot hold, without calling the input
/// invalid.
#[test]
fn valid_files_are_not_rejected() {
    let mut left = Vec::new();
    for file in super::corpus::accepted() {
        if super::corpus::expected_rule(&file).is_some() {
            continue;
        }
        for options in [&[][..], &["--canonical"], &["--to", "2"]] {
            let folder = Folder::new();
            let output = folder.convert(&corpus_folder().join(&file), options);
            let (status, out, complaint) = ended(&output);
            if status == Some(0) {
                continue;
            }
            assert_eq!((status, out), (Some(2), ""), "{file}: {complaint}");
            assert!(complaint.contains(" can be read, but not written: "), "{complaint}");
            for blame in ["rule ", "invalid"] {
                assert!(!complaint.contains(blame), "{complaint}");
            }
            assert!(folder.files().is_empty());
            left.push((complaint.to_owned(), file.clone(), options.len()));
        }
    }
    for (file, canonical, wanted) in [
        (
            "unsupported-type--v11-on-complex64.zt",
            0,
            "1.2 writes the dtype as a `type`, and the component has another `type` in \"w\"/data\n",
        ),
        (
            "v12-ignored-map-with-duplicate-keys.zt",
            1,
            "an attribute with a duplicate key has no canonical form\n",
        ),
        ("depth-64-tags-in-v01-entry.zt", 0, "would be nested too deep in \"w\"\n"),
    ] {
        let found = left.iter().any(|(complaint, name, options)| {
            name.contains(file) && *options == canonical && complaint.ends_with(wanted)
        });
        assert!(found, "{file}: {left:#?}");
    }
}

/// Returns a GGUF file without tensors, whose key `k` is a float with the bits `bits`.
fn gguf(bits: u32) -> Vec<u8> {
    gguf::file(&[gguf::pair("k", 6, &bits.to_le_bytes())], &[], &[])
}

/// 1.2 keeps every bit of a NaN. Generation 2 and canonical files have only one NaN. The format of the input makes no difference.
#[test]
fn nans_become_canonical_where_the_form_requires_it() {
    let folder = Folder::new();
    let (path, again) = (folder.path("in.gguf"), folder.path("in.zt"));
    for (bits, cbor) in [
        (0x7fc0_0000_u32, &b"\xa1\x61k\xf9\x7e\x00"[..]),
        (0xffc0_0000, b"\xa1\x61k\xf9\xfe\x00"),
        (0x7f80_0001, b"\xa1\x61k\xfa\x7f\x80\x00\x01"),
    ] {
        let holds = |cbor: &[u8]| {
            let file = fs::read(folder.path("out.zt")).unwrap();
            file.windows(cbor.len()).any(|window| window == cbor)
        };
        fs::write(&path, gguf(bits)).unwrap();
        succeeded(folder.convert(&path, &[]));
        assert!(holds(cbor), "{bits:#x}");
        fs::rename(folder.path("out.zt"), &again).unwrap();
        succeeded(folder.convert(&again, &["--zstd"]));
        assert!(holds(cbor), "{bits:#x}");
        for options in [&["--canonical"][..], &["--to=2"], &["--to=2", "--canonical"]] {
            let mut written = Vec::new();
            for input in [&path, &again] {
                succeeded(folder.convert(input, options));
                assert!(holds(b"\xa1\x61k\xf9\x7e\x00"), "{bits:#x} {options:?}");
                succeeded(zten(["check", folder.path("out.zt").to_str().unwrap()]));
                written.push(fs::read(folder.path("out.zt")).unwrap());
            }
            assert_eq!(written[0], written[1], "{bits:#x} {options:?}");
        }
    }
}

/// Converts GGUF files with tensors of each type, with each set of options, and checks that every written file is valid and
/// that the expected number of files is written.
#[test]
fn blocks_of_every_type() {
    let folder = Folder::new();
    let path = folder.path("in.gguf");
    let mut rejected = Vec::new();
    let mut written = 0;
    for id in 0..100 {
        let data = vec![7; 256 * 3 * 8];
        // Rows of 256 elements are whole blocks of every type.
        let file = |length: usize| {
            let info = gguf::info("t", &[256, 3], id, 0);
            gguf::file(&[], &[info], &data[..length])
        };
        // The length of the data, which has three rows, determines the size of a block.
        let lengths = (1..=data.len()).filter(|length| length % 3 == 0);
        let Some(bytes) = lengths.map(file).find(|bytes| is_valid(bytes)) else { continue };
        fs::write(&path, bytes).unwrap();
        for options in OPTIONS {
            let output = folder.convert(&path, options);
            let (status, _, why) = ended(&output);
            if status == Some(0) {
                written += 1;
                let out = folder.path("out.zt");
                let canonical = options.contains(&"--canonical").then_some("--canonical");
                let check = ["check"].into_iter().chain(canonical);
                succeeded(zten(check.chain([out.to_str().unwrap()])));
                continue;
            }
            assert!(status == Some(2) && why.contains("2 of zTensor has no layout for "), "{why}");
            assert!(options.iter().any(|option| option.contains('2')), "{options:?}: {why}");
            let (_, name) = why.trim_end().rsplit_once("blocks of ").unwrap();
            rejected.push(name.to_owned());
        }
    }
    rejected.sort();
    rejected.dedup();
    assert_eq!(rejected, ["NVFP4", "Q1_0", "Q2_0", "TQ1_0", "TQ2_0"]);
    // There are eight types of plain elements and 26 types of blocks, five of which only 1.2 can hold.
    let (all, in_2) = (OPTIONS.len(), 3);
    assert_eq!(written, (8 + 26) * all - 5 * in_2);
}

fn is_valid(bytes: &[u8]) -> bool {
    // A tensor of an unknown type is unread, whatever its length is.
    let is_read = |tensor: zten::Tensor<'_>| !matches!(tensor.state(), zten::State::Unread(_));
    zten::Archive::from_bytes(bytes).is_ok_and(|archive| archive.tensors().all(is_read))
}

/// Converts files of 1.2 with an object of an unknown type. The type name `bool` would get a meaning in generation 2, so
/// this conversion is rejected. The canonical form of 1.2 keeps any name.
#[test]
fn an_unknown_type_stays_what_it_is_and_gets_no_meaning() {
    let folder = Folder::new();
    let written = |name: &str| {
        let path = folder.path(name);
        let mut writer = Writer::create(&path).unwrap();
        let unknown = ElementType::UnknownLogical(name, StorageType::U8);
        writer.add_object(&NewObject::dense("x", &[2], unknown), &[("data", &[0, 1])]).unwrap();
        writer.finish().unwrap();
        path
    };
    let [bool, later] = ["bool", "f4"].map(written);
    for options in [&["--to", "2"][..], &["--to", "2", "--zstd"], &["--to", "2", "--canonical"]] {
        let complaint = failed(folder.convert(&bool, options), 2);
        let wanted = ": the file can be read, but not written: the `type` is unknown, and would get \
                      a meaning in 2 in \"x\"/data\n";
        assert!(complaint.ends_with(wanted), "{complaint}");
        assert_eq!(folder.files(), ["bool", "f4"]);
    }
    for (path, name) in [(bool, "bool"), (later, "f4")] {
        succeeded(folder.convert(&path, &["--canonical"]));
        let listed = succeeded_json(run("ls", &folder.path("out.zt"), &["--json"]));
        assert!(listed["objects"].to_string().contains(name), "{listed}");
    }
}

/// Attributes of an object that is not written do not prevent the conversion.
#[test]
fn attributes_of_objects_that_are_left_out_stop_nothing() {
    let folder = Folder::new();
    let path = folder.path("in.zt");
    let mut writer = Writer::create(&path).unwrap();
    let units = BTreeMap::from([("unit", "m")]);
    let units = Encoded::from_value(&units).unwrap();
    let noted = NewObject::dense("noted", &[2], DType::U8).attributes(&units);
    writer.add_object(&noted, &[("data", &[0, 1])]).unwrap();
    writer.add_object(&NewObject::dense("plain", &[1], DType::U8), &[("data", &[7])]).unwrap();
    writer.finish().unwrap();
    let out = folder.path("out.safetensors");
    let convert = |only: &str| run("convert", &path, &[out.to_str().unwrap(), "--only", only]);
    let complaint = failed(convert("noted"), 2);
    assert!(complaint.contains("noted") && complaint.contains("attributes"), "{complaint}");
    assert!(!out.exists());
    succeeded(convert("plain"));
}

#[test]
fn wrong_usage() {
    let folder = Folder::new();
    let input = other_format("columns.npy");
    for options in [
        &["--zstd", "--canonical"][..],
        &["--canonical", "--digest", "none"],
        &["--canonical", "--digest", "crc32c"],
        &["--zstd=0"],
        &["--zstd", "6"],
        &["--digest", "md5"],
        &["--digest", "xxh3"],
        &["--to", "2", "--digest", "crc32c"],
        &["--to", "2", "--canonical", "--digest", "sha256"],
        &["--canonical", "--digest", "xxh3"],
        &["--to", "2", "--canonical", "--zstd"],
        &["--to", "1.1"],
        &["--to", "3"],
    ] {
        failed(folder.convert(&input, options), 2);
    }
    // The output is a folder, the output is in a folder that does not exist, the input does not
    // exist, or the input is a folder.
    let cases = [
        (input.clone(), folder.0.path().to_owned()),
        (input, folder.path("nowhere/out.zt")),
        (folder.path("none.npy"), folder.path("out.zt")),
        (folder.0.path().to_owned(), folder.path("out.zt")),
    ];
    for (from, to) in cases {
        let output = zten(["convert", from.to_str().unwrap(), to.to_str().unwrap()]);
        assert_eq!(ended(&output).0, Some(2), "{} to {}", from.display(), to.display());
    }
    assert_eq!(folder.files(), [""; 0]);
}

#[test]
fn standard_output_gets_the_whole_file_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let input = corpus_folder().join("accept/1.2.3/zstd.zt");
    let input = input.to_str().unwrap();
    for mode in [&[][..], &["--no-sandbox"]] {
        for (options, name) in [
            (&["--format=safetensors"][..], "x.safetensors"),
            (&["--to=2"], "x.zt"),
            (&["--format=npz"], "x.npz"),
        ] {
            let path = folder.path().join(name);
            let to_file = &options[options.len() - usize::from(options[0] == "--to=2")..];
            let path = path.to_str().unwrap();
            succeeded_text(zten([&["convert", input, path, "--force"], to_file].concat()));
            let output = zten([&["convert", input, "-"], options, mode].concat());
            assert!(succeeded(output) == fs::read(path).unwrap(), "{name}");
        }
        let bad = corpus_folder().join("reject/bool-value--v12-2-first.zt");
        let args = ["convert", bad.to_str().unwrap(), "-", "--format=npz"];
        let output = zten([&args, mode].concat());
        assert_eq!((output.status.code(), ended(&output).1), (Some(1), ""));
    }
    for (options, wanted) in [
        (&["-"][..], "standard output has no suffix: choose a format with --format"),
        (&["-", "--to=2", "--shard-size=1GB"], "--shard-size writes several files"),
        (&["x.npz", "--format=zt"], "--format names another format than the suffix of OUT"),
    ] {
        let complaint = failed(zten([&["convert", input], options].concat()), 2);
        assert!(complaint.contains(wanted), "{complaint}");
    }
}

#[cfg(unix)]
#[test]
fn a_terminal_gets_no_file() {
    use crate::terminal::{On, run};
    let shown = run(On::Both, &[], ["convert", "accept/1.2.3/zstd.zt", "-", "--to=2"]);
    let wanted = "standard output is a terminal: redirect it, or name a file\n";
    assert_eq!(shown.terminal, wanted);
}

#[test]
fn bytes_after_the_last_tensor_are_left_out_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.zt");
    let corpus = corpus_folder().join("other");
    for name in
        ["safetensors/accept/types.safetensors", "gguf/accept/tiny.gguf", "gguf/accept/padded.gguf"]
    {
        let whole = corpus.join(name);
        let long = folder.path().join(whole.file_name().unwrap());
        fs::write(&long, [fs::read(&whole).unwrap(), vec![7; 100]].concat()).unwrap();
        let (long, out) = (long.to_str().unwrap(), out.to_str().unwrap());
        let complaint = failed(zten(["convert", long, out, "--force"]), 1);
        assert!(complaint.contains("--trim"), "{complaint}");
        for mode in [&[][..], &["--no-sandbox"]] {
            let args = ["convert", "--trim", "--force", long, out];
            let text = succeeded_text(zten([&args, mode].concat()));
            assert!(text.contains("\n  left out 1"), "{text}");
            let same = zten(["diff", whole.to_str().unwrap(), out]);
            assert_eq!(same.status.code(), Some(0), "{same:?}");
        }
        // A file without bytes after its last tensor is converted as without the option.
        let text =
            succeeded_text(zten(["convert", "--trim", "--force", whole.to_str().unwrap(), out]));
        assert!(!text.contains("left out 1"), "{text}");
    }
}
