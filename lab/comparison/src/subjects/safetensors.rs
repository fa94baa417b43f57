//! The crate `safetensors`.

use std::fs;
use std::path::Path;

use safetensors::SafeTensors;
use zten_subject::Report;

/// Every tensor.
pub(super) fn read(path: &Path, report: &mut Report) {
    let file = fs::read(path).unwrap_or_default();
    let Some(tensors) = report.opened(SafeTensors::deserialize(&file)) else { return };
    for (name, tensor) in tensors.iter() {
        report.content(name, "data", tensor.data());
    }
}
