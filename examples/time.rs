//! time
#[path = "../benches/open/generate.rs"]
#[allow(dead_code, reason="x")]
#[allow(unreachable_pub, missing_docs, reason="x")] mod generate;
use generate::*;
fn main() {
    let mut n = names(100_000);
    for (what, shuffle, digest, disorder) in [("sorted digest", false, true, false), ("shuffled digest", true, true, false), ("sorted plain", false, false, false), ("sorted plain, blobs disordered", false, false, true), ("shuffled plain", true, false, false)] {
        if shuffle { Random(1).shuffle(&mut n) } else { n.sort() }
        let f = dense(&n, digest, disorder);
        let mut best = f64::MAX;
        for _ in 0..15 { let t = std::time::Instant::now(); let m = f.open().unwrap(); let d = t.elapsed().as_secs_f64(); best = best.min(d); std::hint::black_box(&m); if best == d { } }
        let m = f.open().unwrap();
        println!("{what}: {:.1} ns/object, {:.1} bytes/object, index {:.3}", best*1e9/1e5, f.manifest.len() as f64/1e5, m.index_bytes() as f64 / f.manifest.len() as f64);
    }
}
