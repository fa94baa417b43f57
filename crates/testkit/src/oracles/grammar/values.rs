//! Generating names and values of deterministic CBOR: v2 §3.1, §3.5.

use arbitrary::{Result, Unstructured};
use zten_corpus::cbor::{Item, array, bytes, head, raw, sorted_map, text, uint};

/// The largest number of levels of nesting in a value.
const DEPTH: u8 = 3;

/// Generates the name of object number `ordinal`, which differs from the names of all other numbers.
pub(super) fn name(u: &mut Unstructured<'_>, ordinal: u8) -> Result<String> {
    let stems = ["", "a", "layer.", "é", "e\u{301}", "\u{1f600}", "a name of more than 23 bytes"];
    let mut name = (*u.choose(&stems)?).to_owned();
    name.push(char::from(b'0' + ordinal));
    Ok(name)
}

/// Generates attributes, a CBOR map whose keys are text, or `None`.
pub(super) fn attributes(u: &mut Unstructured<'_>) -> Result<Option<Item>> {
    if u.ratio(3, 4)? {
        return Ok(None);
    }
    let mut pairs = Vec::new();
    for ordinal in 0..u.int_in_range(0..=3)? {
        pairs.push((text(&name(u, ordinal)?), value(u, DEPTH)?));
    }
    Ok(Some(sorted_map(pairs)))
}

/// Generates the key and the value of a field that no generation of zTensor defines, or `None`.
pub(super) fn unknown(u: &mut Unstructured<'_>) -> Result<Option<(Item, Item)>> {
    if u.ratio(7, 8)? {
        return Ok(None);
    }
    let key = match u.int_in_range(0..=2)? {
        0 => text("mine"),
        1 => uint(u.int_in_range(0..=300)?),
        _ => array(vec![bytes(b"key")]),
    };
    Ok(Some((key, value(u, DEPTH)?)))
}

/// Generates a CBOR value of any type that generation 2 allows, with at most `depth` levels of nesting.
fn value(u: &mut Unstructured<'_>, depth: u8) -> Result<Item> {
    Ok(match u.int_in_range(0..=if depth == 0 { 5 } else { 7 })? {
        0 => uint(number(u)?),
        1 => raw(&head(1, number(u)?)),
        2 => text(&name(u, 0)?),
        3 => bytes(&vec![7; u.int_in_range(0..=30)?]),
        4 => raw(&[*u.choose(&[0xf4, 0xf5, 0xf6])?]),
        // Zero, the smallest and the largest half-precision number, both infinities, NaN, a single and a double.
        5 => {
            let halves: [&[u8]; 9] = [
                &[0xf9, 0, 0],
                &[0xf9, 0x80, 0],
                &[0xf9, 0, 1],
                &[0xf9, 0x7b, 0xff],
                &[0xf9, 0x7c, 0],
                &[0xf9, 0xfc, 0],
                &[0xf9, 0x7e, 0],
                &[0xfa, 0x47, 0xc3, 0x50, 0],
                &[0xfb, 0x3f, 0xf1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a],
            ];
            raw(u.choose(&halves)?)
        }
        6 => {
            let count = u.int_in_range(0..=3)?;
            array((0..count).map(|_| value(u, depth - 1)).collect::<Result<_>>()?)
        }
        _ => {
            let mut pairs = Vec::new();
            for ordinal in 0..u.int_in_range(0..=3)? {
                let key =
                    if u.arbitrary()? { text(&name(u, ordinal)?) } else { uint(ordinal.into()) };
                pairs.push((key, value(u, depth - 1)?));
            }
            sorted_map(pairs)
        }
    })
}

/// Generates a number whose CBOR encoding may have any length.
fn number(u: &mut Unstructured<'_>) -> Result<u64> {
    let shift = u.int_in_range(0..=63)?;
    Ok(u.arbitrary::<u64>()? >> shift)
}
