//! `--tree`: a tree of objects by the dots in their names, in which objects whose names differ only in numbers are one row.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::io::{self, Write};
use std::ops::Range;

use zten::Tensor;
use zten_report::{blocks, natural};

use super::kind;
use crate::input::selection::{Selection, stored};
use crate::output::progress;
use crate::output::table::{Column, Each, Row, Table};
use crate::output::text::shape;
use crate::size::human;

/// The largest number of numeric parts of a name that are folded, from the last on.
const NUMBERS: usize = 4;
/// The largest number of ranges in a folded name.
const RUNS: usize = 6;

/// Objects of one type and shape whose names differ only in numbers.
struct Leaf<'a> {
    /// The first of the objects.
    object: Tensor<'a>,
    /// The common name, with the numbers in braces: `layers.{0..31}.weight`.
    name: Cow<'a, str>,
    /// The byte range in the name and the value of the number that is folded next: the last numeric part before those that have
    /// been folded.
    number: Option<(Range<usize>, u64)>,
    count: u64,
    stored: u64,
}

impl<'a> Leaf<'a> {
    fn new(object: Tensor<'a>) -> Self {
        let name = object.name();
        let (number, stored) = (number(name), stored(&object));
        Self { object, name: Cow::Borrowed(name), number, count: 1, stored }
    }

    /// Returns the parts of the name before and after the number.
    fn around(&self) -> [&str; 2] {
        let range = self.number.as_ref().map_or(0..0, |(range, _)| range.clone());
        let part = |range| self.name.get::<Range<usize>>(range).unwrap_or_default();
        [part(0..range.start), part(range.end..self.name.len())]
    }

    /// Compares names, types and shapes, except the number that is folded next.
    fn compare(&self, other: &Self) -> Ordering {
        let types = |leaf: &Self| {
            let components = leaf.object.components();
            components.map(|component| (component.role(), component.type_name()))
        };
        let (one, two) = (&self.object, &other.object);
        self.number
            .is_some()
            .cmp(&other.number.is_some())
            .then_with(|| self.around().cmp(&other.around()))
            .then_with(|| one.layout_name().cmp(two.layout_name()))
            .then_with(|| one.shape().cmp(two.shape()))
            .then_with(|| types(self).cmp(types(other)))
    }
}

/// Returns the byte range and the value of the last part of `name` between dots that is a number without leading zeros.
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

/// Formats ascending numbers in the notation of a shell: `{0..31}`, `{0..3,7}`.
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

/// Folds the last number of each name, then the number before it, and so on.
fn fold(mut leaves: Vec<Leaf<'_>>) -> Vec<Leaf<'_>> {
    for _ in 0..NUMBERS {
        let value = |leaf: &Leaf<'_>| leaf.number.as_ref().map(|(_, number)| *number);
        leaves.sort_by(|one, other| one.compare(other).then_with(|| value(one).cmp(&value(other))));
        let mut folded: Vec<Leaf<'_>> = Vec::new();
        let mut rest = leaves.into_iter().peekable();
        while let Some(mut leaf) = rest.next() {
            let Some(first) = value(&leaf) else {
                folded.push(leaf);
                continue;
            };
            let mut numbers = vec![first];
            while let Some(next) = rest.next_if(|next| next.compare(&leaf).is_eq()) {
                numbers.extend(value(&next));
                leaf.count = leaf.count.saturating_add(next.count);
                leaf.stored = leaf.stored.saturating_add(next.stored);
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
    leaves
}

/// Consecutive rows whose names share a prefix up to a dot, and the length of the prefix in bytes.
struct Group {
    rows: Range<usize>,
    prefix: usize,
}

/// Returns the groups of rows that share a prefix, outer groups before inner ones.
fn groups(leaves: &[Leaf<'_>]) -> Vec<Group> {
    let (mut groups, mut open) = (Vec::new(), Vec::<(usize, usize)>::new());
    for end in 1..=leaves.len() {
        let both = leaves.get(end.saturating_sub(1)).zip(leaves.get(end));
        let shared = both.map_or(0, |(one, other)| shared(&one.name, &other.name));
        let mut start = end.saturating_sub(1);
        while let Some((prefix, first)) = open.pop_if(|(prefix, _)| *prefix > shared) {
            start = first;
            groups.push(Group { rows: first..end, prefix });
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

/// Prints the tree of the selected objects.
pub(super) fn list(out: &mut dyn Write, selection: &Selection<'_>) -> io::Result<()> {
    let mut leaves = fold(selection.objects().map(Leaf::new).collect());
    leaves.sort_by(|one, other| natural::compare(&one.name, &other.name));
    let groups = groups(&leaves);
    // Prefix sums of counts and bytes over the rows, so that the totals of a group are a difference.
    let mut sums = vec![(0_u64, 0_u64)];
    for leaf in &leaves {
        let (count, bytes) = sums.last().copied().unwrap_or_default();
        sums.push((count.saturating_add(leaf.count), bytes.saturating_add(leaf.stored)));
    }
    let sum = |at: usize| sums.get(at).copied().unwrap_or_default();
    let all = |each: Each<'_, 5>| {
        let (mut open, mut next) = (Vec::<&Group>::new(), groups.iter().peekable());
        for (at, leaf) in leaves.iter().enumerate() {
            while open.pop_if(|group| group.rows.end <= at).is_some() {}
            let rest = |open: &[&Group]| open.last().map_or(0, |group| group.prefix);
            while let Some(group) = next.next_if(|group| group.rows.start == at) {
                let own = rest(&open)..group.prefix.saturating_sub(1);
                let ((begin, before), (end, after)) = (sum(at), sum(group.rows.end));
                let name = leaf.name.get(own).unwrap_or_default();
                let (count, bytes) = (end.saturating_sub(begin), after.saturating_sub(before));
                let [kind, shape, state] = [const { String::new() }; 3];
                let cells = [count.to_string(), kind, shape, state, human(bytes)];
                each(&Row { depth: open.len(), name, cells })?;
                open.push(group);
            }
            let name = leaf.name.get(rest(&open)..).unwrap_or_default();
            let count = leaf.count.to_string();
            let object = &leaf.object;
            let is_field = object.components().any(|component| component.is_field_of_records());
            let stored = if is_field { "-".to_owned() } else { human(leaf.stored) };
            let state = blocks::state(object).name().to_owned();
            let cells = [count, kind(object), shape(object), state, stored];
            each(&Row { depth: open.len(), name, cells })?;
        }
        Ok(())
    };
    if leaves.is_empty() {
        return Ok(());
    }
    let columns = [
        Column::Number("COUNT"),
        Column::Text("TYPE"),
        Column::Text("SHAPE"),
        Column::Common("STATE"),
        Column::Number("STORED"),
    ];
    Table::measure(columns, progress::output_columns(), all)?.write(out, all)
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
