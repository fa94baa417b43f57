//! Reads CBOR values that zten does not interpret, such as attributes.

use zten::attributes::{Attributes, Item, Value};

/// Reads the entries of a map of attributes and all values in them, and checks that each entry is found by its key, and that no
/// value is nested more than 64 levels deep.
pub(crate) fn fields(fields: Attributes<'_>) {
    let mut before = Vec::new();
    for (key, item) in fields.clone() {
        let found = fields.item(key).expect("a field by its key");
        assert_eq!(found.as_bytes(), item.as_bytes(), "{key:?} stands twice");
        assert_eq!(found.as_bytes().as_ptr(), item.as_bytes().as_ptr(), "{key:?} stands twice");
        assert!(value(item, 1) <= 64, "too deep");
        before.push(key);
    }
    assert_eq!(fields.count(), before.len());
}

/// Reads a CBOR value at the nesting level `depth` and all values inside it, and returns the deepest level that it
/// finds.
fn value(item: Item<'_>, depth: u32) -> u32 {
    assert!(!item.as_bytes().is_empty(), "an item has no bytes");
    if item.as_bytes().len() <= 24 {
        assert!(!format!("{item:?}").is_empty());
    }
    match item.value() {
        Value::Array(items) => {
            let (mut deepest, mut bytes) = (depth, 0);
            for item in items {
                deepest = deepest.max(value(item, depth + 1));
                bytes += item.as_bytes().len();
            }
            assert!(
                bytes < item.as_bytes().len(),
                "the items of an array take all of its bytes, without its head"
            );
            deepest
        }
        Value::Map(entries) => entries.fold(depth, |deepest, (key, held)| {
            deepest.max(value(key, depth + 1)).max(value(held, depth + 1))
        }),
        Value::Tag(_, inner) => value(inner, depth + 1),
        Value::Text(chunks) => {
            assert!(chunks.pieces().all(|piece| core::str::from_utf8(piece).is_ok()));
            depth
        }
        Value::Bytes(chunks) => {
            let length = chunks.pieces().fold(0, |sum, piece| sum + piece.len());
            assert!(length < item.as_bytes().len());
            assert!(chunks.as_bytes().is_none_or(|bytes| bytes.len() == length));
            depth
        }
        _ => depth,
    }
}
