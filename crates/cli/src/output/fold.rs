//! Folding of names that differ only in numbers, as in `layers.{0..31}.weight`, and trees of names by their dots.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::io::{self, Write};
use std::ops::Range;

use zten_report::natural;

use crate::output::progress;
use crate::output::table::{Column, Each, Row, Table};

/// The largest number of numeric parts of a name that are folded, from the last on.
const NUMBERS: usize = 4;
/// The largest number of ranges in a folded name.
const RUNS: usize = 6;

/// Data about the tensors of a leaf or of a group of a tree, such as their dtype and size.
pub(crate) trait Fold: Clone {
    /// Compares the data of two leaves whose names differ only in a number. The leaves are folded if their data are equal.
    fn compare(&self, other: &Self) -> Ordering;

    /// Adds the data of the tensors of `other`, for the sum over a leaf or a group.
    fn add(&mut self, other: &Self);
}

/// A line of a listing: one tensor, or several tensors with equal data (such as dtype and shape) whose names differ only in
/// numbers.
pub(crate) struct Leaf<'a, T> {
    /// The common name, with the numbers in braces: `layers.{0..31}.weight`.
    pub(crate) name: Cow<'a, str>,
    /// The byte range in the name and the value of the number that is folded next: the last numeric part before those that have
    /// been folded.
    number: Option<(Range<usize>, u64)>,
    pub(crate) item: T,
}

impl<'a, T: Fold> Leaf<'a, T> {
    /// Creates the leaf of the tensor `name`.
    pub(crate) fn new(name: &'a str, item: T) -> Self {
        Self { name: Cow::Borrowed(name), number: number(name), item }
    }

    /// Returns the parts of the name before and after the number that is folded next.
    fn around(&self) -> [&str; 2] {
        let range = self.number.as_ref().map_or(0..0, |(range, _)| range.clone());
        let part = |range| self.name.get::<Range<usize>>(range).unwrap_or_default();
        [part(0..range.start), part(range.end..self.name.len())]
    }

    /// Compares two lines of the listing by their names, without the number in the name that is folded next, and then by their
    /// data. Equal lines are folded into one, such as `layers.{0..31}.weight`.
    fn compare(&self, other: &Self) -> Ordering {
        self.number
            .is_some()
            .cmp(&other.number.is_some())
            .then_with(|| self.around().cmp(&other.around()))
            .then_with(|| self.item.compare(&other.item))
    }
}

/// Returns the byte range and the value of the last part of `name` between dots that is a number of at most 64 bits without leading
/// zeros, or `None` if no part is one.
fn number(name: &str) -> Option<(Range<usize>, u64)> {
    let mut end = name.len();
    for part in name.rsplit('.') {
        let start = end.saturating_sub(part.len());
        let counts = part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'));
        if let (true, Ok(number)) = (counts, part.parse()) {
            return Some((start..end, number));
        }
        end = start.saturating_sub(1);
    }
    None
}

/// Formats ascending numbers in the notation of a shell: `{0..31}`, `{0..3,7}`. If there are more than [`RUNS`] ranges,
/// `...` replaces all but the first ones and the last.
fn braces(numbers: impl Iterator<Item = u64>) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let word = |(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}..{last}") }
    };
    let mut words: Vec<_> = runs.iter().take(RUNS).map(word).collect();
    if let (true, Some(last)) = (runs.len() > RUNS, runs.last()) {
        words.truncate(RUNS.saturating_sub(1));
        words.extend(["...".to_owned(), word(last)]);
    }
    format!("{{{}}}", words.join(","))
}

/// Folds the last number of each name, then the number before it, and so on. Returns the leaves in the natural order of
/// their names.
pub(crate) fn fold<T: Fold>(mut leaves: Vec<Leaf<'_, T>>) -> Vec<Leaf<'_, T>> {
    for _ in 0..NUMBERS {
        let value = |leaf: &Leaf<'_, T>| leaf.number.as_ref().map(|(_, number)| *number);
        leaves.sort_by(|one, other| one.compare(other).then_with(|| value(one).cmp(&value(other))));
        let mut folded: Vec<Leaf<'_, T>> = Vec::new();
        let mut rest = leaves.into_iter().peekable();
        while let Some(mut leaf) = rest.next() {
            let Some(first) = value(&leaf) else {
                folded.push(leaf);
                continue;
            };
            let mut numbers = vec![first];
            while let Some(next) = rest.next_if(|next| next.compare(&leaf).is_eq()) {
                numbers.extend(value(&next));
                leaf.item.add(&next.item);
            }
            let [before, after] = leaf.around();
            let next = number(before.strip_suffix('.').unwrap_or_default());
            if numbers.len() > 1 {
                leaf.name = format!("{before}{}{after}", braces(numbers.into_iter())).into();
            }
            leaf.number = next;
            folded.push(leaf);
        }
        leaves = folded;
    }
    leaves.sort_by(|one, other| natural::compare(&one.name, &other.name));
    leaves
}

/// Consecutive rows whose names share a prefix up to a dot, and the length of the prefix in bytes.
struct RowGroup {
    rows: Range<usize>,
    prefix: usize,
}

/// Returns the groups of rows that share a prefix, outer groups before inner ones.
fn groups<T>(leaves: &[Leaf<'_, T>]) -> Vec<RowGroup> {
    let (mut groups, mut open) = (Vec::new(), Vec::<(usize, usize)>::new());
    for end in 1..=leaves.len() {
        let both = leaves.get(end.saturating_sub(1)).zip(leaves.get(end));
        let shared = both.map_or(0, |(one, other)| shared(&one.name, &other.name));
        let mut start = end.saturating_sub(1);
        while let Some((prefix, first)) = open.pop_if(|(prefix, _)| *prefix > shared) {
            start = first;
            groups.push(RowGroup { rows: first..end, prefix });
        }
        if shared > 0 && open.last().is_none_or(|(prefix, _)| *prefix < shared) {
            open.push((shared, start));
        }
    }
    groups.sort_by_key(|group| (group.rows.start, group.prefix));
    groups
}

/// Returns the length of the common prefix of two names, up to and including its last dot. Adjacent dots do not end a part.
fn shared(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let common = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let is_dot = |at: Option<usize>| at.and_then(|at| one.get(at)) == Some(&b'.');
    let is_end =
        |at: &usize| is_dot(Some(*at)) && !is_dot(at.checked_sub(1)) && !is_dot(at.checked_add(1));
    (0..common).rev().find(is_end).map_or(0, |at| at.saturating_add(1))
}

/// Returns the sums over the rows of each group. Every leaf is added to the innermost group that holds it, and then every group to
/// the group around it, so that the work does not grow with the depth of the tree.
fn sums<T: Fold>(leaves: &[Leaf<'_, T>], groups: &[RowGroup]) -> Vec<Option<T>> {
    let add = |sums: &mut Vec<Option<T>>, to: Option<usize>, item: &T| match to
        .and_then(|to| sums.get_mut(to))
    {
        Some(Some(sum)) => sum.add(item),
        Some(sum) => *sum = Some(item.clone()),
        None => {}
    };
    let mut sums: Vec<Option<T>> = groups.iter().map(|_| None).collect();
    let (mut parents, mut open) = (Vec::new(), Vec::<usize>::new());
    let mut next = groups.iter().enumerate().peekable();
    for (at, leaf) in leaves.iter().enumerate() {
        let is_over = |group: &mut usize| groups.get(*group).is_none_or(|own| own.rows.end <= at);
        while open.pop_if(is_over).is_some() {}
        while let Some((index, _)) = next.next_if(|(_, group)| group.rows.start == at) {
            parents.push(open.last().copied());
            open.push(index);
        }
        add(&mut sums, open.last().copied(), &leaf.item);
    }
    // Outer groups come before inner ones, so each group is complete when it is added to the group around it.
    for (index, parent) in parents.iter().enumerate().rev() {
        if let Some(own) = sums.get(index).cloned().flatten() {
            add(&mut sums, *parent, &own);
        }
    }
    sums
}

/// Leaves, grouped at the dots of their names.
pub(crate) struct Tree<'a, T> {
    leaves: Vec<Leaf<'a, T>>,
    groups: Vec<RowGroup>,
    /// For each group, the sum of its leaves.
    sums: Vec<Option<T>>,
}

impl<'a, T: Fold> Tree<'a, T> {
    /// Folds `leaves`, and groups them.
    pub(crate) fn new(leaves: Vec<Leaf<'a, T>>) -> Self {
        let leaves = fold(leaves);
        let groups = groups(&leaves);
        let sums = sums(&leaves, &groups);
        Self { leaves, groups, sums }
    }

    /// Writes a table of `columns` with a row for each group and leaf that is less than `depth` levels deep. `cells` returns the
    /// cells of a leaf, or of a group if its second argument is true. Writes nothing, not even a header, if there are no leaves.
    pub(crate) fn write<const N: usize>(
        &self,
        out: &mut dyn Write,
        (columns, depth): ([Column; N], usize),
        cells: impl Fn(&T, bool) -> [String; N],
    ) -> io::Result<()> {
        if self.leaves.is_empty() {
            return Ok(());
        }
        let all = |each: Each<'_, N>| self.rows(depth, &cells, each);
        Table::measure(columns, progress::output_columns(), all)?.write(out, all)
    }

    fn rows<const N: usize>(
        &self,
        most: usize,
        cells: &dyn Fn(&T, bool) -> [String; N],
        each: Each<'_, N>,
    ) -> io::Result<()> {
        let (mut open, mut next) =
            (Vec::<&RowGroup>::new(), self.groups.iter().zip(&self.sums).peekable());
        for (at, leaf) in self.leaves.iter().enumerate() {
            while open.pop_if(|group| group.rows.end <= at).is_some() {}
            let rest = |open: &[&RowGroup]| open.last().map_or(0, |group| group.prefix);
            while let Some((group, sum)) = next.next_if(|(group, _)| group.rows.start == at) {
                let own = rest(&open)..group.prefix.saturating_sub(1);
                let name = leaf.name.get(own).unwrap_or_default();
                if let Some(sum) = sum.as_ref().filter(|_| open.len() < most) {
                    each(&Row { depth: open.len(), name, cells: cells(sum, true) })?;
                }
                open.push(group);
            }
            if open.len() < most {
                let name = leaf.name.get(rest(&open)..).unwrap_or_default();
                each(&Row { depth: open.len(), name, cells: cells(&leaf.item, false) })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_whole_parts() {
        let found = |name| number(name).map(|(range, number)| (range.start, number));
        assert_eq!(found("layers.12.weight"), Some((7, 12)));
        assert_eq!(found("a.0.b.7"), Some((6, 7)));
        assert_eq!(found("3"), Some((0, 3)));
        for name in
            ["layers.x.weight", "layer1.weight", "a.007.b", "", "a..b", "a.99999999999999999999"]
        {
            assert_eq!(found(name), None, "{name}");
        }
    }

    #[test]
    fn runs_in_braces() {
        assert_eq!(braces([0, 1, 2, 3].into_iter()), "{0..3}");
        assert_eq!(braces([0, 1, 5, 7, 8].into_iter()), "{0..1,5,7..8}");
        assert_eq!(braces((0..20).step_by(2)), "{0,2,4,6,8,...,18}");
        assert_eq!(braces([u64::MAX].into_iter()), "{18446744073709551615}");
    }

    #[test]
    fn shared_prefixes_end_at_a_dot() {
        assert_eq!(shared("a.b.c", "a.b.d"), 4);
        assert_eq!(shared("a.b", "a.bc"), 2);
        assert_eq!(shared("a", "a.b"), 0);
        assert_eq!(shared("x.{0..3}.a", "x.{0..4}.a"), 2);
        assert_eq!(shared("ä.ö", "ä.ü"), 3);
    }
}
