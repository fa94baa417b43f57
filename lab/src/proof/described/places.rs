//! Descriptions of the positions of blobs, of shapes, and of lists of shards.

use zten_corpus::base::{component, object, v1};
use zten_corpus::cbor::{Head, Item, array, fields, keyed, push_head_of, text, uint};
use zten_corpus::v2;

use super::texts::{TEXTS, texts};
use super::{Description, Kind, Trait, traits};

/// The traits of the arrangement of blobs.
const EXTENTS: &[Trait] = &traits([
    // The number of components in an object, minus one.
    ("parts", 4095),
    ("order", 4),
    // The number of components that share a blob, minus one.
    ("shared", 15),
    ("length", 2),
    ("overlap", 1),
    ("shuffle", 99),
]);

/// Blobs of components in 1.2.
pub(super) const BLOBS: Kind = Kind { name: "blobs", traits: &[EXTENTS], make: blobs };

/// Blobs of components in 2, which may share a blob.
pub(super) const BLOBS_2: Kind = Kind { name: "blobs-2", traits: &[EXTENTS], make: blobs_2 };

/// Returns the offsets and lengths of blobs that begin at multiples of `unit`.
fn extents(of: &Description, count: usize, unit: usize) -> Vec<(u64, u64)> {
    let length = [0, 1, unit][of.get("length")];
    let shared = of.get("shared") + 1;
    let mut extents: Vec<_> = (0..count).map(|n| ((n / shared + 1) * unit, length)).collect();
    let mut rng = fastrand::Rng::with_seed(of.get("shuffle") as u64);
    match of.get("order") {
        0 => {}
        1 => extents.reverse(),
        2 => rng.shuffle(&mut extents),
        3 => extents.rotate_left(1),
        _ => {
            for _ in 0..=of.get("shuffle") {
                extents.swap(rng.usize(..count), rng.usize(..count));
            }
        }
    }
    if of.get("overlap") == 1 {
        extents[count - 1].1 += unit + 1;
    }
    extents.into_iter().map(|(at, length)| (at as u64, length as u64)).collect()
}

/// Returns the number of components that come to the wanted size: each takes `each` bytes of the manifest and,
/// unless blobs are empty, `unit` bytes before it.
fn number_of(of: &Description, each: usize, unit: usize) -> usize {
    let stored = if of.get("length") == 0 { 0 } else { unit };
    (of.size() / (each + stored)).max(1)
}

/// Returns objects with these extents, each with the given number of parts or the largest allowed number.
fn objects(
    of: &Description,
    extents: &[(u64, u64)],
    object: impl Fn(Vec<(&str, u64, u64)>) -> Item,
) -> Vec<(String, Item)> {
    let roles: Vec<String> = (0..=of.get("parts")).map(|n| format!("{n:04}")).collect();
    let of_those = |extents: &[(u64, u64)]| {
        let parts = roles.iter().zip(extents).map(|(role, (at, length))| (&**role, *at, *length));
        object(parts.collect())
    };
    let named = (0..).map(|n| format!("{n:06}"));
    named.zip(extents.chunks(roles.len()).map(of_those)).collect()
}

fn blobs(of: &Description) -> Vec<u8> {
    let count = number_of(of, 36, 64);
    let objects = objects(of, &extents(of, count, 64), |parts| {
        let part = |(role, at, length)| (role, component("u8", at, length));
        object(&[], "x", parts.into_iter().map(part))
    });
    v1("1.2.0", objects).start((count + 1) * 64).build("").bytes
}

fn blobs_2(of: &Description) -> Vec<u8> {
    let count = number_of(of, 28, 4096);
    let objects = objects(of, &extents(of, count, 4096), |parts| {
        let part = |(role, at, length)| (role, v2::part("u8", at, length));
        v2::object(&[], "x/1", parts.into_iter().map(part))
    });
    v2::file(objects).start((count + 1) * 4096).bytes()
}

/// Files of 1.2 of many objects with one shape, whose rank, numbers and encoding the traits choose.
pub(super) const SHAPES: Kind = Kind {
    name: "shapes",
    traits: &[&traits([("rank", 64), ("width", 4), ("head", 2), ("number", 3), ("last", 3)])],
    make: shapes,
};

fn shapes(of: &Description) -> Vec<u8> {
    let dimension = |number: usize| {
        let mut bytes = Vec::new();
        push_head_of(
            &mut bytes,
            u8::try_from(of.get("width")).expect("4 at most"),
            0,
            number as u64,
        );
        Item::Raw(bytes)
    };
    let rank = of.get("rank");
    let numbers = (0..rank).map(|at| of.get(if at + 1 == rank { "last" } else { "number" }));
    let head = [Head::Shortest, Head::Wide, Head::Indefinite][of.get("head")];
    let shape = Item::Array(head, numbers.map(dimension).collect());
    let object = fields([("shape", shape), ("format", text("x")), ("components", fields([]))]);
    let each = object.encode().bytes.len() + 8;
    let objects = (0..of.size().div_ceil(each)).map(|n| (format!("{n:06}"), object.clone()));
    v1("1.2.0", objects).build("").bytes
}

/// Shards of a file of 2, with or without a part in each.
pub(super) const SHARDS: Kind =
    Kind { name: "shards", traits: &[TEXTS, &traits([("used", 1), ("parts", 3)])], make: shards };

fn shards(of: &Description) -> Vec<u8> {
    let names = texts(of);
    let shard = || fields([("size", uint(8192)), ("digest", text("xxh3:0123456789abcdef"))]);
    let listed = keyed(names.iter().map(|name| (name, shard())));
    let part = |shard: &str| {
        fields([
            ("blob", array(vec![uint(4096), uint(0)])),
            ("dtype", text("u8")),
            ("shard", text(shard)),
        ])
    };
    let used = if of.get("used") == 1 { names.as_slice() } else { &[] };
    let objects = (0..).zip(used).map(|(n, shard): (usize, _)| {
        let roles = ["a", "b", "c", "d"].into_iter().take(of.get("parts") + 1);
        let parts = roles.map(|role| (role, part(shard)));
        (format!("{n:06}"), v2::object(&[], "x/1", parts))
    });
    v2::file(objects).set("shards", listed).bytes()
}
