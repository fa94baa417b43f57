//! Decodes with the feature `zstd-fast`: `zten-peers-zstd-fast FILE`.

// The feature is what it is here for.
use zten as _;

fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let file = std::fs::read(path).expect("a file");
    zten_contestant::serve(|| zten_contestant::decode(&file));
}
