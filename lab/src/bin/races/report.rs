//! Makes tables, and the document.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::cases::{Group, Race, Wanted};
use crate::chart;

/// Returns a number with a comma before each group of three digits.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns the magnitude of a number: with three significant digits from 1 to 100, otherwise as a whole number or with three
/// decimals.
pub(crate) fn digits(number: f64) -> String {
    match number.abs() {
        100.0.. => grouped(number.abs().round() as usize),
        10.0.. => format!("{number:.1}"),
        1.0.. => format!("{number:.2}"),
        _ => format!("{number:.3}"),
    }
}

/// Returns the section of a group.
pub(crate) fn group(group: &Group) -> String {
    let heap = group.races.iter().any(|race| race.manifest.is_some());
    let mut out = format!("## {}\n\n{}\n\n", group.title, group.about);
    let rate = if group.unit == "byte" { " GB/s |" } else { "" };
    let rate_rule = if rate.is_empty() { "" } else { " --- |" };
    let (heap_head, heap_rule) = if heap { (" heap, × manifest |", " --- |") } else { ("", "") };
    let (measure, unit) = (group.measure, group.unit);
    _ = writeln!(out, "| | | {measure}/{unit} | × the first |{rate}{heap_head}");
    _ = writeln!(out, "| --- | --- | --- | --- |{rate_rule}{heap_rule}");
    for race in &group.races {
        for (place, times) in race.times.iter().enumerate() {
            let name = if place == 0 { &*race.name } else { "" };
            let each = times.median() / race.units;
            let ratio = race.times.first().map_or(1.0, |first| times.over(first));
            _ = write!(out, "| {name} | {} | {} | {} |", times.name, digits(each), digits(ratio));
            if !rate.is_empty() {
                _ = write!(out, " {} |", digits(1.0 / each));
            }
            if heap {
                _ = write!(out, " {} |", share(race, times.heap));
            }
            out.push('\n');
        }
    }
    out
}

fn share(race: &Race, heap: u64) -> String {
    race.manifest.map_or_else(String::new, |manifest| digits(heap as f64 / manifest as f64))
}

/// Returns the table of claims, with the bound and the measured figure of each.
pub(crate) fn claims(groups: &[Group]) -> String {
    let mut out = "| claim | wanted | measured | |\n| --- | --- | --- | --- |\n".to_owned();
    for claim in groups.iter().flat_map(|group| &group.claims) {
        let wanted = match claim.wanted {
            Wanted::AtLeast(wanted) => format!("≥ {wanted}"),
            Wanted::AtMost(wanted) => format!("≤ {wanted}"),
        };
        let verdict = if claim.holds() { "reached" } else { "**not reached**" };
        _ = writeln!(out, "| {} | {wanted} | {} | {verdict} |", claim.what, digits(claim.figure));
    }
    out
}

/// Writes the document and its charts.
pub(crate) fn write(groups: &[Group]) -> Result<()> {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    let charts = results.join("benchmarks");
    fs::create_dir_all(&charts)?;
    let mut out = include_str!("report/head.md").replace("{{claims}}", &claims(groups));
    for one in groups {
        let name = one.title.to_lowercase().replace(' ', "-");
        fs::write(charts.join(format!("{name}.svg")), chart::bars(one))?;
        _ = write!(out, "\n{}\n![{}](benchmarks/{name}.svg)\n", group(one), one.title);
    }
    fs::write(results.join("benchmarks.md"), out)?;
    Ok(())
}
