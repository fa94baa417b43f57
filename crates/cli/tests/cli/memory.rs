//! Memory does not follow attributes by more than the manifest and a constant.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use zten_corpus::base::{NONE, v1};
use zten_corpus::cbor::{Item, head, keyed};

use crate::files::{around, write};
use crate::zten;

/// Bytes of each kind of attribute.
const EACH: usize = 7 << 20;
/// Address space for what follows no file: the program, its buffers, what sorting takes.
const CONSTANT: usize = 64 << 20;

/// A map of small numbers to themselves, in an order and as often as `key` says.
fn numbers(count: usize, key: impl Fn(usize) -> usize) -> Vec<u8> {
    let mut bytes = head(5, count as u64);
    for n in 0..count {
        bytes.push(0x1a);
        bytes.extend(u32::try_from(key(n)).unwrap().to_be_bytes());
        bytes.push(0);
    }
    bytes
}

/// A map of texts, out of order; the last stands there twice.
fn texts(count: usize) -> Vec<u8> {
    let mut bytes = head(5, count as u64 + 1);
    for n in (0..count).rev().chain([0]) {
        bytes.push(0x68);
        bytes.extend(format!("{n:08}").bytes());
        bytes.push(0);
    }
    bytes
}

/// A file of many bytes of attributes, each kind of them costly to someone: a long text of which
/// every character is escaped, bytes, small items, small maps, long maps.
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

/// Runs the command with so many bytes of address space.
fn within(bytes: usize, arguments: &[&str], files: &[&Path]) -> Output {
    let limited = "ulimit -v \"$0\" && exec \"$@\"";
    Command::new("sh")
        .args(["-c", limited, &(bytes >> 10).to_string(), env!("CARGO_BIN_EXE_zten")])
        .args(arguments)
        .args(files)
        // Address space that the allocator reserves for threads follows their number.
        .env("MALLOC_ARENA_MAX", "1")
        .env("RAYON_NUM_THREADS", "2")
        .output()
        .unwrap()
}

#[test]
fn attributes_are_never_held_but_as_the_manifest() {
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
    // It is the limit that is tested: with the manifest alone there is no room.
    let output = within(length, &["ls"], &[&one]);
    assert_ne!(output.status.code(), Some(0));
    // All of it was written.
    let listed = zten(["ls".as_ref(), "--json".as_ref(), one.as_os_str()]).stdout;
    assert!(listed.len() > 2 * length, "{}", listed.len());
    let end =
        b",0]}},\"data_shard\":false,\"left_out\":null,\"shards\":[],\"objects\":[],\"totals\":{";
    assert!(listed.windows(end.len()).rev().take(200).any(|bytes| bytes == end));
    fs::remove_file(one).unwrap();
    fs::remove_file(other).unwrap();
}
