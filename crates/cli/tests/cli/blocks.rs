//! Tests that the values of GGUF blocks are printed.

use std::fs;

use zten_corpus::other::gguf::{file, info};

use crate::{corpus_folder, ended, succeeded, zten};

/// The numbers of the GGUF types and their names.
const TYPES: [(u32, &str); 4] = [(2, "Q4_0"), (12, "Q4_K"), (34, "TQ1_0"), (42, "Q2_0")];

/// Checks that the values are those of the reference, in a GGUF file and in the zTensor files that it is converted to.
#[test]
fn values_of_blocks_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (number, name) in TYPES {
        let fixture = corpus_folder().join("gguf-blocks").join(name).with_extension("bin");
        let fixture = fs::read(fixture).unwrap();
        let [elements, bytes] =
            [0, 4].map(|at| u32::from_le_bytes(*fixture[at..].first_chunk().unwrap()) as usize);
        let data = &fixture[8..];
        let count = data.len() / (bytes + 4 * elements);
        let (blocks, wanted) = data.split_at(count * bytes);
        let shape = [(elements * count) as u64];
        fs::write(path("in.gguf"), file(&[], &[info("q", &shape, number, 0)], blocks)).unwrap();
        let files = [("--to=1.2", "one.zt"), ("--to=2", "two.zt")];
        let mut readable = vec!["in.gguf"];
        for (to, out) in files {
            let output = zten(["convert", &path("in.gguf"), &path(out), "--force", to]);
            if output.status.success() {
                readable.push(out);
            } else {
                let (_, _, why) = ended(&output);
                assert!(out == "two.zt" && why.contains("but not written"), "{name}: {why}");
            }
        }
        for from in readable {
            // This NumPy file has a header of 128 bytes, followed by the values.
            let npy = succeeded(zten(["cat", &path(from), "q", "--npy"]));
            let values = npy[128..].as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
            let wanted = wanted.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
            assert!(values.clone().count() == wanted.clone().count(), "{name} of {from}");
            for (value, wanted) in values.zip(wanted) {
                let is_equal = value.to_bits() == wanted.to_bits();
                assert!(is_equal || value.is_nan() && wanted.is_nan(), "{name} of {from}");
            }
            let raw = succeeded(zten(["cat", &path(from), "q", "--raw"]));
            assert_eq!(raw, blocks, "{name} of {from}");
        }
    }
}
