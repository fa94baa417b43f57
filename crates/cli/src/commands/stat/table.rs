//! The table of statistics.

use std::io::{self, Write};

use zten::Tensor;
use zten::finding::grouped;
use zten::num::u64_from_usize;
use zten::number::NumberKind;
use zten_report::measure::{Measured, Read, Total, totals};
use zten_report::statistics::Statistics;
use zten_report::text::{kind, shape};

use crate::input::file::counted;
use crate::output::progress;
use crate::output::table::{self, Column, Each, Row, Table};

/// The largest length of a minimum or maximum that is printed exactly. Longer ones are rounded.
const NUMBER: usize = 9;

/// The header of the column with the number of NaN, which is left out if it is 0 for all tensors.
const NAN: &str = "NAN";
/// The header of the column with the number of infinities, which is left out if it is 0 for all tensors.
const INF: &str = "INF";
/// The header of the column with the number of elements that a sparse tensor stores, which is left out if no tensor is sparse.
const STORED: &str = "STORED";
/// The header of the column with the number of zeros that a sparse tensor does not store, which is left out if no tensor is sparse.
const IMPLIED: &str = "IMPLIED";
/// The header of the column with the reason why a tensor has no statistics, which is left out if all tensors have statistics.
const SKIPPED: &str = "SKIPPED";

/// Prints a line for each tensor, a line for each dtype (see [`by_dtype`]), and the totals.
pub(super) fn print(out: &mut dyn Write, found: &[(Tensor<'_>, Measured)]) -> io::Result<()> {
    let mut skipped: Vec<(String, u64)> = Vec::new();
    let (mut all, mut is_sparse) = (Statistics::default(), false);
    for (_, found) in found {
        if let Some(why) = found.skipped() {
            match skipped.iter_mut().find(|(other, _)| *other == why) {
                Some((_, count)) => *count = count.saturating_add(1),
                None => skipped.push((why, 1)),
            }
        }
        if let Measured::Read(read) = found {
            all.merge(&read.statistics);
            is_sparse |= read.is_sparse;
        }
    }
    let columns = [
        Column::Text("TYPE"),
        Column::Text("SHAPE"),
        Column::Number("MIN"),
        Column::Number("MAX"),
        Column::Number("MEAN"),
        Column::Number("STD"),
        Column::Number("ZEROS"),
        Column::Number(NAN),
        Column::Number(INF),
        Column::Number(STORED),
        Column::Number(IMPLIED),
        Column::Text(SKIPPED),
    ];
    let rows = |each: Each<'_, 12>| {
        found.iter().try_for_each(|(object, found)| {
            let name = object.name();
            each(&Row { depth: 0, name, cells: cells(object, found) })
        })
    };
    if !found.is_empty() {
        let mut table = Table::measure(columns, progress::output_columns(), rows)?;
        for (header, is_needed) in [
            (NAN, all.nan > 0),
            (INF, all.infinities > 0),
            (STORED, is_sparse),
            (IMPLIED, is_sparse),
            (SKIPPED, !skipped.is_empty()),
        ] {
            if !is_needed {
                table.leave_out(header);
            }
        }
        table.write(out, rows)?;
    }
    by_dtype(out, found, &all)?;
    let mut words = vec![
        counted(u64_from_usize(found.len()), "tensor").to_string(),
        format!("{} element{}", grouped(all.count), if all.count == 1 { "" } else { "s" }),
        format!("{} NaN", grouped(all.nan)),
        match all.infinities {
            1 => "1 infinity".to_owned(),
            infinities => format!("{} infinities", grouped(infinities)),
        },
    ];
    words.extend(skipped.iter().map(|(why, count)| format!("{count} skipped: {why}")));
    table::list(out, words)
}

/// Prints a line for each dtype of the tensors that have statistics. Prints nothing if only one tensor has statistics, because the
/// table above shows the same numbers, or if none has.
fn by_dtype(
    out: &mut dyn Write,
    found: &[(Tensor<'_>, Measured)],
    all: &Statistics,
) -> io::Result<()> {
    let totals = totals(found);
    if let [] | [Total { tensors: 1, .. }] = &*totals {
        return Ok(());
    }
    let columns = [
        Column::Number("TENSORS"),
        Column::Number("ELEMENTS"),
        Column::Number("MIN"),
        Column::Number("MAX"),
        Column::Number("MEAN"),
        Column::Number("STD"),
        Column::Number("ZEROS"),
        Column::Number(NAN),
        Column::Number(INF),
    ];
    let rows = |each: Each<'_, 9>| {
        totals.iter().try_for_each(|total| {
            let [min, max, mean, deviation, zeros, nan, infinities] =
                numbers(total.kind, &total.statistics);
            let (tensors, elements) = (grouped(total.tensors), grouped(total.statistics.count));
            let cells = [tensors, elements, min, max, mean, deviation, zeros, nan, infinities];
            each(&Row { depth: 0, name: &total.dtype, cells })
        })
    };
    writeln!(out)?;
    let mut table = Table::measure(columns, None, rows)?.with_header("TYPE");
    for (header, count) in [(NAN, all.nan), (INF, all.infinities)] {
        if count == 0 {
            table.leave_out(header);
        }
    }
    table.write(out, rows)
}

/// Returns the cells of a tensor.
fn cells(object: &Tensor<'_>, found: &Measured) -> [String; 12] {
    let (kind, shape) = (kind(object), shape(object));
    let Measured::Read(read) = found else {
        let mut cells = [const { String::new() }; 12];
        let [first, second, .., last] = &mut cells;
        (*first, *second, *last) = (kind, shape, found.skipped().unwrap_or_default());
        return cells;
    };
    let Read { kind: of, statistics, implied, is_sparse } = read;
    let [min, max, mean, deviation, zeros, nan, infinities] = numbers(*of, statistics);
    let [stored, implied] = if *is_sparse {
        let implied = implied.map_or_else(|| "more than 2^64".to_owned(), grouped);
        [grouped(statistics.count), implied]
    } else {
        [const { String::new() }; 2]
    };
    let skipped = String::new();
    [kind, shape, min, max, mean, deviation, zeros, nan, infinities, stored, implied, skipped]
}

/// Formats minimum, maximum, mean and deviation, and the numbers of zeros, NaN and infinities, of elements of the type `kind`.
fn numbers(kind: NumberKind, statistics: &Statistics) -> [String; 7] {
    let own = |value: Option<f64>| {
        let exact = value.map(|value| kind.number(value).to_string());
        exact.filter(|exact| exact.len() <= NUMBER).unwrap_or_else(|| rounded(value))
    };
    [
        own(statistics.min),
        own(statistics.max),
        rounded(statistics.mean()),
        rounded(statistics.deviation()),
        grouped(statistics.zeros),
        grouped(statistics.nan),
        grouped(statistics.infinities),
    ]
}

/// Formats a number in about nine columns: with one to six decimals, or with three digits and an exponent. Returns `-` for `None`.
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
