//! Tests of decoded components: their bytes are aligned, little-endian and verified.

use std::io::Read as _;

use zten::element::StorageType;
use zten::{Archive, element::ByteOrder, error::Misuse};

use super::{misuse, read};

#[test]
fn decoded_data_is_little_endian_and_aligned() {
    let file = read("0.1.0/big_endian.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let mut big = 0;
    for object in archive.tensors() {
        let component = object.dense().unwrap();
        let decoded = component.read().unwrap();
        assert_eq!(decoded.as_ptr().align_offset(64), 0);
        if component.encoding() != zten::Encoding::Raw {
            continue;
        }
        let (bound, view) = (component.view().unwrap(), decoded.view());
        assert_eq!(view.byte_order(), ByteOrder::Little);
        assert_eq!((view.len(), view.storage_type()), (bound.len(), bound.storage_type()));
        assert_eq!(bound.verified(), None);
        assert_eq!(view.verified(), Some(decoded.verified()));
        macro_rules! same {
            ($($dtype:ident $rust:ty;)+) => {
                match view.storage_type() {
                    $(StorageType::$dtype => {
                        let bits = |element: $rust| element.to_le_bytes();
                        let one = bound.elements::<$rust>().unwrap().map(bits);
                        assert!(one.eq(view.elements::<$rust>().unwrap().map(bits)));
                        let wanted = view.to_vec::<$rust>().unwrap();
                        if size_of::<$rust>() > 1 {
                            zten_testkit::borrows(view.as_slice(), ByteOrder::Little, &wanted);
                        } else {
                            assert_eq!(view.as_slice::<$rust>().unwrap(), wanted);
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

#[test]
#[cfg_attr(miri, ignore = "decoding zstd takes minutes there")]
fn buffers_of_the_callers_are_filled() {
    for name in ["1.2.3/zstd.zt", "1.1.1/zstd.zt", "1.1.1/csr_zstd_sha.zt", "1.2.3/dense_all.zt"] {
        let file = read(name);
        let archive = Archive::from_bytes(&file).unwrap();
        for object in archive.tensors() {
            for component in object.components() {
                let (decoded, mut wanted) = (component.read().unwrap(), Vec::new());
                component.reader().unwrap().read_to_end(&mut wanted).unwrap();
                assert_eq!(decoded[..], wanted);
                let mut buffer = vec![0xaa; wanted.len() + 1];
                let exact = &mut buffer[..wanted.len()];
                let view = component.read_into(exact).unwrap();
                assert_eq!(view.as_bytes(), wanted);
                assert_eq!(view.verified(), Some(decoded.verified()));
                let error = component.read_into(&mut buffer).unwrap_err();
                assert_eq!(misuse(error), Misuse::Buffer);
                if let Some(less) = wanted.len().checked_sub(1) {
                    let less = &mut buffer[..less];
                    let error = component.read_into(less).unwrap_err();
                    assert_eq!(misuse(error), Misuse::Buffer);
                }
            }
        }
    }
}
