//! Adds a tensor to a file: `cargo run --features files --example append -- FILE NAME BYTES`.
//!
//! Whenever this is stopped, `FILE` is what it was, or has the tensor and all that it had.

use std::error::Error;
use std::path::Path;

use zten::write::{FileSink, NewObject, Settings, Writer, append};
use zten::{Options, StorageType};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, name, bytes] = arguments.as_slice() else {
        return Err("FILE NAME BYTES".into());
    };
    let settings = Settings::default();
    let mut writer = if Path::new(path).exists() {
        append(Path::new(path), &Options::default(), &settings)?
    } else {
        Writer::new(FileSink::create(Path::new(path))?, &settings)?
    };
    let shape = [u64::try_from(bytes.len())?];
    let tensor = NewObject::dense(name, &shape, StorageType::U8);
    writer.add(&tensor, &[("data", bytes.as_bytes())])?;
    writer.finish()?.publish()?;
    Ok(())
}
