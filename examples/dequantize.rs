//! Dequantizes weights to `f32`: `cargo run --example dequantize -- FILE NAME`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, name] = arguments.as_slice() else { return Err("FILE NAME".into()) };
    let archive = zten::open(path)?;
    let quantized = archive.tensor(name)?.quantized()?;
    let (inputs, outputs) = (quantized.inputs(), quantized.outputs());
    // A small file can declare any shape, so the example bounds the memory before it allocates.
    let count = inputs.checked_mul(outputs).filter(|count| *count <= 1 << 28);
    let mut weights = vec![0.0; usize::try_from(count.ok_or("too many weights")?)?];
    quantized.dequantize(&mut weights)?;
    println!("{:?} {weights:?}", [inputs, outputs]);
    Ok(())
}
