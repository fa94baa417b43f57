//! Tests of FP8 and complex elements, and of the Rust types that a component's logical type allows.

#[cfg(feature = "zstd")]
mod decoded;

use zten::{
    Archive, DType, Element,
    element::{ByteOrder, Complex, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz},
    element::{LogicalType, StorageType},
    error::Misuse,
    manifest::ElementType,
};
use zten_testkit::{borrows, corpus, misuse, placed, read_accepted as read};

/// Returns the names of the files and subfolders in `corpus/accept`, which has the accepted files of the generations before 2.
fn names() -> impl Iterator<Item = String> {
    let folder = std::fs::read_dir(corpus().join("accept")).unwrap();
    folder.map(|entry| entry.unwrap().file_name().into_string().unwrap())
}

/// Reads the values that `ml_dtypes` gives all 256 patterns, as the bits of an `f32`.
fn table(name: &str) -> Vec<u32> {
    let text = std::fs::read_to_string(corpus().join("fp8").join(name).with_extension("tsv"));
    let text = text.unwrap();
    let rows: Vec<u32> = text
        .lines()
        .skip(1)
        .enumerate()
        .map(|(at, line)| {
            let (bits, float) = line.split_once('\t').unwrap();
            assert_eq!(usize::from_str_radix(bits, 16), Ok(at));
            u32::from_str_radix(float, 16).unwrap()
        })
        .collect();
    assert_eq!(rows.len(), 256);
    rows
}

/// Compares one type with its table, and with the component that has all its bit patterns.
macro_rules! all_patterns {
    ($($test:ident: $type:ident $name:literal, of another type $other:ident;)+) => { $(
        #[test]
        fn $test() {
            let floats = table($name);
            for bits in 0..=u8::MAX {
                let element = $type::from_bits(bits);
                let wanted = floats[usize::from(bits)];
                assert_eq!(element.to_f32().to_bits(), wanted, "{bits:#04x}");
                assert_eq!(f32::from(element).to_bits(), wanted);
                assert_eq!(element.is_nan(), f32::from_bits(wanted).is_nan(), "{bits:#04x}");
                assert_eq!(element.to_bits(), bits);
            }
            assert_eq!($type::default().to_f32().to_bits(), 0);
            assert_eq!($type::DTYPE, StorageType::U8);
            assert_eq!($type::LOGICAL, Some(LogicalType::$type));

            let file = read("1.2.3/fp8.zt");
            let archive = Archive::from_bytes(&file).unwrap();
            let tensor = archive.get($name).unwrap();
            let view = tensor.dense().unwrap().view().unwrap();
            assert_eq!((tensor.dtype(), view.dtype()), (DType::$type, DType::$type));
            assert_eq!(view.len(), 256);
            let slice: &[$type] = view.as_slice().unwrap();
            let found: Vec<u32> = slice.iter().map(|element| element.to_f32().to_bits()).collect();
            assert_eq!(found, floats);
            assert!(view.elements::<$type>().unwrap().eq(slice.iter().copied()));
            assert_eq!(view.to_vec::<$type>().unwrap(), slice);
            // The stored bytes can still be read as `u8`.
            assert!(view.as_slice::<u8>().unwrap().iter().copied().eq(0..=u8::MAX));
            assert_eq!(misuse(view.as_slice::<$other>().unwrap_err()), Misuse::Type);
            assert_eq!(misuse(view.elements::<$other>().unwrap_err()), Misuse::Type);
            assert_eq!(misuse(view.as_slice::<i8>().unwrap_err()), Misuse::Type);
            assert_eq!(misuse(view.as_slice::<f32>().unwrap_err()), Misuse::Type);
        }
    )+ };
}

all_patterns! {
    e4m3fn: F8E4M3Fn "f8_e4m3fn", of another type F8E4M3Fnuz;
    e5m2: F8E5M2 "f8_e5m2", of another type F8E4M3Fn;
    e4m3fnuz: F8E4M3Fnuz "f8_e4m3fnuz", of another type F8E5M2Fnuz;
    e5m2fnuz: F8E5M2Fnuz "f8_e5m2fnuz", of another type F8E5M2;
}

#[test]
fn dtypes_of_1_1_are_logical_types() {
    let file = read("v11-f8_e4m3.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let view = archive.tensors().next().unwrap().dense().unwrap().view().unwrap();
    assert_eq!(view.as_slice::<F8E4M3Fn>().unwrap().len(), view.len());
    let file = read("v11-complex128.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let view = archive.tensors().next().unwrap().dense().unwrap().view().unwrap();
    assert_eq!(view.elements::<Complex<f64>>().unwrap().len() * 2, view.len());
}

#[test]
fn plain_components_have_no_logical_elements() {
    let file = read("1.2.3/dense_all.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let bound = |name: &str| archive.get(name).unwrap().dense().unwrap().view().unwrap();
    assert_eq!(bound("t_u8").dtype(), DType::U8);
    assert_eq!(misuse(bound("t_u8").as_slice::<F8E5M2>().unwrap_err()), Misuse::Type);
    assert_eq!(misuse(bound("t_f32").as_slice::<Complex<f32>>().unwrap_err()), Misuse::Type);
    assert_eq!(misuse(bound("t_f64").elements::<Complex<f64>>().unwrap_err()), Misuse::Type);
}

#[test]
fn unknown_logical_types_are_storage_elements() {
    let mut count = 0;
    for name in names().filter(|name| name.starts_with("unsupported-type--")) {
        let file = read(&name);
        let archive = Archive::from_bytes(&file).unwrap();
        for object in archive.tensors() {
            for component in object.components() {
                let dtype = match component.element_type() {
                    ElementType::UnknownLogical(..) => None,
                    ElementType::UnknownOnLogical(_, dtype) => Some(dtype),
                    _ => continue,
                };
                let Ok(view) = component.view() else {
                    continue;
                };
                assert_eq!(view.logical_type(), dtype);
                let (f8, complex) = (LogicalType::F8E4M3Fn, LogicalType::Complex64);
                assert_eq!(view.elements::<F8E4M3Fn>().is_ok(), dtype == Some(f8));
                assert_eq!(view.elements::<Complex<f32>>().is_ok(), dtype == Some(complex));
                let readable = match view.storage_type() {
                    StorageType::U8 => view.elements::<u8>().is_ok(),
                    StorageType::F32 => view.elements::<f32>().is_ok(),
                    StorageType::I32 => view.elements::<i32>().is_ok(),
                    _ => true,
                };
                assert!(readable, "{name}");
                count += 1;
            }
        }
    }
    assert!(count > 2, "only {count} components of unknown types");
}

/// The real and imaginary parts of `1.2.3/complex.zt`, in order.
const PARTS: [f32; 12] =
    [-1.25, -0.75, -0.25, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4.25];

fn pairs<T: Copy>(parts: &[T]) -> Vec<Complex<T>> {
    parts.chunks(2).map(|pair| Complex { re: pair[0], im: pair[1] }).collect()
}

#[test]
fn complex_numbers_are_pairs() {
    let file = placed(&read("1.2.3/complex.zt"), 0);
    let archive = Archive::from_bytes(&file).unwrap();
    let bound = |name: &str| archive.get(name).unwrap().dense().unwrap().view().unwrap();

    let view = bound("c64");
    assert_eq!(view.dtype(), DType::Complex64);
    borrows(view.as_slice(), ByteOrder::Little, &pairs(&PARTS));
    assert_eq!(view.to_vec::<Complex<f32>>().unwrap(), pairs(&PARTS));
    assert_eq!(view.elements::<Complex<f32>>().unwrap().get(5), pairs(&PARTS).pop());
    assert_eq!(view.elements::<Complex<f32>>().unwrap().get(6), None);
    borrows(view.as_slice(), ByteOrder::Little, &PARTS);
    assert_eq!(view.len(), 12);
    assert_eq!(misuse(view.as_slice::<Complex<f64>>().unwrap_err()), Misuse::Type);

    let doubles = PARTS.map(f64::from);
    let view = bound("c128");
    borrows(view.as_slice(), ByteOrder::Little, &pairs(&doubles));
    borrows(view.as_slice(), ByteOrder::Little, &doubles);
    assert_eq!(misuse(view.as_slice::<Complex<f32>>().unwrap_err()), Misuse::Type);

    borrows(bound("c64_scalar").as_slice(), ByteOrder::Little, &pairs(&PARTS[..2]));
}

#[test]
fn complex_numbers_at_odd_addresses_are_read_one_by_one() {
    let file = read("1.2.3/complex.zt");
    let placed = placed(&file, 1);
    let odd = &placed[..];
    let archive = Archive::from_bytes(odd).unwrap();
    let component = archive.get("c64").unwrap().dense().unwrap();
    let view = component.view().unwrap();
    let native = view.byte_order() == ByteOrder::NATIVE;
    let why = if native { Misuse::Alignment } else { Misuse::ByteOrder };
    assert_eq!(misuse(view.as_slice::<Complex<f32>>().unwrap_err()), why);
    assert_eq!(view.to_vec::<Complex<f32>>().unwrap(), pairs(&PARTS));
    let decoded = component.read().unwrap();
    borrows(decoded.view().as_slice(), ByteOrder::Little, &pairs(&PARTS));
}

#[test]
fn both_parts_of_a_complex_number_have_the_byte_order() {
    let bytes = [0x3f, 0x80, 0, 0, 0x40, 0, 0, 0];
    let one = Complex::<f32>::read(&bytes, ByteOrder::Big);
    assert_eq!(one, Some(Complex { re: 1.0, im: 2.0 }));
    assert_eq!(Complex::<f32>::read(&bytes[..7], ByteOrder::Big), None);
}
