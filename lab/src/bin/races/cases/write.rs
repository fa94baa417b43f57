//! The races of writing files.

use anyhow::Result;
use zten::write::Checksum;

use super::Wanted::{AtLeast, AtMost};
use super::{Course, Group, Race};
use crate::inputs::Order;

/// Races writing tensors to a file.
pub(super) fn write(course: &Course) -> Result<Group> {
    let folder = course.inputs.path("written");
    std::fs::create_dir_all(&folder)?;
    let readers = [
        "zten",
        "cp",
        "write_all",
        "safetensors",
        "ztensor 1.2.3",
        "zten, crc32c",
        "zten, sha256",
        "zten, 2",
        "zten, 2, xxh3",
    ];
    let bytes = course.amount(512 << 20, 8 << 20);
    let size = bytes.to_string();
    let contestants = course.workers("write", &readers, &[&folder, size.as_ref()])?;
    let race = course.race("16 tensors", bytes, 15, contestants)?;
    std::fs::remove_dir_all(&folder)?;
    let mut group = Group {
        title: "Writing".into(),
        about: "512 MiB in 16 tensors are written, to a file system in memory if there is one, so that \
                the disk is not measured. The first contestant writes no digests, because `safetensors` \
                and `cp` write none."
            .into(),
        measure: "ns",
        unit: "byte",
        races: vec![race],
        claims: Vec::new(),
    };
    if let [race] = &group.races[..] {
        let (copy, peer) = (race.ratio("cp", "zten")?, race.ratio("safetensors", "zten")?);
        let copy_2 = race.ratio("cp", "zten, 2")?;
        group.claim("write: of cp", copy, AtLeast(0.9));
        group.claim("write 2: of cp", copy_2, AtLeast(0.9));
        group.claim("write: of safetensors", peer, AtLeast(1.0));
    }
    Ok(group)
}

/// Races writing many small tensors.
pub(super) fn small(course: &Course) -> Result<Group> {
    let count = course.amount(100_000, 2_000);
    let file = course.inputs.objects(count, Order::Sorted, Checksum::None)?;
    let contestants = course.workers("write-small", &["zten", "safetensors"], &[&file])?;
    let race = course.race("64 bytes each", count, 9, contestants)?;
    let each = race.times("zten")?.median() / race.units;
    let peer = race.ratio("safetensors", "zten")?;
    let mut group = Group {
        title: "Writing many small tensors".into(),
        about: "100,000 tensors are written into memory, without digests. zten checks each tensor as a \
                reader does, and opens the manifest before it writes it."
            .into(),
        measure: "ns",
        unit: "object",
        races: vec![race],
        claims: Vec::new(),
    };
    group.claim("write small tensors: ns an object", each, AtMost(80.0));
    group.claim("… safetensors takes × as long", peer, AtLeast(1.0));
    Ok(group)
}

/// Races copying files into canonical form.
pub(super) fn canonical(course: &Course) -> Result<Group> {
    let count = course.amount(100_000, 2_000);
    let mut races = Vec::new();
    for (name, order) in [("sorted", Order::Sorted), ("shuffled", Order::Shuffled)] {
        let file = course.inputs.objects(count, order, Checksum::None)?;
        let contestants = course.workers("copy", &["zten", "memcpy"], &[&file])?;
        races.push(course.race(name, count, 9, contestants)?);
    }
    let each = |race: &Race| Ok(race.times("zten")?.median() / race.units);
    let figures: Result<Vec<f64>> = races.iter().map(each).collect();
    let mut group = Group {
        title: "Canonical form".into(),
        about: "A file of 100,000 objects of 64 bytes is copied into canonical form in memory: zten \
                sorts the objects, and computes a sha256 for each. The comparison only copies the bytes."
            .into(),
        measure: "ns",
        unit: "object",
        races,
        claims: Vec::new(),
    };
    for (what, figure) in ["canonical copy: ns an object", "… shuffled"].into_iter().zip(figures?)
    {
        group.claim(what, figure, AtMost(600.0));
    }
    Ok(group)
}
