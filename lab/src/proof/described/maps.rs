//! Maps whose keys the file chooses: attributes, unknown fields, roles and names.

use zten_corpus::base::{bare_object, component, empty_object, entry, v0, v1};
use zten_corpus::cbor::{Head, Item, fields, map, text, uint, uints};
use zten_corpus::file::File;
use zten_corpus::v2;

use super::texts::{TEXTS, texts};
use super::values::{VALUES, array_of, value};
use super::{Description, Kind, Trait, traits};

/// The encoding of the head of a map.
const HEAD: &[Trait] = &traits([("head", 2)]);

fn head(of: &Description, name: &str) -> Head {
    [Head::Shortest, Head::Wide, Head::Indefinite][of.get(name)]
}

/// Attributes of objects that all have the same keys.
pub(super) const ATTRIBUTES: Kind =
    Kind { name: "attributes", traits: &[TEXTS, VALUES, HEAD], make: attributes };

fn attributes(of: &Description) -> Vec<u8> {
    let value = Item::Raw(value(of));
    let pairs = texts(of).iter().map(|key| (text(key), value.clone())).collect();
    let own = Item::Map(head(of, "head"), pairs);
    let mut object = bare_object();
    object.pairs("").push((text("attributes"), own));
    file((0..fit(of, &object, 8)).map(|n| (format!("{n:06}"), object.clone())))
}

/// Unknown fields at each level, with items of any kind in the innermost level.
pub(super) const FIELDS: Kind = Kind {
    name: "fields",
    traits: &[VALUES, &LEVELS, &traits([("objects", 30), ("twice", 1)])],
    make: unknown,
};

/// The number of unknown fields in each level, and the encoding of its head.
const LEVELS: [Trait; 10] = traits([
    ("root", 4),
    ("object", 4),
    ("components", 4),
    ("component", 4),
    ("attributes", 4),
    ("root-head", 2),
    ("object-head", 2),
    ("components-head", 2),
    ("component-head", 2),
    ("attributes-head", 2),
]);

fn unknown(of: &Description) -> Vec<u8> {
    let objects = of.get("objects") + 1;
    let items = || array_of(of, of.size() / objects);
    // In each map, the unknown fields come first, in descending order, and then `known`, which contains the next map.
    let level = |name: &str, known: Vec<(Item, Item)>, value: fn() -> Item| {
        let more = (0..of.get(name)).rev().map(|n| (text(&format!("x{n}")), value()));
        Item::Map(head(of, &format!("{name}-head")), more.chain(known).collect())
    };
    let zero = || uint(0);
    let data = vec![
        (text("dtype"), text("u8")),
        (text("offset"), uint(0)),
        (text("length"), uint(0)),
        (text("zz"), items()),
    ];
    let data = level("component", data, zero);
    let of_x = || component("u8", 0, 0);
    let parts = level("components", vec![(text("data"), data)], of_x);
    let mut known = vec![
        (text("shape"), uints(&[0])),
        (text("format"), text("x")),
        (text("components"), parts),
    ];
    if of.get("attributes") > 0 {
        known.push((text("attributes"), level("attributes", vec![(text("zz"), items())], zero)));
    }
    let object = level("object", known, zero);
    let named = (0..objects).map(|n| (text(&format!("{n:04}")), object.clone())).collect();
    let mut known = vec![(text("version"), text("1.2.0")), (text("objects"), map(named))];
    if of.get("twice") == 1 {
        known.push((text("x0"), uint(0)));
    }
    File::v1(level("root", known, zero)).build("").bytes
}

/// Roles of components without bytes.
pub(super) const ROLES: Kind = Kind {
    name: "roles",
    traits: &[TEXTS, HEAD, &traits([("component-head", 2), ("fields", 4), ("sorted", 1)])],
    make: roles,
};

fn roles(of: &Description) -> Vec<u8> {
    let mut known =
        vec![(text("dtype"), text("u8")), (text("offset"), uint(0)), (text("length"), uint(0))];
    known.extend((0..of.get("fields")).rev().map(|n| (text(&format!("x{n}")), uint(0))));
    if of.get("sorted") == 1 {
        known.reverse();
    }
    let part = Item::Map(head(of, "component-head"), known);
    let parts = texts(of).iter().map(|role| (text(role), part.clone())).collect();
    let object = fields([
        ("shape", uints(&[])),
        ("format", text("x")),
        ("components", Item::Map(head(of, "head"), parts)),
    ]);
    file((0..fit(of, &object, 8)).map(|n| (format!("{n:06}"), object.clone())))
}

/// Files of 1.2 whose many objects differ only in their names.
pub(super) const NAMES: Kind =
    Kind { name: "names", traits: &[TEXTS, &traits([("object", 1)])], make: names };

fn names(of: &Description) -> Vec<u8> {
    let object = if of.get("object") == 0 { bare_object() } else { empty_object() };
    file(texts(of).into_iter().map(|name| (name, object.clone())))
}

/// Names of objects in generation 2.
pub(super) const NAMES_2: Kind = Kind { name: "names-2", traits: &[TEXTS], make: names_2 };

fn names_2(of: &Description) -> Vec<u8> {
    let object = || v2::object(&[], "x/1", vec![("a", v2::part("u8", 4096, 0))]);
    v2::file(texts(of).into_iter().map(|name| (name, object()))).bytes()
}

/// Entries of 0.1 with unknown fields.
pub(super) const ENTRIES: Kind = Kind {
    name: "entries",
    traits: &[TEXTS, VALUES, HEAD, &traits([("entry-names", 1)])],
    make: entries,
};

fn entries(of: &Description) -> Vec<u8> {
    let small = |name: &str, at: u64| entry(name, "uint8", &[0], 64 * at, 0);
    let keys = texts(of);
    if of.get("entry-names") == 1 {
        let entries = (1..).zip(&keys).map(|(at, name)| small(name, at));
        return v0(entries.collect()).start(64 * (keys.len() + 1)).build("").bytes;
    }
    let value = Item::Raw(value(of));
    let pairs = || keys.iter().map(|key| (text(key), value.clone()));
    let Item::Map(_, known) = small("000000", 1) else { unreachable!("a map") };
    let one = Item::Map(head(of, "head"), known.into_iter().chain(pairs()).collect());
    let count = fit(of, &one, 0);
    let entries = (0..count).map(|n| {
        let Item::Map(_, known) = small(&format!("{n:06}"), 1) else { unreachable!("a map") };
        Item::Map(head(of, "head"), known.into_iter().chain(pairs()).collect())
    });
    v0(entries.collect()).start(128).build("").bytes
}

/// Returns the number of items that together have the wanted size, with `before` bytes before each.
fn fit(of: &Description, item: &Item, before: usize) -> usize {
    (of.size() / (item.encode().bytes.len() + before)).max(1)
}

/// Returns a file of 1.2 with these objects.
fn file(objects: impl Iterator<Item = (String, Item)>) -> Vec<u8> {
    v1("1.2.0", objects).build("").bytes
}
