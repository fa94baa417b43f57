//! Merging of two sorted lists, of the old file and of the new one, so that equal items become pairs.

use std::cmp::Ordering;

/// An item that only one of two lists has, or an item of the first list together with the equal item of the second list.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pair<T> {
    /// An item that only the first list (`old`) has.
    Old(T),
    /// An item that only the second list (`new`) has.
    New(T),
    /// An item of the first list and the equal item of the second list.
    Both(T, T),
}

/// Merges the lists `old` and `new`, which are both sorted by `order`: each item of `old` is paired with the item of `new` that is
/// equal by `order`, and an item without an equal one comes alone.
pub(super) fn paired<T>(
    old: Vec<T>,
    new: Vec<T>,
    order: impl Fn(&T, &T) -> Ordering,
) -> impl Iterator<Item = Pair<T>> {
    let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
    std::iter::from_fn(move || {
        let order = match (old.peek(), new.peek()) {
            (Some(one), Some(other)) => order(one, other),
            (_, None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        match order {
            Ordering::Less => old.next().map(Pair::Old),
            Ordering::Greater => new.next().map(Pair::New),
            Ordering::Equal => {
                let both = old.next().zip(new.next());
                both.map(|(one, other)| Pair::Both(one, other))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_changes_are_paired() {
        let pairs = |old: &[&'static str], new: &[&'static str]| {
            paired(old.to_vec(), new.to_vec(), Ord::cmp).collect::<Vec<_>>()
        };
        assert_eq!(
            pairs(&["a", "b", "d"], &["b", "c", "d", "e"]),
            [
                Pair::Old("a"),
                Pair::Both("b", "b"),
                Pair::New("c"),
                Pair::Both("d", "d"),
                Pair::New("e")
            ]
        );
        assert_eq!(pairs(&["x", "y"], &[]), [Pair::Old("x"), Pair::Old("y")]);
        assert_eq!(pairs(&[], &["x", "y"]), [Pair::New("x"), Pair::New("y")]);
        assert_eq!(pairs(&[], &[]), []);
    }
}
