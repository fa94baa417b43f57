//! Reads files with the crate `safetensors`.

use std::fs;
use std::path::Path;

use super::subject::Report;
use safetensors::tensor::{Dtype, Metadata, TensorView};
use safetensors::{SafeTensorError, SafeTensors, serialize_to_file};

/// Reads all tensors of the file at `path`, and reports them.
pub fn read(path: &Path, report: &mut Report) {
    let file = fs::read(path).unwrap_or_default();
    let Some(tensors) = report.opened(deserialize(&file)) else { return };
    for (name, tensor) in tensors.iter() {
        report.content(name, "data", tensor.data());
    }
}

/// Parses the header of `file`, which is in memory.
///
/// # Errors
/// The errors of `safetensors`.
pub fn open(file: &[u8]) -> Result<(usize, Metadata), SafeTensorError> {
    SafeTensors::read_metadata(file)
}

/// Opens `file`, which is in memory, so that its tensors can be looked up.
///
/// # Errors
/// The errors of `safetensors`.
pub fn deserialize(file: &[u8]) -> Result<SafeTensors<'_>, SafeTensorError> {
    SafeTensors::deserialize(file)
}

/// Writes `tensors`, which are vectors of `f32`, to a file at `path`.
///
/// # Errors
/// The errors of `safetensors`.
pub fn write(path: &Path, tensors: &[(String, Vec<u8>)]) -> Result<(), SafeTensorError> {
    let views = tensors.iter().map(|(name, bytes)| {
        Ok((name, TensorView::new(Dtype::F32, vec![bytes.len() / 4], bytes)?))
    });
    serialize_to_file(views.collect::<Result<Vec<_>, SafeTensorError>>()?, None, path)
}

/// Creates a file of `bf16` tensors of zeros, all of one shape.
///
/// # Errors
/// The errors of `safetensors`.
pub fn zeros(names: &[String], shape: &[usize]) -> Result<Vec<u8>, SafeTensorError> {
    let bytes = vec![0; 2 * shape.iter().product::<usize>()];
    let tensor = |name| Ok((name, TensorView::new(Dtype::BF16, shape.to_vec(), &bytes)?));
    let tensors = names.iter().map(tensor).collect::<Result<Vec<_>, SafeTensorError>>()?;
    safetensors::serialize(tensors, None)
}

/// Creates a file of `bf16` tensors, each given by its name, shape and bytes.
///
/// # Errors
/// The errors of `safetensors`.
pub fn serialize(tensors: &[(String, Vec<usize>, &[u8])]) -> Result<Vec<u8>, SafeTensorError> {
    let views = tensors.iter().map(|(name, shape, bytes)| {
        Ok((name, TensorView::new(Dtype::BF16, shape.clone(), bytes)?))
    });
    safetensors::serialize(views.collect::<Result<Vec<_>, SafeTensorError>>()?, None)
}
