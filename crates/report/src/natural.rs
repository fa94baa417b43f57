//! The natural order of names, in which layer 2 comes before layer 10.

use std::cmp::Ordering;

/// Compares the names `one` and `other` in natural order: numbers of ASCII digits by their values, and all other characters by
/// their bytes. Names that differ only in leading zeros of numbers are compared by their bytes, so that different names are never
/// equal. Takes time linear in the lengths of the names.
pub fn compare(one: &str, other: &str) -> Ordering {
    let (mut left, mut right) = (one.as_bytes(), other.as_bytes());
    while let (Some((a, left_rest)), Some((b, right_rest))) =
        (left.split_first(), right.split_first())
    {
        let order = if a.is_ascii_digit() && b.is_ascii_digit() {
            let (a, b);
            (a, left) = split_number(left);
            (b, right) = split_number(right);
            a.len().cmp(&b.len()).then_with(|| a.cmp(b))
        } else {
            (left, right) = (left_rest, right_rest);
            a.cmp(b)
        };
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len()).then_with(|| one.cmp(other))
}

/// Splits `bytes` into the digits at the beginning, without leading zeros, and the bytes that follow.
fn split_number(bytes: &[u8]) -> (&[u8], &[u8]) {
    let digits = bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len());
    let (digits, rest) = bytes.split_at(digits);
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    (digits.get(zeros..).unwrap_or_default(), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_value() {
        let sorted = [
            "",
            "a",
            "layers",
            "layers.0.b",
            "layers.01",
            "layers.1",
            "layers.1.a",
            "layers.2.a",
            "layers.2.b",
            "layers.10.a",
            "layers.18446744073709551616",
            "layers.18446744073709551617",
            "layers.a",
            "layerz",
            "ä2",
            "ä10",
        ];
        for (place, name) in sorted.iter().enumerate() {
            for (other_place, other) in sorted.iter().enumerate() {
                assert_eq!(compare(name, other), place.cmp(&other_place), "{name} {other}");
            }
        }
    }

    #[test]
    fn order_is_total() {
        let pieces = ["", "0", "00", "1", "10", "9", "a", ".", "/", ":"];
        let names: Vec<String> = pieces
            .iter()
            .flat_map(|a| pieces.iter().flat_map(move |b| pieces.map(|c| [*a, b, c].concat())))
            .collect();
        let mut sorted = names.clone();
        sorted.sort_by(|a, b| compare(a, b));
        sorted.dedup();
        for (place, name) in sorted.iter().enumerate() {
            for other in &sorted[place + 1..] {
                assert_eq!(compare(name, other), Ordering::Less, "{name} {other}");
                assert_eq!(compare(other, name), Ordering::Greater, "{name} {other}");
            }
        }
    }
}
