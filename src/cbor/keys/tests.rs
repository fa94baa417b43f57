//! Keys that come again, beside comparing all.

use alloc::string::String;
use alloc::vec::Vec;

use fastrand::Rng;
use nom::Parser as _;

#[cfg(not(feature = "small"))]
use super::{Entered, Gone, Jump, may_be_hashed};
use super::{Keys, UNLIMITED, duplicate, key, map_head, pass};
use crate::cbor::{Fault, Remaining, fault};
use crate::rules::Rule;

#[test]
#[cfg(not(feature = "small"))]
fn the_longest_values_are_jumped_over() {
    let bytes = [0; 20];
    let mut keys = Keys::of(&bytes);
    // Where each value begins and ends, as what is left: the lengths are 2, 5, 5, 3, 4 and 1.
    for (from, to) in [(20, 18), (18, 13), (13, 8), (8, 5), (5, 1), (1, 0)] {
        keys.jump(&bytes[20 - from..], &bytes[20 - to..]);
    }
    let Gone { count, longest, next } = keys.gone;
    let places = [longest, next].map(|jump| (jump.from.left(), jump.to.left()));
    assert_eq!((count, places), (6, [(18, 13), (13, 8)]));
    let mut keys = Keys::of(&bytes);
    keys.jump(&bytes[..], &bytes[5..]);
    for start in [5, 8, 11] {
        keys.jump(&bytes[start..], &bytes[start + 3..]);
    }
    let Jump { from, to } = keys.gone.next;
    assert_eq!((from.left(), to.left()), (15, 12));
}

/// A jump says where a value ends, and what it says is not read again.
#[test]
#[cfg(not(feature = "small"))]
fn a_jump_is_taken() {
    let map = [0x61, b'a', 0, 0x61, b'b', 0, 0x61, b'c', 0];
    let jump = Jump { from: Remaining::of(&map[2..]), to: Remaining::of(&map[6..]) };
    let count = |gone| Entered { input: &map, end: &[], gone }.count();
    assert_eq!(count(Gone::default()), 3);
    assert_eq!(count(Gone { longest: jump, ..Gone::default() }), 2);
    assert_eq!(count(Gone { next: jump, ..Gone::default() }), 2);
}

#[test]
#[cfg(not(feature = "small"))]
fn a_table_takes_no_more_than_the_map() {
    for (count, span, fits) in [(0, 0, true), (128, 0, true), (129, 3, false), (129, 4, true)] {
        assert_eq!(may_be_hashed(count, span), fits, "{count} {span}");
    }
}

/// Values, and whether they have a reader of their own.
const VALUES: [(&[u8], bool); 6] = [
    (&[0], false),
    (&[0x9f, 0xa1, 0x61, b'a', 0x80, 0xff], false),
    (&[0x82, 0x19, 1, 0, 0x7f, 0x61, b'b', 0xff], false),
    (&[0x81, 0xa2, 0x61, b'a', 0, 0x61, b'a', 0], true),
    (&[0x9f, 0x61, b'a', 0xff], true),
    (&[0xf6], true),
];

struct Entry {
    key: String,
    value: &'static [u8],
    is_known: bool,
}

/// A map with something before it and behind it, and how much is behind its head.
fn manifest(entries: &[Entry], is_indefinite: bool) -> Vec<u8> {
    let mut bytes = alloc::vec![0x82];
    if is_indefinite {
        bytes.push(0xbf);
    } else {
        bytes.push(0xba);
        bytes.extend(u32::try_from(entries.len()).unwrap().to_be_bytes());
    }
    for Entry { key, value, .. } in entries {
        bytes.extend([0x78, u8::try_from(key.len()).unwrap()]);
        bytes.extend(key.bytes());
        bytes.extend(*value);
    }
    bytes.extend(if is_indefinite { [0xff].as_slice() } else { &[] });
    bytes.extend([0x61, b'a']);
    bytes
}

/// What reading the map comes to, and the place of the key that comes again, by comparing all.
fn read(manifest: &[u8], known: &[Entry]) -> (Result<(), Fault>, Option<Remaining>) {
    let at = &manifest[1..];
    let (mut input, mut entries) = map_head(Rule::ObjectType, UNLIMITED).parse(at).unwrap();
    let mut keys = Keys::of(input);
    let (mut seen, mut again) = (Vec::new(), None);
    for entry in known {
        assert!(entries.next(input));
        let (value, text) = key(input).unwrap();
        let rest = pass(value).unwrap();
        if entry.is_known {
            keys.jump(value, rest);
        } else {
            keys.note(text);
            if again.is_none() && seen.contains(&text) {
                again = Some(Remaining::of(input));
            }
            seen.push(text);
        }
        input = rest;
    }
    assert!(!entries.next(input));
    (keys.finish(at, input).map_err(fault), again)
}

#[test]
fn the_first_key_that_comes_again_is_found() {
    let mut rng = Rng::with_seed(1);
    let mut found = [0, 0];
    let sizes: &[(usize, usize)] =
        if cfg!(miri) { &[(9, 20)] } else { &[(9, 2_000), (90, 300), (900, 30), (4_000, 6)] };
    for (most, rounds) in sizes.iter().copied() {
        for round in 0..rounds {
            // Keys are long enough that a map of thousands has more than 64 KiB.
            let (count, names) = (rng.usize(..=most), [most * most, most * 50][round % 2] + 1);
            let entries: Vec<Entry> = (0..count)
                .map(|n| {
                    let (value, is_known) = VALUES[rng.usize(..VALUES.len())];
                    let number = if is_known { n } else { rng.usize(..names) };
                    let kind = if is_known { "known" } else { "unknown" };
                    Entry { key: alloc::format!("{number}, {kind}, 0123456"), value, is_known }
                })
                .collect();
            let bytes = manifest(&entries, rng.bool());
            let (read, again) = read(&bytes, &entries);
            found[usize::from(again.is_some())] += 1;
            match again {
                None => assert!(read.is_ok(), "{bytes:x?}"),
                Some(place) => {
                    let fault = read.expect_err("a key comes again");
                    assert_eq!(fault.kind, Rule::DuplicateKey.into());
                    assert_eq!(fault.remaining, place, "{bytes:x?}");
                }
            }
        }
    }
    assert!(found.iter().all(|times| *times >= 5), "{found:?}");
}

/// Keys that look alike may be different, and another may come again.
#[test]
fn what_looks_alike_is_compared() {
    let texts: [&[u8]; 5] = [b"d", b"b", b"c", b"a", b"b"];
    // Places are counted from the end.
    let read = |place: u16| texts[5 - usize::from(place)];
    let of = |places: &[u16], alike| {
        duplicate(places.iter().copied(), places.len(), alike, read).unwrap()
    };
    for alike in [None, Some(0), Some(2), Some(4)] {
        assert_eq!(of(&[5, 4, 3, 2, 1], alike), Some(1), "{alike:?}");
    }
    for alike in [None, Some(0), Some(2), Some(3)] {
        assert_eq!(of(&[5, 4, 3, 2], alike), None, "{alike:?}");
    }
}
