//! Checks that blocks of GGUF become candle's quantized tensors or are dequantized.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};

use candle_core::quantized::gguf_file::{Content, Value, write};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use candle_transformers::quantized_var_builder::VarBuilder;
use zten::formats::Block;
use zten::write::{Copier, Encoded, FileSink, Level, NewObject, WriteOptions};
use zten::{Generation, OpenOptions};
use zten_candle::Weights;

use crate::{bits, corpus, numbers};

const TYPES: [GgmlDType; 10] = [
    GgmlDType::Q4_0,
    GgmlDType::Q4_1,
    GgmlDType::Q5_0,
    GgmlDType::Q5_1,
    GgmlDType::Q8_0,
    GgmlDType::Q2K,
    GgmlDType::Q3K,
    GgmlDType::Q4K,
    GgmlDType::Q5K,
    GgmlDType::Q6K,
];

fn open(path: &Path) -> Weights {
    Weights::open(&[path], &OpenOptions::default()).unwrap()
}

/// Converts the GGUF file at `path` to a zTensor file of each of `generations`, with and without compression, as `zten convert`
/// does. Returns the paths of the new files.
pub(crate) fn converted(path: &Path, generations: &[Generation]) -> Vec<PathBuf> {
    let archive = zten::open(path).unwrap();
    let mut files = Vec::new();
    for generation in generations {
        for level in [None, Some(Level::new(2).unwrap())] {
            let to = path.with_extension(format!("{}.zt", files.len()));
            let mut copier = Copier::new(archive.manifest());
            if *generation == Generation::V2 {
                copier = copier.layouts(zten::formats::profile);
            }
            if let Some(level) = level {
                copier = copier.compressed(level);
            }
            let options = WriteOptions::default().generation(*generation);
            let sink = FileSink::create(&to).unwrap();
            copier.file(archive.manifest(), &archive, sink, &options).unwrap();
            files.push(to);
        }
    }
    files
}

/// Writes a GGUF model of `tensors` in two files, each with half of the tensors, as gguf-split does. Returns the path of the
/// first file.
fn in_two_files(folder: &Path, tensors: &[(&str, &QTensor)]) -> PathBuf {
    let path = |number| folder.join(format!("split-0000{number}-of-00002.gguf"));
    let count = Value::I32(i32::try_from(tensors.len()).unwrap());
    for (number, half) in (0..).zip(tensors.chunks(tensors.len() / 2)) {
        let metadata: [(&str, &Value); 3] = [
            ("split.no", &Value::U16(number)),
            ("split.count", &Value::U16(2)),
            ("split.tensors.count", &count),
        ];
        write(&mut File::create(path(number + 1)).unwrap(), &metadata, half).unwrap();
    }
    path(1)
}

/// Checks that zten loads a GGUF file that candle has written, the same model in two files, and the zTensor files to which zten
/// converts the file, as candle loads it.
#[test]
fn blocks_load_as_candle_loads_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let tensors: Vec<(String, QTensor)> = (1..)
        .zip(TYPES)
        .map(|(seed, dtype)| {
            let all: Vec<f32> = numbers(seed).take(3 * 512).collect();
            let all = Tensor::from_vec(all, (3, 512), &Device::Cpu).unwrap();
            (format!("{dtype:?}"), QTensor::quantize(&all, dtype).unwrap())
        })
        .collect();
    let named: Vec<(&str, &QTensor)> = tensors.iter().map(|(name, all)| (&**name, all)).collect();
    write(&mut File::create(&path).unwrap(), &[], &named).unwrap();
    let parts = in_two_files(folder.path(), &named);
    let zten = converted(&path, &[Generation::V1_2, Generation::V2]);
    for path in [path, parts].into_iter().chain(zten) {
        let weights = open(&path);
        assert_eq!(weights.names().count(), TYPES.len());
        for (name, wanted) in &tensors {
            let tensor = weights.quantized(name, &Device::Cpu).unwrap();
            assert_eq!((tensor.dtype(), tensor.shape()), (wanted.dtype(), wanted.shape()));
            assert_eq!(tensor.data().unwrap(), wanted.data().unwrap(), "{} {name}", path.display());
            let (loaded, wanted) = (
                weights.load(name, &Device::Cpu).unwrap(),
                wanted.dequantize(&Device::Cpu).unwrap(),
            );
            assert_eq!(loaded.dims(), wanted.dims());
            assert_eq!(bits(&loaded), bits(&wanted), "{} {name}", path.display());
        }
    }
}

/// Checks that zten loads a GGUF file that the Python package gguf has written as candle loads it.
#[test]
fn a_file_is_read_as_candle_reads_it() {
    let path = corpus("other/gguf/accept/tiny.gguf");
    let mut file = File::open(&path).unwrap();
    let content = Content::read(&mut file).unwrap();
    let weights = open(&path);
    assert_eq!(weights.names().count(), content.tensor_infos.len());
    for name in weights.names() {
        let wanted = content.tensor(&mut file, name, &Device::Cpu).unwrap();
        let loaded = weights.load(name, &Device::Cpu).unwrap();
        assert_eq!(loaded.dims(), wanted.shape().dims());
        assert_eq!(bits(&loaded), bits(&wanted.dequantize(&Device::Cpu).unwrap()), "{name}");
        match weights.quantized(name, &Device::Cpu) {
            Ok(tensor) => assert_eq!(tensor.data().unwrap(), wanted.data().unwrap()),
            Err(error) => {
                assert!(matches!(wanted.dtype(), GgmlDType::F32 | GgmlDType::F16));
                assert!(error.to_string().contains("the tensor has the layout dense"), "{error}");
            }
        }
    }
}

/// Returns the bytes and the expected elements of blocks of one type from a file that `corpus/gguf-blocks/blocks.py`
/// describes.
fn reference(block: &Block) -> (Vec<u8>, Vec<f32>) {
    let path = corpus("gguf-blocks").join(block.name).with_extension("bin");
    let data = std::fs::read(path).unwrap().split_off(8);
    let [bytes, elements] = [block.bytes, block.elements].map(|it| usize::try_from(it).unwrap());
    let (blocks, wanted) = data.split_at(data.len() / (bytes + 4 * elements) * bytes);
    let wanted = wanted.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    (blocks.to_vec(), wanted)
}

/// Returns a GGUF file that contains one tensor for each block type, named after the type.
fn every_type() -> (Vec<u8>, Vec<(&'static Block, Vec<f32>)>) {
    let types: Vec<_> =
        (0..100).filter_map(|number| Some((number, Block::by_number(number)?))).collect();
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend(u64::try_from(types.len()).unwrap().to_le_bytes());
    file.extend(0_u64.to_le_bytes());
    let (mut data, mut all) = (Vec::new(), Vec::new());
    for (number, block) in types {
        let (blocks, wanted) = reference(block);
        file.extend(u64::try_from(block.name.len()).unwrap().to_le_bytes());
        file.extend(block.name.as_bytes());
        file.extend(1_u32.to_le_bytes());
        file.extend(u64::try_from(wanted.len()).unwrap().to_le_bytes());
        file.extend(number.to_le_bytes());
        file.extend(u64::try_from(data.len()).unwrap().to_le_bytes());
        data.extend(blocks);
        data.resize(data.len().next_multiple_of(32), 0);
        all.push((block, wanted));
    }
    file.resize(file.len().next_multiple_of(32), 0);
    file.extend(data);
    (file, all)
}

#[test]
fn every_type_is_dequantized() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let (file, types) = every_type();
    std::fs::write(&path, file).unwrap();
    let zten = converted(&path, &[Generation::V1_2]);
    for path in std::iter::once(path).chain(zten) {
        let weights = open(&path);
        let mut lacking = 0;
        for (block, wanted) in &types {
            let loaded = weights.load(block.name, &Device::Cpu).unwrap();
            let loaded = loaded.to_vec1::<f32>().unwrap();
            let is_equal =
                |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            assert_eq!(loaded.len(), wanted.len());
            assert!(loaded.iter().zip(wanted).all(is_equal), "{} {}", path.display(), block.name);
            let Err(error) = weights.quantized(block.name, &Device::Cpu) else { continue };
            let sentence = format!(
                "candle does not support blocks of the type {}; Weights::load dequantizes them",
                block.name
            );
            assert!(error.to_string().contains(&sentence), "{error}");
            lacking += 1;
        }
        assert_eq!(types.len() - lacking, TYPES.len());
    }
}

#[test]
fn attributes_of_generation_2_agree_with_the_type() {
    let path = corpus("v2/accept/gguf.zt");
    let tensor = open(&path).quantized("w", &Device::Cpu).unwrap();
    assert_eq!((tensor.dtype(), tensor.shape().dims()), (GgmlDType::Q8_0, [2, 32].as_slice()));
    let archive = zten::Archive::from_bytes(std::fs::read(&path).unwrap()).unwrap();
    let blocks = archive.tensor("w").unwrap().gguf_blocks().unwrap().data;
    assert_eq!(tensor.data().unwrap(), blocks.view().unwrap().as_bytes());
    // The attributes declare blocks of twice as many weights in twice as many bytes, so the number of bytes still follows from
    // the shape.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.zt");
    let attributes = Encoded::gguf(64, 68).unwrap();
    let new = NewObject::gguf("w", &[2, 32], "gguf.q8_0/1", 68).attributes(&attributes);
    let options = WriteOptions::default().generation(Generation::V2);
    let mut writer = options.create(&path).unwrap();
    writer.add_object(&new, &[("data", &[0; 68])]).unwrap();
    writer.finish().unwrap();
    let weights = open(&path);
    let errors = [
        weights.load("w", &Device::Cpu).unwrap_err(),
        weights.quantized("w", &Device::Cpu).unwrap_err(),
    ];
    for error in errors {
        let error = error.to_string();
        assert!(
            error.contains("a block of Q8_0 has 32 weights in 34 bytes, but the file declares 64 weights in 68 bytes"),
            "{error}"
        );
    }
}

/// Checks that candle reads the same tensors and attributes from a GGUF file as from the zTensor files (1.2 and 2) that were
/// converted from it.
#[test]
fn blocks_of_ztensor_equal_a_gguf_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let of = |seed, dtype| {
        let all = Tensor::from_vec(
            numbers(seed).take(3 * 256).collect::<Vec<_>>(),
            (3, 256),
            &Device::Cpu,
        );
        QTensor::quantize(&all.unwrap(), dtype).unwrap()
    };
    let types = [GgmlDType::F32, GgmlDType::F16, GgmlDType::BF16].into_iter().chain(TYPES);
    let tensors: Vec<(String, QTensor)> =
        (1..).zip(types).map(|(seed, dtype)| (format!("{dtype:?}"), of(seed, dtype))).collect();
    let named: Vec<(&str, &QTensor)> = tensors.iter().map(|(name, all)| (&**name, all)).collect();
    let texts = |texts: &[&str]| {
        Value::Array(texts.iter().map(|text| Value::String((*text).to_owned())).collect())
    };
    let metadata = [
        ("general.architecture", Value::String("llama".to_owned())),
        ("a.u32", Value::U32(u32::MAX)),
        ("a.u64", Value::U64(1 << 40)),
        ("a.i32", Value::I32(-1)),
        ("a.i64", Value::I64(-(1 << 40))),
        ("a.f32", Value::F32(1e-5)),
        ("a.f64", Value::F64(0.1)),
        ("a.bool", Value::Bool(true)),
        ("a.texts", texts(&["a", "", "重み"])),
        ("a.scores", Value::Array(vec![Value::F32(-1.5), Value::F32(0.25)])),
        ("a.empty", Value::Array(vec![])),
    ];
    let borrowed: Vec<(&str, &Value)> = metadata.iter().map(|(key, value)| (*key, value)).collect();
    write(&mut File::create(&path).unwrap(), &borrowed, &named).unwrap();
    let zten = converted(&path, &[Generation::V1_2, Generation::V2]);
    for path in std::iter::once(path).chain(zten) {
        let weights = open(&path);
        let mut file = weights.gguf().unwrap();
        let content = Content::read(&mut file).unwrap();
        assert_eq!(content.tensor_infos.len(), tensors.len());
        for (key, wanted) in &metadata {
            assert_eq!(format!("{:?}", content.metadata[*key]), format!("{wanted:?}"), "{key}");
        }
        assert_eq!(content.metadata.len(), metadata.len());
        for (name, wanted) in &tensors {
            let tensor = content.tensor(&mut file, name, &Device::Cpu).unwrap();
            assert_eq!((tensor.dtype(), tensor.shape()), (wanted.dtype(), wanted.shape()));
            assert_eq!(tensor.data().unwrap(), wanted.data().unwrap(), "{} {name}", path.display());
        }
        // candle's `VarBuilder` of quantized weights takes a GGUF file in one buffer, so the whole file is read into one.
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        let builder = VarBuilder::from_gguf_buffer(&bytes, &Device::Cpu).unwrap();
        let tensor = builder.get((3, 256), "Q4K").unwrap();
        assert_eq!(tensor.dtype(), GgmlDType::Q4K);
    }
}

/// Checks that blocks of types that candle lacks are dequantized, and that damage is detected when its tensor is read.
#[test]
fn a_gguf_file_is_dequantized_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let (bytes, types) = every_type();
    std::fs::write(&path, bytes).unwrap();
    let weights = open(&path);
    let mut file = weights.gguf().unwrap();
    let content = Content::read(&mut file).unwrap();
    for (block, wanted) in types {
        let tensor = content.tensor(&mut file, block.name, &Device::Cpu).unwrap();
        if tensor.dtype() == GgmlDType::F32 {
            let loaded = tensor.dequantize(&Device::Cpu).unwrap().to_vec1::<f32>().unwrap();
            let is_equal =
                |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            assert!(loaded.iter().zip(&wanted).all(is_equal), "{}", block.name);
        }
    }
    let path = &converted(&path, &[Generation::V1_2])[0];
    let mut bytes = std::fs::read(path).unwrap();
    bytes[64] ^= 1;
    std::fs::write(path, bytes).unwrap();
    let weights = open(path);
    let mut file = weights.gguf().unwrap();
    let content = Content::read(&mut file).unwrap();
    let read =
        content.tensor_infos.keys().map(|name| content.tensor(&mut file, name, &Device::Cpu));
    let errors: Vec<String> = read.filter_map(|read| Some(read.err()?.to_string())).collect();
    // After the first error, all later reads fail with the same error.
    let are_those = errors.iter().all(|error| error.contains("digest-mismatch"));
    assert!(!errors.is_empty() && are_those, "{errors:?}");
}

/// Checks that quantized tensors that a program has stored as several tensors are dequantized to the values in
/// `corpus/conventions`.
#[test]
fn groups_are_dequantized() {
    let mut count = 0;
    for entry in std::fs::read_dir(corpus("conventions")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "safetensors") {
            continue;
        }
        let weights = open(&path);
        let name = weights.names().next().unwrap();
        let wanted = std::fs::read(path.with_extension("f32")).unwrap();
        let wanted: Vec<u32> =
            wanted.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        assert_eq!(bits(&weights.load(name, &Device::Cpu).unwrap()), wanted, "{}", path.display());
        let plain = Weights::open_plain(&[&path], &OpenOptions::default()).unwrap();
        assert!(plain.names().count() > 1, "{}", path.display());
        count += 1;
    }
    assert!(count > 30, "{count}");
}
