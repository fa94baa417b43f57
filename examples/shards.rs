//! Writes each tensor into its own shard, and reads the tensors again:
//! `cargo run --example shards -- FILE NAME=BYTES...`.
//!
//! The shards are published before the file that lists them. Whenever the program is stopped, there is either no such file, or
//! one with all its shards. The shards of `model.zt` are `model-00001.zt` and so on in the same folder, where `zten` and the
//! reference library look for them.

use std::path::Path;

use zten::write::{FileSink, NewObject, ShardWriter, WriteOptions};
use zten::{DType, Generation};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, tensors @ ..] = arguments.as_slice() else {
        return Err("FILE NAME=BYTES...".into());
    };
    let path = Path::new(path);
    let options = WriteOptions::default().generation(Generation::V2);
    let mut root = options.create(path)?;
    for (number, tensor) in (1..).zip(tensors) {
        let (name, bytes) = tensor.split_once('=').ok_or("NAME=BYTES")?;
        let shard_name = format!("{number:05}");
        let stem = path.file_stem().ok_or("FILE")?.to_string_lossy();
        let sink = FileSink::create(&path.with_file_name(format!("{stem}-{shard_name}.zt")))?;
        let mut shard = ShardWriter::new(sink, &options)?;
        let shape = [u64::try_from(bytes.len())?];
        let new = NewObject::dense(name, &shape, DType::U8);
        let mut object = root.object_in(&shard_name, &mut shard, &new)?;
        object.write_part("data", bytes.as_bytes())?; // in pieces of any size
        object.finish()?;
        let ((), record) = shard.finish()?;
        root.shard(&shard_name, &record)?;
    }
    root.finish()?;
    println!("{} components verified", zten::open(path)?.verify()?.components());
    Ok(())
}
