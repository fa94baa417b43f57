//! Opens files with ztensor 1.1.1: `zten-peers-ztensor-1-1-1 FILE`.

use std::io::Cursor;

use ztensor::{LegacyReader, ZTensorReader};

fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let file = std::fs::read(path).expect("a file");
    if file.starts_with(b"ZTEN0001") {
        zten_peers_child::serve(|| LegacyReader::new(Cursor::new(&file)).expect("a good file"));
    } else {
        zten_peers_child::serve(|| ZTensorReader::new(Cursor::new(&file)).expect("a good file"));
    }
}
