//! Writing.

use anyhow::Result;
use zten::write::Checksum;

use super::Wanted::AtLeast;
use super::{Course, Group};
use crate::inputs::Order;

/// Writes tensors to a file.
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
        about: "512 MiB in 16 tensors, to a file system in memory where there is one, so that no disk is measured. The first \
                writes no digests, as `safetensors` and `cp` do not."
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

/// Copies files into canonical form.
pub(super) fn canonical(course: &Course) -> Result<Group> {
    let count = course.amount(100_000, 2_000);
    let mut races = Vec::new();
    for (name, order) in [("sorted", Order::Sorted), ("shuffled", Order::Shuffled)] {
        let file = course.inputs.objects(count, order, Checksum::None)?;
        let contestants = course.workers("copy", &["zten", "memcpy"], &[&file])?;
        races.push(course.race(name, count, 9, contestants)?);
    }
    Ok(Group {
        title: "Canonical form".into(),
        about: "A file of 100,000 objects of 64 bytes, copied into canonical form in memory: put in order, each with a sha256. \
                The bytes alone are copied beside it."
            .into(),
        measure: "ns",
        unit: "object",
        races,
        claims: Vec::new(),
    })
}
