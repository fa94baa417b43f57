//! Files that NumPy, safetensors and gguf have written: `corpus/other/README.md`.

use alloc::borrow::ToOwned as _;
use alloc::vec;
use alloc::vec::Vec;

use crate::element::{LogicalType, StorageType};

use super::{FormatDType, Read, data, read, single};

const PLAIN: fn(StorageType) -> FormatDType = FormatDType::Plain;

/// Returns the bytes of `elements` elements that count up from 0. `bytes` encodes one element.
fn count<const W: usize>(elements: u8, bytes: impl Fn(u8) -> [u8; W]) -> Vec<u8> {
    (0..elements).flat_map(bytes).collect()
}

fn tensor(name: &str, shape: &[u64], kind: FormatDType, bytes: Vec<u8>) -> Read {
    (name.to_owned(), shape.to_vec(), kind, bytes)
}

#[test]
fn numpy() {
    let wanted = count(24, |at| i16::from(at).to_le_bytes());
    let wanted = tensor("columns", &[2, 3, 4], PLAIN(StorageType::I16), wanted);
    assert_eq!(single("columns.npy", &data("columns.npy")), wanted);
}

#[test]
fn numpy_archives() {
    let (attributes, tensors) = read("x", &data("stored.npz")).unwrap();
    assert_eq!(attributes, b"");
    let rows = count(4, |at| i64::from(at).to_le_bytes());
    let columns = count(6, |at| f64::from(at).to_le_bytes());
    let wanted = [
        tensor("rows", &[4], PLAIN(StorageType::I64), rows),
        tensor("columns", &[2, 3], PLAIN(StorageType::F64), columns),
    ];
    assert_eq!(tensors, wanted);

    let (_, tensors) = read("x", &data("compressed.npz")).unwrap();
    let weight = count(6, |at| f32::from(at).to_le_bytes());
    let columns = count(12, |at| u64::from(at).to_le_bytes());
    let complex = count(3, |at| {
        let (real, imaginary) = (f64::from(at).to_le_bytes(), (0.0 - f64::from(at)).to_le_bytes());
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&real);
        bytes[8..].copy_from_slice(&imaginary);
        bytes
    });
    let wanted = [
        tensor("bools", &[3], PLAIN(StorageType::Bool), vec![1, 0, 1]),
        tensor("layer.0/weight", &[2, 3], PLAIN(StorageType::F32), weight),
        tensor("columns", &[4, 3], PLAIN(StorageType::U64), columns),
        tensor("complex", &[3], FormatDType::Logical(LogicalType::Complex128), complex),
        tensor("none", &[0, 5], PLAIN(StorageType::I8), vec![]),
        tensor("one", &[], PLAIN(StorageType::F16), vec![0x00, 0x3e]),
    ];
    assert_eq!(tensors, wanted);
}

#[test]
fn safetensors() {
    use LogicalType as L;
    use StorageType as T;
    let (attributes, tensors) = read("x", &data("types.safetensors")).unwrap();
    assert_eq!(attributes, b"\xa2\x66format\x62pt\x67made by\x67\xc3\xa4 test");
    let wanted = [
        ("u64", PLAIN(T::U64), 16),
        ("i64", PLAIN(T::I64), 16),
        ("f64", PLAIN(T::F64), 16),
        ("c64", FormatDType::Logical(L::Complex64), 16),
        ("f32", PLAIN(T::F32), 8),
        ("u32", PLAIN(T::U32), 8),
        ("i32", PLAIN(T::I32), 8),
        ("bf16", PLAIN(T::Bf16), 4),
        ("f16", PLAIN(T::F16), 4),
        ("u16", PLAIN(T::U16), 4),
        ("i16", PLAIN(T::I16), 4),
        ("e5m2fnuz", FormatDType::Logical(L::F8E5M2Fnuz), 2),
        ("e4m3fnuz", FormatDType::Logical(L::F8E4M3Fnuz), 2),
        ("e4m3fn", FormatDType::Logical(L::F8E4M3Fn), 2),
        ("e5m2", FormatDType::Logical(L::F8E5M2), 2),
        ("i8", PLAIN(T::I8), 2),
        ("u8", PLAIN(T::U8), 2),
        ("bool", PLAIN(T::Bool), 2),
    ]
    .map(|(name, kind, bytes)| tensor(name, &[1, 2], kind, (0..bytes).collect()));
    assert_eq!(tensors, wanted);
}

#[test]
fn gguf() {
    let (attributes, tensors) = read("x", &data("tiny.gguf")).unwrap();
    let wanted: [&[u8]; 17] = [
        b"\xb0",
        b"\x62i8\x22",
        b"\x62u8\x18\xc8",
        b"\x63f32\xfa\x3f\x8c\xcc\xcd",
        b"\x63f64\xfb\x3f\xb9\x99\x99\x99\x99\x99\x9a",
        b"\x63i16\x39\x01\x2b",
        b"\x63i32\x3a\x00\x01\x11\x6f",
        b"\x63i64\x3b\x3f\xff\xff\xff\xff\xff\xff\xff",
        b"\x63u16\x19\xea\x60",
        b"\x63u32\x1a\xee\x6b\x28\x00",
        b"\x63u64\x1b\x80\0\0\0\0\0\0\0",
        b"\x63yes\xf5",
        b"\x64text\x66h\xc3\xb6llo",
        b"\x66tokens\x83\x61a\x62\xc3\xa4\x61c",
        b"\x67numbers\x83\x01\x02\x03",
        b"\x71general.alignment\x18\x40",
        b"\x74general.architecture\x64test",
    ];
    assert_eq!(attributes, wanted.concat());
    let names: Vec<_> = tensors.iter().map(|tensor| (&*tensor.0, &*tensor.1)).collect();
    let wanted: [(&str, &[u64]); 4] =
        [("blk.0.weight", &[2, 3]), ("half", &[4]), ("q4_0", &[2, 32]), ("q6_k", &[1, 256])];
    assert_eq!(names, wanted);
    assert_eq!(tensors[0].3, count(6, |at| f32::from(at).to_le_bytes()));
    assert_eq!(tensors[1].3, [0, 0, 0, 0x3c, 0, 0x40, 0, 0x42]);
    assert_eq!(tensors[2].3, (0..36).collect::<Vec<u8>>());
    assert_eq!(tensors[3].3, (0..210).collect::<Vec<u8>>());
}
