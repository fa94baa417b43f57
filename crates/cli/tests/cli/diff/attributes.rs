//! Tests that attributes are compared by their values, not by their encoding.

use std::path::PathBuf;

use serde_json::json;
use zten::DType;
use zten::write::{Encoded, NewObject, WriteOptions, Writer};
use zten_corpus::cbor::{keyed, raw};

use super::{document, lines};
use crate::files::{entry, old_file, write};

/// Writes a file with the attributes `file` and an object with the attributes `object`, both in CBOR.
fn with(name: &str, file: Option<&[u8]>, object: Option<&[u8]>) -> PathBuf {
    let mut writer = Writer::new(Vec::new(), &WriteOptions::default()).unwrap();
    let encoded = |cbor: &[u8]| Encoded::from_cbor(cbor.to_vec());
    if let Some(cbor) = file {
        writer.attributes_encoded(&encoded(cbor)).unwrap();
    }
    let attributes = object.map(encoded);
    let mut new = NewObject::dense("w", &[0], DType::U8);
    if let Some(attributes) = &attributes {
        new = new.attributes(attributes);
    }
    writer.object(&new).unwrap().finish().unwrap();
    write(name, &writer.finish().unwrap())
}

/// Returns whether `diff` treats both values as equal in `{"a": …}`, on the file and on the object. `test` is part of the
/// names of the files.
fn same(test: &str, one: &[u8], other: &[u8]) -> bool {
    let map = |value: &[u8]| [b"\xa1\x61a", value].concat();
    same_maps(test, &map(one), &map(other))
}

fn same_maps(test: &str, one: &[u8], other: &[u8]) -> bool {
    let old = with(&format!("diff-{test}-old.zt"), Some(one), Some(one));
    let new = with(&format!("diff-{test}-new.zt"), Some(other), Some(other));
    let lines = lines(&old, &new);
    let (own, of_objects): (Vec<_>, Vec<_>) =
        lines.lines().partition(|line| !line.starts_with("~ \"w\": "));
    // The object has the same differences as the file.
    let own: Vec<_> = own
        .into_iter()
        .map(|line| match line.split_once(' ').unwrap() {
            ("~", change) => change.to_owned(),
            (sign, change) => format!("{sign}{change}"),
        })
        .collect();
    if own.is_empty() {
        assert_eq!(lines, "");
    } else {
        let listed = own.iter().take(16).cloned().chain((own.len() > 16).then(|| "…".to_owned()));
        let listed = listed.collect::<Vec<_>>().join(", ");
        assert_eq!(of_objects, [format!("~ \"w\": {listed}")]);
    }
    own.is_empty()
}

#[test]
fn spelling_is_no_difference() {
    for (one, other) in [
        // The items of each pair are equal, and differ only in the encoding of an integer or of the number of a tag.
        (&b"\x01"[..], &b"\x1b\0\0\0\0\0\0\0\x01"[..]),
        (b"\x20", b"\x39\0\0"),
        (b"\xc1\x00", b"\xd8\x01\x00"),
        // These pairs differ in the encoding of lengths, or in the division into chunks.
        (b"\x63abc", b"\x7f\x61a\x62bc\xff"),
        (b"\x42ab", b"\x5f\x41a\x40\x41b\xff"),
        (b"\x82\x01\x02", b"\x9f\x01\x02\xff"),
        (b"\xa1\x01\x02", b"\xbf\x01\x02\xff"),
        // The floats of each pair are equal, and differ only in their width.
        (b"\xf9\x3c\x00", b"\xfb\x3f\xf0\0\0\0\0\0\0"),
        (b"\xf9\x7c\x00", b"\xfa\x7f\x80\0\0"),
        // The two NaNs of each pair differ only in width. Those of the first pair are quiet, those of the others are
        // signaling.
        (b"\xf9\x7e\x00", b"\xfb\x7f\xf8\0\0\0\0\0\0"),
        (b"\xf9\xfc\x01", b"\xfa\xff\x80\x20\x00"),
        (b"\xfa\x7f\x80\0\x01", b"\xfb\x7f\xf0\0\0\x20\0\0\0"),
        // These pairs differ in the order of a map, of a nested map, and of a map in a key.
        (b"\xa2\x01\x02\x03\x04", b"\xa2\x03\x04\x01\x02"),
        (b"\xa3\x01\x00\x02\x00\x61b\x00", b"\xbf\x61b\x00\x02\x00\x18\x01\x00\xff"),
        (b"\xa2\x01\xa2\x01\x02\x03\x04\x02\x00", b"\xa2\x02\x00\x01\xa2\x03\x04\x01\x02"),
        (b"\xa1\xa2\x01\x02\x03\x04\x00", b"\xa1\xa2\x03\x04\x01\x02\x00"),
        // Values of a repeated key keep their order.
        (b"\xa3\x01\x02\x05\x06\x01\x03", b"\xa3\x05\x06\x01\x02\x01\x03"),
    ] {
        assert!(same("spelling", one, other), "{one:x?} {other:x?}");
        assert!(same("spelling", other, one), "{other:x?} {one:x?}");
    }
    assert!(same_maps("spelling", b"\xa2\x61a\x01\x61b\x02", b"\xbf\x61b\x02\x61a\x01\xff"));
}

#[test]
fn other_values_are_a_difference() {
    let values: [&[u8]; 36] = [
        b"\x01",
        b"\x20",
        b"\xf9\x3c\x00",
        b"\xf9\x00\x00",
        b"\xf9\x80\x00",
        // These NaNs differ in their sign, their payload, or in being quiet.
        b"\xf9\x7e\x00",
        b"\xf9\xfe\x00",
        b"\xf9\x7e\x01",
        b"\xf9\x7c\x01",
        b"\xfa\x7f\xc0\0\x01",
        b"\xfa\x7f\x80\0\x01",
        b"\xfb\x7f\xf8\0\0\0\0\0\x01",
        b"\xfb\x7f\xf0\0\0\0\0\0\x01",
        b"\xfa\x3f\x80\x00\x01",
        b"\xf4",
        b"\xf5",
        b"\xf6",
        b"\xf7",
        b"\xf8\x20",
        b"\x41a",
        b"\x61a",
        b"\x61b",
        b"\x80",
        b"\x81\x01",
        b"\x81\x81\x01",
        b"\x82\x01\x02",
        b"\x82\x02\x01",
        b"\xa0",
        b"\xa1\x01\x02",
        b"\xa1\x02\x01",
        b"\xa2\x01\x02\x01\x03",
        b"\xa2\x01\x03\x01\x02",
        b"\xa3\x05\x06\x01\x02\x01\x03",
        b"\xa3\x05\x06\x01\x03\x01\x02",
        b"\xc1\x01",
        b"\xc2\x41\x01",
    ];
    for (n, one) in values.iter().enumerate() {
        for other in &values[n + 1..] {
            assert!(!same("values", one, other), "{one:x?} {other:x?}");
        }
    }
    assert!(!same_maps("values", b"\xa1\x61a\x01", b"\xa1\x61b\x01"));
    assert!(!same_maps("values", b"\xa1\x61a\x01", b"\xa2\x61a\x01\x61b\x01"));
}

#[test]
fn none_and_empty_are_the_same() {
    let none = with("diff-attributes-none.zt", None, None);
    let empty = with("diff-attributes-empty.zt", Some(b"\xa0"), Some(b"\xbf\xff"));
    let some = with("diff-attributes-some.zt", Some(b"\xa1\x61a\xf6"), None);
    assert_eq!(lines(&none, &empty), "");
    assert_eq!(lines(&some, &empty), "- attribute \"a\" null\n");
    let found = document(&none, &some);
    let added = json!([{ "key": "a", "new": null }]);
    assert_eq!((&found["attributes"], &found["changed"]), (&added, &json!([])));
    let found = document(&none, &with("diff-attributes-object.zt", None, Some(b"\xa1\x61a\xf6")));
    assert_eq!(found["attributes"], json!([]));
    assert_eq!(found["changed"], json!([{ "name": "w", "attributes": added }]));
    // A file of generation 0.1 has no attributes, so nothing is reported about them.
    let fields = entry("w", "uint8", &[0], (64, 0), &[("attributes", raw(&[0xa0]))]);
    let old = old_file("diff-attributes-0.1.zt", &[fields], &[]);
    assert_eq!(lines(&old, &some), "");
}

/// Checks that comparing hostile maps takes time in proportion to their bytes: maps nested to the limit, each unsorted and
/// used as a key, and a map whose many keys have long common prefixes.
#[test]
fn hostile_maps_end_soon() {
    let mut nested = [vec![0x00], vec![0x00]];
    for _ in 0..58 {
        let [one, other] = &nested;
        nested = [
            [&[0xa2, 0x02, 0x00], &one[..], &[0x00]].concat(),
            [&[0xa2], &other[..], &[0x00, 0x02, 0x00]].concat(),
        ];
    }
    assert!(same("hostile", &nested[0], &nested[1]));
    let key = |n: u32| {
        let text = format!("{}{n:06}", "k".repeat(250));
        [&[0x79, 0x01, 0x00], text.as_bytes(), &[0]].concat()
    };
    let head = [0xba, 0, 0, 0x4e, 0x20];
    let many = |keys: &mut dyn Iterator<Item = u32>| {
        [&head[..], &keys.flat_map(key).collect::<Vec<_>>()].concat()
    };
    assert!(same("hostile", &many(&mut (0..20_000)), &many(&mut (0..20_000).rev())));
    assert!(!same("hostile", &many(&mut (0..20_000)), &many(&mut (1..20_001).rev())));
}

/// Checks that the order of entries is ignored up to a number of entries, and compared beyond it.
#[test]
fn order_counts_where_entries_are_too_many_to_sort() {
    let numbers = |keys: &mut dyn Iterator<Item = u32>, count: u32| {
        let mut bytes = [&[0xba][..], &count.to_be_bytes()].concat();
        for key in keys {
            bytes.extend([&[0x1a][..], &key.to_be_bytes(), &[0]].concat());
        }
        bytes
    };
    for (count, sorted) in [(1 << 19, true), ((1 << 19) + 1, false)] {
        let ascending = numbers(&mut (0..count), count);
        let falling = numbers(&mut (0..count).rev(), count);
        assert_eq!(same("many", &ascending, &falling), sorted, "{count}");
        let mut other = falling.clone();
        *other.last_mut().unwrap() = 1;
        assert!(!same("many", &falling, &other));
    }
}

#[test]
fn values_are_shown_and_long_ones_cut() {
    let text = |text: &str| [&[0x78, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let item = |(key, value): &(&str, Vec<u8>)| (key.to_string(), raw(value));
    let map = |entries: &[(&str, Vec<u8>)]| keyed(entries.iter().map(item)).encode().bytes;
    let old = map(&[("a", text("x")), ("b", vec![0x01]), ("gone", vec![0xf6])]);
    let long = "\u{202e}é".repeat(40);
    let new = map(&[("a", text(&long)), ("b", vec![0x19, 1, 0]), ("new", vec![0x80])]);
    let old = with("diff-shown-old.zt", Some(&old), None);
    let new = with("diff-shown-new.zt", Some(&new), None);
    let cut = "\\u202eé".repeat(9);
    let wanted = format!(
        "~ attribute \"a\" \"x\" -> \"{}…\n~ attribute \"b\" 1 -> 256\n\
         - attribute \"gone\" null\n+ attribute \"new\" []\n",
        cut.chars().take(59).collect::<String>()
    );
    assert_eq!(lines(&old, &new), wanted);
    let found = document(&old, &new);
    assert_eq!(found["attributes"][0], json!({ "key": "a", "old": "x", "new": long }));
}
