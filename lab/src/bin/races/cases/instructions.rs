//! Counts instructions and cache misses, which do not depend on other load on the machine.

use std::path::Path;

use anyhow::Result;
use zten::write::Checksum;

use super::Wanted::{AtLeast, AtMost};
use super::{Course, Group, Race};
use crate::inputs::Order;
use crate::programs::Counted;
use crate::race::Times;

/// A task that is done for each of many objects, and its readers with the file that each reads.
struct Work<'a> {
    name: &'a str,
    case: &'a str,
    readers: &'a [(&'a str, &'a Path)],
}

impl Work<'_> {
    /// Counts instructions, if callgrind is installed.
    fn race(&self, course: &Course, counted: Counted, count: usize) -> Race {
        let mut times = Vec::new();
        for (reader, file) in self.readers {
            match course.programs.count(counted, reader, self.case, &[file]) {
                Ok(counted) => times.push(Times::counted(reader, counted)),
                Err(error) => eprintln!("{}, {reader}: not counted: {error}", self.name),
            }
        }
        Race { name: self.name.to_owned(), units: count as f64, manifest: None, times }
    }
}

/// Counts the instructions of opening.
pub(super) fn opening(course: &Course) -> Result<Group> {
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
        let readers: &[(&str, &Path)] = &[
            ("zten", &file),
            ("bare walk", &file),
            ("safetensors", &other),
            ("ztensor 1.2.3", &file),
        ];
        let work = Work { name, case: "open", readers };
        races.push(work.race(course, Counted::Instructions, count));
    }
    let file = course.inputs.objects_v2(count)?;
    let readers: &[(&str, &Path)] = &[("zten", &file), ("ztensor 2.1.1", &file)];
    let work = Work { name: "2, sorted", case: "open-v2", readers };
    races.push(work.race(course, Counted::Instructions, count));
    let mut group = Group {
        title: "Instructions of opening".into(),
        about:
            "Opening, as above, with 20,000 objects. The instructions are counted by callgrind, so \
                other programs on the machine do not change them."
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

/// Counts the events of looking up and writing.
fn work(course: &Course, counted: Counted) -> Result<Vec<Race>> {
    let count = course.amount(100_000, 1_000);
    let file = course.inputs.objects(count, Order::Sorted, Checksum::None)?;
    let other = course.inputs.safetensors(count)?;
    let race = |name, case, readers| Work { name, case, readers }.race(course, counted, count);
    Ok(vec![
        race("look up and bind", "look-up", &[("zten", &file), ("safetensors", &other)]),
        race("write", "write-small", &[("zten", &file), ("safetensors", &file)]),
        race("canonical copy", "copy", &[("zten", &file)]),
    ])
}

/// Counts the instructions of looking up and writing.
pub(super) fn instructions(course: &Course) -> Result<Group> {
    Ok(Group {
        title: "Instructions of looking up and writing".into(),
        about: "The races with 100,000 small objects above, with instructions counted by callgrind. \
                callgrind does not have the processor's instructions for SHA-256, so SHA-256 takes 3 of \
                10 instructions of the canonical copy."
            .into(),
        measure: "instructions",
        unit: "object",
        races: work(course, Counted::Instructions)?,
        claims: Vec::new(),
    })
}

/// Counts the cache misses of looking up and writing.
pub(super) fn misses(course: &Course) -> Result<Group> {
    Ok(Group {
        title: "Misses of looking up and writing".into(),
        about: "The same races, with cache misses counted by callgrind. A miss is an access to a line of \
                64 bytes that is not among the last MiB of lines used. The processor waits for memory at \
                each miss that it has not predicted."
            .into(),
        measure: "misses",
        unit: "object",
        races: work(course, Counted::Misses)?,
        claims: Vec::new(),
    })
}
