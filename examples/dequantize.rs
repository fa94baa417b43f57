//! Makes `f32` of quantized weights: `cargo run --example dequantize -- FILE NAME`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, name] = arguments.as_slice() else { return Err("FILE NAME".into()) };
    let archive = zten::open(path)?;
    let quantized = archive.tensor(name)?.quantized()?;
    let (inputs, outputs) = (quantized.inputs(), quantized.outputs());
    // The shape is what a small file claims: ask for no more memory than you are ready to give.
    let count = inputs.checked_mul(outputs).filter(|count| *count <= 1 << 28);
    let mut weights = vec![0.0; usize::try_from(count.ok_or("too many weights")?)?];
    quantized.dequantize(&mut weights)?;
    println!("{:?} {weights:?}", [inputs, outputs]);
    Ok(())
}
