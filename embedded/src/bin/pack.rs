//! Writes the zTensor files of the network again: `cargo run --bin pack`.

use zten_embedded::host::network::{FILES, packed};

fn main() -> zten_embedded::host::Result<()> {
    for file in FILES {
        std::fs::write(zten_embedded::host::path("network").join(file.name), packed(&file)?)?;
    }
    Ok(())
}
