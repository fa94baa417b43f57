//! Tests that read exported files again: with the readers of this project, and with those of other programs.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};

use ::safetensors::SafeTensors;
use clap::Parser as _;
use zip::ZipArchive;
use zten::attributes::Item;
use zten::json::value::Json;
use zten::write::{Encoded, NewObject, WriteOptions, Writer};
use zten::{Archive, DType, Layout, Tensor};
use zten_testkit::{accepted, accepted_v2};

use crate::args::Call;
use crate::args::{Args, Command};
use crate::commands::Create as _;
use crate::commands::convert::plan::Plan;
use crate::commands::convert::write;
use crate::input::file::Opened;
use crate::run::Outputs;

/// A temporary folder for the files of one test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Converts the file `from` to a file with `suffix`, and returns the bytes that were written, or the error.
    fn export(&self, from: &Path, suffix: &str) -> Result<Vec<u8>, String> {
        self.export_with(from, suffix, &[])
    }

    /// Converts the file `from` with `options`, and returns the bytes that were written, or the error.
    fn export_with(&self, from: &Path, suffix: &str, options: &[&str]) -> Result<Vec<u8>, String> {
        let to = self.path(&format!("out.{suffix}"));
        let line = ["zten", "convert", "--force", from.to_str().unwrap(), to.to_str().unwrap()];
        let line = line.iter().chain(options);
        let Command::Call(call) = Args::parse_from(line).command else { panic!("not that") };
        let Call::Convert(args) = &call else { panic!("not that") };
        let plan = Plan::new(args).unwrap();
        let file = Opened::open(from, &args.strictness).unwrap();
        let written = write(args, file, &Outputs::of(&call), &plan);
        written.map_err(|problem| problem.to_string())?;
        Ok(fs::read(to).unwrap())
    }

    /// Writes a zTensor file of `objects`, converts it, and returns the bytes that were written, or the error.
    fn export_objects(
        &self,
        objects: &[(NewObject<'_>, &[u8])],
        attributes: Option<Vec<u8>>,
        suffix: &str,
    ) -> Result<Vec<u8>, String> {
        let mut writer = Writer::new(Vec::new(), &WriteOptions::default()).unwrap();
        if let Some(attributes) = attributes {
            writer.attributes_encoded(&Encoded::from_cbor(attributes)).unwrap();
        }
        for (object, data) in objects {
            writer.add_object(object, &[("data", data)]).unwrap();
        }
        let path = self.path("in.zt");
        fs::write(&path, writer.finish().unwrap()).unwrap();
        self.export(&path, suffix)
    }
}

/// Arrays by name: shape and bytes.
type Arrays = BTreeMap<String, (Vec<u64>, Vec<u8>)>;

/// Writes `bytes` to a file with `suffix`, and reads its arrays.
fn read(folder: &Folder, suffix: &str, bytes: &[u8]) -> Arrays {
    let path = folder.path(&format!("again.{suffix}"));
    fs::write(&path, bytes).unwrap();
    let archive = zten::open(&path).unwrap();
    arrays(archive.tensors(), |_| true).unwrap()
}

/// Returns the objects of an archive as arrays, or `None` if an object is no array: an array has the dense layout, one readable
/// component, no attributes, and a known type that `holds` accepts. The bytes of bools become 0 or 1.
fn arrays<'m>(
    objects: impl Iterator<Item = Tensor<'m>>,
    holds: impl Fn(DType) -> bool,
) -> Option<Arrays> {
    let mut arrays = Arrays::new();
    for object in objects {
        let mut components = object.components();
        let (Some(data), None) = (components.next(), components.next()) else { return None };
        let plain = object.layout() == Layout::Dense && !object.has_attributes();
        if !plain || data.dtype() == DType::Unknown || !holds(data.dtype()) {
            return None;
        }
        let mut bytes = data.read().ok()?.to_vec();
        if data.dtype() == DType::Bool {
            for byte in &mut bytes {
                *byte = u8::from(*byte != 0);
            }
        }
        arrays.insert(object.name().to_owned(), (object.shape().to_vec(), bytes));
    }
    Some(arrays)
}

const NUMPY_LACKS: [DType; 7] = [
    DType::BF16,
    DType::F8E4M3Fn,
    DType::F8E5M2,
    DType::F8E4M3Fnuz,
    DType::F8E5M2Fnuz,
    DType::F8E8M0,
    DType::F4E2M1,
];

fn by_the_crate(bytes: &[u8]) -> Arrays {
    let tensors = SafeTensors::deserialize(bytes).unwrap();
    let sides = |shape: &[usize]| shape.iter().map(|side| *side as u64).collect();
    tensors
        .iter()
        .map(|(name, t)| (name.to_owned(), (sides(t.shape()), t.data().to_vec())))
        .collect()
}

/// Every accepted zTensor file of the corpus is exported completely, or rejected with an error that names the obstacle.
#[test]
fn the_corpus_is_exported_or_named() {
    let (mut written, mut rejected) = ([0; 3], BTreeMap::<String, u32>::new());
    let folder = Folder::new();
    let path = folder.path("in.zt");
    for file in accepted().chain(accepted_v2()) {
        let name = &file.name;
        fs::write(&path, &file.bytes).unwrap();
        let Ok(archive) = Archive::from_bytes(file.bytes) else { continue };
        for (at, suffix) in ["safetensors", "npz", "npy"].into_iter().enumerate() {
            let is_safetensors = suffix == "safetensors";
            let lacks = if is_safetensors { &[DType::Complex128][..] } else { &NUMPY_LACKS };
            let held = arrays(archive.tensors(), |dtype| !lacks.contains(&dtype));
            let one = archive.len() == 1 || suffix != "npy";
            // Values that JSON cannot express are shown as objects with a key that begins with a dollar sign. Large integers
            // are shown in the same way, but are valid JSON numbers.
            let is_json = |(_, item): (_, Item<'_>)| {
                let text = serde_json::to_string(&Json(item)).unwrap();
                !text.replace("{\"$int\"", "").contains("{\"$")
            };
            let attributes = archive.attributes().all(|it| is_safetensors && is_json(it));
            let held = held.filter(|_| one && attributes && !archive.manifest().is_data_shard());
            match folder.export(&path, suffix) {
                Ok(bytes) => {
                    assert_eq!(file.opens_only, None, "{name}");
                    let held = held.unwrap_or_else(|| panic!("{name}: {suffix} cannot hold it"));
                    // Files with a type that generation 2 has added are compared by the `safetensors` crate alone, below.
                    let is_old = |dtype| !matches!(dtype, DType::F8E8M0 | DType::F4E2M1);
                    if arrays(archive.tensors(), is_old).is_some() {
                        let mut again = read(&folder, suffix, &bytes);
                        if suffix == "npy" {
                            let only = again.remove("again").unwrap();
                            again = held.keys().map(|name| (name.clone(), only.clone())).collect();
                        }
                        assert!(again == held, "{name}: {suffix}");
                    }
                    if is_safetensors {
                        assert!(by_the_crate(&bytes) == held, "{name}");
                    }
                    written[at] += 1;
                }
                Err(why) => {
                    let (_, sentence) = why.split_once(": ").unwrap();
                    let sentence = sentence.split_once("but not written: ");
                    match sentence {
                        Some((subject, sentence)) => {
                            let words: Vec<_> = sentence.split(' ').take(3).collect();
                            *rejected.entry(words.join(" ")).or_default() += 1;
                            let whole = sentence.contains("the attribute \"")
                                || sentence.contains("tensors; a .npy")
                                || sentence.contains("keys, and zten reads")
                                || sentence.contains("it is a data shard");
                            assert!(whole || subject.starts_with('"'), "{why}");
                            // These errors reject objects whose dtype the format can hold: because of the name, the
                            // shape, the number of metadata keys, or half a byte at the end.
                            let odd = [
                                "its name ",
                                "invalid name ",
                                "its metadata would have",
                                "its last element",
                                "dimensions",
                            ];
                            let odd = odd.iter().any(|odd| sentence.contains(odd));
                            assert!(odd || held.is_none(), "{name}: {why}");
                        }
                        None => {
                            assert!(
                                file.opens_only.is_some() && why.contains("unsupported-"),
                                "{why}"
                            );
                        }
                    }
                }
            }
        }
    }
    println!("{written:?} {rejected:#?}");
    assert!(written.iter().all(|files| *files > 50), "{written:?}");
}

fn dense<'a>(name: &'a str, shape: &'a [u64], dtype: DType) -> NewObject<'a> {
    NewObject::dense(name, shape, dtype)
}

/// Returns a CBOR map of one entry: the text `key`, and the encoded `value`.
fn attribute(key: &str, value: &[u8]) -> Vec<u8> {
    let length = u8::try_from(key.len()).unwrap();
    [&[0xa1, 0x60 | length], key.as_bytes(), value].concat()
}

/// Compares the exported bytes with those that the `safetensors` crate writes.
#[test]
fn safetensors_are_those_of_the_crate() {
    use ::safetensors::Dtype;
    use ::safetensors::tensor::TensorView;

    let folder = Folder::new();
    let objects = [
        (dense("b", &[2, 3], DType::I16), &[1; 12][..]),
        (dense("a", &[3], DType::I16), &[2; 6]),
        (dense("\u{7}\"\\ ä", &[], DType::Bool), &[1]),
        (dense("none", &[0, 7], DType::F64), &[]),
        (dense("wide", &[1], DType::U64), &[3; 8]),
        (dense("c", &[2], DType::Complex64), &[4; 16]),
        (dense("f", &[2], DType::F8E5M2), &[5; 2]),
    ];
    let views = [
        ("b", Dtype::I16, vec![2, 3]),
        ("a", Dtype::I16, vec![3]),
        ("\u{7}\"\\ ä", Dtype::BOOL, vec![]),
        ("none", Dtype::F64, vec![0, 7]),
        ("wide", Dtype::U64, vec![1]),
        ("c", Dtype::C64, vec![2]),
        ("f", Dtype::F8_E5M2, vec![2]),
    ];
    for text in [None, Some("v")] {
        let attributes = text.map(|text| attribute("k", &[&[0x61], text.as_bytes()].concat()));
        let bytes = folder.export_objects(&objects, attributes, "safetensors").unwrap();
        let metadata = text.map(|text| [("k".to_owned(), text.to_owned())].into());
        let views = views.iter().zip(&objects).map(|((name, dtype, shape), (_, data))| {
            (*name, TensorView::new(*dtype, shape.clone(), data).unwrap())
        });
        let wanted = ::safetensors::serialize(views, metadata).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&wanted));
    }
}

/// With `--align`, tensors whose lengths are multiples of the alignment begin at multiples of it, and all tensors at
/// multiples of their element size.
#[test]
fn tensors_are_aligned_by_their_order() {
    let folder = Folder::new();
    let objects = [
        (dense("odd", &[3], DType::U8), &[1; 3][..]),
        (dense("words", &[3], DType::F32), &[2; 12]),
        (dense("large", &[64], DType::U8), &[3; 64]),
        (dense("double", &[9], DType::F64), &[4; 72]),
        (dense("none", &[0], DType::F32), &[]),
        (dense("larger", &[64], DType::F16), &[5; 128]),
    ];
    let path = folder.path("in.zt");
    let mut writer = Writer::new(Vec::new(), &WriteOptions::default()).unwrap();
    for (object, data) in &objects {
        writer.add_object(object, &[("data", data)]).unwrap();
    }
    fs::write(&path, writer.finish().unwrap()).unwrap();
    let order = |options: &[&str]| {
        let bytes = folder.export_with(&path, "safetensors", options).unwrap();
        assert_eq!(by_the_crate(&bytes).len(), objects.len());
        fs::write(folder.path("again.safetensors"), bytes).unwrap();
        let archive = zten::open(folder.path("again.safetensors")).unwrap();
        let mut all: Vec<_> = archive
            .tensors()
            .map(|own| (own.component("data").unwrap().extent().offset(), own.name().to_owned()))
            .collect();
        all.sort();
        all
    };
    let aligned = order(&["--align=64"]);
    let offsets: Vec<_> = aligned.iter().map(|(at, name)| (name.as_str(), at % 64)).collect();
    let rest = [("double", 0), ("words", 8), ("odd", 20)];
    assert_eq!(offsets, [&[("larger", 0), ("none", 0), ("large", 0)][..], &rest].concat());
    assert_eq!(order(&["--align=1"]), order(&[]));
    assert!(order(&["--align=4096"]).iter().all(|(at, _)| at % 4096 < 320));
}

/// A third-party reader of archives finds every member, uncompressed and with its content.
#[test]
fn archives_are_read_by_a_third_party_reader() {
    let folder = Folder::new();
    let long = "x".repeat(60_000);
    let objects = [
        (dense("layer/0.weight", &[2, 3], DType::I16), &[1; 12][..]),
        (dense("重み", &[3], DType::F16), &[2; 6]),
        (dense(&long, &[], DType::Bool), &[1]),
        (dense("none", &[0, 7], DType::F64), &[]),
        (dense("c", &[1], DType::Complex128), &[4; 16]),
    ];
    let bytes = folder.export_objects(&objects, None, "npz").unwrap();
    let mut archive = ZipArchive::new(Cursor::new(&bytes)).unwrap();
    assert_eq!(archive.len(), objects.len());
    let names = ["layer/0.weight", "重み", &long, "none", "c"];
    for (at, (_, data)) in objects.iter().enumerate() {
        let mut member = archive.by_index(at).unwrap();
        assert_eq!(member.name().unwrap(), format!("{}.npy", names[at]));
        assert_eq!(member.compression(), zip::CompressionMethod::Stored);
        let mut content = Vec::new();
        member.read_to_end(&mut content).unwrap();
        assert!(content.starts_with(b"\x93NUMPY\x01\0") && content.ends_with(data));
        assert_eq!((content.len() - data.len()) % 64, 0);
        let alone = folder.export_objects(&objects[at..=at], None, "npy").unwrap();
        assert_eq!(alone, content);
    }
    assert_eq!(read(&folder, "npz", &bytes).len(), objects.len());
    let empty = folder.export_objects(&[], None, "npz").unwrap();
    assert_eq!(ZipArchive::new(Cursor::new(&empty)).unwrap().len(), 0);
}

/// Exports archives with one member fewer than 65,535, with as many, and with one more. The end record of a ZIP archive counts
/// members in 16 bits, and 65,535 means there that the ZIP64 end record has the number.
#[test]
fn an_archive_of_many_members() {
    let folder = Folder::new();
    let names: Vec<_> = (0..0x1_0000).map(|at| format!("{at:x}")).collect();
    let objects: Vec<_> =
        names.iter().map(|name| (dense(name, &[1], DType::U8), &[7][..])).collect();
    for count in [0xfffe, 0xffff, 0x1_0000] {
        let bytes = folder.export_objects(&objects[..count], None, "npz").unwrap();
        let mut archive = ZipArchive::new(Cursor::new(&bytes)).unwrap();
        assert_eq!(archive.len(), count);
        let mut content = Vec::new();
        archive.by_index(count - 1).unwrap().read_to_end(&mut content).unwrap();
        assert_eq!(content.last(), Some(&7));
        assert_eq!(read(&folder, "npz", &bytes).len(), count);
    }
}

#[test]
fn objects_that_the_format_cannot_hold_are_named() {
    let folder = Folder::new();
    let one = |name| [(dense(name, &[1], DType::U8), &[7][..])];
    let rejected = |objects: &[_], attributes, suffix: &str, wanted: &str| {
        let why = folder.export_objects(objects, attributes, suffix).unwrap_err();
        assert!(why.contains(wanted), "{why}");
        assert!(!folder.path(&format!("out.{suffix}")).exists());
    };
    for (value, what) in [
        (&b"\x41\xff"[..], "bytes"),
        (b"\xf9\x7c\x00", "a number that is not finite"),
        (b"\x81\xc1\x00", "a CBOR tag"),
        (b"\xa1\x01\x02", "a map with a key that is not text"),
        (b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff", "an integer below -9223372036854775808"),
    ] {
        let wanted = format!("the attribute \"n\" holds {what}, and the metadata");
        rejected(&one("x"), Some(attribute("n", value)), "safetensors", &wanted);
    }
    let own = Some(attribute("zten.json-keys", b"\x61v"));
    rejected(&one("x"), own, "safetensors", "the attribute \"zten.json-keys\" has the key");
    for suffix in ["npz", "npy"] {
        let text = Some(attribute("k", b"\x61v"));
        rejected(
            &one("x"),
            text,
            suffix,
            &format!("the attribute \"k\" cannot be written to a .{suffix} file"),
        );
        let bf16 = [(dense("half", &[1], DType::BF16), &[0, 0][..])];
        rejected(
            &bf16,
            None,
            suffix,
            &format!(
                "\"half\" can be read, but not written: a .{suffix} file cannot hold the type bf16"
            ),
        );
    }
    rejected(&one("__metadata__"), None, "safetensors", "of that name");
    for name in ["../x", "/x", "a\\b", "a/../b", "x.npy", ""] {
        rejected(
            &one(name),
            None,
            "npz",
            if name == "x.npy" { "its name " } else { "invalid name " },
        );
        // An object of this name can be exported to safetensors.
        folder.export_objects(&one(name), None, "safetensors").unwrap();
        fs::remove_file(folder.path("out.safetensors")).unwrap();
    }
    let two = [one("a"), one("b")].concat();
    rejected(&two, None, "npy", "it has 2 tensors; a .npy file holds exactly one");
    rejected(&[], None, "npy", "it has 0 tensors");
    let sides = [1 << 32, 1 << 32, 0];
    for (suffix, wanted) in [
        ("safetensors", "exceeds 64 bits"),
        ("npz", "does not fit in 63 bits, as NumPy requires"),
        ("npy", "does not fit in 63 bits"),
    ] {
        rejected(&[(dense("wide", &sides, DType::U8), &[][..])], None, suffix, wanted);
    }
    let complex = [(dense("c", &[1], DType::Complex128), &[0; 16][..])];
    rejected(&complex, None, "safetensors", "cannot hold the type complex128");
    let of_data = dense("x", &[1], DType::U8);
    let attributes = Encoded::from_cbor(attribute("k", b"\x61v"));
    let with = [(of_data.attributes(&attributes), &[7][..])];
    rejected(
        &with,
        None,
        "safetensors",
        "\"x\" can be read, but not written: it has attributes, but only attributes of the file can be written",
    );
}

/// A file that another process creates at OUT during the conversion stays, unless `--force` is given.
#[test]
fn a_file_that_appears_meanwhile_is_replaced_only_by_force() {
    let folder = Folder::new();
    let (to, from) = (folder.path("out.zt"), folder.path("in.zt"));
    for force in [&[][..], &["--force"]] {
        let line = ["zten", "convert", from.to_str().unwrap(), to.to_str().unwrap()];
        let line = line.iter().chain(force);
        let Command::Call(call) = Args::parse_from(line).command else { panic!("not that") };
        let _ = fs::remove_file(&to);
        let outputs = Outputs::of(&call);
        outputs.create(0, 0).unwrap();
        fs::write(&to, "there").unwrap();
        let published = outputs.publish().map_err(|problem| problem.to_string());
        let left = fs::read_to_string(&to).unwrap();
        match force {
            [] => {
                assert!(published.unwrap_err().contains("--force replaces it"));
                assert_eq!(left, "there");
            }
            _ => assert_eq!((published, left.as_str()), (Ok(()), "")),
        }
    }
}
