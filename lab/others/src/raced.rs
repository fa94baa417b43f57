//! Opens files with ztensor 1.1.1: `ztensor-1-1-1-raced FILE`.

#[path = "../../src/bin/races/contestant.rs"]
mod contestant;

use std::io::Cursor;

use ztensor::{LegacyReader, ZTensorReader};

fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let file = std::fs::read(path).expect("a file");
    if file.starts_with(b"ZTEN0001") {
        contestant::serve(|| LegacyReader::new(Cursor::new(&file)).expect("a valid file"));
    } else {
        contestant::serve(|| ZTensorReader::new(Cursor::new(&file)).expect("a valid file"));
    }
}
