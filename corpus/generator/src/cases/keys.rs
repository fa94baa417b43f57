//! Cases of the corpus about types of keys, and repeated keys and names.

use super::cbor::MAPS;
use crate::base::{
    DATA, NONE, component, dense, dense_object, dense_v0, empty_object, entry, full, ignored,
    ignored_v0, ramp, v0, v1,
};
use crate::cbor::{Head, Item, array, bytes, fields, map, marked, raw, tag, text, uint, wide_text};
use crate::file::File;
use crate::table::Table;

/// Returns a value that is allowed in the map `map` under a key that zten does not know.
fn value_for(map: &str) -> Item {
    match map {
        "objects" => empty_object(),
        "components" => component("u8", 0, 0),
        _ => uint(0),
    }
}

pub(crate) fn cases(t: &mut Table) {
    types(t);
    duplicates(t);
    unknown_duplicates(t);
    far_apart(t);
    names(t);
    names_v0(t);
}

fn types(t: &mut Table) {
    let keys = [
        ("integer", uint(0)),
        ("bytes", bytes(b"key")),
        ("tagged-text", tag(0, text("key"))),
        ("null", raw(&[0xf6])),
    ];
    for (case, key) in keys {
        for (map, path) in MAPS {
            let file = ignored().push(path, marked(key.clone()), value_for(map));
            t.reject("key-type", format!("{case}-in-{map}"), file, "v12-ignored-fields");
        }
        let file = ignored_v0().push("#0", marked(key), uint(0));
        t.reject("key-type", format!("{case}-in-v01-entry"), file, "v01-ignored-fields");
    }
    let keys = [
        ("negative", raw(&[0x20])),
        ("float", raw(&[0xf9, 0x3c, 0])),
        ("false", raw(&[0xf4])),
        ("undefined", raw(&[0xf7])),
        ("array", array(vec![text("key")])),
        ("map", fields([])),
        ("bytes-in-chunks", raw(&[0x5f, 0x41, b'k', 0xff])),
        ("bytes-of-known-key", bytes(b"version")),
    ];
    for (case, key) in keys {
        let file = ignored().push("", marked(key.clone()), uint(0));
        t.reject("key-type", format!("{case}-in-root"), file, "v12-ignored-fields");
        let file = ignored().push("w:data", marked(key), uint(0));
        t.reject("key-type", format!("{case}-in-component"), file, "v12-ignored-fields");
    }
}

fn duplicates(t: &mut Table) {
    // In each file a known key occurs a second time, with the same value, at the end of its map.
    for path in [
        "version",
        "attributes",
        "objects",
        "w:/shape",
        "w:/format",
        "w:/attributes",
        "w:/components",
        "w:data/dtype",
        "w:data/type",
        "w:data/offset",
        "w:data/length",
        "w:data/uncompressed_length",
        "w:data/encoding",
        "w:data/digest",
    ] {
        let (parent, key) = path.rsplit_once('/').unwrap_or(("", path));
        let case = match path {
            "attributes" => "file-attributes",
            "w:/attributes" => "object-attributes",
            _ => key,
        };
        let value = full("1.2.0").take(path);
        let file = full("1.2.0").push(parent, marked(text(key)), value);
        t.reject("duplicate-key", format!("v12-{case}"), file, "v12-all-fields");
    }
    for key in ["name", "offset", "size", "dtype", "shape", "encoding"] {
        let value = dense_v0().take(&format!("#0/{key}"));
        let file = dense_v0().push("#0", marked(text(key)), value);
        t.reject("duplicate-key", format!("v01-{key}"), file, "v01-dense");
    }
}

fn unknown_duplicates(t: &mut Table) {
    // An unknown key or a role occurs twice. Duplicate names of objects have their own rule.
    for (map, path) in MAPS.into_iter().filter(|(map, _)| *map != "objects") {
        let key = if map == "components" { "data" } else { "x" };
        let file = ignored().push(path, marked(text(key)), value_for(map));
        t.reject("duplicate-key", format!("unknown-in-{map}"), file, "v12-ignored-fields");
        let file = ignored().push(path, marked(wide_text(key)), value_for(map));
        t.reject("duplicate-key", format!("wide-in-{map}"), file, "v12-ignored-fields");
        let file =
            ignored().head(path, Head::Indefinite).push(path, marked(text(key)), value_for(map));
        t.reject("duplicate-key", format!("indefinite-{map}"), file, "v12-ignored-fields");
    }
    let file = ignored_v0().push("#0", marked(text("x")), uint(1));
    t.reject("duplicate-key", "unknown-in-v01-entry", file, "v01-ignored-fields");
    let file = ignored_v0().push("#0", marked(wide_text("x")), uint(1));
    t.reject("duplicate-key", "wide-in-v01-entry", file, "v01-ignored-fields");
    let file = dense_v0().head("#0", Head::Indefinite).push("#0", marked(text("name")), text("v"));
    t.reject("duplicate-key", "v01-name-in-indefinite-entry", file, "v01-dense");
    let empty = |file: File| file.push("", text(""), uint(0));
    t.accept("v12-empty-key", empty(dense("1.2.0")));
    let file = empty(dense("1.2.0")).push("", marked(text("")), uint(0));
    t.reject("duplicate-key", "empty-key", file, "v12-empty-key");
    // The second `offset` has another value than the first. A careless reader would use the last value of a key.
    let two = dense("1.2.0").push("w:data", marked(text("offset")), uint(0));
    t.reject("duplicate-key", "v12-other-offset", two, "v12-dense");
    let same_start = |key: &str| {
        dense("1.2.0").push("", text("key-of-some-length-a"), uint(0)).push(
            "",
            if key == "a" {
                marked(text("key-of-some-length-a"))
            } else {
                text("key-of-some-length-b")
            },
            uint(0),
        )
    };
    t.accept("v12-keys-with-common-start", same_start("b"));
    t.reject("duplicate-key", "long-key", same_start("a"), "v12-keys-with-common-start");
}

/// Returns `count` keys in an unsorted order. The order visits all keys, because 7 and `count` have no common
/// divisor.
fn scattered(count: usize) -> Vec<String> {
    (0..count).map(|index| format!("key{:03}", index * 7 % count)).collect()
}

/// Adds 60 unsorted keys to the map at `path`, and then the key `again`, which one of them may be, and at which the error is
/// expected; without `again`, a new key.
fn many_keys(file: File, path: &str, again: Option<&str>) -> File {
    let value = || value_for(path.rsplit('/').next().unwrap_or(path));
    let file = scattered(60).iter().fold(file, |file, key| file.push(path, text(key), value()));
    match again {
        Some(key) => file.push(path, marked(text(key)), value()),
        None => file.push(path, text("new"), value()),
    }
}

fn far_apart(t: &mut Table) {
    t.accept("v01-many-keys", many_keys(ignored_v0(), "#0", None));
    for (map, path) in MAPS.into_iter().filter(|(map, _)| *map != "objects") {
        let neighbor = format!("v12-many-keys-in-{map}");
        t.accept(neighbor.as_str(), many_keys(ignored(), path, None));
        for (place, key) in [("first", "key000"), ("last", "key053"), ("middle", "key031")] {
            let file = many_keys(ignored(), path, Some(key));
            t.reject("duplicate-key", format!("{place}-of-many-in-{map}"), file, &neighbor);
        }
        let known = match map {
            "root" => "version",
            "object" => "shape",
            "components" => "data",
            "component" => "dtype",
            _ => "x",
        };
        let file = many_keys(ignored(), path, Some(known));
        t.reject("duplicate-key", format!("known-after-many-in-{map}"), file, &neighbor);
    }
    for (place, key) in [("first", "key000"), ("last", "key053"), ("known", "shape")] {
        let file = many_keys(ignored_v0(), "#0", Some(key));
        t.reject("duplicate-key", format!("v01-{place}-of-many"), file, "v01-many-keys");
    }
}

/// Returns a 1.x file with empty objects that have these names. The error is expected at the marked name.
fn named(names: Vec<Item>) -> File {
    let objects = names.into_iter().map(|name| (name, empty_object())).collect();
    v1("1.2.0", NONE).set("objects", map(objects))
}

fn names(t: &mut Table) {
    let texts = |names: &[&str]| -> Vec<Item> { names.iter().map(|name| text(name)).collect() };
    let mut pair = |case: &str, valid: Vec<Item>, again: Item| {
        let neighbor = format!("v12-names-{case}");
        t.accept(neighbor.as_str(), named(valid.clone()));
        let bad = [valid, vec![marked(again)]].concat();
        t.reject("duplicate-name", format!("v12-{case}"), named(bad), &neighbor);
    };
    pair("adjacent", texts(&["a", "b"]), text("b"));
    pair("first-again", texts(&["a", "b", "c"]), text("a"));
    pair("unsorted", texts(&["c", "a", "b"]), text("c"));
    pair("falling", texts(&["d", "c", "b", "a"]), text("d"));
    pair("empty", texts(&["", "a"]), text(""));
    pair("with-nul", texts(&["a\0", "a", "a\0b"]), text("a\0"));
    pair("not-ascii", texts(&["naïve", "nai\u{308}ve", "é", "e\u{301}"]), text("nai\u{308}ve"));
    pair("wide-head", texts(&["b", "a"]), wide_text("a"));
    pair("prefixes", texts(&["abcdefgh", "abcdefghi", "abcdefg"]), text("abcdefgh"));
    let long = |last: char| text(&format!("{}{last}", "n".repeat(5000)));
    pair("of-5001-bytes", vec![long('b'), long('a'), long('c')], long('a'));
    let many = || scattered(500).iter().map(|name| text(name)).collect::<Vec<_>>();
    pair("among-500-unsorted", many(), text("key250"));
    let sorted = (0..300).map(|index| text(&format!("key{index:03}"))).collect();
    pair("among-300-sorted", sorted, text("key150"));
    let data = || dense_object(&[2, 2], component("f32", 64, 16));
    let twice = dense("1.2.0").push("objects", marked(text("w")), empty_object());
    t.reject("duplicate-name", "v12-dense-and-unknown", twice, "v12-dense");
    let indefinite = dense("1.2.0").head("objects", Head::Indefinite).push(
        "objects",
        marked(text("w")),
        empty_object(),
    );
    t.reject("duplicate-name", "v12-in-indefinite-map", indefinite, "v12-dense");
    let v11 = v1("1.1.0", vec![("w", data())]).blob(64, &DATA);
    let v11 = v11.push("objects", marked(text("w")), empty_object());
    t.reject("duplicate-name", "v11-adjacent", v11, "v11-dense");
}

/// Returns a 0.1 file with entries of one byte that have these names.
fn named_v0(names: Vec<Item>) -> File {
    let count = names.len();
    let entries = names.into_iter().enumerate().map(|(index, name)| {
        let mut entry = entry("", "uint8", &[1], 64 * (index as u64 + 1), 1);
        *entry.find("name") = name;
        entry
    });
    v0(entries.collect()).blob(64, &ramp(64 * (count - 1) + 1))
}

fn names_v0(t: &mut Table) {
    let texts = |names: &[&str]| -> Vec<Item> { names.iter().map(|name| text(name)).collect() };
    let mut pair = |case: &str, valid: Vec<Item>, new: Item, again: Item| {
        let neighbor = format!("v01-names-{case}");
        t.accept(neighbor.as_str(), named_v0([valid.clone(), vec![new]].concat()));
        let bad = [valid, vec![marked(again)]].concat();
        t.reject("duplicate-name", format!("v01-{case}"), named_v0(bad), &neighbor);
    };
    pair("adjacent", texts(&["a"]), text("b"), text("a"));
    pair("unsorted", texts(&["c", "a", "b"]), text("d"), text("c"));
    pair("empty", texts(&["", "a"]), text("b"), text(""));
    pair("wide-head", texts(&["b", "a"]), wide_text("c"), wide_text("b"));
    let many = || scattered(50).iter().map(|name| text(name)).collect::<Vec<_>>();
    pair("among-50-unsorted", many(), text("new"), text("key025"));
}
