//! The crate `ztensor` 2.1.1, which reads and writes generation 2 only.

use std::path::Path;

use ztensor_2::{DType, Error, Source, Writer};

/// Opens a file, which it maps.
///
/// # Errors
/// As `ztensor` has it.
pub fn open(path: &Path) -> Result<Source, Error> {
    Source::open(path)
}

/// Writes matrices of `bf16` of that shape, each of bytes of its own, so that no
/// two share a blob, as close to each other as the format allows.
///
/// # Errors
/// As `ztensor` has it.
pub fn write(path: &Path, names: &[String], shape: [u64; 2]) -> Result<(), Error> {
    let elements: u64 = shape.iter().product();
    let mut writer = Writer::options().canonical(false).align(4096).create(path)?;
    for (place, name) in (0_u64..).zip(names) {
        let data: Vec<u8> = (0..elements / 4).flat_map(|_| place.to_le_bytes()).collect();
        writer.add(name.as_str(), shape, DType::BF16, &data)?;
    }
    writer.finish()?;
    Ok(())
}
