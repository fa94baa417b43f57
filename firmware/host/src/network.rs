//! The network as `.zt`: what was trained, written by the library.

use safetensors::{Dtype, SafeTensors};
use zten::write::{Level, NewObject, Settings, Writer};
use zten::{ElementType, LogicalType, StorageType};

use crate::{Result, path};

/// The files that the images have in flash, and the layer that is compressed in each.
pub const FILES: [(&str, Option<&str>); 2] =
    [("digits.zt", None), ("digits-zstd.zt", Some("layer2.weight"))];

/// The bytes of a file of the network, made of what was trained: each tensor a dense object with
/// a sha256, by name.
pub fn packed(compressed: Option<&str>) -> Result<Vec<u8>> {
    let trained = std::fs::read(path("network/digits.safetensors"))?;
    let trained = SafeTensors::deserialize(&trained)?;
    let mut tensors = trained.tensors();
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    let mut writer = Writer::new(Vec::new(), &Settings::default())?;
    for (name, tensor) in &tensors {
        let shape: Vec<u64> = tensor.shape().iter().map(|n| *n as u64).collect();
        let element = match tensor.dtype() {
            Dtype::F32 => ElementType::Plain(StorageType::F32),
            Dtype::F8_E4M3 => ElementType::Logical(LogicalType::F8E4M3Fn),
            other => return Err(format!("{name}: {other:?} is not in the network").into()),
        };
        let mut object = NewObject::dense(name, &shape, element);
        if compressed == Some(name) {
            object = object.compressed(Level::default());
        }
        writer.add(&object, &[("data", tensor.data())])?;
    }
    Ok(writer.finish()?)
}

/// Checks that the files of the network are what was trained.
pub fn check() -> Result<()> {
    for (name, compressed) in FILES {
        if std::fs::read(path("network").join(name))? != packed(compressed)? {
            return Err(format!("{name} is not what the trained network packs to").into());
        }
    }
    Ok(())
}

/// What NumPy says of each digit: class and logits.
pub fn expected() -> Result<Vec<(usize, Vec<f32>)>> {
    let text = std::fs::read_to_string(path("network/expected.tsv"))?;
    text.lines()
        .map(|line| {
            let (class, logits) = line.split_once('\t').ok_or("a row of expected.tsv is short")?;
            let logits: Result<_, _> = logits.split('\t').map(str::parse).collect();
            Ok((class.parse()?, logits?))
        })
        .collect()
}
