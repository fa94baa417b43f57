//! Attribute maps, and fields that are hard to find.

use zten_corpus::base::{bare_object, dense_object, v1};
use zten_corpus::cbor::{Item, fields, keyed, text, uint};
use zten_testkit::generate;

use crate::proof::described::known;

/// Returns a file with an object for each list of `keys`, which are the keys of its attributes.
fn objects(keys: &[Vec<String>]) -> Vec<u8> {
    let objects = keys.iter().enumerate().map(|(n, keys)| {
        let mut object = bare_object();
        let own = keyed(keys.iter().map(|key| (key, uint(0))));
        object.pairs("").push((text("attributes"), own));
        (format!("{n:06}"), object)
    });
    v1("1.2.0", objects).build("").bytes
}

/// The number of bytes of an object without attributes.
const OBJECT: usize = 46;

/// Returns a key of two bytes that is different for each `n` below 4,096.
fn short(n: usize) -> String {
    let digit = |n: usize| char::from(b'0' + u8::try_from(n % 64).expect("a digit"));
    [n, n / 64].map(digit).iter().collect()
}

/// Returns objects with `keys` attributes each, whose keys are in descending order.
pub(super) fn maps(size: usize, keys: usize, longer: usize) -> Vec<u8> {
    let count = super::count(size, OBJECT + keys * (3 + longer));
    let own: Vec<String> = (0..keys).rev().map(short).collect();
    objects(&vec![own; count])
}

/// Returns objects with 4,096 unsorted attributes each.
pub(super) fn shuffled(size: usize) -> Vec<u8> {
    let own: Vec<String> = generate::shuffled((0..4096).map(short).collect());
    let count = super::count(size, OBJECT + 4096 * 4);
    objects(&vec![own; count])
}

/// Returns objects with 4,096 unsorted attributes each. Many of their keys begin with the same characters, as `0z1`, `0zz1` and
/// `0zzz2` do.
pub(super) fn prefixes(size: usize) -> Vec<u8> {
    let letter = |n: usize| char::from(b'0' + u8::try_from(n % 64).expect("a letter"));
    let key = |n: usize| format!("{}{}{}", letter(n / 512), "z".repeat(1 + n % 9), letter(n / 8));
    let mut own: Vec<String> = (0..8 * 512).map(key).collect();
    own.sort_unstable();
    own.dedup();
    let own = generate::shuffled(own);
    let count = super::count(size, OBJECT + own.len() * 9);
    objects(&vec![own; count])
}

/// Returns objects with 500 unsorted attributes each, whose keys have the same hash with the seeds that are used if a process has
/// no random seed.
pub(super) fn colliding(size: usize) -> Vec<u8> {
    let own: Vec<String> = generate::shuffled((0..500).map(known::colliding).collect());
    let count = super::count(size, OBJECT + 500 * 47);
    objects(&vec![own; count])
}

/// Returns objects whose keys leave a group of similar keys one at a time.
pub(super) fn slow(size: usize) -> Vec<u8> {
    let own: Vec<String> = (0..14).rev().map(|n| "a".repeat(n)).collect();
    let count = super::count(size, OBJECT + 14 * 2 + 91);
    objects(&vec![own; count])
}

/// Creates objects with 4,096 attributes each. The last key of the last object is a duplicate.
pub(super) fn twice(size: usize) -> Vec<u8> {
    let count = super::count(size, OBJECT + 4096 * 4);
    let own: Vec<String> = (0..4096).rev().map(short).collect();
    let mut keys = vec![own; count];
    let last = keys.last_mut().expect("an object");
    let first = last[0].clone();
    last[4095] = first;
    objects(&keys)
}

/// Returns components whose fields come after unknown ones, and a shape that does, too.
pub(super) fn unknown(size: usize) -> Vec<u8> {
    let unknown = || (0..2000).map(|n| (text(&short(n)), uint(0)));
    let behind = |mut item: Item| {
        item.pairs("").splice(..0, unknown());
        item
    };
    let data = fields([
        ("dtype", text("u8")),
        ("offset", uint(64)),
        ("length", uint(0)),
        ("digest", text("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")),
    ]);
    let object = behind(dense_object(&[0], behind(data)));
    let count = super::count(size, 2 * 2000 * 4);
    let objects = (0..count).map(|n| (format!("{n:06}"), object.clone()));
    v1("1.2.0", objects).start(64).build("").bytes
}
