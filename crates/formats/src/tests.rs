//! Files made here, files that other programs made, and damage to both.

mod archive;
mod batter;
mod gguf;
mod index;
mod memory;
mod npy;
mod npz;
mod real;
mod safetensors;
mod zip;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use zten::{Limits, Options};

use super::source::{Scratch, Source};
use super::{Detected, Failure, Input, Kind, START, Trouble, by_name, by_start};

/// A tensor that has been read: name, shape, kind, bytes.
type Read = (String, Vec<u64>, Kind, Vec<u8>);

/// Opens bytes as if they were a file of that name.
fn open(name: &str, bytes: &[u8]) -> Result<Input, Trouble> {
    open_with(name, bytes, &Limits::default())
}

fn open_with(name: &str, bytes: &[u8], limits: &Limits) -> Result<Input, Trouble> {
    let mut file = Scratch::new().unwrap();
    file.write_at(0, bytes).unwrap();
    super::open_input(file.into_source(), Path::new(name), limits)
}

/// Reads everything, and holds each tensor to what the listing says.
fn read_all(input: &mut Input) -> Result<Vec<Read>, Trouble> {
    let mut tensors = Vec::new();
    for ordinal in 0..input.tensors().len() {
        let tensor = input.tensors().get(ordinal).unwrap();
        let mut bytes = Vec::new();
        let read = input.read::<()>(&tensor, &mut |chunk| {
            assert!(!chunk.is_empty() && chunk.len() <= 1 << 20);
            bytes.extend_from_slice(chunk);
            Ok(())
        });
        match read {
            Ok(()) => {}
            Err(Failure::Input(trouble)) => return Err(trouble),
            Err(Failure::Taker(())) => panic!("nothing was refused by the taker"),
        }
        assert_eq!(u64::try_from(bytes.len()).unwrap(), tensor.bytes);
        assert_eq!(tensor.kind.bytes(&tensor.shape), Some(tensor.bytes));
        tensors.push((tensor.name, tensor.shape, tensor.kind, bytes));
    }
    Ok(tensors)
}

/// Opens and reads everything, whatever the format is.
fn read(name: &str, bytes: &[u8]) -> Result<(Vec<u8>, Vec<Read>), Trouble> {
    let path = Path::new(name);
    let found = by_start(&bytes[..bytes.len().min(START)], path).or_else(|| by_name(path));
    if matches!(found, Some(Detected::Read(format)) if format.has_archives()) {
        return archive::read(name, bytes);
    }
    let mut input = open(name, bytes)?;
    let tensors = read_all(&mut input)?;
    Ok((input.take_attributes(), tensors))
}

/// The only tensor of a file.
fn single(name: &str, bytes: &[u8]) -> Read {
    let (_, mut tensors) = read(name, bytes).unwrap();
    assert_eq!(tensors.len(), 1);
    tensors.remove(0)
}

/// Why a file is refused, on opening or on reading.
fn refusal(name: &str, bytes: &[u8]) -> String {
    let trouble = read(name, bytes).expect_err("the file is read without a complaint");
    assert!(trouble.is_refusal(), "{trouble}");
    trouble.to_string()
}

/// A file of the corpus that another program has written.
fn data(name: &str) -> Vec<u8> {
    let (_, format) = name.rsplit_once('.').unwrap();
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/other");
    fs::read(corpus.join(format).join("accept").join(name)).unwrap()
}

#[test]
fn the_content_decides_and_then_the_name() {
    let array = npy::file("<i4", false, "(1,)", &[1, 2, 3, 4]);
    assert_eq!(single("misnamed.gguf", &array).0, "misnamed");
    let tensor = r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;
    assert_eq!(single("x", &safetensors::file(tensor, &[7])).3, [7]);
    for (name, why) in [
        ("x.npy", ".npy files do at byte 0x0"),
        ("x.NPZ", ".npz files do"),
        ("x.gguf", ".gguf files do"),
        ("x.safetensors", "is said to take"),
        ("x.bin", "none of"),
        ("npy", "none of"),
    ] {
        let sentence = refusal(name, b"something that is not any of them");
        assert!(sentence.contains(why), "{name}: {sentence}");
    }
    assert!(refusal("x", b"").contains("none of"));
    assert!(refusal("x.safetensors", b"").contains("ends before"));
}

/// zTensor files are opened, too, and refused by the rules of the library; other formats have a way of their own.
#[test]
fn archives_are_of_some_formats() {
    let corpus = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/v2/accept");
    let path = corpus.join("frames.zt");
    let mut bytes = fs::read(&path).unwrap();
    let archive = super::open(&path).unwrap();
    assert_eq!(archive.file_format(), "zTensor");
    assert_eq!(super::open_bytes(&*bytes, &Options::default()).unwrap().len(), archive.len());
    bytes.pop();
    let trouble = super::open_bytes(&*bytes, &Options::default()).unwrap_err();
    assert!(trouble.is_refusal(), "{trouble}");
    assert!(zten::rules::find(trouble.finding().row.unwrap().id).is_some());
    for tensors in [safetensors::file("{}", &[]), gguf::file(&[], &[], &[])] {
        let trouble = open("x", &tensors).unwrap_err();
        assert!(!trouble.is_refusal() && trouble.to_string().contains("as archives"), "{trouble}");
    }
    let array = npy::file("<i4", false, "(1,)", &[1, 2, 3, 4]);
    let trouble = super::open_bytes(array, &Options::default()).unwrap_err();
    assert!(!trouble.is_refusal() && trouble.to_string().contains("as archives"), "{trouble}");
}

#[test]
fn a_taker_may_stop() {
    let mut input = open("x.npy", &npy::file("<i2", false, "(2,)", &[1, 2, 3, 4])).unwrap();
    let tensor = input.tensors().get(0).unwrap();
    assert!(matches!(input.read(&tensor, &mut |_| Err("enough")), Err(Failure::Taker("enough"))));
    assert!(input.tensors().get(1).is_none());
    // And another may begin again.
    assert_eq!(read_all(&mut input).unwrap()[0].3, [1, 2, 3, 4]);
}

#[test]
fn a_file_that_shrinks_is_a_failure_of_reading() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.npy");
    let bytes = npy::file("<i2", false, "(2,)", &[1, 2, 3, 4]);
    fs::write(&path, &bytes).unwrap();
    let source = Source::new(File::open(&path).unwrap(), u64::try_from(bytes.len()).unwrap());
    let mut input = super::open_input(source, &path, &Limits::default()).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let trouble = read_all(&mut input).unwrap_err();
    assert!(!trouble.is_refusal());
    assert!(trouble.to_string().contains("became shorter"), "{trouble}");
}
