//! Tests that all commands read NumPy files and archives of them.

use std::fs::{self, File};
use std::io::Write as _;

use serde_json::json;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};
use zten_corpus::other::npy;
use zten_corpus::other::zip::{Archive, Member};

use crate::{failed, other_format, run, succeeded, succeeded_json, succeeded_text};

#[test]
fn elements_are_printed_in_rows() {
    let columns = other_format("columns.npy");
    for sandbox in ["--no-sandbox", "--color=auto"] {
        let printed = succeeded_text(run("cat", &columns, &["columns", "--slice=1,:2", sandbox]));
        assert_eq!(printed, "[[12, 13, 14, 15],\n [16, 17, 18, 19]]\n");
    }
    // A column-major array of bytes is also printed row by row, although its bytes need no conversion.
    let folder = tempfile::tempdir().unwrap();
    let bytes = folder.path().join("bytes.npy");
    fs::write(&bytes, npy::file("|u1", true, "(2, 3)", &[0, 3, 1, 4, 2, 5])).unwrap();
    assert_eq!(
        succeeded_text(run("cat", &bytes, &["bytes", "--slice=:,1:"])),
        "[[1, 2],\n [4, 5]]\n"
    );
    let raw = succeeded(run("cat", &columns, &["columns", "--raw"]));
    assert_eq!(raw, (0..24_i16).flat_map(i16::to_le_bytes).collect::<Vec<_>>());
    let packed = other_format("compressed.npz");
    let document = succeeded_json(run("cat", &packed, &["columns", "--json"]));
    assert_eq!(document["elements"], json!([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]));
    assert_eq!(succeeded_text(run("cat", &packed, &["bools"])), "[true, false, true]\n");
    assert_eq!(succeeded_text(run("cat", &packed, &["columns", "--slice=3,1:"])), "[10, 11]\n");
}

/// Checks that a slice of a stored member is printed only after the checksum of the whole member was verified.
#[test]
fn slices_of_damaged_members_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.npz");
    let array = npy::file("|u1", false, "(2, 3)", &[0, 1, 2, 3, 4, 77]);
    fs::write(&path, Archive::new(&[Member::stored("a.npy", &array)]).bytes()).unwrap();
    let slice = || run("cat", &path, &["a", "--slice=0,1:"]);
    assert_eq!(succeeded_text(slice()), "[1, 2]\n");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(3).position(|three| three == [3, 4, 77]).unwrap();
    bytes[at + 2] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let complaint = failed(slice(), 1);
    assert!(complaint.contains("zip-crc"), "{complaint}");
}

/// Checks that a large array in column-major order is held in memory for reordering, within the limit. An array of zeros
/// takes only a few bytes of an archive.
#[test]
fn large_arrays_are_put_in_order_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("in.npz"), folder.path().join("out.zt"));
    let rows = 1_000_000;
    let array = npy::file("<f4", true, &format!("({rows}, 16)"), &vec![0; rows * 64]);
    let mut archive = ZipWriter::new(File::create(&path).unwrap());
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    archive.start_file("a.npy", options).unwrap();
    archive.write_all(&array).unwrap();
    archive.finish().unwrap();
    assert!(fs::metadata(&path).unwrap().len() < 1 << 20);
    succeeded(run("check", &path, &["--require-sandbox"]));
    succeeded(run("convert", &path, &[out.to_str().unwrap(), "--require-sandbox"]));
    assert!(fs::metadata(&out).unwrap().len() > 64_000_000);
    succeeded(run("hash", &path, &["--require-sandbox"]));
    let why =
        failed(run("convert", &path, &["--limit=decoded=1M", out.to_str().unwrap(), "--force"]), 1);
    assert!(why.contains("limit-decoded"), "{why}");
}
