//! Tests of the formats, with files that are made here, files that other programs wrote, and damaged forms of both.

mod archive;
mod batter;
mod gguf;
mod index;
mod memory;
mod npy;
mod npz;
mod real;
mod recognize;
mod safetensors;
mod torch;
mod zip;

use alloc::format;
use alloc::string::String;
use alloc::string::ToString as _;
use alloc::vec::Vec;
use std::fs;
use std::path::{Path, PathBuf};

use crate::archive::Archive;
use crate::error::Error;
use crate::limits::{Limits, OpenOptions};

use super::START;
use super::kind::FormatDType;

use archive::read;

/// A tensor that has been read: its name, shape, element type and bytes.
type Read = (String, Vec<u64>, FormatDType, Vec<u8>);

/// Opens `bytes` as an archive with `limits`.
fn open_with(name: &str, bytes: &[u8], limits: &Limits) -> Result<(), Error> {
    let options = OpenOptions::default().limits(*limits);
    let length = u64::try_from(bytes.len()).unwrap();
    options.open_named(archive::Noted::new(bytes), length, Path::new(name)).map(drop)
}

/// Returns the only tensor of a file.
fn single(name: &str, bytes: &[u8]) -> Read {
    let (_, mut tensors) = read(name, bytes).unwrap();
    assert_eq!(tensors.len(), 1);
    tensors.remove(0)
}

/// Returns the message with which opening or reading a file fails.
fn rejection(name: &str, bytes: &[u8]) -> String {
    let error = read(name, bytes).expect_err("the file is read without a complaint");
    assert!(error.is_rejection(), "{error}");
    brief(&error)
}

/// Formats `error` as `"file": "tensor": sentence at byte 0x0`, without a name that the sentence already begins with.
pub(super) fn brief(error: &Error) -> String {
    let tensor = error.tensor().filter(|_| !error.names_its_tensor());
    let file = error.file().filter(|_| !error.names_its_tensor() || error.tensor().is_some());
    let quoted = |name: Option<&str>| name.map_or_else(String::new, |name| format!("{name:?}: "));
    let offset = error.offset().map(|offset| format!(" at byte {offset:#x}"));
    format!("{}{}{}{}", quoted(file), quoted(tensor), error.sentence(), offset.unwrap_or_default())
}

/// Returns the bytes of a file in the corpus that another program wrote.
fn data(name: &str) -> Vec<u8> {
    let (_, format) = name.rsplit_once('.').unwrap();
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus/other");
    let format = if format == "pt" { "torch" } else { format };
    fs::read(corpus.join(format).join("accept").join(name)).unwrap()
}

/// Opens the file at `path`, as `zten::open` does.
fn open(path: &Path) -> Result<Archive, Error> {
    super::open_path(path, &OpenOptions::default())
}

#[test]
fn the_content_decides_and_then_the_name() {
    let array = npy::file("<i4", false, "(1,)", &[1, 2, 3, 4]);
    assert_eq!(single("misnamed.gguf", &array).0, "misnamed");
    let tensor = r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;
    assert_eq!(single("x", &safetensors::file(tensor, &[7])).3, [7]);
    for (name, why) in [
        ("x.npy", "the magic of .npy files at byte 0x0"),
        ("x.NPZ", "the magic of .npz files"),
        ("x.gguf", "the magic of .gguf files"),
        ("x.safetensors", "the name is that of a safetensors file, but this is text"),
        ("x.bin", "this is text, not a tensor file that zten knows"),
        ("npy", "this is text, not a tensor file that zten knows"),
    ] {
        let sentence = rejection(name, b"something that is not any of them");
        assert!(sentence.contains(why), "{name}: {sentence}");
    }
    for (name, bytes, why) in [
        ("x.safetensors", &b"\xfe\xdc\xba\x98\0\x01\x02\x03\x04"[..], "header length"),
        ("x.bin", b"\xfe\xdc\xba\x98", "this is not a tensor file that zten knows at byte 0x0"),
        // The magic number of zTensor is followed by a wrong version, or is missing: only a file whose name ends in `.zt`
        // is taken for a zTensor file, and rejected by its parser.
        ("x.ZT", b"\xfe\xdc\xba\x98\0\x01\x02\x03", "zTensor"),
        ("x.zt", b"text instead", "zTensor"),
        (
            "x.zt",
            b"\x1f\x8b\x08\0",
            "this file is compressed with gzip, and zten does not decompress it",
        ),
        ("x", b"", "the file is empty"),
        ("x.safetensors", b"", "the file is empty"),
        ("x.gguf", b"", "the file is empty"),
    ] {
        let sentence = rejection(name, bytes);
        assert!(sentence.contains(why), "{name}: {sentence}");
    }
}

/// Checks that the error for a duplicate name has the name, and the offset of the second tensor's description.
#[test]
fn duplicate_names_are_reported_at_the_second_tensor() {
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus/other");
    for (file, name, description) in [
        ("safetensors/reject/safetensors-duplicate-name--name.safetensors", "a", &b"\"a\""[..]),
        ("safetensors/reject/safetensors-duplicate-name--escaped.safetensors", "a", b"\"\\u0061"),
        ("safetensors/reject/safetensors-duplicate-name--apart.safetensors", "a", b"\"a\""),
        ("gguf/reject/gguf-duplicate-name--name.gguf", "a", b"\x01\0\0\0\0\0\0\0a"),
        ("npz/reject/npz-duplicate-name--two.npz", "a", b"PK\x01\x02"),
        // The offset is that of the instruction that makes the tensor, not that of its arguments.
        ("torch/reject/torch-duplicate-name--dots.pt", "a.b", b"Ruu."),
    ] {
        let bytes = fs::read(corpus.join(file)).unwrap();
        let at = bytes.windows(description.len()).rposition(|window| window == description);
        let wanted = format!("duplicate tensor name \"{name}\" at byte {:#x}", at.unwrap());
        assert_eq!(rejection("x", &bytes), wanted, "{file}");
    }
}

/// Checks that the error for a name that two files of a split model have names the second file, and has no offset.
#[cfg(feature = "parts")]
#[test]
fn duplicate_names_in_two_files_are_reported_with_the_second_file() {
    let name = |number: u8| format!("gguf-duplicate-name--in-two-0000{number}-of-00002.gguf");
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus/other/gguf/reject");
    let error = open(&folder.join(name(1))).unwrap_err();
    assert_eq!((error.rule(), error.offset()), (Some("gguf-duplicate-name"), None));
    assert_eq!((error.tensor(), error.file()), (Some("a"), Some(&*name(2))));
}

/// Checks that zTensor files open here, too, whatever their names are and with the shards in their folder, and that the rules
/// of the library reject a file that was cut.
#[cfg(feature = "ztensor")]
#[test]
fn archives_are_of_ztensor_too() {
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus/v2/accept");
    let path = corpus.join("frames.zt");
    let mut bytes = fs::read(&path).unwrap();
    let archive = open(&path).unwrap();
    assert_eq!(archive.format(), "zTensor");
    assert_eq!(OpenOptions::default().from_bytes(&*bytes).unwrap().len(), archive.len());
    // The magic decides, whatever the name of the file is.
    let folder = tempfile::tempdir().unwrap();
    let named = folder.path().join("model.index.json");
    fs::write(&named, &bytes).unwrap();
    assert_eq!(open(&named).unwrap().format(), "zTensor");
    // Shards are found in the folder of the file.
    let sharded = open(&corpus.with_file_name("shards").join("dense.zt")).unwrap();
    assert_eq!(sharded.tensor("w").unwrap().to_vec::<f32>().unwrap().len(), 4);
    sharded.verify().unwrap();
    bytes.pop();
    let error = OpenOptions::default().from_bytes(&*bytes).unwrap_err();
    assert!(error.is_rejection(), "{error}");
    assert!(crate::rules::find(error.rule().unwrap()).is_some());
}

#[test]
fn a_file_that_shrinks_is_a_failure_of_reading() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.npy");
    let bytes = npy::file("<i2", false, "(2,)", &[1, 2, 3, 4]);
    fs::write(&path, &bytes).unwrap();
    let archive = open(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let error = archive.verify().unwrap_err();
    assert!(error.to_string().contains("became shorter"), "{error}");
    assert!(!error.is_rejection());
}
