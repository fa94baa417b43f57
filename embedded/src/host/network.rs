//! The zTensor files of the trained network, which the library writes.

use safetensors::{Dtype, SafeTensors};
use zten::write::{Level, NewObject, WriteOptions, Writer};
use zten::{DType, Generation};

use super::{Result, path};

/// A file of the network that images have in flash memory.
pub struct File {
    /// The name of the file.
    pub name: &'static str,
    /// The generation in which the file is written.
    pub generation: Generation,
    /// The name of the layer that is compressed in the file, if one is.
    pub compressed: Option<&'static str>,
}

/// The files that images have in flash.
pub const FILES: [File; 3] = [
    File { name: "digits.zt", generation: Generation::V1_2, compressed: None },
    File {
        name: "digits-zstd.zt",
        generation: Generation::V1_2,
        compressed: Some("layer2.weight"),
    },
    File { name: "digits-2.zt", generation: Generation::V2, compressed: None },
];

/// Returns the bytes of a file of the network: each trained tensor as a dense object with the digest that is the
/// default of the generation, sorted by name.
pub fn packed(file: &File) -> Result<Vec<u8>> {
    let trained = std::fs::read(path("network/digits.safetensors"))?;
    let trained = SafeTensors::deserialize(&trained)?;
    let mut tensors = trained.tensors();
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    let mut writer = Writer::new(Vec::new(), &WriteOptions::default().generation(file.generation))?;
    for (name, tensor) in &tensors {
        let shape: Vec<u64> = tensor.shape().iter().map(|n| *n as u64).collect();
        let element = match tensor.dtype() {
            Dtype::F32 => DType::F32,
            Dtype::F8_E4M3 => DType::F8E4M3Fn,
            other => {
                return Err(format!(
                    "the tensor {name} has the dtype {other:?}, expected F32 or F8_E4M3"
                )
                .into());
            }
        };
        let mut object = NewObject::dense(name, &shape, element);
        if file.compressed == Some(name) {
            object = object.compressed(Level::default());
        }
        writer.add_object(&object, &[("data", tensor.data())])?;
    }
    Ok(writer.finish()?)
}

/// Checks that the files of the network in the repository are equal to those that the trained tensors give now.
pub fn check() -> Result<()> {
    for file in FILES {
        let name = file.name;
        if std::fs::read(path("network").join(name))? != packed(&file)? {
            return Err(format!("the file {name} is not what the trained network packs to").into());
        }
    }
    Ok(())
}

/// Reads the class and the logits of each digit that NumPy computed.
pub fn expected() -> Result<Vec<(usize, Vec<f32>)>> {
    let text = std::fs::read_to_string(path("network/expected.tsv"))?;
    text.lines()
        .map(|line| {
            let (class, logits) =
                line.split_once('\t').ok_or("a line of expected.tsv has no tab after the class")?;
            let logits: Result<_, _> = logits.split('\t').map(str::parse).collect();
            Ok((class.parse()?, logits?))
        })
        .collect()
}
