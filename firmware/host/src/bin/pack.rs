//! Writes the files of the network anew: `cargo run --bin pack`.

use zten_firmware::network::{FILES, packed};

fn main() -> zten_firmware::Result<()> {
    for file in FILES {
        std::fs::write(zten_firmware::path("network").join(file.name), packed(&file)?)?;
    }
    Ok(())
}
