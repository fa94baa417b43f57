//! The race of opening files in WebAssembly.

use std::path::Path;

use anyhow::Result;
use zten::write::Checksum;

use super::Wanted::AtMost;
use super::{Course, Group};
use crate::inputs::Order;
use crate::race::Contestant;

/// Races opening a file natively and, if Node and the target `wasm32-unknown-unknown` are installed, in V8.
pub(super) fn wasm(course: &Course) -> Result<Group> {
    let count = course.amount(100_000, 2_000);
    let mut races = Vec::new();
    for (name, order) in [("sorted", Order::Sorted), ("shuffled", Order::Shuffled)] {
        let file = course.inputs.objects(count, order, Checksum::None)?;
        let mut contestants = course.workers("open", &["zten"], &[&file])?;
        match in_v8(course, &file) {
            Ok(guest) => contestants.push(guest),
            Err(error) => eprintln!("WebAssembly does not race: {error}"),
        }
        races.push(course.race(name, count, 15, contestants)?);
    }
    let mut group = Group {
        title: "Opening in WebAssembly".into(),
        about:
            "The library compiled for `wasm32-unknown-unknown` and run by V8, compared with the \
                library compiled for this machine."
                .into(),
        measure: "ns",
        unit: "object",
        races,
        claims: Vec::new(),
    };
    let ratios: Result<Vec<f64>> =
        group.races.iter().map(|race| race.ratio("zten in V8", "zten")).collect();
    for (what, ratio) in ["open in V8: × as long as natively", "… shuffled"]
        .into_iter()
        .zip(ratios.unwrap_or_default())
    {
        group.claim(what, ratio, AtMost(1.15));
    }
    Ok(group)
}

fn in_v8(course: &Course, file: &Path) -> Result<Contestant> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin/races/cases/wasm.mjs");
    let guest = course.programs.guest()?;
    Contestant::start("zten in V8", "node", [&*script, &*guest, file])
}
