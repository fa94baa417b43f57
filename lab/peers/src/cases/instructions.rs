//! Instructions, which no other load on the machine changes.

use anyhow::Result;
use zten::write::Checksum;

use super::Wanted::{AtLeast, AtMost};
use super::{Course, Group, Race};
use crate::inputs::Order;
use crate::race::Times;

/// Counts what opening takes, where there is a callgrind to count.
pub(super) fn instructions(course: &Course) -> Result<Group> {
    let count = course.amount(20_000, 1_000);
    let kinds = [
        ("sorted", Order::Sorted, Checksum::None),
        ("shuffled", Order::Shuffled, Checksum::None),
        ("sorted, with sha256", Order::Sorted, Checksum::Sha256),
    ];
    let mut races = Vec::new();
    for (name, order, sum) in kinds {
        let file = course.inputs.objects(count, order, sum)?;
        let other = course.inputs.safetensors(count)?;
        let mut times = Vec::new();
        for (reader, file) in [
            ("zten", &file),
            ("bare walk", &file),
            ("safetensors", &other),
            ("ztensor 1.2.3", &file),
        ] {
            match course.programs.instructions(reader, "open", &[file]) {
                Ok(counted) => times.push(Times::counted(reader, counted)),
                Err(error) => eprintln!("instructions of {reader} are not counted: {error}"),
            }
        }
        races.push(Race { name: name.to_owned(), units: count as f64, manifest: None, times });
    }
    let file = course.inputs.objects_v2(count)?;
    let mut times = Vec::new();
    for reader in ["zten", "ztensor 2.1.1"] {
        match course.programs.instructions(reader, "open-v2", &[&file]) {
            Ok(counted) => times.push(Times::counted(reader, counted)),
            Err(error) => eprintln!("instructions of {reader} are not counted: {error}"),
        }
    }
    races.push(Race { name: "2, sorted".to_owned(), units: count as f64, manifest: None, times });
    let mut group = Group {
        title: "Instructions of opening".into(),
        about: "The same as above with 20,000 objects, counted by callgrind, and so the same whatever else the machine does."
            .into(),
        measure: "instructions",
        unit: "object",
        races,
        claims: Vec::new(),
    };
    let Some(race) = group.races.last().filter(|race| race.times.len() == 2) else {
        return Ok(group);
    };
    let each = race.times("zten")?.median() / race.units;
    let ratio = race.ratio("ztensor 2.1.1", "zten")?;
    group.claim("open an object of 2: instructions", each, AtMost(1300.0));
    group.claim("… ztensor 2.1.1 takes × as many", ratio, AtLeast(10.0));
    Ok(group)
}
