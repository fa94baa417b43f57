//! Tests of the profiles of generation 2: the values of `zt.mx/1` follow the definition, and the errors of other profiles name what
//! is wrong.

use zten::element::{F4E2M1, F8E4M3Fn, F8E5M2, F8E8M0};
use zten::{Archive, Limits, OpenOptions, error::Misuse};
use zten_corpus::cbor::{map, text, uint, uints};
use zten_corpus::v2::{object, typed, words};
use zten_testkit::{Far, Layout, misuse};

fn read(name: &str) -> Vec<u8> {
    zten_testkit::read(&format!("v2/{name}.zt"))
}

/// The logical types that elements of `zt.mx/1` may have; `None` for an `i8` without a logical type.
const TYPES: [Option<&str>; 4] = [Some("f4_e2m1"), Some("f8_e4m3fn"), Some("f8_e5m2"), None];

/// Returns element number `at` of `data`.
fn element(logical: Option<&str>, data: &[u8], at: usize) -> f32 {
    match logical {
        Some("f4_e2m1") => F4E2M1::from_bits(data[at / 2] >> (at % 2 * 4)).to_f32(),
        Some("f8_e4m3fn") => F8E4M3Fn::from_bits(data[at]).to_f32(),
        Some(_) => F8E5M2::from_bits(data[at]).to_f32(),
        None => f32::from(data[at].cast_signed()),
    }
}

#[test]
#[cfg_attr(miri, ignore = "it makes a few hundred files")]
fn values_are_elements_times_their_scales() {
    let mut rng = fastrand::Rng::with_seed(1);
    for round in 0..300 {
        let logical = TYPES[round % 4];
        let rank = rng.usize(1..4);
        let axis = rng.usize(..rank);
        let block = rng.usize(2..6);
        let mut shape: Vec<usize> = (0..rank).map(|_| rng.usize(1..9)).collect();
        shape[axis] = block * rng.usize(1..5);
        if round % 20 == 7 {
            shape[axis] = block * 300;
        }
        let elements: usize = shape.iter().product();
        let bytes = if logical == Some("f4_e2m1") { elements.div_ceil(2) } else { elements };
        let mut data: Vec<u8> = (0..bytes).map(|_| rng.u8(..)).collect();
        if logical == Some("f4_e2m1") && elements % 2 == 1 {
            *data.last_mut().unwrap() &= 15;
        }
        let scales: Vec<u8> = (0..elements / block).map(|_| rng.u8(..)).collect();

        let mut layout = Layout::new(4096);
        let own = match logical {
            Some(logical) => typed("u8", logical, layout.blob(data.clone()), bytes as u64),
            None => layout.part("i8", data.clone()),
        };
        let length = scales.len() as u64;
        let of_blocks = typed("u8", "f8_e8m0", layout.blob(scales.clone()), length);
        let parts = [("data", own), ("scales", of_blocks)];
        let wide: Vec<u64> = shape.iter().map(|dimension| *dimension as u64).collect();
        let mut attributes = vec![];
        if axis + 1 != rank || rng.bool() {
            attributes.push((text("axis"), uint(axis as u64)));
        }
        attributes.push((text("block_size"), uint(block as u64)));
        attributes.push((text("scale_form"), text("e8m0_exponent")));
        layout.named("w", object(&wide, "zt.mx/1", parts));
        let bytes = layout.v2().set("w:/attributes", map(attributes)).bytes();

        let archive = Archive::from_bytes(&bytes).unwrap();
        zten_testkit::check(&bytes, &OpenOptions::default()).unwrap();
        let tensor = archive.tensor("w").unwrap();
        let blocks = tensor.mx_blocks().unwrap();
        assert_eq!((blocks.axis() as usize, blocks.block_size()), (axis, block as u64));
        let mut values = vec![0.0; elements];
        tensor.mx().unwrap().dequantize(&mut values).unwrap();
        let mut decoded = vec![0.0; elements];
        // This source lends no bytes, so the components are decoded.
        let far = OpenOptions::default().open_source(Far(&bytes), bytes.len() as u64).unwrap();
        far.tensor("w").unwrap().mx().unwrap().dequantize(&mut decoded).unwrap();

        // The loop follows the definition: it computes each coordinate by division, and divides the coordinate along
        // the axis by the block size.
        let stride: usize = shape[axis + 1..].iter().product();
        for (place, value) in values.iter().enumerate() {
            let (outer, along, inner) =
                (place / stride / shape[axis], place / stride % shape[axis], place % stride);
            let scale = (outer * (shape[axis] / block) + along / block) * stride + inner;
            let scale = F8E8M0::from_bits(scales[scale]);
            // The product is exact in `f64`, and also in `f32` unless it is too large.
            let power = 2_f64.powi(i32::from(scale.to_bits()) - 127);
            let exact = f64::from(element(logical, &data, place)) * power;
            #[expect(clippy::cast_possible_truncation, reason = "it is what is tested")]
            let rounded = if scale.is_nan() { f32::NAN } else { exact as f32 };
            let same = |value: f32| value.to_bits() == rounded.to_bits();
            assert!(value.is_nan() && rounded.is_nan() || same(*value), "{value} {rounded}");
            let again = decoded[place];
            assert!(again.is_nan() && rounded.is_nan() || same(again), "{again} {rounded}");
            assert!(
                rounded.is_infinite()
                    || rounded.is_nan()
                    || f64::from(rounded).to_bits() == exact.to_bits()
            );
        }

        // The elements are also read in pieces of random sizes, with random sizes of chunks.
        let limits = Limits::default().with_chunk(rng.u32(16..40));
        let options = OpenOptions::default().limits(limits);
        let pieces = options.open_source(Far(&bytes), bytes.len() as u64).unwrap();
        let pieces = pieces.tensor("w").unwrap().to_f32().unwrap();
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&pieces), bits(&values));
        crate::floats::parts_are_those_of_the_whole(&tensor, &values);
        crate::floats::parts_are_those_of_the_whole(&far.tensor("w").unwrap(), &values);
    }
}

#[test]
fn empty_arrays_are_read_and_wrong_buffers_are_rejected() {
    let file = read("accept/mx-no-elements");
    let archive = Archive::from_bytes(&file).unwrap();
    let array = archive.tensor("w").unwrap().mx().unwrap();
    assert!(array.is_empty());
    array.dequantize(&mut []).unwrap();
    assert_eq!(misuse(array.dequantize(&mut [0.0]).unwrap_err()), Misuse::Buffer);

    let file = read("accept/mx");
    let archive = Archive::from_bytes(&file).unwrap();
    let tensor = archive.tensor("w").unwrap();
    let array = tensor.mx().unwrap();
    assert_eq!(array.data().as_bytes().len(), 4);
    assert_eq!((array.len(), array.is_empty()), (8, false));
}

#[test]
fn binding_validates_the_last_nibble() {
    let file = read("reject/nibble-value--v2-mx");
    let archive = Archive::from_bytes(&file).unwrap();
    let error = archive.tensor("w").unwrap().mx().unwrap_err();
    assert_eq!((error.rule(), error.offset()), (Some("nibble-value"), Some(4097)));
    assert_eq!((error.tensor(), error.component()), (Some("w"), Some("data")));
}

#[test]
fn attributes_of_profiles_are_returned() {
    let file = read("accept/quant-group");
    let archive = Archive::from_bytes(&file).unwrap();
    let object = archive.get("w").unwrap();
    assert_eq!(object.layout(), zten::Layout::QuantGroup);
    let group = object.quant_group().unwrap();
    assert_eq!((group.bits, group.group_size, group.axis), (4, 2, 0));
    assert!(group.zeros.is_some());
    assert!(object.mx().is_err() && object.gguf_blocks().is_err() && object.dense().is_err());

    let across = zten_corpus::v2::quant_group().set("w:/shape", uints(&[2, 4]));
    let across = across.set("w:/attributes/axis", uint(1)).bytes();
    let archive = Archive::from_bytes(&across).unwrap();
    assert_eq!(archive.get("w").unwrap().quant_group().unwrap().axis, 1);

    let file = read("accept/gguf");
    let archive = Archive::from_bytes(&file).unwrap();
    let blocks = archive.get("w").unwrap().gguf_blocks().unwrap();
    assert_eq!((blocks.elements_per_block, blocks.block_bytes), (32, 34));
    assert_eq!(blocks.data.bytes().unwrap(), [7; 68]);
}

#[test]
fn types_that_profiles_do_not_define_are_unsupported_when_used() {
    for (name, part) in [
        ("mx-of-an-unknown-type", "data"),
        ("mx-of-an-unknown-size", "data"),
        ("quant-typed", "data"),
        ("quant-of-an-unknown-type", "data"),
        ("quant-zeros-typed", "zeros"),
        ("quant-scales-typed", "scales"),
    ] {
        let file = read(&format!("accept/{name}"));
        let archive = Archive::from_bytes(&file).unwrap();
        let object = archive.tensor("w").unwrap();
        let used = object.mx().map(drop).and_then(|()| object.mx_blocks().map(drop));
        let used = if name.starts_with("mx") { used } else { object.quant_group().map(drop) };
        for error in [used.unwrap_err(), archive.verify().map(drop).unwrap_err()] {
            assert_eq!(error.rule(), Some("unsupported-type"), "{name}");
            assert!(error.is_unsupported());
            assert_eq!(error.component(), Some(part), "{name}");
        }
        // The other component can be read, and all components can be listed.
        let other = object.components().find(|other| other.role() != part).unwrap();
        other.bytes().unwrap();
    }
}

#[test]
fn values_of_sparse_objects_may_share_bytes() {
    let file = read("accept/csr-nibbles");
    let archive = Archive::from_bytes(&file).unwrap();
    let csr = archive.tensor("w").unwrap().csr().unwrap();
    let values: Vec<f32> = csr.values().nibbles(csr.nnz()).unwrap().map(F4E2M1::to_f32).collect();
    assert_eq!(values, [0.5, 1.0, 1.5]);
    assert!(csr.entries::<u8>().is_err());
    let file = read("accept/coo-nibbles");
    let archive = Archive::from_bytes(&file).unwrap();
    let coo = archive.tensor("w").unwrap().coo().unwrap();
    assert_eq!((coo.nnz(), coo.values().nibbles(3).unwrap().count()), (3, 3));
}

#[test]
#[cfg_attr(miri, ignore = "it measures memory")]
fn checking_cells_takes_at_most_16_bytes_a_value() {
    let count = 200_000_u32;
    let cells: Vec<u32> = (0..count).rev().collect();
    let mut layout = Layout::new(4096);
    let parts = [
        ("coords", layout.part("u32", words(&cells))),
        ("values", layout.part("u8", vec![0; cells.len()])),
    ];
    layout.named("w", object(&[u64::from(count)], "zt.sparse_coo/1", parts));
    let file = layout.v2().bytes();
    let measured = allocation_counter::measure(|| {
        zten_testkit::check(&file, &OpenOptions::default()).unwrap();
    });
    let bytes = measured.bytes_max;
    assert!(bytes >= 8 * u64::from(count) && bytes <= 16 * u64::from(count) + 4096, "{bytes}");
}

#[test]
#[cfg_attr(miri, ignore = "it measures memory")]
fn checking_rows_takes_at_most_16_bytes_a_row() {
    let count = 200_000_u32;
    let pointers: Vec<u32> = (0..=count).collect();
    let mut layout = Layout::new(4096);
    let parts = [
        ("indptr", layout.part("u32", words(&pointers))),
        ("values", layout.part("u8", vec![0; 200_000])),
        ("indices", layout.part("u32", vec![0; 800_000])),
    ];
    layout.named("w", object(&[u64::from(count), 1], "zt.sparse_csr/1", parts));
    let file = layout.v2().bytes();
    let check =
        |limits: &Limits| zten_testkit::check(&file, &OpenOptions::default().limits(*limits));
    let measured = allocation_counter::measure(|| check(&Limits::default()).unwrap());
    let bytes = measured.bytes_max;
    assert!(bytes >= 8 * u64::from(count) && bytes <= 16 * u64::from(count) + 4096, "{bytes}");
    // The row pointers are kept as numbers of 64 bits, which count against the limit.
    let limits = |bytes: u64| Limits::default().with_decoded(bytes);
    assert_eq!(check(&limits(8 * u64::from(count) + 8)).err(), None);
    let error = check(&limits(8 * u64::from(count))).unwrap_err();
    assert_eq!(error.rule(), Some("limit-decoded"));
}
