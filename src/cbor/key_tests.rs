//! Compares the detection of duplicate keys with a test that compares each key with all others.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Keys, UNLIMITED, key, map_head, pass};
use crate::cbor::{BytesLeft, Fault, fault};
use crate::rules::Rule;
use fastrand::Rng;

/// The values of entries, as CBOR, and whether the key of such an entry is one that the parser knows. Known keys are
/// checked by the parser of their record, so [`Keys`] need not remember them.
const VALUES: [(&[u8], bool); 6] = [
    (&[0], false),
    (&[0x9f, 0xa1, 0x61, b'a', 0x80, 0xff], false),
    (&[0x82, 0x19, 1, 0, 0x7f, 0x61, b'b', 0xff], false),
    (&[0x81, 0xa2, 0x61, b'a', 0, 0x61, b'a', 0], true),
    (&[0x9f, 0x61, b'a', 0xff], true),
    (&[0xf6], true),
];

struct TestEntry {
    key: String,
    value: &'static [u8],
    is_known: bool,
}

/// Returns the CBOR of a map with `entries`, and around it one byte before and a text after the map.
fn manifest(entries: &[TestEntry], is_indefinite: bool) -> Vec<u8> {
    let mut bytes = alloc::vec![0x82];
    if is_indefinite {
        bytes.push(0xbf);
    } else {
        bytes.push(0xba);
        bytes.extend(u32::try_from(entries.len()).unwrap().to_be_bytes());
    }
    for TestEntry { key, value, .. } in entries {
        bytes.extend([0x78, u8::try_from(key.len()).unwrap()]);
        bytes.extend(key.bytes());
        bytes.extend(*value);
    }
    bytes.extend(if is_indefinite { [0xff].as_slice() } else { &[] });
    bytes.extend([0x61, b'a']);
    bytes
}

/// Reads the map of the entries `known` in `manifest`. Returns what [`Keys`] reports, and the position of the first
/// duplicate key, found by comparing all keys.
fn read(manifest: &[u8], known: &[TestEntry]) -> (Result<(), Fault>, Option<BytesLeft>) {
    let at = &manifest[1..];
    let (mut input, mut entries) = map_head(Rule::ObjectType, UNLIMITED, at).unwrap();
    let mut keys = Keys::of(input);
    let (mut seen, mut again) = (Vec::new(), None);
    for entry in known {
        assert!(entries.next(input));
        let (value, text) = key(input).unwrap();
        let rest = pass(value).unwrap();
        // Known keys are never duplicates in this test, because the parser of a record finds those.
        if entry.is_known {
            keys.count();
        } else {
            keys.note(text);
            if again.is_none() && seen.contains(&text) {
                again = Some(BytesLeft::of(input));
            }
            seen.push(text);
        }
        input = rest;
    }
    assert!(!entries.next(input));
    (keys.finish().map_err(fault), again)
}

#[test]
fn the_first_key_that_comes_again_is_found() {
    let mut rng = Rng::with_seed(1);
    let mut found = [0, 0];
    let sizes: &[(usize, usize)] =
        if cfg!(miri) { &[(9, 20)] } else { &[(9, 2_000), (90, 300), (900, 30), (4_000, 6)] };
    for (most, rounds) in sizes.iter().copied() {
        for round in 0..rounds {
            // The keys are so long that maps of thousands of entries are longer than 64 KiB.
            let (count, names) = (rng.usize(..=most), [most * most, most * 50][round % 2] + 1);
            let entries: Vec<TestEntry> = (0..count)
                .map(|n| {
                    let (value, is_known) = VALUES[rng.usize(..VALUES.len())];
                    let number = if is_known { n } else { rng.usize(..names) };
                    let kind = if is_known { "known" } else { "unknown" };
                    TestEntry { key: alloc::format!("{number}, {kind}, 0123456"), value, is_known }
                })
                .collect();
            let bytes = manifest(&entries, rng.bool());
            let (read, again) = read(&bytes, &entries);
            found[usize::from(again.is_some())] += 1;
            match again {
                None => assert!(read.is_ok(), "{bytes:x?}"),
                Some(place) => {
                    let fault = read.expect_err("a key comes again");
                    assert_eq!(fault.kind, Rule::DuplicateKey);
                    assert_eq!(fault.bytes_left, place, "{bytes:x?}");
                }
            }
        }
    }
    assert!(found.iter().all(|times| *times >= 5), "{found:?}");
}
