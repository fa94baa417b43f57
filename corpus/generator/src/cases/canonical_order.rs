//! Cases of the corpus about files that are not canonical because of the order of the keys in a map, or because of a
//! repeated key.

use super::canonical::reject;
use super::canonical_values::DEEP;
use crate::base::{DATA, words};
use crate::canonical::{
    Tensor, attribute, bare, canonical, csr_parts, dense, in_order, one, part, tensor, two,
};
use crate::cbor::{Item, array, bytes, map, marked, marked_at, raw, tag, text, uint};
use crate::file::File;
use crate::table::Table;

const RULE: &str = "canonical-cbor";

pub(crate) fn cases(t: &mut Table) {
    records(t);
    objects(t);
    components(t);
    kinds(t);
    repeated(t);
    inside(t);
}

/// Exchanges two adjacent entries of the map at `path`. The error is expected at the second one.
fn swapped(file: File, path: &str, first: usize) -> File {
    file.edit(path, |item| {
        let Item::Map(head, mut pairs) = item else { panic!("not a map") };
        pairs.swap(first, first + 1);
        pairs[first + 1].0 = marked(pairs[first + 1].0.clone());
        Item::Map(head, pairs)
    })
}

/// Moves the last entry of the map at `path` to the front. The error is expected at the second entry.
fn rotated(file: File, path: &str) -> File {
    file.edit(path, |item| {
        let Item::Map(head, mut pairs) = item else { panic!("not a map") };
        pairs.rotate_right(1);
        pairs[1].0 = marked(pairs[1].0.clone());
        Item::Map(head, pairs)
    })
}

fn typed() -> File {
    let data = part("data", "f32", &DATA).of_type("complex64");
    canonical(None, vec![tensor("complex64", &[2], "dense", vec![data])])
}

fn records(t: &mut Table) {
    reject(t, RULE, "version-before-objects", swapped(one(), "", 0), "dense");
    reject(t, RULE, "attributes-before-version", swapped(attribute(), "", 1), "attribute");
    reject(t, RULE, "attributes-before-all", rotated(attribute(), ""), "attribute");
    reject(t, RULE, "format-before-shape", swapped(one(), "w:", 0), "dense");
    reject(t, RULE, "components-before-format", swapped(one(), "w:", 1), "dense");
    reject(t, RULE, "components-before-shape", rotated(one(), "w:"), "dense");
    reject(t, RULE, "attributes-before-format", swapped(attribute(), "w:", 1), "attribute");
    reject(t, RULE, "components-before-attributes", swapped(attribute(), "w:", 2), "attribute");
    reject(t, RULE, "dtype-before-type", swapped(typed(), "complex64:data", 0), "types");
    reject(t, RULE, "digest-before-dtype", swapped(one(), "w:data", 0), "dense");
    reject(t, RULE, "length-before-digest", swapped(one(), "w:data", 1), "dense");
    reject(t, RULE, "offset-before-length", swapped(one(), "w:data", 2), "dense");
    reject(t, RULE, "offset-before-all", rotated(one(), "w:data"), "dense");
    // The fields are in the order in which the specification lists them, and not sorted as the canonical form requires.
    let listed = ["dtype", "offset", "length", "digest"];
    let file = one().edit("w:data", |item| {
        let Item::Map(head, mut pairs) = item else { panic!("not a map") };
        pairs.sort_by_key(|(key, _)| listed.iter().position(|field| *key == text(field)));
        pairs[2].0 = marked(text("length"));
        pairs[3].0 = text("digest");
        Item::Map(head, pairs)
    });
    reject(t, RULE, "component-as-listed", file, "dense");
}

/// Returns the file of `tensors` in this order, and expects the error at the name of tensor number `at`.
fn disordered(tensors: Vec<Tensor>, at: usize) -> File {
    in_order(None, tensors).mark_key(&format!("objects/#{at}"))
}

fn objects(t: &mut Table) {
    let mut back = two();
    back.reverse();
    reject(t, RULE, "names-falling", disordered(back, 1), "two");
    let bytes =
        |names: &[&str]| names.iter().map(|name| dense(name, &[1], "u8", &[7])).collect::<Vec<_>>();
    reject(t, RULE, "names-by-letter", disordered(bytes(&["aa", "b"]), 1), "names");
    reject(t, RULE, "empty-name-last", disordered(bytes(&["b", ""]), 1), "names");
    reject(t, RULE, "third-name", disordered(bytes(&["b", "ab", "aa"]), 2), "names");
    reject(t, RULE, "name-of-two-bytes", disordered(bytes(&["é", "z"]), 1), "names");
    let (short, long) = ("z".repeat(23), "a".repeat(24));
    let file = disordered(bytes(&[&long, &short]), 1);
    reject(t, RULE, "name-of-24-before-23", file, "names");
    let (short, long) = ("z".repeat(255), "a".repeat(256));
    let file = disordered(bytes(&[&long, &short]), 1);
    reject(t, RULE, "name-of-256-before-255", file, "names");
    let none = vec![bare("b"), bare("a")];
    reject(t, RULE, "names-without-data", disordered(none, 1), "unknown-format");
}

fn components(t: &mut Table) {
    // The blobs are in the same order as the components in the manifest, so only the order in the manifest is wrong.
    for (case, order, at) in [
        ("values-before-indptr", [1, 0, 2], 1),
        ("indices-before-values", [0, 2, 1], 2),
        ("roles-as-listed", [1, 2, 0], 2),
    ] {
        let parts = csr_parts();
        let parts = order.map(|index| parts[index].clone()).into();
        let file = in_order(None, vec![tensor("w", &[2, 3], "sparse_csr", parts)]);
        let file = file.mark_key(&format!("w:/components/#{at}"));
        reject(t, RULE, case, file, "csr");
    }
    let coo = vec![part("values", "f32", &DATA[..8]), part("coords", "u64", &words(&[0, 1, 2, 1]))];
    let file = in_order(None, vec![tensor("w", &[2, 3], "sparse_coo", coo)]);
    let file = file.mark_key("w:/components/#1");
    reject(t, RULE, "values-before-coords", file, "coo");
}

/// Rejects an attribute whose value is a map with `keys`. The error is expected at key number `at`.
fn reject_keys(t: &mut Table, case: &str, keys: Vec<Item>, at: usize) {
    let pairs = keys
        .into_iter()
        .enumerate()
        .map(|(index, key)| (if index == at { marked(key) } else { key }, uint(index as u64)));
    let file = attribute().set("attributes/x", map(pairs.collect()));
    reject(t, RULE, case, file, "attribute");
}

/// Adds cases about unsorted keys: of every kind in the value of an attribute, and texts in the maps of attributes.
fn kinds(t: &mut Table) {
    let float = |bits: u16| raw(&[&[0xf9], &bits.to_be_bytes()[..]].concat());
    let pairs = [
        ("texts", text("b"), text("a")),
        ("texts-by-letter", text("aa"), text("b")),
        ("unsigned", uint(1), uint(0)),
        ("unsigned-of-2-widths", uint(256), uint(255)),
        ("negative-as-numbers", raw(&[0x21]), raw(&[0x20])),
        ("negative-before-unsigned", raw(&[0x20]), uint(0)),
        ("text-before-unsigned", text(""), uint(u64::MAX)),
        ("text-before-bytes", text(""), bytes(b"long")),
        ("bytes-by-letter", bytes(&[0, 0]), bytes(&[1])),
        ("array-before-text", array(vec![]), text("long")),
        ("arrays-by-entry", array(vec![uint(0), uint(0)]), array(vec![uint(1)])),
        ("arrays-of-1", array(vec![uint(1)]), array(vec![uint(0)])),
        ("map-before-array", map(vec![]), array(vec![uint(1)])),
        ("tag-before-map", tag(0, uint(0)), map(vec![])),
        ("tags", tag(1, uint(0)), tag(0, uint(1))),
        ("true-before-false", raw(&[0xf5]), raw(&[0xf4])),
        ("null-before-tag", raw(&[0xf6]), tag(u64::MAX, uint(0))),
        ("floats-as-numbers", float(0xbc00), float(0x3c00)),
        ("float-before-integer", float(0x3c00), uint(1)),
    ];
    for (case, first, second) in pairs {
        reject_keys(t, &format!("order-of-{case}"), vec![first, second], 1);
    }
    reject_keys(t, "order-third-of-4", vec![uint(0), uint(2), uint(1), uint(3)], 2);
    reject_keys(t, "order-last-of-4", vec![uint(1), uint(2), uint(3), uint(0)], 3);
    // The keys of the attributes themselves must be texts and must not repeat in any file, so only their order can be
    // wrong here.
    for (case, path) in [("file", "attributes"), ("object", "w:/attributes")] {
        let pair = |first: &str, second: &str| {
            let pairs = vec![(text(first), uint(0)), (marked(text(second)), uint(0))];
            attribute().set(path, map(pairs))
        };
        reject(t, RULE, format!("attributes-of-{case}-falling"), pair("x", "w"), "attribute");
        let file = pair("aa", "b");
        reject(t, RULE, format!("attributes-of-{case}-by-letter"), file, "attribute");
    }
}

fn repeated(t: &mut Table) {
    let keys = [
        ("text", text("a")),
        ("empty-text", text("")),
        ("unsigned", uint(1)),
        ("bytes", bytes(b"a")),
        ("array", array(vec![uint(1)])),
        ("map", map(vec![(uint(0), uint(0))])),
        ("tag", tag(1, uint(0))),
        ("null", raw(&[0xf6])),
        ("nan", raw(&[0xf9, 0x7e, 0])),
    ];
    for (case, key) in keys {
        reject_keys(t, &format!("repeated-{case}"), vec![key.clone(), key], 1);
    }
    let (a, b) = (text("a"), text("b"));
    reject_keys(t, "repeated-third", vec![a.clone(), b.clone(), b.clone()], 2);
    reject_keys(t, "repeated-apart", vec![a.clone(), b, a], 2);
    // Here the two entries with the same key also have the same value. In the cases above, their values differ.
    let same = map(vec![(text("a"), uint(0)), (marked(text("a")), uint(0))]);
    reject(t, RULE, "repeated-with-value", attribute().set("attributes/x", same), "attribute");
}

/// Adds cases about unsorted and repeated keys inside nested values of an attribute, and in an attribute of an object.
fn inside(t: &mut Table) {
    let falling: fn() -> Item = || map(vec![(text("b"), uint(0)), (marked(text("a")), uint(0))]);
    let repeated = || map(vec![(text("a"), uint(0)), (marked(text("a")), uint(1))]);
    for (kind, item) in [("order", falling), ("repeated", repeated)] {
        let places = [
            ("map", map(vec![(text("k"), item())])),
            ("two-maps", map(vec![(text("k"), map(vec![(text("l"), item())]))])),
            ("array", array(vec![uint(0), item()])),
            ("tag", tag(1, item())),
            ("key", map(vec![(item(), uint(0))])),
            ("array-in-key", map(vec![(array(vec![item()]), uint(0))])),
            ("second-value", map(vec![(uint(0), map(vec![])), (uint(1), item())])),
        ];
        for (place, value) in places {
            let file = attribute().set("attributes/x", value);
            reject(t, RULE, format!("{kind}-in-{place}"), file, "attribute");
        }
        let file = attribute().set("w:/attributes/x", item());
        reject(t, RULE, format!("{kind}-in-object"), file, "attribute");
    }
    // The outer map has the keys 1 and 0, which are in the wrong order. The value of each is a map, after which the outer
    // map continues.
    let after = map(vec![
        (uint(1), map(vec![(uint(5), uint(0))])),
        (marked(uint(0)), map(vec![(uint(6), uint(0))])),
    ]);
    reject(t, RULE, "order-around-maps", attribute().set("attributes/x", after), "attribute");
    let outer = [0xa1, 0].repeat(DEEP - 1);
    for (case, inner) in [("order", [0xa2, 1, 0, 0, 0]), ("repeated", [0xa2, 1, 0, 1, 0])] {
        let value = marked_at(outer.len() + 3, raw(&[&outer, &inner[..]].concat()));
        let file = attribute().set("attributes/x", value);
        reject(t, RULE, format!("{case}-at-depth-64"), file, "deep-maps");
    }
}
