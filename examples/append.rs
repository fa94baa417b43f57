//! Adds a tensor to a file: `cargo run --example append -- FILE NAME BYTES`.
//!
//! Whenever the program is stopped, `FILE` is either unchanged, or has all old tensors and the new one.

use zten::Writer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, name, bytes] = arguments.as_slice() else { return Err("FILE NAME BYTES".into()) };
    let exists = std::path::Path::new(path).exists();
    let mut file = if exists { Writer::append_to(path)? } else { Writer::create(path)? };
    file.add(name, &[u64::try_from(bytes.len())?], bytes.as_bytes())?;
    file.finish()?;
    Ok(())
}
