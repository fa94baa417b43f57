//! Makes `f32` of quantized weights: `cargo run --example dequantize -- FILE NAME`.

use std::error::Error;

use zten::Archive;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, name] = arguments.as_slice() else {
        return Err("FILE NAME".into());
    };
    let archive = Archive::open(std::fs::read(path)?)?;
    let (shape, weights) = dequantize(&archive, name)?;
    println!("{shape:?} {weights:?}");
    Ok(())
}

/// The weights of a quantized object in row-major order, and how many inputs and outputs they
/// have.
fn dequantize(
    archive: &Archive<Vec<u8>>,
    name: &str,
) -> Result<([u64; 2], Vec<f32>), Box<dyn Error>> {
    let group = archive.require(name)?.quantized_group()?;
    // Decoded, because the components may be compressed; `group.view()?` borrows those that are not.
    let decoded = group.decode(archive, archive.limits())?;
    let quantized = decoded.view();
    let shape = [quantized.inputs(), quantized.outputs()];
    // The shape is what a small file claims: ask for no more memory than you are ready to give.
    let count = shape[0].checked_mul(shape[1]).filter(|count| *count <= 1 << 28);
    let mut weights = vec![0.0; usize::try_from(count.ok_or("too many weights")?)?];
    quantized.dequantize(&mut weights)?;
    Ok((shape, weights))
}

#[test]
fn weights_are_dequantized() {
    let open = |name| {
        let path = format!("corpus/accept/1.2.3/{name}.zt");
        Archive::open(std::fs::read(path).unwrap()).unwrap()
    };
    let (shape, weights) = dequantize(&open("quantized_group"), "q_proj").unwrap();
    assert_eq!((shape, weights.len(), weights[0]), ([8, 8], 64, -1.25 * (13.0 + 1.25)));
}
