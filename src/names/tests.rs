#![expect(clippy::as_conversions, reason = "numbers are small")]

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;

use super::{NameTable, Seeds, ends, hash, hash_in, place_in};

/// Returns a text whose hash by the known seeds is the same for each `first`: the last 8 bytes cancel their seed, so the
/// product is 0 whatever the first bytes are.
pub(crate) fn colliding(first: u64) -> Vec<u8> {
    [first.to_le_bytes(), Seeds::KNOWN.1.to_le_bytes()].concat()
}

fn table(texts: &[Vec<u8>]) -> NameTable {
    let read = |place: u32| texts[place as usize].as_slice();
    NameTable::new(texts.len(), (0..).zip(texts.iter().map(Vec::as_slice)), read).unwrap()
}

/// Checks the table of `texts` against a comparison of each text with all others.
fn check(texts: &[Vec<u8>]) {
    let read = |place: u32| texts[place as usize].as_slice();
    let table = table(texts);
    assert!(table.0.is_sorted_by_key(|entry| (hash_in(*entry), read(place_in(*entry)))));
    assert_eq!(table.0.len(), texts.len());
    let mut before = BTreeSet::new();
    let duplicate = (0..).zip(texts).find(|(_, text)| !before.insert(*text));
    assert_eq!(table.duplicate(read), duplicate.map(|(place, _)| place), "{texts:?}");
    for text in texts {
        let found = table.find(text, read).unwrap();
        assert_eq!(read(found), text, "{texts:?}");
    }
    assert_eq!(table.find(b"no such text", read), None);
}

#[test]
fn texts_of_all_kinds() {
    let mut rng = fastrand::Rng::with_seed(5);
    check(&[]);
    for round in 0..if cfg!(miri) { 6 } else { 600 } {
        let (letters, longest) = ([2, 26, u8::MAX][round % 3], [3, 9, 40][round % 3]);
        let count = rng.usize(..[3, 30, 150][round / 3 % 3]);
        let shared: Vec<u8> = (0..rng.usize(..40)).map(|_| 7).collect();
        let mut text = || -> Vec<u8> {
            let letters = (0..rng.usize(..longest)).map(|_| rng.u8(..letters));
            shared.iter().copied().chain(letters).collect()
        };
        check(&(0..count).map(|_| text()).collect::<Vec<_>>());
    }
}

#[test]
fn many_texts() {
    let count = if cfg!(miri) { 300 } else { 20_000 };
    let mut texts: Vec<Vec<u8>> =
        (0..count).map(|n| alloc::format!("layer.{n:05}.weight").into_bytes()).collect();
    check(&texts);
    texts.reverse();
    texts.push(texts[count / 3].clone());
    texts.push(texts[count / 2].clone());
    check(&texts);
}

#[test]
fn texts_of_one_hash() {
    let others = || (0..200).map(|n| alloc::format!("layer.{n}").into_bytes());
    for count in (0..80).step_by(if cfg!(miri) { 40 } else { 1 }) {
        // The end that all texts of the group share gives the group a different hash in each round, and so a different
        // position among the other texts.
        let end = u128::from(count).to_le_bytes();
        let group = (0..count).map(|first| [colliding(first).as_slice(), &end].concat());
        check(&others().chain(group).collect::<Vec<_>>());
    }
    let mut texts: Vec<Vec<u8>> = (0..if cfg!(miri) { 50 } else { 3000 }).map(colliding).collect();
    assert!(texts.iter().all(|text| hash(text) == hash(&texts[0])), "they do not collide");
    check(&texts);
    let again = texts[texts.len() / 2].clone();
    texts.push(again);
    check(&texts);
}

/// Checks that finding a text reads a logarithmic number of texts, even if all have one hash.
#[test]
#[cfg_attr(miri, ignore = "it is a matter of sizes")]
fn few_texts_are_read() {
    let reads = Cell::new(0_u32);
    let most = |texts: &[Vec<u8>], most: u32| {
        let table = table(texts);
        let read = |place: u32| {
            reads.set(reads.get() + 1);
            texts[place as usize].as_slice()
        };
        reads.set(0);
        assert!(texts.iter().all(|text| table.find(text, read).is_some()));
        assert!(reads.get() < most, "{} texts were read", reads.get());
    };
    let different: Vec<_> = (0..20_000).map(|n| alloc::format!("{n}").into_bytes()).collect();
    // For some texts the interpolation is followed by a bisection, which reads one text more.
    most(&different, 20_200);
    let alike: Vec<_> = (0..20_000).map(colliding).collect();
    most(&alike, 20_000 * 17);
}

/// Checks hashes that are not evenly spread, which interpolation misses, and searches for missing hashes near them.
#[test]
fn hashes_that_crowd() {
    let texts: Vec<_> = (0..2_000_u32).map(|n| n.to_le_bytes().to_vec()).collect();
    let read = |place: u32| texts[place as usize].as_slice();
    for (factor, offset) in [(1, 0), (3, 1 << 31), (7, u64::from(u32::MAX) - 14_000)] {
        // Each entry is looked for by the hash of one entry, at each possible position.
        for (place, text) in (0_u32..).zip(&texts).step_by(if cfg!(miri) { 500 } else { 1 }) {
            let mut hashes: Vec<u64> = (0..2_000).map(|n| n * factor + offset).collect();
            hashes[place as usize] = hash(text).into();
            let mut entries: Vec<u64> =
                (0..).zip(hashes).map(|(place, hash): (u64, u64)| hash << 32 | place).collect();
            entries.sort_unstable();
            let table = NameTable(entries);
            assert_eq!(table.find(text, read), Some(place));
            assert_eq!(table.find(b"no such text", read), None);
        }
    }
}

/// Checks the hashes for known seeds, from which `lab/src/proof` makes texts that collide.
#[test]
fn known_seeds_give_known_hashes() {
    for (text, hash) in
        [("", 0xd6cb_8892), ("layers.0", 0xa008_8b00), ("layers.0.self_attn", 0x0b26_d9d6)]
    {
        assert_eq!(Seeds::KNOWN.hash(text.as_bytes()), hash, "{text}");
    }
}

#[test]
fn texts_of_equal_blocks_have_hashes_of_their_own() {
    let mut hashes: Vec<u32> = (0..200).map(|n| hash(&[b'x'; 200][..n])).collect();
    hashes.extend((1..16).map(|n| hash(&[0; 16][..n])));
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 215);
}

/// Checks that two different texts of equal length, at most 16 bytes, get different results from `ends`.
#[test]
fn ends_have_each_byte() {
    let text: Vec<u8> = (1..=16).collect();
    for length in 0..=16 {
        let text = &text[..length];
        for at in 0..length {
            let mut other = text.to_vec();
            other[at] = 99;
            assert_ne!(ends(text), ends(&other), "{length} {at}");
        }
    }
}

#[test]
fn a_hash_depends_on_all_of_the_text_and_on_both_seeds() {
    let text: Vec<u8> = (0..40).collect();
    for length in 0..40 {
        let text = &text[..length];
        let Seeds(first, second) = Seeds::KNOWN;
        assert_ne!(hash(text), Seeds(first ^ 2, second).hash(text));
        assert_ne!(hash(text), Seeds(first, second ^ 2).hash(text));
        for at in 0..length {
            let mut other = text.to_vec();
            other[at] ^= 1;
            assert_ne!(hash(text), hash(&other), "{length} {at}");
        }
    }
}

/// Checks that texts that collide by the known seeds do not collide by other seeds.
#[test]
fn seeds_that_are_secret_tell_texts_apart() {
    let texts: Vec<Vec<u8>> = (0..1_000).map(colliding).collect();
    let other = Seeds(0xdead_beef_0123_4567, 0x89ab_cdef_7654_3211);
    let hashes: BTreeSet<u32> = texts.iter().map(|text| other.hash(text)).collect();
    assert_eq!(hashes.len(), texts.len());
}

/// Checks names that are ranges of one text, some of which begin with others.
#[test]
fn texts_within_texts() {
    let nested: Vec<Vec<u8>> = (0..300).map(|length| alloc::vec![0; length % 150]).collect();
    check(&nested);
    check(&alloc::vec![Vec::new(); 20]);
    check(&[String::from("a").into_bytes()]);
}
