//! Checks that each dense object of the accepted files of the corpus loads as a tensor with the same elements, and each quantized
//! object with its dequantized values, or that loading fails with an error. If candle lacks the type or cannot count the elements,
//! the error gives the reason.

use candle_core::{DType, Device, Tensor};
use zten::{DType as Own, Layout, OpenOptions};
use zten_candle::Weights;

use crate::corpus;

/// Returns the elements of `tensor` as little-endian bytes in row-major order. Panics for the types with fewer than 8 bits, and for
/// `F8E8M0`.
pub(crate) fn bytes(tensor: &Tensor) -> Vec<u8> {
    fn all<T: candle_core::WithDType, const N: usize>(
        tensor: &Tensor,
        to: fn(T) -> [u8; N],
    ) -> Vec<u8> {
        tensor.flatten_all().unwrap().to_vec1::<T>().unwrap().into_iter().flat_map(to).collect()
    }
    match tensor.dtype() {
        DType::F64 => all::<f64, 8>(tensor, f64::to_le_bytes),
        DType::F32 => all::<f32, 4>(tensor, f32::to_le_bytes),
        DType::F16 => all::<half::f16, 2>(tensor, half::f16::to_le_bytes),
        DType::BF16 => all::<half::bf16, 2>(tensor, half::bf16::to_le_bytes),
        DType::I64 => all::<i64, 8>(tensor, i64::to_le_bytes),
        DType::I32 => all::<i32, 4>(tensor, i32::to_le_bytes),
        DType::I16 => all::<i16, 2>(tensor, i16::to_le_bytes),
        DType::U32 => all::<u32, 4>(tensor, u32::to_le_bytes),
        DType::U8 => all::<u8, 1>(tensor, u8::to_le_bytes),
        DType::F8E4M3 => all::<float8::F8E4M3, 1>(tensor, |x| [x.to_bits()]),
        other => panic!("{other:?}"),
    }
}

/// Returns whether candle has no type for elements of `dtype`.
fn is_other(dtype: Own) -> bool {
    let floats = [Own::F64, Own::F32, Own::F16, Own::BF16, Own::F8E4M3Fn];
    let integers = [Own::I64, Own::I32, Own::I16, Own::U32, Own::U8];
    !floats.contains(&dtype) && !integers.contains(&dtype)
}

#[test]
fn tensors_have_the_elements_of_the_files() {
    let folders = [
        "accept/0.1.0",
        "accept/1.1.1",
        "accept/1.2.3",
        "v2/2.1",
        "v2/accept",
        "other/safetensors/accept",
        "other/gguf/accept",
        "other/npy/accept",
        "other/npz/accept",
    ];
    let (mut read, mut rejected, mut uncountable) = (0, 0, 0);
    let mut types = std::collections::HashSet::new();
    for folder in folders {
        for entry in std::fs::read_dir(corpus(folder)).unwrap() {
            let path = entry.unwrap().path();
            if !folder.starts_with("other") && path.extension().is_none_or(|suffix| suffix != "zt")
            {
                continue;
            }
            let Ok(archive) = zten::open(&path) else { continue };
            if archive.generation().is_none() && archive.manifest().shards().next().is_some() {
                // The tensors of an index are in other files, which this test visits separately.
                continue;
            }
            let weights = Weights::open(&[&path], &OpenOptions::default()).unwrap();
            assert_eq!(weights.names().count(), archive.len());
            for object in &archive {
                let place = format!("{} {}", path.display(), object.name());
                let tensor = weights.load(object.name(), &Device::Cpu);
                if object.is_quantized() {
                    let Ok(values) = object.to_f32() else {
                        tensor.unwrap_err();
                        continue;
                    };
                    let tensor = tensor.unwrap_or_else(|error| panic!("{place}: {error}"));
                    assert_eq!(tensor.dtype(), DType::F32, "{place}");
                    let wanted: Vec<u8> = values.iter().flat_map(|own| own.to_le_bytes()).collect();
                    assert_eq!(bytes(&tensor), wanted, "{place}");
                    continue;
                }
                let dense = (object.layout() == Layout::Dense).then(|| object.dense().unwrap());
                let Some(dense) = dense.filter(|dense| !is_other(dense.dtype())) else {
                    let error = tensor.unwrap_err().to_string();
                    assert!(error.contains(object.name()), "{place}: {error}");
                    rejected += 1;
                    continue;
                };
                let Ok(wanted) = dense.read() else {
                    tensor.unwrap_err();
                    continue;
                };
                let sides: Vec<u64> = object.shape().to_vec();
                let times = |count: u64, side: &u64| count.checked_mul(*side);
                let forward = sides.iter().try_fold(1, times);
                if forward.and(sides.iter().rev().try_fold(1, times)).is_none() {
                    let error = tensor.unwrap_err().to_string();
                    assert!(
                        error.contains(
                            "dimensions of the shape one by one, and a product overflows"
                        ),
                        "{place}: {error}"
                    );
                    uncountable += 1;
                    continue;
                }
                let tensor = tensor.unwrap_or_else(|error| panic!("{place}: {error}"));
                let shape: Vec<u64> = tensor.dims().iter().map(|side| *side as u64).collect();
                assert!(object.shape().iter().copied().eq(shape), "{place}");
                assert!(bytes(&tensor) == *wanted, "{place}");
                types.insert(tensor.dtype().as_str());
                read += 1;
            }
        }
    }
    assert!(read > 120 && rejected > 30 && uncountable > 0, "{read} {rejected} {uncountable}");
    assert_eq!(types.len(), 10, "{types:?}");
}
