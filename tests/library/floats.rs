//! Tests of reading tensors as `f32`, and of loading all tensors at once.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use half::{bf16, f16};
use serde::Serialize;
use zten::error::Misuse;
use zten::rules::Rule;
use zten::write::ComponentData;
use zten::{Archive, DType, Error, Layout, OpenOptions, ReadAt, Tensor, Writer};
use zten_corpus::cbor::{text, uint, uints};
use zten_corpus::v2::{FileV2, part, quant_group};

use zten_testkit::{corpus, misuse};

#[test]
fn every_float_dtype_is_read_as_f32() {
    let values = [0.0_f32, -1.5, 448.0, f32::INFINITY];
    let mut writer = Writer::to(Vec::new()).unwrap();
    writer.add("f32", &[4], &values).unwrap();
    writer.add("f64", &[4], &values.map(f64::from)).unwrap();
    writer.add("f16", &[4], &values.map(f16::from_f32)).unwrap();
    writer.add("bf16", &[4], &values.map(bf16::from_f32)).unwrap();
    writer.add("i32", &[1], &[1_i32]).unwrap();
    let archive = Archive::from_bytes(writer.finish().unwrap()).unwrap();
    for name in ["f32", "f64", "f16", "bf16"] {
        assert_eq!(archive.tensor(name).unwrap().to_f32().unwrap(), values, "{name}");
    }
    assert_eq!(misuse(archive.tensor("i32").unwrap().to_f32().unwrap_err()), Misuse::Type);
}

/// For each tensor of some folders of the corpus that can be read as `f32`, the values are the same as those of the other methods
/// that read tensors of its layout and dtype.
#[test]
fn to_f32_agrees_with_all_other_methods() {
    let (mut dense, mut quantized, mut groups, mut blocks) = (0, 0, 0, 0);
    for folder in ["accept/1.2.3", "v2/accept", "other/gguf/accept", "other/safetensors/accept"] {
        for entry in std::fs::read_dir(corpus().join(folder)).unwrap() {
            let Ok(archive) = zten::open(entry.unwrap().path()) else { continue };
            for tensor in &archive {
                let Ok(values) = tensor.to_f32() else { continue };
                let bits =
                    |values: &[f32]| -> Vec<u32> { values.iter().map(|v| v.to_bits()).collect() };
                assert_eq!(values.len() as u64, tensor.element_count().unwrap(), "{tensor:?}");
                parts_are_those_of_the_whole(&tensor, &values);
                if tensor.layout() == Layout::QuantizedGroup {
                    let mut expected = vec![0.0; values.len()];
                    tensor.quantized().unwrap().dequantize(&mut expected).unwrap();
                    assert_eq!(bits(&values), bits(&expected));
                    quantized += 1;
                } else if tensor.layout() == Layout::QuantGroup {
                    groups += 1;
                } else if tensor.layout() == Layout::Mx {
                    let mut expected = vec![0.0; values.len()];
                    tensor.mx().unwrap().dequantize(&mut expected).unwrap();
                    assert_eq!(bits(&values), bits(&expected));
                    quantized += 1;
                } else if let Some(block) = zten::formats::Block::of_layout(&tensor) {
                    let mut expected = vec![0.0; values.len()];
                    let data = tensor.component("data").unwrap().read().unwrap();
                    block.dequantize(&data, &mut expected).unwrap();
                    assert_eq!(bits(&values), bits(&expected));
                    blocks += 1;
                } else if tensor.dtype() == DType::F8E5M2 {
                    let elements = tensor.to_vec::<zten::element::F8E5M2>().unwrap();
                    let expected: Vec<f32> =
                        elements.iter().map(|element| element.to_f32()).collect();
                    assert_eq!(bits(&values), bits(&expected));
                    dense += 1;
                } else if tensor.dtype() == DType::F4E2M1 {
                    let data = tensor.dense().unwrap().read().unwrap();
                    let nibbles = data.view().nibbles(values.len()).unwrap();
                    let expected: Vec<f32> = nibbles.map(zten::element::F4E2M1::to_f32).collect();
                    assert_eq!(bits(&values), bits(&expected));
                    dense += 1;
                }
            }
        }
    }
    assert!(dense > 2 && quantized > 2 && blocks > 3, "{dense} {quantized} {blocks}");
    assert!(groups > 10, "{groups}");
}

/// Reads ranges of a quantized tensor, and checks that each gives the same elements as `values`, the whole tensor. A range out
/// of bounds or a buffer of another size is an error. If no range of `tensor` can be read, it must be a dense tensor, for which
/// reading a range is misuse.
pub(crate) fn parts_are_those_of_the_whole(tensor: &Tensor<'_>, values: &[f32]) {
    let all = values.len();
    let part = |start: usize, end: usize, length: usize| {
        let mut some = vec![f32::MAX; length];
        let range = start as u64..end as u64;
        tensor.dequantize_range(range, &mut some).map(|()| some)
    };
    if let Err(error) = part(0, all, all) {
        assert!(tensor.layout() == Layout::Dense && misuse(error) == Misuse::Layout, "{tensor:?}");
        return;
    }
    let bits = |values: &[f32]| -> Vec<u32> { values.iter().map(|v| v.to_bits()).collect() };
    let mut random = fastrand::Rng::with_seed(all as u64);
    for _ in 0..if cfg!(miri) { 4 } else { 60 } {
        let start = random.usize(..=all);
        let longest = random.usize(..300);
        let end = random.usize(start..=all.min(start + longest));
        let some = part(start, end, end - start).unwrap();
        assert_eq!(bits(&some), bits(&values[start..end]), "{start}..{end} of {tensor:?}");
        assert_eq!(misuse(part(start, end, end - start + 1).unwrap_err()), Misuse::Buffer);
    }
    assert_eq!(misuse(part(0, all + 1, all + 1).unwrap_err()), Misuse::Slice);
    assert_eq!(misuse(part(1, 0, 0).unwrap_err()), Misuse::Slice);
}

/// A source in memory, and the number of bytes that were read from it.
struct Counted<'b>(&'b [u8], AtomicUsize);

impl ReadAt for Counted<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.1.fetch_add(buffer.len(), Relaxed);
        self.0.read_at(offset, buffer)
    }
}

/// Reading a tensor part by part would be quadratic if each part read all scales.
#[test]
fn only_the_scales_of_a_part_are_read() {
    // Each element and each scale has one byte. The first file has blocks of 2 along the rows of [2, 4], and the second
    // has blocks along the columns of [4, 3].
    for (name, range, bytes) in [
        ("mx-e5m2", 2..4, 2 + 1),
        ("mx-e5m2", 3..5, 2 + 2),
        ("mx-along-the-first", 1..2, 1 + 3),
        ("mx-along-the-first", 8..9, 1 + 3),
    ] {
        let file = std::fs::read(corpus().join(format!("v2/accept/{name}.zt"))).unwrap();
        let source = Counted(&file, AtomicUsize::new(0));
        let archive = OpenOptions::default().open_source(&source, file.len() as u64).unwrap();
        let tensor = archive.tensor("w").unwrap();
        let whole = tensor.to_f32().unwrap();
        assert_eq!(read_of(&source, &tensor, &whole, range), bytes, "{name}");
    }
}

/// Reads the elements `range` of `tensor` from `source`, compares them with `whole`, all elements of the tensor, and
/// returns how many bytes were read.
fn read_of(
    source: &Counted<'_>,
    tensor: &Tensor<'_>,
    whole: &[f32],
    range: std::ops::Range<usize>,
) -> usize {
    let before = source.1.load(Relaxed);
    let mut some = vec![0.0; range.len()];
    tensor.dequantize_range(range.start as u64..range.end as u64, &mut some).unwrap();
    let bits = |values: &[f32]| -> Vec<u32> { values.iter().map(|v| v.to_bits()).collect() };
    assert_eq!(bits(&some), bits(&whole[range]));
    source.1.load(Relaxed) - before
}

/// Reading a row of a group reads the codes, scales and zero points of this row, the words that the row shares with other rows, and
/// small tables that all rows share.
#[cfg(feature = "safetensors")]
#[test]
fn only_the_rows_of_a_part_of_a_group_are_read() {
    for (name, rows, bytes) in [
        // The tensor has the shape [2, 3, 64], and each row has 32 bytes of codes and 2 bytes of scales.
        ("mxfp4", 1..2, 32 + 2),
        ("mxfp4", 2..4, 64 + 4),
        // The tensor has the shape [64, 32], and a word holds codes of 8 rows. A row needs 32 words of codes, 32
        // scales of 2 bytes, and 4 words of zero points.
        ("gptq-4", 9..10, 128 + 64 + 16),
        ("gptq-4", 15..17, 256 + 64 + 16),
        ("awq", 1..2, 8 + 32 + 8),
        ("mlx-4", 1..2, 64 + 4 + 4),
        // In this file, the zero points of 8 rows are in the same 3 words.
        ("packed-4-zero-point", 10..11, 48 + 12 + 12),
        // This tensor has the shape [130, 260] and blocks of 128 × 128, so there are 3 scales of 4 bytes for each row
        // of blocks.
        ("fp8-block", 1..2, 260 + 12),
        ("fp8-block", 127..129, 520 + 24),
    ] {
        let file = std::fs::read(corpus().join(format!("conventions/{name}.safetensors"))).unwrap();
        let source = Counted(&file, AtomicUsize::new(0));
        let archive = OpenOptions::default().open_source(&source, file.len() as u64).unwrap();
        let archive = archive.with_conventions().unwrap();
        let tensor = archive.tensors().next().unwrap();
        let whole = tensor.to_f32().unwrap();
        let columns = usize::try_from(*tensor.shape().last().unwrap()).unwrap();
        let range = rows.start * columns..rows.end * columns;
        assert_eq!(read_of(&source, &tensor, &whole, range), bytes, "{name} {rows:?}");
    }
}

/// Codes 0 to 7 of 4 bits, with scales and zero points that differ in each group, are read correctly for each axis of
/// the groups, order of the codes in a word, and form of the zero points.
#[test]
fn groups_of_codes_are_read_by_axis_order_and_form() {
    let values = |file: FileV2| {
        let archive = Archive::from_bytes(file.bytes()).unwrap();
        archive.tensor("w").unwrap().to_f32().unwrap()
    };
    let at = |field: &str| format!("w:/attributes/{field}");
    // `rows` has the scales 1, 2, 3 and 4 as `f16`, and the zero points 1, 2, 3 and 4 as codes.
    let rows = || {
        let scales = [0, 0x3c, 0, 0x40, 0, 0x42, 0, 0x44];
        quant_group().blob(12288, &scales).blob(8192, &[0x21, 0x43])
    };
    // The groups have two codes along the first dimension of [4, 2], and then along the second dimension of [2, 4].
    assert_eq!(values(rows()), [-1.0, -2.0, 1.0, 2.0, 3.0, 4.0, 9.0, 12.0]);
    let columns = || rows().set("w:/shape", uints(&[2, 4])).set(&at("axis"), uint(1));
    assert_eq!(values(columns()), [-1.0, 0.0, 0.0, 2.0, 3.0, 6.0, 8.0, 12.0]);
    // The groups lie along the middle dimension of [2, 2, 2].
    let middle = rows().set("w:/shape", uints(&[2, 2, 2])).set(&at("axis"), uint(1));
    assert_eq!(values(middle), [-1.0, -2.0, 1.0, 2.0, 3.0, 4.0, 9.0, 12.0]);
    // With the most significant code first, the codes are 1 0 3 2 5 4 7 6, and the zero points 2, 1, 4 and 3.
    let order = at("packing/order");
    let highest = columns().set(&order, text("msb_first"));
    assert_eq!(values(highest), [-1.0, -2.0, 4.0, 2.0, 3.0, 0.0, 16.0, 12.0]);
    // In words of 16 bits, the codes are 3 2 1 0 7 6 5 4, and the zero points 4, 3, 2 and 1.
    let wide = columns().set(&order, text("msb_first")).set(&at("packing/word"), text("u16"));
    let wide = wide.set(&at("packing/per_word"), uint(4)).set("w:data", part("u16", 4096, 4));
    let wide = wide.set("w:zeros", part("u16", 8192, 2));
    assert_eq!(values(wide), [-1.0, -2.0, -4.0, -6.0, 15.0, 12.0, 16.0, 12.0]);
    // The zero points are first 1.5 and -1 as `f16`, and then there are none.
    let plain =
        rows().set("w:zeros", part("f16", 8192, 8)).set(&at("zero_point/packing"), text("plain"));
    let plain = plain.blob(8192, &[0, 0x3e, 0, 0xbc, 0, 0x3e, 0, 0xbc]);
    assert_eq!(values(plain), [-1.5, 4.0, 0.5, 8.0, 7.5, 24.0, 13.5, 32.0]);
    let none = || rows().without("w:zeros").set(&at("zero_point/form"), text("none"));
    assert_eq!(values(none()), [0.0, 2.0, 2.0, 6.0, 12.0, 20.0, 18.0, 28.0]);
    // With the group size 0, there is one scale for each lane along the axis, or one for each weight.
    let lanes = none().set(&at("group_size"), uint(0)).set("w:scales", part("f16", 12288, 4));
    assert_eq!(values(lanes), [0.0, 2.0, 2.0, 6.0, 4.0, 10.0, 6.0, 14.0]);
    let each = none().set(&at("group_size"), uint(0)).set("w:scales", part("f16", 12288, 16));
    let ones = [[0, 0x3c].repeat(7), vec![0, 0x40]].concat();
    assert_eq!(values(each.blob(12288, &ones)), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 14.0]);

    let read = |name: &str| {
        let archive = zten::open(corpus().join("v2/accept").join(name)).unwrap();
        archive.tensor("w").unwrap().to_f32().unwrap()
    };
    assert_eq!(read("quant-group.zt"), [-8.0, -14.0, -6.0, -10.0, -4.0, -6.0, -2.0, -2.0]);
    // The file `quant-implied.zt` has the zero point -8 for all codes.
    assert_eq!(read("quant-implied.zt"), [8.0, 18.0, 10.0, 22.0, 12.0, 26.0, 14.0, 30.0]);
    // The scales have the exponents 0x00, 0x3c, 0x00 and 0x40: they are powers of two with a bias of 127.
    let scales = [0, 0x3c, 0, 0x40].map(|bits| zten::element::F8E8M0::from_bits(bits).to_f32());
    let [a, b, c, d] = scales;
    let expected = [-8.0 * a, -7.0 * b, -6.0 * a, -5.0 * b, -4.0 * c, -3.0 * d, -2.0 * c, -d];
    assert_eq!(read("quant-exponents.zt"), expected);
    let archive = zten::open(corpus().join("v2/accept/quant-typed.zt")).unwrap();
    let error = archive.tensor("w").unwrap().to_f32().unwrap_err();
    assert_eq!(error.rule(), Some("unsupported-type"));
}

/// A view borrows bytes without comparing digests, so reading as `f32` must do that for quantized tensors.
#[test]
fn a_changed_byte_of_a_quantized_tensor_is_found() {
    #[derive(Serialize)]
    struct Attributes {
        bits: u8,
        group_size: u8,
        packing: &'static str,
    }
    let attributes = Attributes { bits: 4, group_size: 16, packing: "8_per_i32" };
    let (words, scales, zeros) = ([0x1234_i32; 2], [1.0_f32], [0.0_f32]);
    let parts: [(&str, ComponentData<'_>); 3] = [
        ("packed_weight", (&words).into()),
        ("scales", (&scales).into()),
        ("zeros", (&zeros).into()),
    ];
    let mut writer = Writer::to(Vec::new()).unwrap();
    writer.add_quantized("q", &[16, 1], &attributes, &parts).unwrap();
    let file = writer.finish().unwrap();
    let values = |file: &[u8]| Archive::from_bytes(file).unwrap().tensor("q").unwrap().to_f32();
    assert_eq!(values(&file).unwrap()[..4], [4.0, 3.0, 2.0, 1.0]);
    let archive = Archive::from_bytes(&file).unwrap();
    for component in archive.tensor("q").unwrap().components() {
        assert!(component.digest().is_some());
        let mut changed = file.clone();
        changed[usize::try_from(component.extent().offset()).unwrap()] ^= 1;
        let error = values(&changed).unwrap_err();
        assert_eq!(error.kind(), Rule::DigestMismatch, "{}", component.role());
    }
}

#[test]
fn sparse_tensors_are_not_read_as_f32() {
    let archive = zten::open(corpus().join("accept/1.2.3/csr_raw.zt")).unwrap();
    for tensor in &archive {
        assert_eq!(misuse(tensor.to_f32().unwrap_err()), Misuse::Layout, "{}", tensor.name());
    }
}

#[test]
fn all_tensors_are_loaded_in_one_call() {
    for file in ["accept/1.2.3/dense_all.zt", "accept/1.2.3/csr_raw.zt", "v2/shards/dense.zt"] {
        let archive = zten::open(corpus().join(file)).unwrap();
        let loaded = archive.load().unwrap();
        assert_eq!(loaded.len(), archive.len());
        for (loaded, tensor) in loaded.iter().zip(&archive) {
            assert_eq!(loaded.tensor().name(), tensor.name());
            assert_eq!(loaded.components().count(), tensor.components().len());
            for component in tensor.components() {
                let content = loaded.component(component.role()).unwrap();
                assert_eq!(content.as_bytes(), &*component.read().unwrap());
            }
            match tensor.layout() {
                Layout::Dense if tensor.dtype() == DType::F32 => {
                    assert_eq!(loaded.as_slice::<f32>().unwrap(), tensor.to_vec::<f32>().unwrap());
                }
                Layout::Dense => {}
                _ => assert_eq!(misuse(loaded.as_slice::<f32>().unwrap_err()), Misuse::Layout),
            }
            assert!(loaded.component("no such role").is_none());
        }
    }
}
