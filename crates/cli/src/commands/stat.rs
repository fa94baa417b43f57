//! `zten stat`: computes the range, mean and spread of elements.

use std::io::{self, Write};

use serde::Serialize;
use zten::finding::Finding;
use zten::json::{Integer, List, Schema, integer_or_null, to_line};
use zten::manifest::ElementType;
use zten::number::Kind;
use zten::{Component, Error, Tensor, verify::Verifier};
use zten_report::blocks::reason;
use zten_report::statistics::Statistics;

use crate::args::{Sort, Stat, Unwanted};
use crate::commands::ls::kind;
use crate::escape;
use crate::input::file::{FileWithShards, counted, stored};
use crate::input::selection::Selection;
use crate::input::sources::Sources;
use crate::input::sums::is_unknown;
use crate::input::values::{self, Values};
use crate::output::app::App;
use crate::output::progress::{self, Progress};
use crate::output::report::{Problem, Verdict};
use crate::output::table::{self, Alike};
use crate::output::text::shape;
use crate::source::remote::shown;
use zten::finding::grouped;

/// The largest number of object names that a message lists, and of terminal columns for each.
const NAMES: usize = 8;
const NAME: usize = 40;
/// The width of a printed number in columns.
const NUMBER: usize = 9;

/// Prints the statistics of the selected objects, after all of them have been read and verified.
pub(crate) fn run(app: &mut App, args: &Stat, archive: &FileWithShards) -> io::Result<()> {
    let default = (!args.json).then_some(Sort::Name);
    let selection = match Selection::new(archive, &args.select, default) {
        Ok(selection) => selection,
        Err(message) => return app.usage(message),
    };
    let found = match measure(archive, &selection) {
        Ok(found) => found,
        Err(error) => return app.problem(&Problem::reading(&archive.path, archive, &error)),
    };
    let found: Vec<_> = selection.objects().zip(found).collect();
    if args.json {
        let file = shown(&archive.path);
        let objects = List(|| found.iter().map(|(object, found)| described(object, *found)));
        let document = Document { schema: Schema, file: &file.to_string_lossy(), objects };
        to_line(&mut app.out, &document)?;
    } else {
        print(&mut app.out, &found)?;
    }
    for (unwanted, what) in [(Unwanted::Nan, "NaN"), (Unwanted::Inf, "infinities")] {
        let holds = |found: &Found| match (found, unwanted) {
            (Found::Skipped(_) | Found::Unread(_), _) => false,
            (Found::Read(read), Unwanted::Nan) => read.statistics.nan > 0,
            (Found::Read(read), Unwanted::Inf) => read.statistics.infinities > 0,
        };
        let mut held = found.iter().filter(|(_, found)| holds(found)).map(|(object, _)| object);
        let count = u64::try_from(held.clone().count()).unwrap_or(u64::MAX);
        if count == 0 || !args.fail_on.contains(&unwanted) {
            continue;
        }
        let first = held.by_ref().take(NAMES).map(|object| escape::word(object.name(), NAME));
        let mut names: Vec<_> = first.collect();
        names.extend(held.next().map(|_| "…".to_owned()));
        let sentence = format!("{what} in {}: {}", counted(count, "object"), names.join(", "));
        app.problem(&Problem::found(&archive.path, Finding::new(Verdict::Invalid, sentence)))?;
    }
    Ok(())
}

/// The result for an object.
#[derive(Clone, Copy)]
enum Found {
    Read(Read),
    /// The elements are not numbers, or zten cannot read them as numbers, for the reason in the text.
    Skipped(&'static str),
    /// The object is unread by the rule with this id.
    Unread(&'static str),
}

impl Found {
    /// Returns why there are no statistics.
    fn skipped(self) -> Option<String> {
        match self {
            Self::Read(_) => None,
            Self::Skipped(why) => Some(why.to_owned()),
            Self::Unread(rule) => Some(format!("unread ({rule})")),
        }
    }
}

/// The statistics of the stored elements of an object, and the number of implied zeros.
#[derive(Clone, Copy)]
struct Read {
    kind: Kind,
    statistics: Statistics,
    /// The number of implied zeros of a sparse object, or `None` for a dense object, or if the number exceeds a `u64`.
    implied: Option<u64>,
    is_sparse: bool,
}

/// Reads and verifies the objects of `selection`. Returns their results in the order of the selection.
fn measure(archive: &FileWithShards, selection: &Selection<'_>) -> Result<Vec<Found>, Error> {
    let mut asked = vec![false; archive.len()];
    let at = |object: &Tensor<'_>| usize::try_from(object.ordinal()).unwrap_or(usize::MAX);
    for object in selection.objects() {
        if let Some(asked) = asked.get_mut(at(&object)) {
            *asked = true;
        }
    }
    let progress = Progress::new(stored(archive.manifest())).quiet_on_terminal();
    let mut files = Sources::bind(archive, &progress)?;
    files.require()?;
    let one = |verifier: &mut Verifier, object: &Tensor<'_>| match asked.get(at(object)) {
        Some(true) => object_statistics(verifier, object),
        _ => Ok(Found::Skipped("")),
    };
    let results = files.results(one, |error| !is_unknown(error))?;
    let mut found = Vec::new();
    for result in results {
        found.push(match result {
            Ok(found) => found,
            Err(error) if is_unknown(&error) => Found::Skipped("of an unknown type"),
            Err(error) => return Err(files.settle(error)),
        });
    }
    let own = |object: Tensor<'_>| found.get(at(&object)).copied();
    Ok(selection.objects().map(|object| own(object).unwrap_or(Found::Skipped(""))).collect())
}

fn object_statistics(verifier: &mut Verifier, object: &Tensor<'_>) -> Result<Found, Error> {
    if let Some(rule) = reason(object.state()) {
        return Ok(Found::Unread(rule));
    }
    let is_opaque =
        |component: Component<'_>| matches!(component.element_type(), ElementType::Opaque(..));
    if object.components().any(is_opaque) {
        return Ok(Found::Skipped("opaque"));
    }
    let scales = values::factors(object)?;
    let mut values = match Values::of(object, &scales)? {
        Ok(values) => values,
        Err(why) => return Ok(Found::Skipped(why)),
    };
    let (role, mut statistics) = (values.role(), Statistics::default());
    verifier.object(object, |component, chunk| {
        if component.role() == role {
            values.chunk(chunk, &mut |numbers| statistics.add(numbers));
        }
    })?;
    let is_sparse = role == "values";
    let implied = object.element_count().filter(|_| is_sparse);
    let implied = implied.and_then(|elements| elements.checked_sub(statistics.count));
    Ok(Found::Read(Read { kind: values.kind(), statistics, implied, is_sparse }))
}

/// Prints two or three lines for each object, and the totals.
fn print(out: &mut dyn Write, found: &[(Tensor<'_>, Found)]) -> io::Result<()> {
    let (mut elements, mut nan, mut infinities) = (0_u64, 0_u64, 0_u64);
    let mut skipped: Vec<(String, u64)> = Vec::new();
    let room = |what: &str| {
        let line = progress::output_columns();
        line.map_or(usize::MAX, |line| line.saturating_sub(what.len()).max(NAME))
    };
    let what = |object: &Tensor<'_>| format!("  {} {}", kind(object), shape(object));
    let mut alike = Alike::default();
    for (object, _) in found {
        alike.add(object.name(), room(&what(object)));
    }
    alike.keep_repeated();
    for (number, (object, found)) in (1..).zip(found) {
        let what = what(object);
        writeln!(out, "{}{what}", alike.shortened(object.name(), room(&what), number))?;
        if let Some(why) = found.skipped() {
            writeln!(out, "  skipped: {why}")?;
            match skipped.iter_mut().find(|(other, _)| *other == why) {
                Some((_, count)) => *count = count.saturating_add(1),
                None => skipped.push((why, 1)),
            }
        }
        let Found::Read(read) = found else { continue };
        let Read { kind, statistics, implied, is_sparse } = *read;
        let own = |value: Option<f64>| {
            let exact = value.map(|value| kind.number(value).to_string());
            exact.filter(|exact| exact.len() <= NUMBER).unwrap_or_else(|| rounded(value))
        };
        let (min, max) = (own(statistics.min), own(statistics.max));
        let [mean, deviation] = [statistics.mean(), statistics.deviation()].map(rounded);
        let zeros = grouped(statistics.zeros);
        writeln!(
            out,
            "  min {min:>9}  max {max:>9}  mean {mean:>9}  std {deviation:>9}  zeros {zeros}"
        )?;
        let more = [
            (statistics.nan > 0).then(|| format!("NaN {}", grouped(statistics.nan))),
            (statistics.infinities > 0)
                .then(|| format!("infinities {}", grouped(statistics.infinities))),
            is_sparse.then(|| format!("stored {}", grouped(statistics.count))),
            is_sparse.then(|| {
                let implied = implied.map_or_else(|| "more than 2^64".to_owned(), grouped);
                format!("implied zeros {implied}")
            }),
        ];
        let more: Vec<_> = more.into_iter().flatten().collect();
        if !more.is_empty() {
            writeln!(out, "  {}", more.join("  "))?;
        }
        elements = elements.saturating_add(statistics.count);
        nan = nan.saturating_add(statistics.nan);
        infinities = infinities.saturating_add(statistics.infinities);
    }
    let mut words = vec![
        counted(u64::try_from(found.len()).unwrap_or(u64::MAX), "object").to_string(),
        format!("{} elements", grouped(elements)),
        format!("{} NaN", grouped(nan)),
        format!("{} infinities", grouped(infinities)),
    ];
    words.extend(skipped.iter().map(|(why, count)| format!("{count} skipped: {why}")));
    table::list(out, words)
}

/// Formats a number in at most four digits, or in three digits and an exponent.
fn rounded(value: Option<f64>) -> String {
    let Some(value) = value else { return "-".to_owned() };
    let size = value.abs();
    let decimals = match size {
        0.0 => return "0.0".to_owned(),
        0.001..0.01 => 6,
        0.01..0.1 => 5,
        0.1..10.0 => 4,
        10.0..100.0 => 3,
        100.0..1000.0 => 2,
        1000.0..1e6 => 1,
        _ => return format!("{value:.2e}"),
    };
    format!("{value:.decimals$}")
}

/// The JSON document of a file.
#[derive(Serialize)]
struct Document<'a, O: Serialize> {
    schema: Schema,
    file: &'a str,
    objects: O,
}

/// An object in the JSON document.
#[derive(Serialize)]
struct Described<'a, S: Serialize> {
    name: &'a str,
    layout: &'a str,
    shape: S,
    /// The reason why there are no statistics.
    skipped: Option<String>,
    statistics: Option<Statistics>,
    #[serde(serialize_with = "integer_or_null")]
    implied_zeros: Option<u64>,
}

fn described<'a>(object: &Tensor<'a>, found: Found) -> impl Serialize + use<'a> {
    let shape = object.shape();
    let skipped = found.skipped();
    let (statistics, implied_zeros) = match found {
        Found::Read(read) => (Some(read.statistics), read.implied),
        Found::Skipped(_) | Found::Unread(_) => (None, None),
    };
    let shape = List(move || shape.iter().copied().map(Integer));
    let (name, layout) = (object.name(), object.layout_name());
    Described { name, layout, shape, skipped, statistics, implied_zeros }
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn numbers_take_nine_columns() {
        for (value, shown) in [
            (0.0, "0.0"),
            (-0.001_234_5, "-0.001234"),
            (0.5, "0.5000"),
            (-123.456, "-123.46"),
            (999_999.9, "999999.9"),
            (1e6, "1.00e6"),
            (-1.5e-30, "-1.50e-30"),
        ] {
            assert_eq!(rounded(Some(value)), shown);
            assert!(shown.len() <= 9);
        }
        assert_eq!(rounded(None), "-");
    }
}
