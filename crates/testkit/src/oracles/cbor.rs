//! The oracle for zten's CBOR decoder, which is compared with the packages `ciborium` and `serde_cbor_2`.

use ciborium::Value as Other;
use serde_cbor_2::Value as Serde;
use zten::write::{Encoded, WriteOptions, Writer};
use zten::{Archive, OpenOptions};

use super::file::around;
use super::meaning::Meaning;

/// Decodes `item` as the value of an attribute. If zten accepts it, two other decoders must accept it with the same
/// meaning, and its canonical form must have the same meaning. Returns whether zten accepts the item.
///
/// Known differences of the other decoders are not compared:
///
/// | | `ciborium` | `serde_cbor_2` |
/// | --- | --- | --- |
/// | `undefined` | is `null` | is `null` |
/// | other simple values | rejected | rejected |
/// | tags | a bignum may become an integer, and is rejected below -2^127 | dropped |
/// | a duplicate key of a map | kept | the last value is kept |
///
/// # Panics
/// Panics if a promise does not hold.
pub fn cbor(item: &[u8]) -> bool {
    let file = around(item);
    let Ok(archive) = Archive::from_bytes(&file) else { return false };
    let attributes = archive.attributes();
    let read = attributes.item("a").expect("the attribute that was written");
    assert_eq!(read.as_bytes(), item, "the item is all of its bytes");
    let ours = Meaning::from_item(&read);
    rewritten(item, &ours);
    if ours.any(&|part| matches!(part, Meaning::Simple(_))) {
        return true;
    }
    let plain = ours.clone().map(&as_ciborium);
    if !plain.any(&is_vast) {
        let other: Other =
            ciborium::from_reader(item).expect("ciborium rejects an item that zten accepts");
        assert_eq!(of_ciborium(other).map(&as_ciborium), plain, "to ciborium");
    }
    let serde: Serde = serde_cbor_2::from_slice(item).expect("serde_cbor_2 accepts it too");
    let again: Serde = read.get().expect("the same by our own interface");
    let untagged = ours.map(&as_serde);
    if !untagged.any(&repeats) {
        let untagged = untagged.sorted();
        assert_eq!(of_serde(serde).sorted(), untagged, "to serde_cbor_2");
        assert_eq!(of_serde(again).sorted(), untagged, "to our own interface");
    }
    true
}

/// Writes `item` in canonical form, and checks that its meaning is still `ours`, unless the item has no canonical
/// form.
fn rewritten(item: &[u8], ours: &Meaning) {
    let attributes = Encoded::from_cbor([b"\xa1\x61a", item].concat());
    let mut writer =
        Writer::new(Vec::new(), &WriteOptions::default().canonical()).expect("a vector");
    if let Err(error) = writer.attributes_encoded(&attributes) {
        assert_eq!(error.rule(), Some("duplicate-key"), "{error}");
        // Two NaN keys with different bits are one key in canonical form, and so a duplicate.
        assert!(ours.any(&repeats), "the canonical form is rejected, but no key occurs twice");
        return;
    }
    assert!(!ours.any(&repeats), "an item with a duplicate key has a canonical form");
    let file = writer.finish().expect("a vector");
    let canonical = OpenOptions::default().canonical();
    let archive = canonical.from_bytes(&file).expect("the canonical form");
    let form = archive.attributes().item("a");
    let form = Meaning::from_item(&form.expect("the attribute that was written"));
    assert_eq!(form.sorted(), ours.clone().sorted(), "the canonical form has another meaning");
}

/// Returns whether the item is a map that has the same key twice.
fn repeats(part: &Meaning) -> bool {
    let Meaning::Map(entries) = part else { return false };
    let mut keys: Vec<_> = entries.iter().map(|(key, _)| key.clone().sorted()).collect();
    keys.sort();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}

/// Returns the meaning that `ciborium` should find in an item in which zten finds `part`: `undefined` becomes `null`, and bignums
/// become integers, or lose their leading zeros.
fn as_ciborium(part: Meaning) -> Meaning {
    match part {
        Meaning::Undefined => Meaning::Null,
        Meaning::Tag(tag @ (2 | 3), inner) => match *inner {
            Meaning::Bytes(bytes) => bignum(tag, &bytes),
            inner => Meaning::Tag(tag, Box::new(inner)),
        },
        other => other,
    }
}

fn bignum(tag: u64, bytes: &[u8]) -> Meaning {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let digits = &bytes[zeros..];
    let number =
        digits.iter().take(17).fold(0_u128, |number, digit| number << 8 | u128::from(*digit));
    match i128::try_from(number) {
        Ok(number) if digits.len() <= 16 => {
            Meaning::Integer(if tag == 2 { number } else { !number })
        }
        _ => Meaning::Tag(tag, Box::new(Meaning::Bytes(digits.to_vec()))),
    }
}

/// Returns whether the item, a result of [`as_ciborium`], is a negative bignum that is too large for `ciborium`.
fn is_vast(part: &Meaning) -> bool {
    matches!(part, Meaning::Tag(3, inner) if matches!(**inner, Meaning::Bytes(_)))
}

fn of_ciborium(value: Other) -> Meaning {
    match value {
        Other::Integer(number) => Meaning::Integer(number.into()),
        Other::Bytes(bytes) => Meaning::Bytes(bytes),
        Other::Text(text) => Meaning::Text(text),
        Other::Float(value) => Meaning::float(value),
        Other::Bool(value) => Meaning::Bool(value),
        Other::Null => Meaning::Null,
        Other::Tag(number, inner) => Meaning::Tag(number, Box::new(of_ciborium(*inner))),
        Other::Array(items) => Meaning::Array(items.into_iter().map(of_ciborium).collect()),
        Other::Map(entries) => {
            let entry = |(key, value)| (of_ciborium(key), of_ciborium(value));
            Meaning::Map(entries.into_iter().map(entry).collect())
        }
        other => panic!("a value of another kind: {other:?}"),
    }
}

/// Returns the meaning that `serde_cbor_2` should find in an item in which zten finds `part`: `undefined` becomes `null`, and
/// tags are dropped.
fn as_serde(part: Meaning) -> Meaning {
    match part {
        Meaning::Undefined => Meaning::Null,
        Meaning::Tag(_, inner) => *inner,
        other => other,
    }
}

fn of_serde(value: Serde) -> Meaning {
    match value {
        Serde::Null => Meaning::Null,
        Serde::Bool(value) => Meaning::Bool(value),
        Serde::Integer(number) => Meaning::Integer(number),
        Serde::Float(value) => Meaning::float(value),
        Serde::Bytes(bytes) => Meaning::Bytes(bytes),
        Serde::Text(text) => Meaning::Text(text),
        Serde::Array(items) => Meaning::Array(items.into_iter().map(of_serde).collect()),
        Serde::Map(entries) => {
            let entry = |(key, value)| (of_serde(key), of_serde(value));
            Meaning::Map(entries.into_iter().map(entry).collect())
        }
        Serde::Tag(_, inner) => of_serde(*inner),
        other => panic!("a value of another kind: {other:?}"),
    }
}
