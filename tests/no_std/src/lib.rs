//! Tests that every format opens from memory without `std`: names, shapes and bytes of a valid file, and the rule that an invalid
//! file breaks.
#![no_std]
#![cfg(test)]

extern crate alloc;

use alloc::vec::Vec;

use zten::formats::{Begun, Block, PartFile};
use zten::open::{Opening, Step};
use zten::shards::{Candidate, Files, Find, Shard};
use zten::{Archive, OpenOptions, ReadAt};

macro_rules! corpus {
    ($path:literal) => {
        include_bytes!(concat!("../../../corpus/", $path)).as_slice()
    };
}

/// A tensor: its name, shape, and the bytes of its data.
type Expected<'e> = (&'e str, &'e [u64], &'e [u8]);

/// Checks the format and the tensors of `archive`, and verifies all of its content.
fn check<S: ReadAt>(archive: &Archive<S>, format: &str, expected: &[Expected<'_>]) {
    assert_eq!(archive.format(), format);
    assert_eq!(archive.len(), expected.len());
    for (tensor, (name, shape, bytes)) in archive.tensors().zip(expected) {
        assert_eq!(tensor.name(), *name);
        assert_eq!(tensor.shape(), *shape);
        let data = tensor.component("data").unwrap();
        assert_eq!(&*data.read().unwrap(), *bytes, "{name}");
        assert_eq!(archive.get(name).unwrap().name(), *name);
    }
    archive.verify().unwrap();
}

/// Opens `file` from a source that lends no bytes and without I/O, both with the name `name`, and if this is empty, also from
/// memory. Runs [`check`] on each archive.
fn opens(file: &[u8], name: &str, format: &str, expected: &[Expected<'_>]) {
    let options = OpenOptions::default();
    if name.is_empty() {
        check(&options.from_bytes(file).unwrap(), format, expected);
    }
    let length = length(file);
    check(&options.open_named(Positions(file), length, name).unwrap(), format, expected);
    let mut opening = Opening::new(name, length, &options);
    let archive = loop {
        match opening.step_for(Positions(file)).unwrap() {
            Step::Read(wanted) => {
                for wanted in wanted {
                    let start = usize::try_from(wanted.range.start).unwrap();
                    let end = usize::try_from(wanted.range.end).unwrap();
                    opening.supply(&wanted, file[start..end].to_vec()).unwrap();
                }
            }
            Step::Open(names) => panic!("{names:?}"),
            Step::Done(archive) => break archive,
        }
    };
    check(&archive, format, expected);
}

/// A source in memory that does not lend its bytes, so they can only be read at offsets.
struct Positions<'f>(&'f [u8]);

impl ReadAt for Positions<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> zten::Result<()> {
        self.0.read_at(offset, buffer)
    }
}

/// Checks that the file called `name` is rejected for breaking `rule`.
fn rejects(file: &[u8], name: &str, rule: &str) {
    let error = OpenOptions::default().open_named(file, length(file), name).unwrap_err();
    assert!(error.is_rejection());
    assert_eq!(error.rule(), Some(rule));
}

#[cfg(feature = "alone")]
#[test]
fn the_library_has_no_std() {
    // Only with `std` does an error own names and a source, which have to be dropped.
    assert!(!core::mem::needs_drop::<zten::Error>());
}

fn length(file: &[u8]) -> u64 {
    u64::try_from(file.len()).unwrap()
}

#[test]
fn ztensor() {
    let file = corpus!("accept/1.2.3/dense_all.zt");
    let read = OpenOptions::default().open_source(Positions(file), length(file)).unwrap();
    let archive = OpenOptions::default().from_bytes(file).unwrap();
    assert_eq!((archive.format(), archive.len()), ("zTensor", read.len()));
    let expected = [-1.25, -0.75, -0.25, 0.25, 0.75, 1.25];
    for tensor in [archive.tensor("t_f32").unwrap(), read.tensor("t_f32").unwrap()] {
        assert_eq!(tensor.shape(), [2, 3]);
        assert_eq!(tensor.to_vec::<f32>().unwrap(), expected);
    }
    archive.verify().unwrap();
    rejects(corpus!("reject/attributes-type--v12-array.zt"), "", "attributes-type");
}

#[test]
fn safetensors() {
    let file = corpus!("other/safetensors/accept/two.safetensors");
    let expected: &[Expected<'_>] = &[("a", &[2], b"\x01\x02"), ("b", &[1], b"\x00\x00\x80\x3f")];
    opens(file, "", "safetensors", expected);
    let file = corpus!("other/safetensors/accept/metadata.safetensors");
    let archive = OpenOptions::default().from_bytes(file).unwrap();
    assert!(archive.attributes().any(|(key, _)| key == "format"));
    let file = corpus!("other/safetensors/reject/safetensors-duplicate-name--name.safetensors");
    rejects(file, "", "safetensors-duplicate-name");
}

#[test]
fn gguf() {
    let file = corpus!("other/gguf/accept/two.gguf");
    opens(file, "", "GGUF", &[("a", &[2], &[0; 8]), ("b", &[3], b"\x01\x02\x03")]);
    rejects(corpus!("other/gguf/reject/gguf-bounds--far.gguf"), "", "gguf-bounds");
}

#[test]
fn blocks_of_gguf_are_dequantized() {
    let file = corpus!("other/gguf/accept/blocks.gguf");
    let archive = OpenOptions::default().from_bytes(file).unwrap();
    let tensor = archive.tensor("q").unwrap();
    let blocks = tensor.component("data").unwrap().read().unwrap();
    let mut elements = [0.0; 32];
    Block::by_name("Q4_0").unwrap().dequantize(&blocks, &mut elements).unwrap();
    // The scale is the `f16` 0x0707, and each byte holds the codes 7 and 0, from which 8 is subtracted.
    let scale = 1799.0 / 16_777_216.0;
    let (low, high) = elements.split_at(16);
    assert_eq!(low, [-scale; 16]);
    assert_eq!(high, [-8.0 * scale; 16]);
}

#[test]
fn npy() {
    let file = corpus!("other/npy/accept/two.npy");
    opens(file, "", ".npy", &[("arr_0", &[2], b"\x01\x00\x02\x00")]);
    opens(file, "folder/name.npy", ".npy", &[("name", &[2], b"\x01\x00\x02\x00")]);
    let file = corpus!("other/npy/accept/columns.npy");
    let archive = OpenOptions::default().from_bytes(file).unwrap();
    let elements = archive.tensor("arr_0").unwrap().to_vec::<i16>().unwrap();
    assert!(elements.iter().copied().eq(0..24));
    rejects(corpus!("other/npy/reject/npy-size--cut.npy"), "", "npy-size");
}

#[test]
fn npz() {
    let file = corpus!("other/npz/accept/two.npz");
    let bytes = b"\x01\x00\x02\x00";
    opens(file, "", ".npz", &[("a", &[2], bytes), ("b", &[2], bytes)]);
    rejects(corpus!("other/npz/reject/zip-encrypted--flag.npz"), "", "zip-encrypted");
}

#[test]
fn torch() {
    let file = corpus!("other/torch/accept/tied.pt");
    let bytes = b"\x01\x00\x02\x00";
    opens(file, "", "PyTorch", &[("a", &[2], bytes), ("b", &[2], bytes)]);
    rejects(corpus!("other/torch/reject/torch-call--count.pt"), "", "torch-call");
}

/// The files that an index names, with their names without the suffix.
struct Siblings<'f>([(&'f str, &'f [u8]); 2]);

impl<'f> Find for Siblings<'f> {
    type Source = &'f [u8];

    fn find(&self, shard: &Shard<'_>) -> zten::Result<Option<Candidate<&'f [u8]>>> {
        let name = shard.name().strip_suffix(".safetensors");
        let file = self.0.iter().find(|(stem, _)| Some(*stem) == name);
        Ok(file.map(|(_, source)| Candidate { source: *source, length: length(source) }))
    }
}

#[test]
fn files_that_name_siblings_open() {
    let options = OpenOptions::default();
    let index = corpus!("other/index/accept/two.index.json");
    let (a, b) =
        (corpus!("other/index/accept/a.safetensors"), corpus!("other/index/accept/b.safetensors"));
    let source = Positions(index);
    let Begun::Root(root) = options.begin(source, length(index), "two.index.json").unwrap() else {
        panic!("an index names files");
    };
    let mut names: Vec<_> = root.files().collect();
    names.sort_unstable();
    assert_eq!(names, ["a.safetensors", "b.safetensors"]);
    let (first, second) = (Positions(a), Positions(b));
    let parts = [
        PartFile { name: "a.safetensors", source: &first, length: length(a) },
        PartFile { name: "b.safetensors", source: &second, length: length(b) },
    ];
    let archive = root.open(&parts, &options).unwrap();
    assert!(archive.names().eq(["a", "b"]));
    let shards = archive.manifest().bind_shards(&Siblings([("a", a), ("b", b)])).unwrap();
    let files = Files { root: archive.source(), shards: &shards };
    for name in ["a", "b"] {
        let tensor = archive.tensor(name).unwrap().read_from(&files);
        assert_eq!(tensor.shape(), [2]);
        assert_eq!(tensor.to_vec::<u8>().unwrap(), [1, 2]);
    }
    let file = corpus!("other/index/reject/index-json--no-map.index.json");
    rejects(file, "x.index.json", "index-json");
}

#[test]
fn other_files_are_named() {
    for (file, rule) in [
        (&b"version https://git-lfs.github.com/spec/v1\n"[..], "format-lfs-pointer"),
        (b"\x80\x04]\x94.", "format-pickle"),
        (b"\x1f\x8b\x08more", "format-gzip"),
    ] {
        rejects(file, "", rule);
    }
}
