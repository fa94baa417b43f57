//! FP8 and complex elements, and what a component's logical type lets be read.

mod common;

use common::corpus;
use zten::{
    Archive, ByteOrder, Complex, Element, Error, ErrorKind, F8E4M3Fn, F8E4M3Fnuz, F8E5M2,
    F8E5M2Fnuz, Limits, LogicalType, Misuse, StorageType, Verified,
};

fn read(name: &str) -> Vec<u8> {
    std::fs::read(corpus().join("accept").join(name)).unwrap()
}

/// The names of the accepted files.
fn names() -> impl Iterator<Item = String> {
    let folder = std::fs::read_dir(corpus().join("accept")).unwrap();
    folder.map(|entry| entry.unwrap().file_name().into_string().unwrap())
}

fn misuse(error: Error) -> Misuse {
    match error.kind() {
        ErrorKind::Misuse(misuse) => misuse,
        _ => panic!("{error}"),
    }
}

/// What `ml_dtypes` makes of all 256 patterns, as the bits of an `f32`.
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

/// Holds one type against its table and the component that has all its patterns.
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
            let archive = Archive::open(&file).unwrap();
            let component = archive.get($name).unwrap().dense().unwrap().component();
            let view = component.bind(&file).unwrap();
            assert_eq!(view.logical_type(), Some(LogicalType::$type));
            assert_eq!(view.len(), 256);
            let slice: &[$type] = view.as_slice().unwrap();
            let found: Vec<u32> = slice.iter().map(|element| element.to_f32().to_bits()).collect();
            assert_eq!(found, floats);
            assert!(view.elements::<$type>().unwrap().eq(slice.iter().copied()));
            assert_eq!(view.to_vec::<$type>().unwrap(), slice);
            // The storage elements, as ever.
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
    let archive = Archive::open(&file).unwrap();
    let view = archive
        .objects()
        .next()
        .unwrap()
        .dense()
        .unwrap()
        .bind(&file)
        .unwrap();
    assert_eq!(view.as_slice::<F8E4M3Fn>().unwrap().len(), view.len());
    let file = read("v11-complex128.zt");
    let archive = Archive::open(&file).unwrap();
    let view = archive
        .objects()
        .next()
        .unwrap()
        .dense()
        .unwrap()
        .bind(&file)
        .unwrap();
    assert_eq!(
        view.elements::<Complex<f64>>().unwrap().len() * 2,
        view.len()
    );
}

#[test]
fn plain_components_have_no_logical_elements() {
    let file = read("1.2.3/dense_all.zt");
    let archive = Archive::open(&file).unwrap();
    let bound = |name: &str| {
        archive
            .get(name)
            .unwrap()
            .dense()
            .unwrap()
            .bind(&file)
            .unwrap()
    };
    assert_eq!(bound("t_u8").logical_type(), None);
    assert_eq!(
        misuse(bound("t_u8").as_slice::<F8E5M2>().unwrap_err()),
        Misuse::Type
    );
    assert_eq!(
        misuse(bound("t_f32").as_slice::<Complex<f32>>().unwrap_err()),
        Misuse::Type
    );
    assert_eq!(
        misuse(bound("t_f64").elements::<Complex<f64>>().unwrap_err()),
        Misuse::Type
    );
}

#[test]
fn unknown_logical_types_are_storage_elements() {
    let mut count = 0;
    for name in names().filter(|name| name.starts_with("unsupported-type--")) {
        let file = read(&name);
        let archive = Archive::open(&file).unwrap();
        for object in archive.objects() {
            for component in object.components() {
                let zten::ElementType::UnknownLogical(..) = component.element_type() else {
                    continue;
                };
                let Ok(view) = component.bind(&file) else {
                    continue;
                };
                assert_eq!(view.logical_type(), None);
                assert!(view.elements::<F8E4M3Fn>().is_err());
                assert!(view.elements::<Complex<f32>>().is_err());
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

/// Real and imaginary parts of `1.2.3/complex.zt`, in order.
const PARTS: [f32; 12] = [
    -1.25, -0.75, -0.25, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4.25,
];

fn pairs<T: Copy>(parts: &[T]) -> Vec<Complex<T>> {
    parts
        .chunks(2)
        .map(|pair| Complex {
            re: pair[0],
            im: pair[1],
        })
        .collect()
}

#[test]
fn complex_numbers_are_pairs() {
    let file = read("1.2.3/complex.zt");
    let archive = Archive::open(&file).unwrap();
    let bound = |name: &str| {
        archive
            .get(name)
            .unwrap()
            .dense()
            .unwrap()
            .bind(&file)
            .unwrap()
    };

    let view = bound("c64");
    assert_eq!(view.logical_type(), Some(LogicalType::Complex64));
    assert_eq!(view.as_slice::<Complex<f32>>().unwrap(), pairs(&PARTS));
    assert_eq!(view.to_vec::<Complex<f32>>().unwrap(), pairs(&PARTS));
    assert_eq!(
        view.elements::<Complex<f32>>().unwrap().get(5),
        pairs(&PARTS).pop()
    );
    assert_eq!(view.elements::<Complex<f32>>().unwrap().get(6), None);
    assert_eq!(view.as_slice::<f32>().unwrap(), PARTS);
    assert_eq!(view.len(), 12);
    assert_eq!(
        misuse(view.as_slice::<Complex<f64>>().unwrap_err()),
        Misuse::Type
    );

    let doubles = PARTS.map(f64::from);
    let view = bound("c128");
    assert_eq!(view.as_slice::<Complex<f64>>().unwrap(), pairs(&doubles));
    assert_eq!(view.as_slice::<f64>().unwrap(), doubles);
    assert_eq!(
        misuse(view.as_slice::<Complex<f32>>().unwrap_err()),
        Misuse::Type
    );

    assert_eq!(
        bound("c64_scalar").as_slice::<Complex<f32>>().unwrap(),
        pairs(&PARTS[..2])
    );
}

#[test]
fn complex_numbers_at_odd_addresses_are_read_one_by_one() {
    let file = read("1.2.3/complex.zt");
    let mut room = vec![0_u64; file.len() / 8 + 2];
    let bytes = zerocopy::IntoBytes::as_mut_bytes(room.as_mut_slice());
    bytes[1..=file.len()].copy_from_slice(&file);
    let odd = &bytes[1..=file.len()];
    let archive = Archive::open(odd).unwrap();
    let component = archive.get("c64").unwrap().dense().unwrap().component();
    let view = component.bind(odd).unwrap();
    assert_eq!(
        misuse(view.as_slice::<Complex<f32>>().unwrap_err()),
        Misuse::Alignment
    );
    assert_eq!(view.to_vec::<Complex<f32>>().unwrap(), pairs(&PARTS));
    let decoded = component.decode(odd, &Limits::default()).unwrap();
    assert_eq!(
        decoded.view().as_slice::<Complex<f32>>().unwrap(),
        pairs(&PARTS)
    );
}

#[test]
fn each_part_has_the_byte_order() {
    let bytes = [0x3f, 0x80, 0, 0, 0x40, 0, 0, 0];
    let one = Complex::<f32>::read(&bytes, ByteOrder::Big);
    assert_eq!(one, Some(Complex { re: 1.0, im: 2.0 }));
    assert_eq!(Complex::<f32>::read(&bytes[..7], ByteOrder::Big), None);
}

#[cfg(feature = "zstd")]
#[test]
fn decoded_data_is_little_endian_and_aligned() {
    let file = read("0.1.0/big_endian.zt");
    let archive = Archive::open(&file).unwrap();
    let mut big = 0;
    for object in archive.objects() {
        let component = object.dense().unwrap().component();
        let decoded = component.decode(&file[..], &Limits::default()).unwrap();
        assert_eq!(decoded.as_ptr().align_offset(64), 0);
        if component.encoding() != zten::Encoding::Raw {
            continue;
        }
        let (bound, view) = (component.bind(&file).unwrap(), decoded.view());
        assert_eq!(view.byte_order(), ByteOrder::Little);
        assert_eq!(
            (view.len(), view.storage_type()),
            (bound.len(), bound.storage_type())
        );
        assert_eq!(bound.verified(), None);
        assert_eq!(view.verified(), Some(decoded.verified()));
        macro_rules! same {
            ($($dtype:ident $rust:ty;)+) => {
                match view.storage_type() {
                    $(StorageType::$dtype => {
                        let bits = |element: $rust| element.to_le_bytes();
                        let one = bound.elements::<$rust>().unwrap().map(bits);
                        assert!(one.eq(view.elements::<$rust>().unwrap().map(bits)));
                        if cfg!(target_endian = "little") {
                            assert!(view.as_slice::<$rust>().is_ok());
                        }
                    })+
                    StorageType::Bool => {
                        let one = bound.elements::<bool>().unwrap();
                        assert!(one.eq(view.elements::<bool>().unwrap()));
                    }
                }
            };
        }
        same! {
            F64 f64; F32 f32; F16 half::f16; Bf16 half::bf16;
            I64 i64; I32 i32; I16 i16; I8 i8; U64 u64; U32 u32; U16 u16; U8 u8;
        }
        big += u32::from(bound.byte_order() == ByteOrder::Big);
    }
    assert!(big > 5, "only {big} big-endian components");
}

#[cfg(feature = "zstd")]
#[test]
fn buffers_of_the_callers_are_filled() {
    for name in [
        "1.2.3/zstd.zt",
        "1.1.1/zstd.zt",
        "1.1.1/csr_zstd_sha.zt",
        "1.2.3/dense_all.zt",
    ] {
        let file = read(name);
        let archive = Archive::open(&file).unwrap();
        let limits = Limits::default();
        for object in archive.objects() {
            for component in object.components() {
                let wanted = component.read_to_vec(&file[..], &limits).unwrap();
                let decoded = component.decode(&file[..], &limits).unwrap();
                assert_eq!(decoded[..], wanted);
                let mut buffer = vec![0xaa; wanted.len() + 1];
                let exact = &mut buffer[..wanted.len()];
                let view = component.decode_into(&file[..], &limits, exact).unwrap();
                assert_eq!(view.as_bytes(), wanted);
                assert_eq!(view.verified(), Some(decoded.verified()));
                let error = component
                    .decode_into(&file[..], &limits, &mut buffer)
                    .unwrap_err();
                assert_eq!(misuse(error.into()), Misuse::Buffer);
                if let Some(less) = wanted.len().checked_sub(1) {
                    let less = &mut buffer[..less];
                    let error = component.decode_into(&file[..], &limits, less).unwrap_err();
                    assert_eq!(misuse(error.into()), Misuse::Buffer);
                }
            }
        }
    }
}

#[cfg(feature = "zstd")]
#[test]
fn a_digest_is_verified_or_not() {
    let outcome = |name: &str, object: &str| {
        let file = read(name);
        let archive = Archive::open(&file).unwrap();
        let component = archive.get(object).unwrap().components().next().unwrap();
        component
            .decode(&file[..], &Limits::default())
            .unwrap()
            .verified()
    };
    let known = if cfg!(feature = "digest") {
        Verified::Digest
    } else {
        Verified::Unverifiable
    };
    assert_eq!(outcome("1.1.1/csr_zstd_sha.zt", "csr_f32"), known);
    assert_eq!(outcome("1.2.3/csr_raw.zt", "csr_f32"), Verified::NoDigest);
}

#[cfg(feature = "zstd")]
#[test]
fn limits_are_spent_before_memory() {
    let file = read("1.2.3/zstd.zt");
    let archive = Archive::open(&file).unwrap();
    let limits = Limits::default().with("decoded", 1).unwrap();
    let mut refused = 0;
    for object in archive.objects() {
        let component = object.components().next().unwrap();
        if component.decoded_length().is_some_and(|length| length > 1) {
            let error = Error::from(component.decode(&file[..], &limits).unwrap_err());
            assert_eq!(error.id(), Some("limit-decoded"));
            refused += 1;
        }
    }
    assert!(refused > 0);
}
