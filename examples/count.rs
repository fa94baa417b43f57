//! count
#[path = "../benches/open/generate.rs"]
#[allow(dead_code, unreachable_pub, missing_docs, reason="x")]
mod generate;
use generate::*;
fn main() {
    let n = names(10_000);
    let f = dense(&n, std::env::args().nth(1).is_some(), false);
    std::hint::black_box(f.open().unwrap());
}
