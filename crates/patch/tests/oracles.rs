//! Runs the oracles of patches on the files of the corpus, on generated models, and on pseudorandom bytes.

use std::fs;
use std::path::PathBuf;

use zten_testkit::oracles::{Model, measure_heap_by, patch_apply, patch_roundtrip, written};
use zten_testkit::{corpus, other_formats};

fn files(folder: PathBuf) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(path));
        } else {
            all.push(path);
        }
    }
    all.sort();
    all
}

#[test]
fn accepted_files_lead_to_each_other() {
    let mut all = [files(corpus().join("accept")), files(corpus().join("v2/accept"))].concat();
    all.extend(other_formats("accept"));
    let all: Vec<_> = all.iter().map(|path| fs::read(path).unwrap()).collect();
    let mut made = 0;
    for (at, old) in all.iter().enumerate() {
        // The next file is often a variant with the same content. The second file has other tensors or another format.
        for new in [at + 1, at * 7 + 3] {
            made += usize::from(patch_roundtrip(old, &all[new % all.len()]));
        }
        made += usize::from(patch_roundtrip(old, old));
    }
    println!("{made} patches between {} files", all.len());
    assert!(made > all.len(), "{made} of {}", all.len());
}

#[test]
fn generated_models_lead_to_each_other() {
    let mut random = fastrand::Rng::with_seed(6);
    let mut made = 0;
    let mut model = || {
        let bytes: Vec<_> = (0..random.usize(..2000)).map(|_| random.u8(..)).collect();
        written(&Model::from_bytes(&bytes))
    };
    let mut old = model();
    for _ in 0..300 {
        let new = model();
        made += usize::from(patch_roundtrip(&old, &new));
        old = new;
    }
    println!("{made} patches");
    assert!(made > 50, "{made}");
}

#[test]
fn arbitrary_patches_are_errors() {
    measure_heap_by(|run| allocation_counter::measure(run).bytes_max);
    let mut random = fastrand::Rng::with_seed(8);
    let mut read = 0;
    for round in 0..3000_u16 {
        let mut bytes: Vec<_> = (0..random.usize(..600)).map(|_| random.u8(..)).collect();
        if let Some(first) = bytes.first_mut() {
            [*first, _] = round.to_le_bytes();
        }
        // The 54 bytes after the first are the lengths of streams. Most are small here and so often valid, so that
        // parsing gets beyond them.
        for byte in bytes.iter_mut().skip(1).take(54) {
            *byte = [0, 0, 0, 3, 9, 200][random.usize(..6)].min(*byte);
        }
        for byte in bytes.iter_mut().skip(55) {
            *byte = [0, 1, 2, 255, *byte][random.usize(..5)];
        }
        read += usize::from(patch_apply(&bytes));
    }
    assert!(read > 1000, "{read}");
}
