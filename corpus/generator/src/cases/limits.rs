//! Cases of the corpus about limits on the length of the manifest, the depth, the rank and the number of keys.

use super::cbor::{IGNORED, base_of};
use crate::base::{
    bare_object, component, dense, dense_object, dense_v0, entry, ignored, ignored_v0, ramp, v0, v1,
};
use crate::cbor::{Head, Item, marked_at, nested, text, uint, uints};
use crate::file::File;
use crate::table::Table;

/// The largest depth of nesting of a manifest.
const DEPTH: usize = 64;
/// The largest number of dimensions of an object.
const RANK: usize = 64;
/// The largest number of keys in a map whose fields zten interprets. The names of objects do not count as keys.
const KEYS: usize = 4096;

pub(crate) fn cases(t: &mut Table) {
    manifest(t);
    depth(t);
    deep(t);
    rank(t);
    keys(t);
}

fn manifest(t: &mut Table) {
    for (prefix, file) in [("v12", dense("1.2.0")), ("v11", dense("1.1.0")), ("v01", dense_v0())] {
        let neighbor = format!("{prefix}-dense");
        let below = file.manifest_len() - 1;
        for (case, limit) in [("one-over", below), ("over-0", 0)] {
            let options = format!("limit=manifest:{limit}");
            let case = format!("{prefix}-{case}");
            t.reject_with("limit-manifest", case, file.clone(), &neighbor, &options);
        }
    }
}

/// A kind of nesting: its name, the bytes that open a level, the bytes that close it, and the bytes of the innermost
/// level.
type Nest = (&'static str, &'static [u8], &'static [u8], &'static [u8]);

const NESTS: [Nest; 6] = [
    ("arrays", &[0x81], &[0], &[]),
    ("maps", &[0xa1, 0], &[0], &[]),
    ("keys", &[0xa1], &[0], &[0]),
    ("tags", &[0xc6], &[0], &[]),
    ("indefinite-arrays", &[0x9f], &[0], &[0xff]),
    ("indefinite-maps", &[0xbf, 0x61, b'k'], &[0], &[0xff]),
];

/// Returns the level of an item in an attribute or an ignored field at `place`. The root is level 1.
fn level(place: &str) -> usize {
    match place {
        "root" => 2,
        "attribute" | "v01-entry" => 3,
        "object" => 4,
        "object-attribute" => 5,
        _ => 6,
    }
}

fn depth(t: &mut Table) {
    for (place, path) in IGNORED {
        let (file, _) = base_of(path);
        let room = DEPTH + 1 - level(place);
        for (kind, open, inner, close) in NESTS {
            let neighbor = format!("depth-64-{kind}-in-{place}");
            t.accept(neighbor.as_str(), file.clone().set(path, nested(room, open, inner, close)));
            let over = marked_at(room * open.len(), nested(room + 1, open, inner, close));
            let over = file.clone().set(path, over);
            t.reject("limit-depth", format!("{kind}-in-{place}"), over, &neighbor);
        }
        // At level 65, an empty array is rejected, because it counts as a level. A string in chunks does not, so it is
        // accepted there.
        let neighbor = format!("depth-64-and-chunks-in-{place}");
        let chunks = nested(room, &[0x81], &[0x7f, 0x61, b'a', 0xff], &[]);
        t.accept(neighbor.as_str(), file.clone().set(path, chunks));
        let empty = marked_at(room, nested(room, &[0x81], &[0x80], &[]));
        t.reject(
            "limit-depth",
            format!("empty-in-{place}"),
            file.clone().set(path, empty),
            &neighbor,
        );
    }
    // A component is at level 5 of the manifest, so one array in it is at level 6.
    let two = |item| ignored().set("w:data/x", item);
    t.accept("v12-depth-6", two(nested(1, &[0x81], &[0], &[])));
    let lower = two(marked_at(1, nested(2, &[0x81], &[0], &[])));
    t.reject_with("limit-depth", "v12-7-over-6", lower, "v12-depth-6", "limit=depth:6");
    let lower = ignored_v0().set("#0/x", marked_at(4, nested(5, &[0x81], &[0], &[])));
    t.reject_with("limit-depth", "v01-7-over-6", lower, "v01-ignored-fields", "limit=depth:6");
    let mixed: Vec<u8> = [[0xc1, 0x81, 0xa1, 0], [0x9f, 0xc1, 0x81, 0x81]].concat();
    // The eight bytes of `mixed` open seven levels. Only one of the levels, the array of indefinite length, must be
    // closed by a break.
    let room = DEPTH - 1;
    let file =
        ignored().set("x", marked_at(room / 7 * 8, nested(room / 7 + 1, &mixed, &[0], &[0xff])));
    let neighbor = "depth-64-mixed-in-root";
    t.accept(neighbor, ignored().set("x", nested(room / 7, &mixed, &[0], &[0xff])));
    t.reject("limit-depth", "mixed-in-root", file, neighbor);
}

/// Adds cases about nesting that would overflow the stack of a recursive reader.
fn deep(t: &mut Table) {
    for (kind, open, inner, close, times) in [
        ("100000-arrays", &[0x81][..], &[0][..], &[][..], 100_000),
        ("100000-tags", &[0xc6], &[0], &[], 100_000),
        ("70000-maps", &[0xa1, 0], &[0], &[], 70_000),
        ("70000-indefinite-arrays", &[0x9f], &[0], &[0xff], 70_000),
        ("100000-unclosed-arrays", &[0x9f], &[], &[], 100_000),
        ("1000000-arrays", &[0x81], &[0], &[], 1_000_000),
        ("1000000-tags", &[0xc6], &[0], &[], 1_000_000),
        ("1000000-unclosed-arrays", &[0x9f], &[], &[], 1_000_000),
    ] {
        let room = (DEPTH - 1) * open.len();
        let file = ignored().set("x", marked_at(room, nested(times, open, inner, close)));
        t.reject("limit-depth", format!("{kind}-in-root"), file, "v12-ignored-fields");
    }
    for (place, path) in [IGNORED[1], IGNORED[4], IGNORED[5]] {
        let (file, neighbor) = base_of(path);
        let room = DEPTH + 1 - level(place);
        for (kind, times) in [("100000-arrays", 100_000), ("1000000-arrays", 1_000_000)] {
            let file = file.clone().set(path, marked_at(room, nested(times, &[0x81], &[0], &[])));
            t.reject("limit-depth", format!("{kind}-in-{place}"), file, neighbor);
        }
    }
}

/// Returns a file with a `u8` object that has `rank` dimensions of size 1.
fn ranked(rank: usize) -> File {
    v1("1.2.0", vec![("w", dense_object(&vec![1; rank], component("u8", 64, 1)))]).blob(64, &[7])
}

fn ranked_v0(rank: usize) -> File {
    v0(vec![entry("w", "uint8", &vec![1; rank], 64, 1)]).blob(64, &[7])
}

fn rank(t: &mut Table) {
    t.accept("v12-rank-64", ranked(RANK));
    t.accept("v01-rank-64", ranked_v0(RANK));
    t.accept("v12-rank-64-indefinite", ranked(RANK).head("w:/shape", Head::Indefinite));
    t.accept("v01-rank-64-indefinite", ranked_v0(RANK).head("#0/shape", Head::Indefinite));
    for (case, rank) in [("65", RANK + 1), ("256", 256), ("70000", 70_000)] {
        let file = ranked(rank).mark("w:/shape");
        t.reject("limit-rank", format!("v12-{case}"), file, "v12-rank-64");
        let file = ranked_v0(rank).mark("#0/shape");
        t.reject("limit-rank", format!("v01-{case}"), file, "v01-rank-64");
    }
    let file = ranked(RANK + 1).head("w:/shape", Head::Indefinite).mark("w:/shape");
    t.reject("limit-rank", "v12-65-indefinite", file, "v12-rank-64-indefinite");
    let file = ranked_v0(RANK + 1).head("#0/shape", Head::Indefinite).mark("#0/shape");
    t.reject("limit-rank", "v01-65-indefinite", file, "v01-rank-64-indefinite");
    let unknown = v1("1.2.0", vec![("w", bare_object())]);
    t.accept("unsupported-format--v12-rank-64", unknown.clone().set("w:/shape", uints(&[0; RANK])));
    let unknown = unknown.bad("w:/shape", uints(&[0; RANK + 1]));
    t.reject("limit-rank", "v12-unknown-format", unknown, "unsupported-format--v12-rank-64");
    let lower = dense("1.2.0").mark("w:/shape");
    t.reject_with("limit-rank", "v12-2-over-1", lower, "v12-dense", "limit=rank:1");
    let lower = dense_v0().mark("#0/shape");
    t.reject_with("limit-rank", "v01-2-over-1", lower, "v01-dense", "limit=rank:1");
}

/// Adds fields until the map at `path` has `count` keys, including the known ones.
fn filled(mut file: File, path: &str, value: impl Fn(usize) -> Item, count: usize) -> File {
    let present = match file.clone().take(path) {
        Item::Map(_, pairs) => pairs.len(),
        _ => 0,
    };
    for index in present..count {
        file = file.push(path, text(&format!("{index:04}")), value(index));
    }
    file
}

fn keys(t: &mut Table) {
    for (map, path) in super::cbor::MAPS.into_iter().filter(|(map, _)| *map != "objects") {
        // The value of a role must be a component. It has no data, so that no blobs are needed.
        let value = |_| match map {
            "components" => component("u8", 0, 0),
            _ => uint(0),
        };
        let neighbor = format!("v12-4096-keys-in-{map}");
        t.accept(neighbor.as_str(), filled(ignored(), path, value, KEYS));
        let file = filled(ignored(), path, value, KEYS + 1).mark(path);
        t.reject("limit-keys", format!("v12-4097-in-{map}"), file, &neighbor);
        let file = filled(ignored(), path, value, KEYS + 1).head(path, Head::Indefinite).mark(path);
        t.reject("limit-keys", format!("v12-4097-in-indefinite-{map}"), file, &neighbor);
    }
    t.accept("v01-4096-keys", filled(dense_v0(), "#0", |_| uint(0), KEYS));
    let file = filled(dense_v0(), "#0", |_| uint(0), KEYS + 1);
    t.reject("limit-keys", "v01-4097", file.clone().mark("#0"), "v01-4096-keys");
    let file = file.head("#0", Head::Indefinite).mark("#0");
    t.reject("limit-keys", "v01-4097-indefinite", file, "v01-4096-keys");
    let lower = dense("1.2.0").set("w:data/encoding", text("raw")).mark("w:data");
    t.reject_with("limit-keys", "v12-4-over-3", lower, "v12-encoding-raw", "limit=keys:3");
    let lower = dense_v0().mark("#0");
    t.reject_with("limit-keys", "v01-6-over-5", lower, "v01-dense", "limit=keys:5");

    // The names of objects do not count as keys, nor do keys in attribute values and ignored fields.
    let names: Vec<String> = (0..=KEYS).map(|index| format!("{index:x}")).collect();
    let objects = names.iter().map(|name| (name, bare_object()));
    t.accept("unsupported-format--v12-4097-objects", v1("1.2.0", objects));
    let inner = (0..=KEYS).map(|index| (uint(index as u64), uint(0))).collect();
    let inner = Item::Map(Head::Shortest, inner);
    t.accept("v12-4097-keys-in-attribute-value", ignored().set("attributes/x", inner.clone()));
    t.accept("v01-4097-keys-in-ignored-field", ignored_v0().set("#0/x", inner));
    let entries =
        (0..300).map(|index| entry(&format!("{index}"), "uint8", &[1], 64 * (index + 1), 1));
    t.accept("v01-300-entries", v0(entries.collect()).blob(64, &ramp(64 * 299 + 1)));
}
