//! Tests of layouts of generation 2 that have attributes, and of elements that share bytes.

use std::fs;

use serde_json::{Value, json};
use sha2::Digest as _;
use zten_corpus::cbor::{text, uints};
use zten_corpus::v2::{FileV2, csr, dense, typed};

use crate::{in_corpus, succeeded, succeeded_json, succeeded_text, zten};

fn elements(args: &[&str]) -> Value {
    succeeded_json(in_corpus(args))["elements"].take()
}

#[test]
fn values_are_elements_times_their_scales() {
    let wanted = json!([[1.0, 2.0, 1.5, 2.0], [8.0, 12.0, -0.0, -0.5]]);
    let mx = "v2/accept/mx.zt";
    assert_eq!(elements(&["cat", mx, "w", "--json"]), wanted);
    let wanted = "[[1.0, 2.0, 1.5, 2.0],\n [8.0, 12.0, -0.0, -0.5]]\n";
    assert_eq!(succeeded_text(in_corpus(&["cat", mx, "w"])), wanted);
    // Each scale applies to two elements, one below the other. The scale with the byte FF is NaN.
    let wanted = json!([
        [1.0, 4.0, 12.0],
        [4.0, 10.0, 24.0],
        [-0.5, { "$float": "NaN" }, -1.763_241_5e-38],
        [-64.0, { "$float": "NaN" }, 0.0]
    ]);
    assert_eq!(elements(&["cat", "v2/accept/mx-along-the-first.zt", "w", "--json"]), wanted);
    assert_eq!(
        elements(&["cat", "v2/accept/mx-odd.zt", "w", "--json"]).as_array().unwrap().len(),
        3
    );
    assert_eq!(elements(&["cat", "v2/accept/mx-no-elements.zt", "w", "--json"]), json!([]));
    let npy = succeeded(in_corpus(&["cat", mx, "w", "--npy"]));
    let header = String::from_utf8_lossy(&npy[..128]).into_owned();
    assert!(header.contains("'<f4'") && header.contains("(2, 4)"), "{header}");
    assert_eq!(npy[npy.len() - 32..][..8], [0, 0, 0x80, 0x3f, 0, 0, 0, 0x40]);
}

#[test]
fn parts_are_printed_as_they_are() {
    let mx = "v2/accept/mx.zt";
    let part = |role| elements(&["cat", mx, "w", "--component", role, "--json"]);
    assert_eq!(part("scales"), json!([2.0, 0.5, 2.0, 0.5]));
    assert_eq!(part("data"), json!([0.5, 1.0, 3.0, 4.0, 4.0, 6.0, -0.0, -1.0]));
    assert_eq!(succeeded(in_corpus(&["cat", mx, "w", "--raw"])), [0x21, 0x65, 0x76, 0xa8]);
    assert_eq!(succeeded(in_corpus(&["cat", "v2/accept/gguf.zt", "w", "--raw"])), [7; 68]);
}

#[test]
fn invalid_objects_print_nothing() {
    let output = in_corpus(&["cat", "v2/reject/nibble-value--v2-mx.zt", "w"]);
    assert!(!output.status.success() && output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("nibble-value"));
}

/// Returns a file with 3 × 5 elements of `f4_e2m1`, which share bytes across rows, with or without a digest.
fn nibbles(digest: bool) -> FileV2 {
    let bytes = [0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0x0e];
    let file = dense(&[3, 5], typed("u8", "f4_e2m1", 4096, 8), &bytes);
    if digest {
        let sum = sha2::Sha256::digest(bytes);
        let sum = format!("sha256:{}", zten_testkit::hex(&sum));
        return file.set("w:data/digest", text(&sum));
    }
    file
}

#[test]
fn elements_that_share_bytes_and_slices_of_them() {
    let folder = tempfile::tempdir().unwrap();
    for digest in [false, true] {
        let path = folder.path().join("nibbles.zt");
        fs::write(&path, nibbles(digest).bytes()).unwrap();
        let path = path.to_str().unwrap();
        let cat = |args: &[&str]| {
            let output = zten([&["cat", path, "w", "--json"], args].concat());
            succeeded_json(output)["elements"].take()
        };
        let all = json!([
            [0.0, 0.5, 1.0, 1.5, 2.0],
            [3.0, 4.0, 6.0, -0.0, -0.5],
            [-1.0, -1.5, -2.0, -3.0, -4.0]
        ]);
        assert_eq!(cat(&[]), all);
        for (start, stop) in (0..5).flat_map(|start| (start..=5).map(move |stop| (start, stop))) {
            for row in 0..3 {
                let wanted: Vec<_> = all[row].as_array().unwrap()[start..stop].to_vec();
                let slice = format!("{row},{start}:{stop}");
                assert_eq!(cat(&["--slice", &slice]), Value::from(wanted), "{slice}");
            }
            let wanted: Vec<Value> = (1..3)
                .map(|row| Value::from(all[row].as_array().unwrap()[start..stop].to_vec()))
                .collect();
            let wanted = if start == stop { json!([]) } else { Value::from(wanted) };
            assert_eq!(cat(&["--slice", &format!("1:,{start}:{stop}")]), wanted);
        }
        let npy = succeeded(zten(["cat", path, "w", "--npy", "--slice", "1"]));
        assert_eq!(npy[npy.len() - 5..], [5, 6, 7, 8, 9]);
        let raw = zten(["cat", path, "w", "--raw", "--slice", "1"]);
        assert_eq!(raw.status.code(), Some(2), "a byte cannot be cut in two");
        assert_eq!(succeeded(zten(["cat", path, "w", "--raw"])).len(), 8);
    }
}

#[test]
fn values_of_sparse_objects_may_share_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("csr.zt");
    let values = typed("u8", "f4_e2m1", 4096, 2);
    fs::write(&path, csr().set("w:values", values).blob(4096, &[0x21, 3]).bytes()).unwrap();
    let path = path.to_str().unwrap();
    let values = zten(["cat", path, "w", "--component", "values", "--json"]);
    assert_eq!(succeeded_json(values)["elements"], json!([0.5, 1.0, 1.5]));
    succeeded(zten(["check", path]));
}

#[test]
fn listings_say_how_blocks_lie() {
    let list = |name: &str| succeeded_text(in_corpus(&["ls", &format!("v2/accept/{name}.zt")]));
    assert!(
        list("quant-group").contains("4 bits, groups of 2")
            && list("quant-group").contains("all \"zt.quant_group/1\"")
    );
    assert!(list("quant-whole-axis").contains("4 bits, whole lanes"));
    assert!(list("mx").contains("4 bits, blocks of 2") && list("mx").contains("all \"zt.mx/1\""));
    assert!(list("gguf").contains("gguf.q8_0/1"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("unknown.zt");
    let file = zten_corpus::v2::gguf().set("w:/shape", uints(&[64])).set("w:/layout", text("x"));
    fs::write(&path, file.bytes()).unwrap();
    assert!(succeeded_text(zten(["ls", path.to_str().unwrap()])).contains("x?"));
}
