//! Tests that memory exceeds the size of the manifest, or of both manifests for `diff`, by no more than a constant, whatever the
//! attributes are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use zten_corpus::base::{NONE, v1};
use zten_corpus::cbor::{Item, head, keyed};

use crate::files::{around, write};
use crate::zten;

/// The approximate length in bytes of each attribute.
const EACH: usize = 7 << 20;
/// The address space that does not depend on the file: for the program, its buffers, and sorting.
const CONSTANT: usize = 64 << 20;

/// Returns a CBOR map of `count` entries, whose keys are small numbers and whose values are 0. Entry `n` has the key `key(n)`, so
/// `key` determines the order and repetitions of the keys.
fn numbers(count: usize, key: impl Fn(usize) -> usize) -> Vec<u8> {
    let mut bytes = head(5, count as u64);
    for n in 0..count {
        bytes.push(0x1a);
        bytes.extend(u32::try_from(key(n)).unwrap().to_be_bytes());
        bytes.push(0);
    }
    bytes
}

/// Returns a CBOR map of `count` + 1 entries, whose keys are texts in descending order, and whose last key is repeated.
fn texts(count: usize) -> Vec<u8> {
    let mut bytes = head(5, count as u64 + 1);
    for n in (0..count).rev().chain([0]) {
        bytes.push(0x68);
        bytes.extend(format!("{n:08}").bytes());
        bytes.push(0);
    }
    bytes
}

/// Writes a zTensor file with seven attributes that take much memory or time to process. Each is large: a text of control
/// characters, each of which is escaped when it is printed; a byte string; an array of small items, which ends with the
/// byte `last`; an array of small maps; and three long maps with unsorted or repeated keys. Returns the path of the file.
fn costly(name: &str, last: u8) -> PathBuf {
    let mut hidden = head(3, EACH as u64);
    hidden.resize(hidden.len() + EACH, 1);
    let mut bytes = head(2, EACH as u64);
    bytes.resize(bytes.len() + EACH, 0xff);
    let mut items = head(4, EACH as u64);
    items.resize(items.len() + EACH - 1, 0);
    items.push(last);
    let mut maps = head(4, EACH as u64 / 2);
    maps.extend([0xa1, 0x00, 0x00].repeat(EACH / 2));
    let attributes = [
        ("hidden", hidden),
        ("bytes", bytes),
        ("items", items),
        ("maps", maps),
        ("numbers", numbers(EACH / 6, |n| n ^ 0x5555)),
        ("same", numbers(EACH / 6, |n| n % 7)),
        ("texts", texts(EACH / 10)),
    ];
    let attributes = keyed(attributes.map(|(key, value)| (key, Item::Raw(value))));
    write(name, &around(v1("1.2.0", NONE).set("attributes", attributes), &[]))
}

/// Runs the command with an address space of `bytes` bytes.
fn within(bytes: usize, arguments: &[&str], files: &[&Path]) -> Output {
    let limited = "ulimit -v \"$0\" && exec \"$@\"";
    Command::new("sh")
        .args(["-c", limited, &(bytes >> 10).to_string(), env!("CARGO_BIN_EXE_zten")])
        .args(arguments)
        .args(files)
        // The allocator reserves address space for each thread, so the number of its arenas is fixed.
        .env("MALLOC_ARENA_MAX", "1")
        .env("RAYON_NUM_THREADS", "2")
        .output()
        .unwrap()
}

#[test]
fn attributes_are_held_only_in_the_manifest() {
    let (one, other) = (costly("memory-one.zt", 0), costly("memory-other.zt", 1));
    let length = usize::try_from(fs::metadata(&one).unwrap().len()).unwrap();
    assert!(length > 50 << 20, "{length}");
    for arguments in [&["ls"][..], &["ls", "--json"], &["check", "--json"], &["hash", "--json"]] {
        let output = within(length + CONSTANT, arguments, &[&one]);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*complaint), (Some(0), ""), "{arguments:?}");
    }
    let output = within(2 * length + CONSTANT, &["diff", "--json"], &[&one, &other]);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*complaint), (Some(1), ""));
    // The limit is effective: with room for only the manifest, the command fails.
    let output = within(length, &["ls"], &[&one]);
    assert_ne!(output.status.code(), Some(0));
    // The whole document was written: it is more than twice as long as the manifest, and has its end.
    let listed = zten(["ls".as_ref(), "--json".as_ref(), one.as_os_str()]).stdout;
    assert!(listed.len() > 2 * length, "{}", listed.len());
    let end =
        b",0]}},\"data_shard\":false,\"left_out\":null,\"shards\":[],\"objects\":[],\"totals\":{";
    assert!(listed.windows(end.len()).rev().take(200).any(|bytes| bytes == end));
    fs::remove_file(one).unwrap();
    fs::remove_file(other).unwrap();
}
