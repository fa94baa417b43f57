//! Verifies a whole file, and lists its tensors: `cargo run --example verify -- FILE`.

use zten::Error;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("FILE")?;
    Ok(list(path.as_ref())?)
}

fn list(path: &std::path::Path) -> Result<(), Error> {
    let archive = zten::open(path)?;
    let verified = archive.verify()?;
    for tensor in &archive {
        // A name may contain any characters. `{:?}` escapes control characters, which could otherwise control the terminal.
        println!("{:?} {} {} {:?}", tensor.name(), tensor.layout(), tensor.dtype(), tensor.shape());
        for component in tensor.components() {
            println!(
                "  {:?} {:?} {}",
                component.role(),
                component.type_name(),
                component.encoding()
            );
        }
    }
    let (components, digests) = (verified.components(), verified.digests());
    println!("{components} components, {digests} of them with a digest that matches");
    Ok(())
}
