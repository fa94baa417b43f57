//! Quantized objects: codes and weights as NumPy computes them, and what cannot be read.

use std::collections::BTreeMap;

use zten::{
    Archive, Encoding, Error, Limits, Options, StorageType, Tolerance,
    error::Misuse,
    view::{Packing, Quantized, QuantizedGroup, View},
};
use zten_testkit::{misuse, read};

fn open(file: &[u8]) -> Archive<&[u8]> {
    Archive::open_with(file, &Options::default().tolerate(Tolerance::MissingZeros)).unwrap()
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

/// The lines of `weights.tsv`, by file.
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

fn check(group: &QuantizedGroup<'_>, quantized: &Quantized<View<'_>>, row: &Row) {
    let name = &row.object;
    assert_eq!(group.shape().to_vec(), row.shape, "{name}");
    assert_eq!([quantized.inputs(), quantized.outputs()], row.shape, "{name}");
    assert_eq!(quantized.quantization(), group.quantization().unwrap());
    assert_eq!(quantized.packed_weight().storage_type(), quantized.quantization().packing().word());
    assert_eq!(quantized.zeros().is_some(), group.zeros().is_some());

    // Every place is written.
    let mut codes = vec![0xaa; row.codes.len()];
    quantized.unpack(&mut codes).unwrap();
    assert_eq!(codes, row.codes, "{name}");
    let mut weights = vec![f32::NAN; row.bits.len()];
    quantized.dequantize(&mut weights).unwrap();
    let bits: Vec<u32> = weights.iter().map(|weight| weight.to_bits()).collect();
    assert_eq!(bits, row.bits, "{name}");

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
        for row in &rows {
            let group = archive.get(&row.object).unwrap().quantized_group().unwrap();
            if group.packed_weight().encoding() == Encoding::Raw {
                check(&group, &group.view().unwrap(), row);
                // Where nothing is aligned, too.
                let moved: Vec<u8> = [&[0_u8], &file[..]].concat();
                let moved = open(&moved[1..]);
                let group = moved.get(&row.object).unwrap().quantized_group().unwrap();
                check(&group, &group.view().unwrap(), row);
            } else {
                assert_eq!(misuse(group.view().unwrap_err()), Misuse::Compressed);
                if cfg!(any(miri, not(feature = "zstd"))) {
                    continue;
                }
            }
            let decoded = group.decode(&file[..], &Limits::default()).unwrap();
            check(&group, &decoded.view(), row);
            checked += 1;
        }
        assert_eq!(archive.len(), u32::try_from(rows.len()).unwrap(), "{path}");
    }
    assert!(checked > 20, "only {checked} objects were checked");
}

#[test]
fn attributes_are_read() {
    let file = read("quantized/groups.zt");
    let archive = open(&file);
    let read = |name| {
        let group = archive.get(name).unwrap().quantized_group().unwrap();
        let quantization = group.quantization().unwrap();
        (quantization.bits(), quantization.group_size(), quantization.packing())
    };
    assert_eq!(read("i32x8 tile and one"), (4, 4, Packing::EightPerI32));
    assert_eq!(read("i32x4 tall"), (8, 32, Packing::FourPerI32));
    assert_eq!(read("u8x2 odd group"), (4, 3, Packing::TwoPerU8));
    assert_eq!(read("u8x1 row"), (8, 1, Packing::OnePerU8));
    assert_eq!(read("i32x8 group of 2^64 - 1"), (4, u64::MAX, Packing::EightPerI32));
    for packing in [Packing::EightPerI32, Packing::FourPerI32, Packing::TwoPerU8, Packing::OnePerU8]
    {
        let word = if packing.word() == StorageType::I32 { "i32" } else { "u8" };
        assert_eq!(packing.name(), format!("{}_per_{word}", packing.codes()));
        assert_eq!(packing.codes() * packing.bits(), packing.word().width() * 8);
    }
}

#[test]
fn what_cannot_be_read_says_where() {
    let file = read("quantized/refused.zt");
    let archive = Archive::open(&file).unwrap();
    let text = String::from_utf8(read("quantized/refused.tsv")).unwrap();
    let mut checked = 0;
    for line in text.lines().skip(1) {
        let (name, role) = line.split_once('\t').unwrap();
        let object = archive.get(name).unwrap();
        // The format is right, and the components can be read.
        let group = object.quantized_group().unwrap();
        assert!(group.packed_weight().bind(&file).is_ok() && group.scales().bind(&file).is_ok());
        let error = group.view().unwrap_err();
        assert_eq!(misuse(error), Misuse::Quantization, "{name}");
        assert_eq!(error.place().object(), Some(object.ordinal()), "{name}");
        let at = error.place().component().map(|at| object.components().nth(at as usize).unwrap());
        assert_eq!(at.map_or("-", |component| component.role()), role, "{name}");
        let decoded = group.decode(&file[..], &Limits::default());
        assert_eq!(Error::from(decoded.unwrap_err()), error, "{name}");
        if role != "-" {
            assert!(group.quantization().is_ok(), "{name}");
        }
        checked += 1;
    }
    assert_eq!(archive.len(), checked);
}

#[test]
fn other_formats_and_missing_zeros() {
    let file = read("accept/1.2.3/dense_all.zt");
    let archive = Archive::open(&file).unwrap();
    let object = archive.objects().next().unwrap();
    assert_eq!(misuse(object.quantized_group().unwrap_err()), Misuse::Format);
    let file = read("quantized/symmetric.zt");
    assert_eq!(Archive::open(&file).unwrap_err().id(), Some("quantized-zeros"));
}
