//! Tests of PyTorch checkpoints.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;
use std::println;

use zten_corpus::other::torch::{
    dict, file, global, int, members, numbers, pickle, storage, stream as stream_of_corpus, tensor,
    text, tuple,
};
use zten_corpus::other::zip::{Archive, Member};

use crate::cbor::{Item, Value};
use crate::element::{Complex, LogicalType as L, StorageType as S};
use crate::error::Error;
use crate::formats::{TORCH_STEPS, torch_steps};
use crate::limits::{Limits, OpenOptions};
use crate::read_at::ReadAt;

use super::{FormatDType, data, open_with, read, rejection};

/// A file that PyTorch wrote, from which a storage of zeros was cut to keep the repository small: the rest of the file, the
/// offset of the zeros and their number.
struct Large(&'static [u8], u64, u64);

impl ReadAt for Large {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        for (byte, offset) in buffer.iter_mut().zip(offset..) {
            let place = match offset {
                _ if offset < self.1 => offset,
                _ if offset < self.1 + self.2 => {
                    *byte = 0;
                    continue;
                }
                _ => offset - self.2,
            };
            *byte = self.0[usize::try_from(place).unwrap()];
        }
        Ok(())
    }
}

/// Checks that members whose size or offset does not fit in 32 bits are found by their 64-bit numbers.
#[test]
fn large_files() {
    const ZEROS: u64 = (1 << 32) + 4096;
    let large = Large(include_bytes!("large.pt"), 1088, ZEROS);
    let length = u64::try_from(large.0.len()).unwrap() + ZEROS;
    let archive = OpenOptions::default().open_named(large, length, "x").unwrap();
    assert_eq!(archive.tensor("big").unwrap().shape().to_vec(), [ZEROS]);
    let elements = archive.tensor("z").unwrap().to_vec::<f32>().unwrap();
    assert_eq!(elements, [0.0, 1.0, 2.0, 3.0, 4.0]);
    let elements = archive.tensor("y").unwrap().to_vec::<i64>().unwrap();
    assert_eq!(elements, [0, 1, 2, 3, 4, 5]);
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().copied().flat_map(f32::to_le_bytes).collect()
}

/// Checks all dtypes that zten reads, in protocols 2 and 5. The bytes of the elements count up from 0.
#[test]
fn types() {
    let (plain, logical) = (FormatDType::Plain, FormatDType::Logical);
    let wanted = [
        ("float32", plain(S::F32), 4),
        ("float64", plain(S::F64), 8),
        ("float16", plain(S::F16), 2),
        ("bfloat16", plain(S::Bf16), 2),
        ("int64", plain(S::I64), 8),
        ("int32", plain(S::I32), 4),
        ("int16", plain(S::I16), 2),
        ("int8", plain(S::I8), 1),
        ("uint8", plain(S::U8), 1),
        ("bool", plain(S::Bool), 1),
        ("complex64", logical(L::Complex64), 8),
        ("complex128", logical(L::Complex128), 16),
        ("uint16", plain(S::U16), 2),
        ("uint32", plain(S::U32), 4),
        ("uint64", plain(S::U64), 8),
        ("float8_e4m3fn", logical(L::F8E4M3Fn), 1),
        ("float8_e5m2", logical(L::F8E5M2), 1),
        ("float8_e4m3fnuz", logical(L::F8E4M3Fnuz), 1),
        ("float8_e5m2fnuz", logical(L::F8E5M2Fnuz), 1),
        ("float8_e8m0fnu", logical(L::F8E8M0), 1),
    ];
    let wanted = wanted.map(|(name, kind, width)| {
        (name.to_owned(), vec![1, 2], kind, (0..width * 2).collect::<Vec<u8>>())
    });
    for name in ["types-2.pt", "types-5.pt"] {
        assert_eq!(read("x", &data(name)).unwrap(), (vec![], wanted.to_vec()), "{name}");
    }
}

#[test]
fn training() {
    let bytes = data("training.pt");
    let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
    archive.verify().unwrap();
    let (_, tensors) = read("x", &bytes).unwrap();
    let find = |name: &str| {
        let found = tensors.iter().find(|tensor| tensor.0 == name).expect(name);
        (found.1.clone(), found.3.clone())
    };
    assert_eq!(find("model.weight"), (vec![1, 2], floats(&[1.0, 2.0])));
    assert_eq!(find("model.bias"), (vec![1], floats(&[3.0])));
    assert_eq!(find("optimizer.state.0.step"), (vec![], floats(&[1.0])));
    let base = (vec![2, 3], floats(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
    assert_eq!((find("views.0"), find("tied")), (base.clone(), base));
    assert_eq!(find("views.1"), (vec![3], floats(&[3.0, 4.0, 5.0])));
    assert_eq!(find("views.2"), (vec![3, 2], floats(&[0.0, 3.0, 1.0, 4.0, 2.0, 5.0])));
    let attribute = |name: &str| archive.attributes().find(|(key, _)| *key == name).unwrap().1;
    assert_eq!(attribute("epoch").get::<u64>().unwrap(), 7);
    assert_eq!(attribute("note").get::<&str>().unwrap(), "x");
    let eps = attribute("optimizer.param_groups.0.eps").get::<f64>().unwrap();
    assert_eq!(eps.to_bits(), 1e-8_f64.to_bits());
}

/// Checks that tensors that share a storage borrow the same bytes of the file, or a part of the same bytes.
#[test]
fn tied_tensors_share_bytes() {
    let bytes = data("training.pt");
    let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
    let place = |name: &str| {
        let tensor = archive.tensor(name).unwrap();
        let view = tensor.dense().unwrap().view().unwrap();
        view.as_bytes().as_ptr_range()
    };
    assert_eq!(place("tied"), place("views.0"));
    assert_eq!(place("tied").end, place("views.1").end);
}

/// Checks that values to which a pickle refers so often that visiting them exceeds the limit for headers are rejected.
#[test]
fn doubled_references_are_bounded() {
    // Each list contains the list before it twice, so the last one would have 2^59 numbers.
    let mut value = b"]q\0K\x01a".to_vec();
    for level in 1..60_u8 {
        value = [b"](", &value[..], b"h", &[level - 1], b"eq", &[level]].concat();
    }
    let sentence = rejection("x", &file(&value, &[]));
    assert!(sentence.contains("bytes than the limit allows"), "{sentence}");
    // A dictionary with many references to one long tuple, and one with many references to one long text, are rejected
    // for the same reason.
    let long = [text("k"), b"(".to_vec(), b"N".repeat(60_000), b"tq\0".to_vec()].concat();
    let many = (0..30_000_u16).flat_map(|key| [&b"M"[..], &key.to_le_bytes(), b"h\0"].concat());
    let value = [b"}(".to_vec(), long, many.collect(), b"u".to_vec()].concat();
    assert!(rejection("x", &file(&value, &[])).contains("limit"));
    let long = [text("k"), text(&"x".repeat(60_000)), b"q\0".to_vec()].concat();
    let many = (0..60_000_u16).flat_map(|key| [&b"M"[..], &key.to_le_bytes(), b"h\0"].concat());
    let value = [b"}(".to_vec(), long, many.collect(), b"u".to_vec()].concat();
    assert!(rejection("x", &file(&value, &[])).contains("limit"));
}

#[test]
fn limits_hold() {
    let deep = |levels: usize| {
        let value = [b"](".repeat(levels), b"}".to_vec(), b"e".repeat(levels)].concat();
        file(&value, &[])
    };
    let most = usize::from(Limits::default().depth());
    assert!(open_with("x", &deep(most - 1), &Limits::default()).is_ok());
    assert!(rejection("x", &deep(most)).contains("levels deep"));
    assert!(rejection("x", &deep(100_000)).contains("levels deep"));
    let shape = numbers(&vec![1; 300]);
    let storage = [tuple(&[text("storage")]), b"Q".to_vec()].concat();
    assert!(rejection("x", &file(&storage, &[])).contains("does not describe a storage"));
    assert!(read("x", &file(&shape, &[])).is_ok());
    let keys: Vec<String> = (0..2_000).map(|key| format!("k{key}")).collect();
    let items: Vec<_> = keys.iter().map(|key| (&**key, int(1))).collect();
    let few = Limits::default().with_keys(1_000);
    let bytes = file(&dict(&items), &[]);
    assert!(open_with("x", &bytes, &Limits::default()).is_ok());
    assert!(open_with("x", &bytes, &few).unwrap_err().to_string().contains("keys"));
}

#[test]
fn pickles_alone_pass_the_machine() {
    for (name, why) in [
        (&b"\x80\x02}q\0."[..], "this is a pickle"),
        (b"(dp0\n.", "this is a pickle"),
        (b"\x80\x02cos\nsystem\n.", "the global \"system\" of the module \"os\""),
        (b"cos\nsystem\n.", "the global \"system\" of the module \"os\""),
        (b"\x80\x02}.}", "follows STOP"),
        (b"\x80\x02](", "without STOP"),
    ] {
        let sentence = rejection("x.pkl", name);
        assert!(sentence.contains(why), "{sentence}");
    }
}

#[test]
fn instructions_that_are_cut_off() {
    let whole = pickle(&dict(&[("a", int(1)), ("b", numbers(&[1, 2]))]));
    for end in 3..whole.len() {
        let sentence = rejection("x.pkl", &whole[..end]);
        assert!(sentence.contains("the pickle ends"), "{end}: {sentence}");
    }
}

fn corpus_file(name: &str) -> Vec<u8> {
    let cases = zten_corpus::files();
    let suffix = if name.contains('.') { "" } else { ".pt" };
    let path = format!("other/torch/accept/{name}{suffix}");
    cases.into_iter().find(|output| output.path == path).expect(name).bytes
}

/// Checks that elements of conjugated and negated views get their signs however they are read: in row-major order, in chunks,
/// or by slices. The stored bytes of a view of complex numbers cannot be borrowed.
#[test]
fn conjugated_and_negated_views_change_signs_wherever_they_are_read() {
    let complex = |parts: &[(f32, f32)]| -> Vec<Complex<f32>> {
        parts.iter().map(|(real, imaginary)| Complex { re: *real, im: *imaginary }).collect()
    };
    for (name, wanted) in [
        ("view-conjugated", [(1., -2.), (3., -4.), (5., -6.), (7., -8.)]),
        ("view-conjugated-columns", [(1., -2.), (5., -6.), (3., -4.), (7., -8.)]),
        ("view-negated-complex", [(-1., -2.), (-3., -4.), (-5., -6.), (-7., -8.)]),
        ("view-conjugated-negated", [(-1., 2.), (-3., 4.), (-5., 6.), (-7., 8.)]),
    ] {
        let (bytes, wanted) = (corpus_file(name), complex(&wanted));
        let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
        let tensor = archive.tensor("v").unwrap();
        assert_eq!(tensor.to_vec::<Complex<f32>>().unwrap(), wanted, "{name}");
        let slice = tensor.slice(1..).unwrap();
        let first = wanted.len() - usize::try_from(slice.byte_len()).unwrap() / 8;
        assert_eq!(slice.to_vec::<Complex<f32>>().unwrap(), wanted[first..], "{name}");
        // The buffer has room for one part of a complex number, so the sign depends on the position.
        let (mut reader, mut read, mut part) = (tensor.reader().unwrap(), Vec::new(), [0; 4]);
        while reader.read_chunk(&mut part).unwrap() == 4 {
            read.extend(part);
        }
        let all: Vec<u8> =
            wanted.iter().flat_map(|one| [one.re, one.im]).flat_map(f32::to_le_bytes).collect();
        assert_eq!(read, all, "{name}");
        // The stored bytes must not be borrowed, because their signs differ from those of the elements.
        assert!(tensor.dense().unwrap().bytes().is_err(), "{name}");
    }
    let bytes = corpus_file("view-negated");
    let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
    let tensor = archive.tensor("v").unwrap();
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [-1., -2., -3., -4., -5., -6., -7., -8.]);
    assert_eq!(tensor.slice(3..5).unwrap().to_vec::<f32>().unwrap(), [-4., -5.]);
    let bytes = corpus_file("view-negated-columns");
    let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
    let values = archive.tensor("v").unwrap().to_f32().unwrap();
    assert_eq!(values, [-1., -5., -2., -6., -3., -7., -4., -8.]);
}

#[test]
fn strides() {
    let mut bytes = corpus_file("strided");
    let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
    archive.verify().unwrap();
    for (name, wanted) in [
        ("every-other", &[1, 3][..]),
        ("part", &[2, 4]),
        ("repeated", &[1, 2, 1, 2, 1, 2]),
        ("windows", &[1, 2, 2, 3, 3, 4]),
        ("middle", &[1, 3, 2, 4]),
    ] {
        assert_eq!(archive.tensor(name).unwrap().to_vec::<i16>().unwrap(), wanted, "{name}");
    }
    // Not every tensor contains the last element, but reading any tensor verifies the whole storage.
    let place = bytes.windows(8).position(|bytes| bytes == [1, 0, 2, 0, 3, 0, 4, 0]).unwrap();
    bytes[place + 6] ^= 8;
    let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
    assert_eq!(archive.verify().unwrap_err().rule(), Some("zip-crc"));
    for tensor in &archive {
        let error = tensor.to_vec::<i16>().unwrap_err();
        assert_eq!((error.rule(), error.tensor()), (Some("zip-crc"), Some(tensor.name())));
    }
    // Reading a slice does not verify the checksum.
    let slice = archive.tensor("part").unwrap().slice(1..).unwrap();
    assert_eq!(slice.to_vec::<i16>().unwrap(), [12]);
}

#[test]
fn attributes_of_devices() {
    let bytes = corpus_file("nested");
    let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
    for (name, wanted) in [("device", "cpu"), ("numbered", "cuda:1"), ("dtype", "float16")] {
        let (_, value) = archive.attributes().find(|(key, _)| *key == name).unwrap();
        assert_eq!(value.get::<&str>().unwrap(), wanted);
    }
}

/// Checks that the tensors of a deflated pickle are read, and that the limit on headers holds for the compressed bytes of a
/// pickle, too, which may be more than the bytes to which they decompress.
#[test]
fn deflated_pickles() {
    let stored = read("x", &file(&dict(&[("a", int(1))]), &[])).unwrap();
    assert!(stored.1.is_empty());
    let found = read("x", &corpus_file("deflated-pickle")).unwrap();
    assert_eq!(found.1[0].3, [1, 0, 2, 0]);
    // Deflate blocks that decompress to nothing. Reading them must stop after the longest length of a header.
    let long = |blocks: usize| {
        let mut all = members(&pickle(b"}"), &[]);
        all[0] = Member::deflated("archive/data.pkl", &all[0].content);
        all[0].packed.splice(..0, b"\0\0\0\xff\xff".repeat(blocks));
        Archive::new(&all).bytes()
    };
    let limits = Limits::default().with_named("manifest", 5_000).unwrap();
    assert!(open_with("x", &long(900), &limits).is_ok());
    let sentence = super::brief(&open_with("x", &long(1_000), &limits).unwrap_err());
    assert!(sentence.contains("limit of 5000"), "{sentence}");
}

/// Checks that the pickles of a stream are found whatever their length is, that a cut pickle, an import that is not allowed and
/// bytes after the storages are rejected, and that the limit on headers counts the pickles and not the storages.
#[test]
fn streams() {
    let magic = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";
    let stream = |object: &[u8], keys: &[u8], behind: usize| {
        let parts = [&magic[..], b"\x80\x02M\xe9\x03.", b"\x80\x02}.", object, keys];
        [parts.concat(), vec![0xff; behind]].concat()
    };
    let long = pickle(&dict(&[("a", text(&"x".repeat(300_000)))]));
    let system = pickle(&[&long[2..long.len() - 1], b"cos\nsystem\n"].concat());
    let keys = &pickle(b"]")[..];
    let rejected = |bytes: &[u8]| rejection("x.pt", bytes);
    // The pickles are longer than the first read.
    assert!(read("x.pt", &stream(&long, keys, 0)).is_ok());
    for behind in [1, 1 << 20] {
        assert!(rejected(&stream(&long, keys, behind)).contains("the last storage"));
        assert!(rejected(&stream(&pickle(b"}"), keys, behind)).contains("the last storage"));
        assert!(
            rejected(&stream(&system, keys, behind)).contains("\"system\" of the module \"os\"")
        );
    }
    let cut = stream(&long[..250_000], b"", 0);
    assert!(rejected(&cut).contains("the pickle ends within the instruction BINUNICODE"));
    let limits = Limits::default().with_named("manifest", 100_000).unwrap();
    let sentence = super::brief(&open_with("x.pt", &stream(&long, keys, 0), &limits).unwrap_err());
    assert!(sentence.contains("limit of 100000"), "{sentence}");
    // The storages are longer than the limit on headers, which must not count them.
    let storage = vec![1; 200_000];
    let tensor = tensor(stored("0", 100_000), 0, &[2], &[1]);
    let many = stream_of_corpus(&dict(&[("a", tensor)]), &[("0", 100_000, &storage)]);
    assert!(open_with("x.pt", &many, &limits).is_ok());
}

/// Returns a persistent id of a storage of `length` elements of 16 bits. The length takes three bytes.
fn stored(key: &str, length: u32) -> Vec<u8> {
    let length = [b"J", &length.to_le_bytes()[..]].concat();
    let id = [text("storage"), global("torch", "ShortStorage"), text(key), text("cpu"), length];
    [tuple(&[&id[..], &[b"N".to_vec()]].concat()), b"Q".to_vec()].concat()
}

/// Checks that the data of a stream's tensors is borrowed from the file.
#[test]
fn storages_of_a_stream_are_borrowed() {
    let bytes = corpus_file("stream-parts.pth");
    let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
    let elements = |name: &str| {
        let tensor = archive.tensor(name).unwrap();
        let range = tensor.dense().unwrap().view().unwrap().as_bytes().as_ptr_range();
        assert!(bytes.as_ptr_range().contains(&range.start), "{name}");
        tensor.to_vec::<i16>().unwrap()
    };
    assert_eq!((elements("a"), elements("b")), (vec![1, 2], vec![3, 4]));
}

/// Returns the attributes and the notes of a checkpoint in the corpus.
fn described(name: &str) -> (Vec<(String, String)>, Vec<String>) {
    let bytes = corpus_file(name);
    let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
    let spelled = |item: Item<'_>| match item.value() {
        Value::Array(array) => format!("{:?}", array.collect::<Vec<_>>()),
        Value::Bytes(bytes) => format!("{:02x?}", bytes.as_bytes().unwrap()),
        Value::Text(text) => text.as_str().unwrap().to_owned(),
        other => format!("{other:?}"),
    };
    let attributes = archive.attributes().map(|(key, value)| (key.to_owned(), spelled(value)));
    let notes =
        archive.manifest().findings().iter().map(|note| note.error().sentence().to_string());
    (attributes.collect(), notes.collect())
}

#[test]
fn values_of_classes_become_attributes() {
    for (name, wanted) in [
        ("values-defaultdict.pt", &[("value.k", "Uint(1)")][..]),
        ("values-counter.pt", &[("value.k", "Uint(2)")]),
        ("values-deque.pt", &[("value", "[Uint(1), Uint(2)]")]),
        ("values-set.pt", &[("value", "[Uint(1), Uint(2)]")]),
        ("values-frozenset.pt", &[("value", "[Uint(1)]")]),
        ("values-bytes.pt", &[("value", "[00, 7f, 80, ff]")]),
        ("values-bytearray.pt", &[("value", "[e4, 62]")]),
        ("values-namespace.pt", &[("value.name", "x"), ("value.rate", "Float(0.5)")]),
        ("values-simple-namespace.pt", &[("value.rate", "Float(0.5)")]),
        ("values-numpy-scalar.pt", &[("value", "Float(0.5)")]),
        ("values-numpy-scalar-big.pt", &[("value", "Uint(256)")]),
        ("values-numpy-scalar-bool.pt", &[("value", "Bool(true)")]),
        ("values-python-2.pt", &[("value", "Uint(5000000000)")]),
        ("values-complex.pt", &[]),
    ] {
        let (attributes, _) = described(name);
        let wanted = wanted.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        assert_eq!(attributes, wanted.collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn notes_say_what_is_left_out() {
    for (name, wanted) in [
        ("values-complex.pt", "left out: \"value\" (builtins.complex)"),
        ("values-datetime-with-zone.pt", "left out: \"value\" (datetime.datetime)"),
        ("values-numpy-array-objects.pt", "left out: \"value\" (numpy.ndarray)"),
        ("left-out-hooks.pt", "left out: the hooks of 1 tensor"),
        ("left-out-parameter-state.pt", "left out: the attributes of 1 tensor"),
        ("left-out-dictionary-attributes.pt", "left out: the attributes of 1 dictionary"),
        ("left-out-large-number.pt", "left out: \"value\" (an integer of more than 64 bits)"),
    ] {
        let (_, notes) = described(name);
        assert_eq!(notes[0], wanted, "{name}");
    }
}

/// Checks that NumPy arrays in a pickle, whose bytes a text spells, are tensors.
#[test]
fn arrays_of_numpy() {
    for (name, shape, wanted) in [
        ("values-numpy-array.pt", &[2, 3][..], [1, -2, 300, -400, 5, 6]),
        ("values-numpy-array-columns.pt", &[2, 3], [1, 300, 5, -2, -400, 6]),
        ("values-numpy-array-big.pt", &[6], [256, -257, 11_265, 28_926, 1280, 1536]),
    ] {
        let bytes = corpus_file(name);
        let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
        let tensor = archive.tensor("value").unwrap();
        assert_eq!(tensor.shape(), shape);
        assert_eq!(tensor.to_vec::<i16>().unwrap(), wanted, "{name}");
    }
}

#[test]
fn keys_of_every_kind_have_a_spelling() {
    let bytes = corpus_file("keys.pt");
    let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
    let names: Vec<_> = archive.tensors().map(|tensor| tensor.name().to_owned()).collect();
    assert_eq!(names, ["text", "1", "None", "0.5", "(1, 'b')", "b'x'", "torch.float32"]);
    let (_, notes) = described("keys.pt");
    assert_eq!(notes, ["left out: \"\" (values whose keys have no name)"]);
}

/// Checks that two integers of more than 64 bits are equal keys exactly if Python considers them equal, and that such integers do
/// not hide another duplicate key.
#[test]
fn duplicate_keys_of_more_than_64_bits_are_rejected() {
    let long = |bytes: &[u8]| [&[0x8a, u8::try_from(bytes.len()).unwrap()][..], bytes].concat();
    let line = |digits: &str| format!("L{digits}L\n").into_bytes();
    let power = [&[0; 9][..], &[1]].concat();
    let (power, padded) = (long(&power), long(&[&power[..], &[0; 3]].concat()));
    let negative = long(&[&[0; 8][..], &[0x80, 0xff]].concat());
    let float = [&b"G"[..], &2_f64.powi(72).to_be_bytes()].concat();
    let (other, one) = (long(&[1; 10]), int(1));
    let small = long(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let exact = [&b"G"[..], &2_f64.powi(60).to_be_bytes()].concat();
    let half = [&b"G"[..], &0.5_f64.to_be_bytes()].concat();
    let infinity = b"G\x7f\xf0\0\0\0\0\0\0".to_vec();
    // 10^400 has more digits than any float, and several words.
    let great = line(&format!("1{}", "0".repeat(400)));
    let mut bytes = vec![1_u8];
    for _ in 0..400 {
        let mut carry = 0;
        for byte in &mut bytes {
            let product = u16::from(*byte) * 10 + carry;
            [*byte, _] = product.to_le_bytes();
            carry = product >> 8;
        }
        bytes.extend(u8::try_from(carry).ok().filter(|carry| *carry > 0));
    }
    let same = long(&[&bytes[..], &[0]].concat());
    let open = |keys: &[&Vec<u8>]| {
        let items: Vec<u8> = keys.iter().flat_map(|key| [&key[..], b"K\x05"].concat()).collect();
        let bytes = file(&[&b"}("[..], &items, b"u"].concat(), &[]);
        OpenOptions::default().from_bytes(&*bytes).map(drop)
    };
    for keys in [
        [&power, &other, &one],
        [&power, &negative, &one],
        [&power, &line("1"), &line("2361183241434822606847")],
        [&power, &line("-4722366482869645213696"), &infinity],
        [&power, &line("1152921504606847000"), &exact],
        [&power, &line("0"), &half],
        [&power, &great, &line(&format!("1{}1", "0".repeat(399)))],
    ] {
        open(&keys).unwrap();
    }
    for keys in [
        // In each of these lists, two of the four keys are equal: short or long integers, or an integer and a float.
        [&power, &other, &one, &one],
        [&power, &other, &one, &power],
        [&power, &other, &one, &padded],
        [&power, &other, &one, &float],
        [&power, &other, &one, &line("4722366482869645213696")],
        [&power, &one, &great, &same],
        [&negative, &other, &one, &line("-2361183241434822606848")],
        // An integer that fits in 64 bits is found even if it is stored in ten bytes.
        [&power, &other, &one, &small],
        [&power, &other, &line("-1"), &long(&[0xff; 10])],
        // A float whose shortest spelling is another integer.
        [&power, &other, &line("1152921504606846976"), &exact],
        [&power, &other, &line("-3"), &b"G\xc0\x08\0\0\0\0\0\0".to_vec()],
        // The smallest integer of 64 bits, also as a float.
        [&power, &other, &line("-9223372036854775808"), &b"G\xc3\xe0\0\0\0\0\0\0".to_vec()],
    ] {
        let rule = open(&keys).err().and_then(|error| error.rule());
        assert_eq!(rule, Some("torch-duplicate-key"), "{keys:?}");
    }
}

/// Checks that objects of unknown classes are opaque if the caller tolerates them, that tensors and attributes in them get
/// names, and that a check still reports the import. A global whose name has a dot is never tolerated.
#[test]
fn unknown_globals_are_tolerated() {
    let object =
        |state: &[u8]| [&global("lib.module", "Config")[..], b")\x81", state, b"b"].concat();
    let inner = object(&dict(&[("weight", vector()), ("rate", int(3))]));
    let call = [global("lib", "make"), tuple(&[vector(), int(2)]), b"R".to_vec()].concat();
    let items = [object(b"}"), b"(".to_vec(), text("k"), int(1), b"u".to_vec()].concat();
    let value = dict(&[("a", vector()), ("b", inner), ("c", call), ("d", items)]);
    let bytes = file(&value, &[&[1, 0, 2, 0]]);
    let strict = OpenOptions::default();
    let error = strict.from_bytes(&*bytes).unwrap_err();
    assert_eq!(error.rule(), Some("torch-global"));
    let tolerant = strict.tolerate(crate::limits::Tolerance::TorchGlobal);
    let archive = tolerant.from_bytes(&*bytes).unwrap();
    let names: Vec<_> = archive.tensors().map(|tensor| tensor.name().to_owned()).collect();
    assert_eq!(names, ["a", "b.weight", "c.args.0"]);
    let attributes: Vec<_> = archive.attributes().map(|(key, _)| key.to_owned()).collect();
    assert_eq!(attributes, ["d.k", "b.rate", "c.args.1"]);
    // A check of the file still reports the import.
    let report = crate::verify::check(&archive, &mut ());
    assert_eq!(report.verdict(), crate::finding::Verdict::Invalid);
    // A name with a dot could lead to any function of a harmless module.
    let dotted = file(&[&global("pathlib", "os.system")[..], b")R"].concat(), &[]);
    assert_eq!(tolerant.from_bytes(&*dotted).unwrap_err().rule(), Some("torch-global"));
}

/// Returns a tensor of two elements in the storage `0`.
fn vector() -> Vec<u8> {
    tensor(storage("ShortStorage", "0", 2), 0, &[2], &[1])
}

/// Checks that a bare pickle may have harmless instructions of protocols 0 and 1, which is then a pickle that zten does not
/// read, and that wrong operands, instructions of later protocols, and instructions that duplicate, import by number or call in
/// other ways are reported.
#[test]
fn old_instructions() {
    let rejected = |rest: &[u8]| rejection("x.pkl", &[b"(dp0\n0", rest].concat());
    for harmless in [
        &b"I5\n."[..],
        b"I-5\n.",
        b"I00\n.",
        b"I123456789012345678901234567890\n.",
        b"L-5L\n.",
        b"L0\n.",
        &[b"L", &[b'1'; 4300][..], b"L\n."].concat(),
        b"F1e5\n.",
        b"S'a'\n.",
        b"V\\u00e4\xe4\n.",
        b"T\x01\0\0\0a.",
        b"U\x01\xff.",
        b"(l.",
        b"(NNd.",
        b"(I1\nt.",
        b"Np5\n0g5\n.",
        b"N(NN1.",
        b"]I1\na.",
    ] {
        assert!(rejected(harmless).contains("this is a pickle"), "{harmless:?}");
    }
    for (bytes, why) in [
        (&b"I\n."[..], "is not a decimal integer"),
        (b"I1x\n.", "is not a decimal integer"),
        (b"L-\n.", "is not a decimal integer"),
        // Python's readers differ on these: one of them reads octal digits, or skips white space.
        (b"I010\n.", "has leading zeros"),
        (b"L00\n.", "has leading zeros"),
        (b"I5L\n.", "is not a decimal integer"),
        (b"I1 \n.", "is not a decimal integer"),
        (b"I+1\n.", "is not a decimal integer"),
        (&[b"L", &[b'1'; 4301][..], b"\n."].concat(), "more than 4300 decimal digits"),
        (b"(NNNd.", "a key of a dictionary has no value"),
        (b"Np\n.", "is not a decimal integer"),
        (b"Np-1\n.", "is not a decimal integer"),
        (b"Np4294967296\ng4294967295\n.", "out of order"),
        (b"Np9\ng8\n.", "the memo has no value with the number 8"),
        (b"0.", "finds fewer values"),
        (b"N1.", "has no mark"),
        (b"l.", "has no mark"),
        (b"(.", "exactly one value"),
        (b"I1", "ends within the instruction INT"),
        (b"N2.", "the instruction DUP (0x32) is not allowed"),
        (b"(ios\nsystem\n.", "the instruction INST (0x69) is not allowed"),
        (b"(o.", "the instruction OBJ (0x6f) is not allowed"),
        (b"P1\n.", "the instruction PERSID (0x50) is not allowed"),
        (b"N\x85.", "belongs to protocol 2, but the pickle has protocol 1"),
        (b"S'os'\nS'system'\n\x93.", "belongs to protocol 4, but the pickle has protocol 1"),
    ] {
        let sentence = rejected(bytes);
        assert!(sentence.contains(why), "{bytes:?}: {sentence}");
    }
    for byte in [0x82, 0x83, 0x84] {
        let sentence = rejection("x.pkl", &[0x80, 2, b'N', byte, 1, 0, 0, 0, b'.']);
        assert!(sentence.contains(" (0x8") && sentence.ends_with("at byte 0x3"), "{sentence}");
    }
}

/// Checks the sentences about files that break one rule for several causes: each says what is wrong with its file.
#[test]
fn sentences_state_the_cause() {
    let cases = zten_corpus::files();
    for (name, wanted) in [
        (
            "torch-call--count",
            "wrong arguments for torch._utils._rebuild_tensor_v2: expected 6 to 7, found 1",
        ),
        ("torch-call--parameter", "wrong arguments for "),
        ("torch-call--size", "wrong arguments for torch.Size"),
        ("torch-call--device", "wrong arguments for torch.device"),
        ("torch-call--ordered-items", "wrong arguments for collections.OrderedDict"),
        ("torch-member--key", "\"archive/data/x\" is not a member that PyTorch writes"),
        ("torch-storage--missing", "the storage \"1\" is not in the file"),
        ("torch-storage--longer", " in the file, but the pickle gives it "),
        ("torch-tensor--big-width", "has another width than the class of its storage"),
        ("torch-tensor--gradients", " cannot require gradients"),
        ("torch-tensor--negative", "a dimension or stride of the tensor is negative"),
        ("torch-tensor--offset", "do not lie within its storage"),
        ("torch-tensor--product", "more than 63 bits can count"),
        ("torch-tensor--rank", "does not have one stride for each dimension"),
        ("torch-version--11", "\", expected a number from 1 to 10"),
        ("torch-version--byteorder", "\"byteorder\" is \"middle\", expected little or big"),
        ("torch-version--id", "\".data/serialization_id\" is not UTF-8, expected text"),
        ("torch-version--pickle", "\"version\" is "),
    ] {
        let path = format!("other/torch/reject/{name}.pt");
        let case = cases.iter().find(|output| output.path == path).expect(name);
        let sentence = rejection("x.pt", &case.bytes);
        assert!(sentence.contains(wanted), "{name}: {sentence}");
    }
}

/// Checks that a set made from a list copies the items, and keeps the first of items that Python considers equal.
#[test]
fn a_set_made_from_a_list_keeps_the_first_of_equal_items() {
    let bytes = corpus_file("set-of-list");
    let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
    let attribute = |name: &str| archive.attributes().find(|(key, _)| *key == name).unwrap().1;
    assert_eq!(attribute("set").get::<Vec<u64>>().unwrap(), [1, 2]);
    let float = |number: f64| [b"G".to_vec(), number.to_be_bytes().to_vec()].concat();
    let items = [
        float(-0.0),
        int(0),
        b"\x89".to_vec(),
        int(3),
        float(3.0),
        float(0.5),
        float(0.5),
        b"N".to_vec(),
        b"N".to_vec(),
        text("a"),
        text("a"),
        text("b"),
    ];
    let list = [b"](".to_vec(), items.concat(), b"e".to_vec()].concat();
    let set = zten_corpus::other::torch::call("builtins", "set", &[list]);
    let bytes = file(&dict(&[("set", set)]), &[]);
    let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
    let value = archive.attributes().next().unwrap().1;
    let found = value.get::<(f64, u64, f64, Option<u8>, String, String)>().unwrap();
    let zero = found.0.to_bits();
    assert_eq!(zero, (-0.0_f64).to_bits());
    assert_eq!((found.1, found.3, found.4, found.5), (3, None, "a".to_owned(), "b".to_owned()));
}

/// Checks that an archive whose member checksums are all 0 counts as an archive without checksums, so that damage is not
/// detected.
#[test]
fn archives_without_checksums() {
    let mut bytes = corpus_file("no-checksums");
    let place = bytes.windows(4).position(|bytes| bytes == [1, 0, 2, 0]).unwrap();
    bytes[place] ^= 2;
    let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
    archive.verify().unwrap();
    assert_eq!(archive.tensor("a").unwrap().to_vec::<i16>().unwrap(), [3, 2]);
}

/// Checks that the bytes of big-endian elements are swapped by the width of the tensor's dtype, even in an untyped storage.
#[test]
fn big_endian_types_without_a_class() {
    for name in ["big-untyped", "big-typed"] {
        let bytes = corpus_file(name);
        let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
        let elements = archive.tensors().next().unwrap().to_vec::<u16>().unwrap();
        assert_eq!(elements, [0x100, 0x200], "{name}");
    }
}

/// Checks that the work is linear in the length of a pickle, even if one instruction or call that refers to a large value
/// is repeated.
#[test]
fn work_follows_bytes() {
    let get = |index: u8| vec![b'h', index];
    let call = |function: u8, arguments: &[Vec<u8>]| {
        [get(function), b"(".to_vec(), arguments.concat(), b"tR".to_vec()].concat()
    };
    let flag = b"\x89".to_vec();
    for size in [100, 2_000, 20_000] {
        let size = usize::from(u16::try_from(size).unwrap());
        let keys = (0..size / 8).flat_map(|key| [text(&format!("{key:x}")), int(1)].concat());
        let keys: Vec<u8> = keys.collect();
        let pairs = b"]X\x01\0\0\0aaK\x01a".repeat(size / 8);
        let dictionary = |start: &[u8]| [start, b"(", &keys[..], b"u"].concat();
        let kept = [
            text(&"1".repeat(size)),
            [b"(".to_vec(), int(1).repeat(size / 2), b"t".to_vec()].concat(),
            [b"](".to_vec(), int(1).repeat(size / 2), b"e".to_vec()].concat(),
            [b"](".to_vec(), pairs, b"e".to_vec()].concat(),
            dictionary(b"}"),
            dictionary(&zten_corpus::other::torch::ordered()),
            [b"(".to_vec(), b"}".repeat(size / 2), b"t".to_vec()].concat(),
            storage("FloatStorage", "0", 1),
            b"}".to_vec(),
            global("collections", "OrderedDict"),
            global("torch", "Size"),
            global("torch", "device"),
            global("builtins", "set"),
            global("torch._utils", "_rebuild_tensor_v2"),
            global("torch._utils", "_rebuild_parameter"),
            global("torch._utils", "_rebuild_parameter_with_state"),
            global("torch._utils", "_rebuild_sparse_tensor"),
            [text("_metadata"), get(5), b"\x86".to_vec()].concat(),
            [
                get(13),
                b"(".to_vec(),
                get(7),
                int(0),
                get(1),
                get(1),
                flag.clone(),
                get(8),
                b"tR".to_vec(),
            ]
            .concat(),
            [text("storage"), global("torch", "FloatStorage")].concat(),
            [text("cpu"), b"\x8a\xff".to_vec(), vec![1; 255]].concat(),
            [&b"L"[..], &b"1".repeat(size.min(4300)), b"L\n"].concat(),
        ];
        // An entry with several values stores only the last of them in the memo.
        let start = kept
            .iter()
            .zip(0..)
            .fold(b"(".to_vec(), |all, (value, index)| [&all[..], value, b"q", &[index]].concat());
        let state = [b"}".to_vec(), text("_metadata"), get(5), b"s".to_vec()].concat();
        let units = [
            get(0),
            get(4),
            get(6),
            call(9, &[get(3)]),
            call(10, &[get(1)]),
            call(11, &[get(0)]),
            call(11, &[get(0), int(1)]),
            call(12, &[get(2)]),
            call(13, &[get(7), int(0), get(1), get(1), flag.clone(), get(8)]),
            call(13, &[get(7), int(0), get(1), get(1), flag.clone(), get(5)]),
            call(14, &[get(18), b"\x88".to_vec(), get(8)]),
            // The hooks are dropped, but their keys are compared.
            call(
                14,
                &[get(18), b"\x88".to_vec(), [b"}".to_vec(), get(0), b"Ns".to_vec()].concat()],
            ),
            call(15, &[get(18), flag.clone(), get(8), get(4)]),
            call(15, &[get(18), b"\x88".to_vec(), get(4), get(4)]),
            call(16, &[get(18), get(4)]),
            [get(5), state.clone(), b"b".to_vec()].concat(),
            [get(5), get(4), b"b".to_vec()].concat(),
            [b"}".to_vec(), get(0), b"Ns".to_vec()].concat(),
            [b"}".to_vec(), get(4), b"Ns".to_vec()].concat(),
            [b"}".to_vec(), get(21), b"Ns".to_vec()].concat(),
            [b"(".to_vec(), get(21), b"NGAAAAAAAANd".to_vec()].concat(),
            [b"]".to_vec(), get(2), b"a".to_vec()].concat(),
            [get(0), get(0), b"\x93".to_vec()].concat(),
            [b"(".to_vec(), text("storage"), get(19), get(0), get(0), int(1), b"tQ".to_vec()]
                .concat(),
            b"](}".to_vec(),
            b"(t".to_vec(),
            b"]".to_vec(),
            b"N".to_vec(),
        ];
        for (place, unit) in units.iter().enumerate() {
            for end in [&b"t"[..], b"tb", b""] {
                let body = unit.repeat(size / unit.len());
                for protocol in [2, 5] {
                    let head = [&[0x80, protocol], &start[..]].concat();
                    let pickle = [&head[..], b"](", &body, b"e", end, b"."].concat();
                    let bytes = u64::try_from(pickle.len()).unwrap() + 1024;
                    let steps = torch_steps(&pickle);
                    println!("{place} {end:?} {size}: {} steps a byte", steps / bytes);
                    assert!(steps <= TORCH_STEPS * bytes, "{place} {end:?} {size}: {steps}");
                }
            }
        }
    }
}
