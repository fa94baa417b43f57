//! Tests of quantized objects: codes and weights are those that NumPy computes, and unreadable objects give errors.

use std::collections::BTreeMap;

use zten::error::Misuse;
use zten::view::{Packing, Quantized};
use zten::{Archive, DType, Encoding, InMemory, OpenOptions, Tensor, Tolerance};
use zten_testkit::{corpus, misuse, read};

use crate::floats::parts_are_those_of_the_whole;

fn options() -> OpenOptions {
    OpenOptions::default().tolerate(Tolerance::MissingZeros)
}

fn open(file: &[u8]) -> Archive<InMemory<&[u8]>> {
    options().from_bytes(file).unwrap()
}

fn hexes<T>(text: &str, parse: impl Fn(&str) -> T) -> Vec<T> {
    text.split(' ').filter(|hex| !hex.is_empty()).map(parse).collect()
}

struct Row {
    object: String,
    shape: [u64; 2],
    codes: Vec<u8>,
    bits: Vec<u32>,
}

/// Returns the expected codes and weights of `weights.tsv`, by the name of the file.
fn expected() -> BTreeMap<String, Vec<Row>> {
    let text = String::from_utf8(read("quantized/weights.tsv")).unwrap();
    let mut files: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let [file, object, inputs, outputs, codes, bits]: [&str; 6] =
            line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        files.entry(file.to_owned()).or_default().push(Row {
            object: object.to_owned(),
            shape: [inputs.parse().unwrap(), outputs.parse().unwrap()],
            codes: hexes(codes, |hex| u8::from_str_radix(hex, 16).unwrap()),
            bits: hexes(bits, |hex| u32::from_str_radix(hex, 16).unwrap()),
        });
    }
    files
}

fn check(tensor: &Tensor<'_>, row: &Row) {
    let name = &row.object;
    let quantized: Quantized<'_> = tensor.quantized().unwrap();
    assert_eq!(tensor.shape().to_vec(), row.shape, "{name}");
    assert_eq!([quantized.inputs(), quantized.outputs()], row.shape, "{name}");
    assert_eq!(quantized.quantization(), tensor.quantization().unwrap());
    let word = DType::from(quantized.quantization().packing().word());
    assert_eq!((quantized.packed_weight().dtype(), tensor.dtype()), (word, word));
    assert_eq!(quantized.zeros().is_some(), tensor.component("zeros").is_some());

    // The buffer starts with other bytes, to show that every position is written.
    let mut codes = vec![0xaa; row.codes.len()];
    quantized.unpack(&mut codes).unwrap();
    assert_eq!(codes, row.codes, "{name}");
    let mut weights = vec![f32::NAN; row.bits.len()];
    quantized.dequantize(&mut weights).unwrap();
    let bits: Vec<u32> = weights.iter().map(|weight| weight.to_bits()).collect();
    assert_eq!(bits, row.bits, "{name}");
    let (inputs, outputs) = (quantized.inputs(), quantized.outputs());
    let each = (0..inputs).flat_map(|input| (0..outputs).map(move |output| (input, output)));
    let single = |(input, output)| quantized.weight(input, output).unwrap().to_bits();
    assert_eq!(each.map(single).collect::<Vec<_>>(), row.bits, "{name}");
    for (input, output) in [(inputs, 0), (0, outputs), (u64::MAX, u64::MAX)] {
        let error = quantized.weight(input, output).unwrap_err();
        assert_eq!(misuse(error), Misuse::Slice, "{name}");
    }
    parts_are_those_of_the_whole(tensor, &weights);

    let mut codes = vec![0; row.codes.len() + 1];
    assert_eq!(misuse(quantized.unpack(&mut codes).unwrap_err()), Misuse::Buffer);
    let mut weights = vec![0.0; row.bits.len() + 1];
    assert_eq!(misuse(quantized.dequantize(&mut weights).unwrap_err()), Misuse::Buffer);
    if !row.bits.is_empty() {
        let short = row.bits.len() - 1;
        assert_eq!(misuse(quantized.unpack(&mut codes[..short]).unwrap_err()), Misuse::Buffer);
        let error = quantized.dequantize(&mut weights[..short]).unwrap_err();
        assert_eq!(misuse(error), Misuse::Buffer);
    }
}

#[test]
fn codes_and_weights_are_those_of_numpy() {
    let mut checked = 0;
    for (path, rows) in expected() {
        let file = read(&path);
        let archive = open(&file);
        // Components that cannot be borrowed are decoded: those of a file on disk, and compressed ones.
        let on_disk = options().open(corpus().join(&path)).unwrap();
        // `moved` is the same file at an unaligned address.
        let moved: Vec<u8> = [&[0_u8], &file[..]].concat();
        let moved = open(&moved[1..]);
        for row in &rows {
            let tensor = archive.tensor(&row.object).unwrap();
            let is_raw = tensor.components().all(|part| part.encoding() == Encoding::Raw);
            if !is_raw && cfg!(any(miri, not(feature = "zstd"))) {
                continue;
            }
            check(&tensor, row);
            check(&moved.tensor(&row.object).unwrap(), row);
            check(&on_disk.tensor(&row.object).unwrap(), row);
            checked += 1;
        }
        assert_eq!(archive.len(), rows.len(), "{path}");
    }
    assert!(checked > 20, "only {checked} objects were checked");
}

#[test]
fn attributes_are_read() {
    let file = read("quantized/groups.zt");
    let archive = open(&file);
    let read = |name| {
        let quantization = archive.tensor(name).unwrap().quantization().unwrap();
        (quantization.bits(), quantization.group_size(), quantization.packing())
    };
    assert_eq!(read("i32x8 tile and one"), (4, 4, Packing::EightPerI32));
    assert_eq!(read("i32x4 tall"), (8, 32, Packing::FourPerI32));
    assert_eq!(read("u8x2 odd group"), (4, 3, Packing::TwoPerU8));
    assert_eq!(read("u8x1 row"), (8, 1, Packing::OnePerU8));
    assert_eq!(read("i32x8 group of 2^64 - 1"), (4, u64::MAX, Packing::EightPerI32));
    for packing in [Packing::EightPerI32, Packing::FourPerI32, Packing::TwoPerU8, Packing::OnePerU8]
    {
        assert_eq!(packing.name(), format!("{}_per_{}", packing.codes(), packing.word()));
        assert_eq!(packing.codes() * packing.bits(), packing.word().width() * 8);
    }
}

#[test]
fn errors_name_the_component_that_does_not_fit() {
    let file = read("quantized/rejected.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let on_disk = zten::open(corpus().join("quantized/rejected.zt")).unwrap();
    let text = String::from_utf8(read("quantized/rejected.tsv")).unwrap();
    let mut checked = 0;
    for line in text.lines().skip(1) {
        let (name, role) = line.split_once('\t').unwrap();
        let tensor = archive.tensor(name).unwrap();
        // The layout is valid, and its components can be viewed one by one.
        assert!(tensor.components().all(|part| part.view().is_ok()));
        let error = tensor.quantized().unwrap_err();
        assert_eq!(error.location().object(), Some(tensor.ordinal()), "{name}");
        let at = error.location().component().map(|at| tensor.component_at(at).unwrap());
        assert_eq!(at.map_or("-", |component| component.role()), role, "{name}");
        assert_eq!((error.tensor(), error.component().unwrap_or("-")), (Some(name), role));
        assert_eq!(on_disk.tensor(name).unwrap().quantized().unwrap_err(), error, "{name}");
        assert_eq!(misuse(error), Misuse::Quantization, "{name}");
        if role != "-" {
            assert!(tensor.quantization().is_ok(), "{name}");
        }
        checked += 1;
    }
    assert_eq!(archive.len(), checked);
}

#[test]
fn other_formats_and_missing_zeros() {
    let file = read("accept/1.2.3/dense_all.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let tensor = archive.tensors().next().unwrap();
    assert_eq!(misuse(tensor.quantized().unwrap_err()), Misuse::Layout);
    assert_eq!(misuse(tensor.quantization().unwrap_err()), Misuse::Layout);
    let file = read("quantized/symmetric.zt");
    assert_eq!(Archive::from_bytes(&file).unwrap_err().rule(), Some("quantized-zeros"));
}
