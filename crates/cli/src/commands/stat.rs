//! `zten stat`: computes the range, mean and spread of elements.

mod csv;
mod table;

use std::cmp::Reverse;
use std::io;

use zten::finding::Finding;
use zten::json::to_line;
use zten::{Error, Tensor, verify::Verifier};
use zten_report::measure::{Measured, document, object_statistics};
use zten_report::statistics::Statistics;

use crate::args::{Sort, Stat, StatSort, Unwanted};
use crate::escape;
use crate::input::file::{FileWithShards, counted, stored};
use crate::input::selection::Selection;
use crate::input::sources::Sources;
use crate::input::sums::is_unknown;
use crate::output::app::App;
use crate::output::progress::Progress;
use crate::output::report::{Problem, Verdict};
use crate::source::remote::shown;

/// The largest number of object names that a message lists.
const NAMES: usize = 8;
/// The largest number of terminal columns of the name of an object in a message.
const NAME: usize = 40;

/// Prints the statistics of the selected objects, after all of them have been read and verified. With `--fail-on`, also reports the
/// objects with the unwanted elements, and those without statistics.
pub(crate) fn run(app: &mut App, args: &Stat, archive: &FileWithShards) -> io::Result<()> {
    let order = match args.sort {
        None if args.json || args.csv => None,
        Some(StatSort::Size) => Some(Sort::Size),
        Some(StatSort::Offset) => Some(Sort::Offset),
        // The statistics are not known yet. Tensors that are equal in them stay in the order of their names.
        None | Some(StatSort::Name | StatSort::Std | StatSort::Max | StatSort::Nan) => {
            Some(Sort::Name)
        }
    };
    let selection = match Selection::new(archive, &args.select.patterns, order) {
        Ok(selection) => selection,
        Err(message) => return app.usage(message),
    };
    let found = match measure(archive, &selection) {
        Ok(found) => found,
        Err(error) => return app.problem(&Problem::reading(&archive.path, archive, &error)),
    };
    let mut found: Vec<_> = selection.objects().zip(found).collect();
    if let Some(order) = args.sort {
        sort(&mut found, order);
    }
    if args.json {
        let shown = shown(&archive.path);
        to_line(&mut app.out, &document(&shown.to_string_lossy(), &found))?;
    } else if args.csv {
        csv::print(&mut app.out, &found)?;
    } else {
        table::print(&mut app.out, &found)?;
    }
    for (unwanted, what) in [(Unwanted::Nan, "NaN"), (Unwanted::Inf, "infinities")] {
        let holds = |found: &Measured| match (found, unwanted) {
            (Measured::Skipped(_) | Measured::Unread(_), _) => false,
            (Measured::Read(read), Unwanted::Nan) => read.statistics.nan > 0,
            (Measured::Read(read), Unwanted::Inf) => read.statistics.infinities > 0,
        };
        let mut held = found.iter().filter(|(_, found)| holds(found)).map(|(object, _)| object);
        let count = u64::try_from(held.clone().count()).unwrap_or(u64::MAX);
        if count == 0 || !args.fail_on.contains(&unwanted) {
            continue;
        }
        let first = held.by_ref().take(NAMES).map(|object| escape::word(object.name(), NAME));
        let mut names: Vec<_> = first.collect();
        names.extend(held.next().map(|_| "…".to_owned()));
        let sentence = format!("{what} in {}: {}", counted(count, "tensor"), names.join(", "));
        app.problem(&Problem::found(&archive.path, Finding::new(Verdict::Invalid, sentence)))?;
    }
    let skipped = |(object, found): &(Tensor<'_>, Measured)| {
        found.skipped().map(|why| format!("{} ({why})", escape::word(object.name(), NAME)))
    };
    let mut skipped = found.iter().filter_map(skipped);
    let mut first: Vec<_> = skipped.by_ref().take(NAMES).collect();
    if !args.fail_on.is_empty() && !first.is_empty() {
        first.extend(skipped.next().map(|_| "…".to_owned()));
        let sentence =
            format!("--fail-on cannot test tensors without statistics: {}", first.join(", "));
        app.problem(&Problem::found(&archive.path, Finding::new(Verdict::Unsupported, sentence)))?;
    }
    Ok(())
}

/// Sorts tensors by the number of their statistics that `order` names (for NaN, then by the number of infinities), the largest
/// first. Tensors without this number come last, and equal tensors keep their order. Does nothing for the orders by name, size
/// and offset, in which the tensors are already.
fn sort(found: &mut [(Tensor<'_>, Measured)], order: StatSort) {
    let statistics = |found: &Measured| match found {
        Measured::Read(read) => Some(read.statistics),
        Measured::Skipped(_) | Measured::Unread(_) => None,
    };
    // Deviations and largest elements are finite here, so negative infinity puts tensors without such a number last.
    let number = |value: Option<f64>| value.unwrap_or(f64::NEG_INFINITY);
    let by = |key: fn(&Statistics) -> Option<f64>| {
        let key = move |found: &Measured| number(statistics(found).and_then(|own| key(&own)));
        move |one: &Measured, other: &Measured| key(other).total_cmp(&key(one))
    };
    match order {
        // `Selection` has already sorted the tensors by name, size or offset.
        StatSort::Name | StatSort::Size | StatSort::Offset => {}
        StatSort::Std => {
            let compare = by(Statistics::deviation);
            found.sort_by(|(_, one), (_, other)| compare(one, other));
        }
        StatSort::Max => {
            let compare = by(|own| own.max);
            found.sort_by(|(_, one), (_, other)| compare(one, other));
        }
        StatSort::Nan => found.sort_by_key(|(_, found)| {
            Reverse(statistics(found).map(|own| (own.nan, own.infinities)))
        }),
    }
}

/// Reads and verifies the objects of `selection`. Returns their results in the order of the selection.
fn measure(archive: &FileWithShards, selection: &Selection<'_>) -> Result<Vec<Measured>, Error> {
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
        _ => Ok(Measured::Skipped("")),
    };
    let results = files.results(one, |error| !is_unknown(error))?;
    let mut found = Vec::new();
    for result in results {
        found.push(match result {
            Ok(found) => found,
            Err(error) if is_unknown(&error) => Measured::Skipped("its type is unknown"),
            Err(error) => return Err(files.settle(error)),
        });
    }
    let own = |object: Tensor<'_>| found.get(at(&object)).copied();
    Ok(selection.objects().map(|object| own(object).unwrap_or(Measured::Skipped(""))).collect())
}
