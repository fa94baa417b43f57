//! Tests of the options of `zten convert` that select objects and change their names, types and attributes.

use std::fs;
use std::path::{Path, PathBuf};

use zten::write::{NewObject, WriteOptions, Writer};
use zten::{Archive, DType, Generation};

use super::{corpus_folder, ended, succeeded_text, zten};

const FORMATS: [&str; 4] = ["1.zt", "2.zt", "x.safetensors", "x.npz"];

/// Returns a folder with a file that every format except `.npy` can represent, in each of these formats.
fn files() -> (tempfile::TempDir, impl Fn(&str) -> PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_owned();
    let path = move |name: &str| at.join(name);
    let mut writer = Writer::new(Vec::new(), &WriteOptions::default()).unwrap();
    let halves = [0x3c00_u16, 0x7bff, 0xfc00].map(u16::to_le_bytes);
    for name in ["model.b.weight", "model.a.weight", "model.a.bias"] {
        writer.add(name, &[2], &[1.0_f32 + 2_f32.powi(-11), -2.5]).unwrap();
    }
    let half = NewObject::dense("half", &[3], DType::F16);
    writer.add_object(&half, &[("data", halves.as_flattened())]).unwrap();
    writer.add("ids", &[2], &[7_i64, -1]).unwrap();
    fs::write(path("1.zt"), writer.finish().unwrap()).unwrap();
    for (to, options) in [("2.zt", &["--to=2"][..]), ("x.safetensors", &[]), ("x.npz", &[])] {
        convert(&path("1.zt"), &path(to), options);
    }
    (folder, path)
}

fn convert(from: &Path, to: &Path, options: &[&str]) -> String {
    let args = ["convert", "--force", from.to_str().unwrap(), to.to_str().unwrap()];
    succeeded_text(zten(args.iter().chain(options)))
}

/// Returns the exit status and the message.
fn rejected(from: &Path, to: &Path, options: &[&str]) -> (i32, String) {
    let args = ["convert", "--force", from.to_str().unwrap(), to.to_str().unwrap()];
    let output = zten(args.iter().chain(options));
    let (status, out, why) = ended(&output);
    assert_eq!(out, "");
    (status.unwrap(), why.to_owned())
}

/// Verifies a file, and returns the names, types and elements of its tensors, sorted by name.
fn content(path: &Path) -> Vec<(String, DType, Vec<u8>)> {
    let archive = zten::open(path).unwrap();
    archive.verify().unwrap();
    let mut all: Vec<_> = archive
        .tensors()
        .map(|own| {
            let bytes = own.component("data").unwrap().read().unwrap().to_vec();
            (own.name().to_owned(), own.dtype(), bytes)
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn names(path: &Path) -> Vec<String> {
    content(path).into_iter().map(|(name, ..)| name).collect()
}

#[test]
fn objects_are_selected_and_renamed_from_and_to_every_format() {
    let (_folder, path) = files();
    let options = ["--only", "model.*", "--only=ids", "--except=*.bias"];
    let rename = ["--rename", r"s/^model\.(.)/\1/", "--rename=ids=tokens"];
    let old = content(&path("1.zt"));
    for from in FORMATS {
        for (to, more) in [
            ("out.zt", &[][..]),
            ("out.zt", &["--canonical"]),
            ("out.zt", &["--to=2"]),
            ("out.zt", &["--to=2", "--canonical"]),
            ("out.zt", &["--zstd", "--no-sandbox"]),
            ("out.safetensors", &[]),
            ("out.npz", &[]),
        ] {
            let (from, to) = (path(from), path(to));
            let text = convert(&from, &to, &[&options[..], &rename, more].concat());
            assert!(text.contains(", 3 tensors, "), "{text}");
            let new = content(&to);
            assert_eq!(names(&to), ["a.weight", "b.weight", "tokens"]);
            for ((_, dtype, bytes), at) in new.iter().zip([3, 4, 1]) {
                assert_eq!((dtype, bytes), (&old[at].1, &old[at].2));
            }
            if more.contains(&"--canonical") {
                zten::OpenOptions::default()
                    .canonical()
                    .from_bytes(fs::read(&to).unwrap())
                    .unwrap()
                    .verify()
                    .unwrap();
            }
        }
    }
    convert(&path("1.zt"), &path("one.npy"), &["--only=ids"]);
    assert_eq!(names(&path("one.npy")), ["one"]);
    assert_eq!(convert(&path("1.zt"), &path("out.zt"), &["-q"]), "");
}

#[test]
fn names_that_collide_or_are_not_there_are_told() {
    let (_folder, path) = files();
    for (options, wanted) in [
        (
            &["--rename=s/(a|b).weight/w/"][..],
            r#"two tensors would be named "model.w": "model.b.weight" and "model.a.weight""#,
        ),
        (&["--rename=ids=half"], r#"two tensors would be named "half": "half" and "ids""#),
        (&["--only=x*"], r#"--only: no tensor matches the pattern "x*""#),
        (&["--only=idz"], r#"the pattern "idz"; did you mean "ids"?"#),
        (&["--rename=idz=x"], "did you mean \"ids\"?"),
        (
            &["--except=idz"],
            r#"--except: no tensor matches the pattern "idz"; did you mean "ids"?"#,
        ),
        (&["--except=ids", "--except=x*"], r#"--except: no tensor matches the pattern "x*""#),
        (
            &["--rename=s/^modle/m/"],
            r#"--rename: no selected tensor has a name that "^modle" matches"#,
        ),
        (
            &["--only=ids", "--rename=s/^i/j/", "--rename=s/^model/m/"],
            r#"--rename: no selected tensor has a name that "^model" matches"#,
        ),
        (
            &["--rename=ids=x", "--except=ids"],
            r#"the tensor "ids", which --rename names, is not selected"#,
        ),
    ] {
        for to in ["out.zt", "out.npz"] {
            let (status, why) = rejected(&path("1.zt"), &path(to), options);
            assert!(status == 2 && why.contains(wanted), "{why}");
            assert!(!path(to).exists());
        }
    }
    // A pattern of `--except` may match only tensors that `--only` leaves out.
    convert(&path("1.zt"), &path("out.zt"), &["--only=ids", "--except=model.*"]);
    assert_eq!(names(&path("out.zt")), ["ids"]);
    // A file without tensors has nothing that could match.
    fs::copy(corpus_folder().join("accept/1.2.3/empty.zt"), path("empty.zt")).unwrap();
    convert(&path("empty.zt"), &path("out.zt"), &["--except=x", "--rename=s/x/y/"]);
    // A tensor may get the name of another tensor if that tensor is renamed, too.
    convert(&path("1.zt"), &path("out.zt"), &["--rename=s/^half$/x/", "--rename=ids=half"]);
    assert_eq!(content(&path("out.zt"))[0].1, DType::I64);
    let (status, why) = rejected(&path("1.zt"), &path("out.zt"), &["--rename=s/(/x/"]);
    assert!(status == 2 && why.contains("invalid regular expression"), "{why}");
}

#[test]
fn floats_become_those_of_another_type() {
    let (_folder, path) = files();
    for from in FORMATS {
        for (to, more) in [
            ("out.zt", &[][..]),
            ("out.zt", &["--to=2", "--canonical"]),
            ("out.zt", &["--zstd"]),
            ("out.safetensors", &[]),
            ("out.npz", &[]),
        ] {
            convert(&path(from), &path(to), &[&["--dtype", "f16"], more].concat());
            for (name, dtype, bytes) in content(&path(to)) {
                let (wanted, elements) = match name.as_str() {
                    "ids" => (DType::I64, &[7, 0, 0, 0, 0, 0, 0, 0, 255, 255][..]),
                    "half" => (DType::F16, &[0, 0x3c, 0xff, 0x7b, 0, 0xfc][..]),
                    // A value halfway between two numbers is rounded to the even one.
                    _ => (DType::F16, &[0, 0x3c, 0, 0xc1][..]),
                };
                assert!(dtype == wanted && bytes.starts_with(elements), "{name} {bytes:?}");
            }
        }
        convert(&path(from), &path("out.zt"), &["--dtype=f64"]);
        assert_eq!(content(&path("out.zt"))[0].2[8..16], 65504_f64.to_le_bytes());
    }
}

#[test]
fn numbers_that_are_too_large_are_an_error_or_saturate() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut writer = Writer::new(Vec::new(), &WriteOptions::default()).unwrap();
    writer.add("fine", &[1], &[1.0_f32]).unwrap();
    writer.add("large", &[2], &[1.0_f32, -1e30]).unwrap();
    fs::write(path("in.zt"), writer.finish().unwrap()).unwrap();
    for to in ["out.zt", "out.safetensors"] {
        let (status, why) = rejected(&path("in.zt"), &path(to), &["--dtype=f16"]);
        let sentence = "\"large\" can be read, but not written: -1.0000000150474662e30 is outside the range of f16 (--saturate writes the nearest number in the range)\n";
        assert!(status == 2 && why.contains(sentence), "{why}");
        assert!(!path(to).exists());
        convert(&path("in.zt"), &path(to), &["--dtype=f16", "--saturate"]);
        assert_eq!(content(&path(to))[1].2, [0, 0x3c, 0xff, 0xfb]);
        convert(&path("in.zt"), &path(to), &["--dtype=bf16"]);
    }
}

/// Checks that a dtype can be written with the names of PyTorch, safetensors and others, and a size with decimal and binary
/// units.
#[test]
fn dtypes_and_sizes_are_written_as_elsewhere() {
    let (_folder, path) = files();
    convert(&path("1.zt"), &path("plain.zt"), &["--dtype=bf16"]);
    for dtype in ["BF16", "bfloat16", "BFloat16"] {
        convert(&path("1.zt"), &path("named.zt"), &["--dtype", dtype]);
        assert_eq!(fs::read(path("named.zt")).unwrap(), fs::read(path("plain.zt")).unwrap());
    }
    let blocks = corpus_folder().join("other/gguf/accept/blocks.gguf");
    convert(&blocks, &path("halves.zt"), &["--dequantize=FP16"]);
    let halves = fs::read(path("halves.zt")).unwrap();
    // The type may be the next argument, as the level of --zstd may.
    convert(&blocks, &path("halves.zt"), &["--dequantize", "FP16"]);
    assert!(fs::read(path("halves.zt")).unwrap() == halves);
    assert!(content(&path("halves.zt")).iter().all(|(_, dtype, _)| *dtype == DType::F16));
    for (option, wanted) in [
        ("--dtype=f8_e5m2", "expected f16, bf16, f32 or f64"),
        ("--dequantize=fp64", "expected f32, f16 or bf16"),
        ("--limit=decoded=5XB", "invalid size \"5XB\""),
    ] {
        let (status, why) = rejected(&path("1.zt"), &path("out.zt"), &[option]);
        assert!(status == 2 && why.contains(wanted), "{why}");
    }
    for size in ["--shard-size=5GB", "--shard-size=8gib", "--limit=decoded=5GB"] {
        convert(&path("1.zt"), &path("sized.safetensors"), &[size]);
    }
}

#[test]
fn attributes_are_set_and_dropped() {
    let (_folder, path) = files();
    let read = |name: &str| -> Vec<(String, String)> {
        let archive = zten::open(path(name)).unwrap();
        archive
            .attributes()
            .map(|(key, item)| (key.to_owned(), format!("{:?}", item.value())))
            .collect()
    };
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    for to in ["--to=1.2", "--to=2"] {
        convert(&path("1.zt"), &path("out.zt"), &[to, "--set", "a=[1]", "--set=b=\"x\""]);
        assert_eq!(read("out.zt")[1], pair("b", "Text(\"x\")"));
        convert(&path("out.zt"), &path("next.zt"), &[to, "--set=a=\"y\""]);
        assert_eq!(read("next.zt"), [pair("a", "Text(\"y\")"), pair("b", "Text(\"x\")")]);
        convert(&path("next.zt"), &path("out.safetensors"), &["--set=c=\"z\""]);
        assert_eq!(read("out.safetensors").len(), 3);
        convert(&path("next.zt"), &path("bare.zt"), &["--drop-attributes", "--canonical", to]);
        assert_eq!(read("bare.zt"), []);
        convert(&path("next.zt"), &path("out.npz"), &["--drop-attributes"]);
    }
    // A value that is not JSON is taken as text.
    convert(&path("1.zt"), &path("bare.zt"), &["--drop-attributes", "--set=author=me & you"]);
    assert_eq!(read("bare.zt"), [pair("author", "Text(\"me & you\")")]);
    convert(&path("1.zt"), &path("out.safetensors"), &["--set=n=1", "--drop-attributes"]);
    assert_eq!(read("out.safetensors"), [pair("n", "Uint(1)")]);
    let (status, why) = rejected(&path("1.zt"), &path("out.zt"), &["--set=n"]);
    assert!(status == 2 && why.contains("expected KEY=VALUE"), "{why}");
    // `--drop-attributes` keeps the attributes of an object whose layout needs them to decode its components.
    let mx = corpus_folder().join("v2/accept/mx.zt");
    convert(&mx, &path("mx.zt"), &["--drop-attributes", "--to=2"]);
    let archive = Archive::from_bytes(fs::read(path("mx.zt")).unwrap()).unwrap();
    assert_eq!(archive.generation(), Some(Generation::V2));
    assert!(archive.tensors().any(|own| own.has_attributes()));
}

/// Checks that 50,000 objects are filtered and renamed in the memory that the sandbox allows, which takes no quadratic time.
#[test]
fn many_objects_are_renamed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut writer = Writer::new(Vec::new(), &WriteOptions::default()).unwrap();
    for at in 0..50_000 {
        writer.add(&format!("model.{at:x}"), &[1], &[1_u8]).unwrap();
    }
    fs::write(path("in.zt"), writer.finish().unwrap()).unwrap();
    for to in ["out.zt", "out.safetensors"] {
        let options = ["--rename", "s/model/m/", "--except", "*f", "--require-sandbox"];
        let text = convert(
            &path("in.zt"),
            &path(to),
            if crate::emulated() { &options[..4] } else { &options },
        );
        assert!(text.contains("46875 tensors"), "{text}");
    }
}
