//! Printing of differences as text.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::rc::Rc;

use zten::finding::grouped;
use zten_report::diff::{Difference, FileDifferences, Measure, ObjectDifference, Summary};

use crate::escape::Quoted;
use crate::output::fold::{Fold, Leaf, Tree, fold};
use crate::output::table::Column;

/// The change of a tensor, or of several tensors that are folded into one line.
#[derive(Clone)]
struct Folded<'a> {
    /// The tensor that was folded first; its line stands for all of them.
    first: &'a ObjectDifference<'a>,
    /// What changed, as text (dtype, shape, attributes). The differences of values are in `elements` and not in this text.
    text: Rc<str>,
    /// The measured difference of the elements of all the folded tensors, or `None` if no elements were compared.
    elements: Option<Measure>,
    /// The power of ten of the relative norm of the difference. Only tensors with the same power are folded into one line, so that a
    /// tensor that changed ten times as much as the others has its own line.
    magnitude: Option<i64>,
    /// The number of tensors that are folded into this line.
    count: u64,
}

impl<'a> Folded<'a> {
    fn new(object: &'a ObjectDifference<'a>) -> Self {
        let text = match &object.difference {
            Difference::Added => "added".to_owned(),
            Difference::Removed => "removed".to_owned(),
            Difference::Changed => object.changes.text(None),
            Difference::Renamed(old) => {
                let text = object.changes.text(None);
                let comma = if text.is_empty() { "" } else { ", " };
                format!("renamed from {}{comma}{text}", Renaming::new(old, object.name).from())
            }
        };
        let elements = object.changes.elements;
        let magnitude = elements.and_then(|elements| magnitude(elements.size()));
        Self { first: object, text: text.into(), elements, magnitude, count: 1 }
    }

    fn has_new_nan(&self) -> bool {
        self.elements.as_ref().is_some_and(|elements| elements.new_nan > 0)
    }

    /// Orders changes by size, the largest first: changes to NaN come first, then changes with a larger relative norm.
    fn by_size(&self, other: &Self) -> Ordering {
        let size = |own: &Self| own.elements.as_ref().map_or(0.0, Measure::size);
        let order = other.has_new_nan().cmp(&self.has_new_nan());
        order.then_with(|| size(other).total_cmp(&size(self)))
    }
}

impl Fold for Folded<'_> {
    fn compare(&self, other: &Self) -> Ordering {
        let key = |own: &Self| (own.elements.is_some(), own.has_new_nan(), own.magnitude);
        self.text.cmp(&other.text).then_with(|| key(self).cmp(&key(other)))
    }

    fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        match (&mut self.elements, &other.elements) {
            (Some(own), Some(other)) => own.add(other),
            (own @ None, Some(other)) => *own = Some(*other),
            (_, None) => {}
        }
    }
}

/// Returns the exponent of `size` in scientific notation: `None` for infinity, and the smallest number for 0.
fn magnitude(size: f64) -> Option<i64> {
    if size == 0.0 {
        return Some(i64::MIN);
    }
    format!("{size:e}").rsplit('e').next()?.parse().ok()
}

/// The differing parts of an old and a new name, without the parts that both names have at the beginning and at the end. A part
/// is the text between two dots.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Renaming<'a> {
    old: &'a str,
    new: &'a str,
    /// True if the names have the same parts before the differing parts.
    is_before: bool,
    /// True if the names have the same parts after the differing parts.
    is_behind: bool,
}

impl<'a> Renaming<'a> {
    fn new(old: &'a str, new: &'a str) -> Self {
        let behind = common(old.rsplit('.'), new.rsplit('.'));
        let (old, new) = (without_end(old, behind), without_end(new, behind));
        let before = common(old.split('.'), new.split('.'));
        let rest = |name: &'a str| {
            let rest = name.get(before..).unwrap_or_default();
            if before > 0 { rest.strip_prefix('.').unwrap_or(rest) } else { rest }
        };
        let (old, new) = (rest(old), rest(new));
        Self { old, new, is_before: before > 0, is_behind: behind > 0 }
    }

    /// Formats `part`, the differing parts of a name, with an ellipsis for the common parts before and one for those after.
    fn part(&self, part: &str) -> String {
        let before = if self.is_before { "…" } else { "" };
        let behind = if self.is_behind { "…" } else { "" };
        format!("{before}{}{behind}", Quoted(part))
    }

    fn from(&self) -> String {
        self.part(self.old)
    }

    fn to(&self) -> String {
        self.part(self.new)
    }
}

/// Returns the length in bytes of the parts that two names have in common, with the dots between them.
fn common<'a>(one: impl Iterator<Item = &'a str>, other: impl Iterator<Item = &'a str>) -> usize {
    let same = one.zip(other).take_while(|(one, other)| one == other);
    let lengths = same.map(|(part, _)| part.len().saturating_add(1));
    lengths.fold(0, usize::saturating_add).saturating_sub(1)
}

/// Returns `name` without its last `length` bytes and the dot before them.
fn without_end(name: &str, length: usize) -> &str {
    if length == 0 {
        return name;
    }
    let rest = name.get(..name.len().saturating_sub(length)).unwrap_or_default();
    rest.strip_suffix('.').unwrap_or(rest)
}

fn leaves<'a>(
    objects: impl IntoIterator<Item = &'a ObjectDifference<'a>>,
) -> Vec<Leaf<'a, Folded<'a>>> {
    objects.into_iter().map(|object| Leaf::new(object.name, Folded::new(object))).collect()
}

/// Formats the number of tensors of a line, as in ` (3 tensors)`. Returns an empty text for a single tensor.
fn count(count: u64) -> String {
    if count == 1 { String::new() } else { format!(" ({} tensors)", grouped(count)) }
}

/// The largest number of names that a line lists.
const LISTED: usize = 4;

/// A line for tensors that changed alike: their folded names, and the change.
struct Line<'a> {
    names: Vec<Cow<'a, str>>,
    change: Folded<'a>,
}

/// Returns the lines for `leaves`. Leaves that changed, but not in their values, share a line if their changes, such as
/// those of the dtype, are the same. Each other leaf has its own line.
fn merged<'a>(leaves: Vec<Leaf<'a, Folded<'a>>>) -> Vec<Line<'a>> {
    let (mut lines, mut first) = (Vec::<Line<'a>>::new(), HashMap::new());
    for Leaf { name, item: change, .. } in leaves {
        let has_values = change.elements.as_ref().is_some_and(|elements| elements.changed > 0);
        if matches!(change.first.difference, Difference::Changed) && !has_values {
            let at = *first.entry(Rc::clone(&change.text)).or_insert(lines.len());
            if let Some(line) = lines.get_mut(at) {
                line.change.add(&change);
                line.names.push(name);
                continue;
            }
        }
        lines.push(Line { names: vec![name], change });
    }
    lines
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { names, change } = self;
        f.write_str(match change.first.difference {
            Difference::Added => "+ ",
            Difference::Removed => "- ",
            Difference::Changed | Difference::Renamed(_) => "~ ",
        })?;
        // Names are printed in full, because two cut names could look the same.
        for (number, name) in names.iter().take(LISTED).enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            write!(f, "{comma}{}", Quoted(name))?;
        }
        let more = if names.len() > LISTED { ", …" } else { "" };
        write!(f, "{more}{}", count(change.count))?;
        match change.first.difference {
            Difference::Added | Difference::Removed => Ok(()),
            Difference::Changed | Difference::Renamed(_) => {
                write!(f, ": {}", change.first.changes.text(change.elements.as_ref()))
            }
        }
    }
}

/// Writes a line for each differing attribute and, folded, for the differing tensors: first those whose values were not compared, then
/// renamed ones, and at last those whose values were compared, the largest change first. The last line has the totals.
pub(super) fn lines(out: &mut dyn Write, found: &FileDifferences<'_>) -> io::Result<()> {
    attributes(out, found)?;
    let (mut plain, mut renamed, mut measured) = (Vec::new(), Vec::new(), Vec::new());
    for object in &found.objects {
        match object.difference {
            Difference::Renamed(old) => renamed.push((old, object)),
            _ if object.changes.elements.is_some() => measured.push(object),
            _ => plain.push(object),
        }
    }
    for line in merged(fold(leaves(plain))) {
        writeln!(out, "{line}")?;
    }
    renamings(out, &renamed)?;
    let mut measured = merged(fold(leaves(measured)));
    measured.sort_by(|one, other| one.change.by_size(&other.change));
    for line in measured {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{}", Summary::of(found))
}

/// Writes a line for each renaming that several tensors have in common, and for each other renamed tensor.
fn renamings(out: &mut dyn Write, renamed: &[(&str, &ObjectDifference<'_>)]) -> io::Result<()> {
    let keys = renamed.iter();
    let keys =
        keys.map(|(old, object)| (Renaming::new(old, object.name), object.changes.text(None)));
    let keys: Vec<_> = keys.collect();
    let mut counts: HashMap<&(Renaming<'_>, String), u64> = HashMap::new();
    for key in &keys {
        let count = counts.entry(key).or_default();
        *count = count.saturating_add(1);
    }
    for (key, (old, object)) in keys.iter().zip(renamed) {
        let (renaming, text) = key;
        let separator = if text.is_empty() { "" } else { ": " };
        // A line for several tensors is printed where the first of them is.
        match counts.remove(key) {
            Some(1) => {
                let (old, new) = (Quoted(old), Quoted(object.name));
                writeln!(out, "> {old} -> {new}{separator}{text}")?;
            }
            Some(several) => {
                let (from, to, count) = (renaming.from(), renaming.to(), count(several));
                writeln!(out, "> {from} -> {to}{count}{separator}{text}")?;
            }
            None => {}
        }
    }
    Ok(())
}

/// Writes a tree of the differing tensors, after a line for each differing attribute and before the line with the totals.
pub(super) fn tree(out: &mut dyn Write, found: &FileDifferences<'_>) -> io::Result<()> {
    attributes(out, found)?;
    let columns = [
        Column::Number("COUNT"),
        Column::Text("CHANGE"),
        Column::Number("ELEMENTS"),
        Column::Number("MAX"),
        Column::Number("RELATIVE NORM"),
        Column::Number("COSINE"),
    ];
    Tree::new(leaves(found.objects.iter())).write(
        out,
        (columns, usize::MAX),
        |item, is_group| {
            let mut change = if is_group { String::new() } else { item.text.to_string() };
            let Some(elements) = &item.elements else {
                let [elements, max, norm, cosine] = [const { String::new() }; 4];
                return [grouped(item.count), change, elements, max, norm, cosine];
            };
            if elements.new_nan > 0 {
                let comma = if change.is_empty() { "" } else { ", " };
                change = format!("{change}{comma}{} new NaN", grouped(elements.new_nan));
            }
            let numbers = elements.numbers;
            let none = || "-".to_owned();
            [
                grouped(item.count),
                change,
                format!("{} of {}", grouped(elements.changed), grouped(elements.count)),
                numbers.map_or_else(none, |numbers| numbers.max()),
                numbers.and_then(|numbers| numbers.relative_norm()).unwrap_or_else(none),
                numbers.and_then(|numbers| numbers.cosine()).unwrap_or_else(none),
            ]
        },
    )?;
    writeln!(out, "{}", Summary::of(found))
}

/// Writes a line for each differing attribute of the files.
fn attributes(out: &mut dyn Write, found: &FileDifferences<'_>) -> io::Result<()> {
    for change in &found.attributes {
        let sign = Some(change.sign()).filter(|sign| !sign.is_empty()).unwrap_or("~");
        writeln!(out, "{sign} {change}")?;
    }
    Ok(())
}
