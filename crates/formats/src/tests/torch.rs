//! Checkpoints of PyTorch.

use zten::tools::{LogicalType as L, StorageType as S};
use zten::{Error, Limits, OpenOptions, ReadAt};
use zten_corpus::other::torch::{dict, file, int, numbers, pickle, text, tuple};

use super::{Kind, data, open_with, read, refusal};
use crate::{open_bytes, open_source};

/// A file that PyTorch wrote, without the zeros that one of its storages is: the byte at which they begin, and their number.
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

/// Members whose size or place takes more than 32 bits have numbers of 64 bits.
#[test]
fn large_files() {
    const ZEROS: u64 = (1 << 32) + 4096;
    let large = Large(include_bytes!("large.pt"), 1088, ZEROS);
    let length = u64::try_from(large.0.len()).unwrap() + ZEROS;
    let archive = open_source(large, length, "x".as_ref(), &OpenOptions::default()).unwrap();
    assert_eq!(archive.tensor("big").unwrap().shape().to_vec(), [ZEROS]);
    let elements = archive.tensor("z").unwrap().to_vec::<f32>().unwrap();
    assert_eq!(elements, [0.0, 1.0, 2.0, 3.0, 4.0]);
    let elements = archive.tensor("y").unwrap().to_vec::<i64>().unwrap();
    assert_eq!(elements, [0, 1, 2, 3, 4, 5]);
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().copied().flat_map(f32::to_le_bytes).collect()
}

/// Every type, of elements whose bytes count up from 0, in protocols 2 and 5.
#[test]
fn types() {
    let (plain, logical) = (Kind::Plain, Kind::Logical);
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
    let archive = open_bytes(&*bytes, &OpenOptions::default()).unwrap();
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

/// The tensors of a storage are borrowed where they lie.
#[test]
fn tied_tensors_share_bytes() {
    let bytes = data("training.pt");
    let archive = open_bytes(&*bytes, &OpenOptions::default()).unwrap();
    let place = |name: &str| {
        let tensor = archive.tensor(name).unwrap();
        let view = tensor.dense().unwrap().view().unwrap();
        view.as_bytes().as_ptr_range()
    };
    assert_eq!(place("tied"), place("views.0"));
    assert_eq!(place("tied").end, place("views.1").end);
}

/// What is referred to many times is gone through within the limit for headers, and not as often as it could be.
#[test]
fn doubled_references_are_bounded() {
    // Each list has the one before it twice.
    let mut value = b"]q\0K\x01a".to_vec();
    for level in 1..60_u8 {
        value = [b"](", &value[..], b"h", &[level - 1], b"eq", &[level]].concat();
    }
    let sentence = refusal("x", &file(&value, &[]));
    assert!(sentence.contains("bytes than the limit allows"), "{sentence}");
    // Many have one long list or text.
    let long = [text("k"), b"(".to_vec(), b"N".repeat(60_000), b"tq\0".to_vec()].concat();
    let many = (0..30_000_u16).flat_map(|key| [&b"M"[..], &key.to_le_bytes(), b"h\0"].concat());
    let value = [b"}(".to_vec(), long, many.collect(), b"u".to_vec()].concat();
    assert!(refusal("x", &file(&value, &[])).contains("limit"));
    let long = [text("k"), text(&"x".repeat(60_000)), b"q\0".to_vec()].concat();
    let many = (0..60_000_u16).flat_map(|key| [&b"M"[..], &key.to_le_bytes(), b"h\0"].concat());
    let value = [b"}(".to_vec(), long, many.collect(), b"u".to_vec()].concat();
    assert!(refusal("x", &file(&value, &[])).contains("limit"));
}

#[test]
fn limits_hold() {
    let deep = |levels: usize| {
        let value = [b"](".repeat(levels), b"}".to_vec(), b"e".repeat(levels)].concat();
        file(&value, &[])
    };
    let most = usize::from(Limits::default().depth());
    assert!(open_with("x", &deep(most - 1), &Limits::default()).is_ok());
    assert!(refusal("x", &deep(most)).contains("levels deep"));
    assert!(refusal("x", &deep(100_000)).contains("levels deep"));
    let shape = numbers(&vec![1; 300]);
    let storage = [tuple(&[text("storage")]), b"Q".to_vec()].concat();
    assert!(refusal("x", &file(&storage, &[])).contains("not that of a storage"));
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
        (b"\x80\x02}.}", "behind STOP"),
        (b"\x80\x02](", "without STOP"),
    ] {
        let sentence = refusal("x.pkl", name);
        assert!(sentence.contains(why), "{sentence}");
    }
}

#[test]
fn instructions_that_are_cut_off() {
    let whole = pickle(&dict(&[("a", int(1)), ("b", numbers(&[1, 2]))]));
    for end in 3..whole.len() {
        let sentence = refusal("x.pkl", &whole[..end]);
        assert!(sentence.contains("the pickle ends"), "{end}: {sentence}");
    }
}
