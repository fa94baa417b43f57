//! Reading the content of objects: views, zstd, digests, and whole files.

use std::fs;

use anyhow::{Context as _, Result};
use zten::DType;
use zten::write::{Checksum, ComponentData, WriteOptions};

use super::Wanted::AtLeast;
use super::{Course, Group};
use crate::inputs::{floats, kinds};
use fastrand::Rng;

const MIB: usize = 1 << 20;

/// Races reading elements through views and through slices.
pub(super) fn views(course: &Course) -> Result<Group> {
    let bytes = MIB;
    let none = WriteOptions::default().checksum(Checksum::None);
    let data = floats(bytes as u64 / 4, &mut Rng::with_seed(6));
    let dense = course.inputs.dense(&data, &none)?;
    let rows = course.amount(100_000, 1_000) as u64;
    let csr = course.inputs.csr(rows, 20)?;
    let race = |name: &str, case: &str, readers: &[&str], file, units| {
        course.race(name, units, 21, course.workers(case, readers, &[file])?)
    };
    let elements = bytes / 4;
    let one_by_one = ["zten, element by element", "a slice, element by element"];
    let races = vec![
        race("f32, eight sums", "sum", &["zten", "a slice"], &dense, elements)?,
        race("f32, one sum", "sum", &one_by_one, &dense, elements)?,
        race("csr times a vector", "csr", &["zten", "plain slices"], &csr, rows as usize * 20)?,
    ];
    let mut group = Group {
        title: "Elements".into(),
        about: "1 MiB of `f32` is bound and summed, and a sparse matrix of 100,000 rows with 20 entries \
                each is multiplied with a vector. The same loops over plain slices are the comparison."
            .into(),
        measure: "ns",
        unit: "element",
        races,
        claims: Vec::new(),
    };
    if let [dense, ..] = &group.races[..] {
        let share = 1.0 / dense.ratio("zten", "a slice")?;
        group.claim("sum through a view: of the same on a slice", share, AtLeast(0.97));
    }
    Ok(group)
}

/// Races decoding zstd.
pub(super) fn zstd(course: &Course) -> Result<Group> {
    let bytes = course.amount(32 * MIB, MIB);
    let mut races = Vec::new();
    for (name, data) in kinds(bytes) {
        let file = course.inputs.packed(&data)?;
        let contestants = course.workers("read", &["zten", "ruzstd", "libzstd"], &[&file])?;
        races.push(course.race(name, bytes, 9, contestants)?);
    }
    let mut group = Group {
        title: "Decoding zstd".into(),
        about:
            "32 MiB of each kind of elements, compressed by zten at its default level, are decoded \
                piece by piece on one thread. `ruzstd` and libzstd decode the bare frame."
                .into(),
        measure: "ns",
        unit: "byte",
        races,
        claims: Vec::new(),
    };
    let least = |one: &str, other: &str| {
        let shares = group.races.iter().map(|race| race.ratio(one, other));
        Ok::<_, anyhow::Error>(
            shares.collect::<Result<Vec<_>>>()?.into_iter().fold(f64::MAX, f64::min),
        )
    };
    let (rust, c) = (least("ruzstd", "zten")?, least("libzstd", "zten")?);
    group.claim("zstd: of bare ruzstd, at worst", rust, AtLeast(0.95));
    group.claim("zstd: of libzstd, at worst", c, AtLeast(0.85));
    Ok(group)
}

/// Races decoding the frames of one component on several threads.
pub(super) fn frames(course: &Course) -> Result<Group> {
    let bytes = course.amount(64 * MIB, 4 * MIB);
    let mut races = Vec::new();
    for (name, data) in kinds(bytes) {
        let [one, halves] = course.inputs.frames(&data)?;
        let readers = ["two threads", "one thread", "two threads, two components"];
        let contestants = course.workers("frames", &readers, &[&one, &halves])?;
        races.push(course.race(name, bytes, 15, contestants)?);
    }
    let mut group = Group {
        title: "Decoding frames on two threads".into(),
        about: "64 MiB of each kind of elements are one component of generation 2 in frames of 1 MiB, \
                which zten reads into the caller's memory. The last line has two components, and shows \
                how much this machine gains from two threads."
            .into(),
        measure: "ns",
        unit: "byte",
        races,
        claims: Vec::new(),
    };
    // The median of five kinds of data, because the load on the second processor changes between them.
    let middle = |one: &str| {
        let ratios = group.races.iter().map(|race| race.ratio(one, "two threads"));
        let mut ratios = ratios.collect::<Result<Vec<_>>>()?;
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied().context("no races")
    };
    let (alone, halves) = (middle("one thread")?, middle("two threads, two components")?);
    group.claim("frames on two threads: × as fast as on one", alone, AtLeast(1.7));
    group.claim("… as two components", halves, AtLeast(0.9));
    Ok(group)
}

/// Races verifying digests.
pub(super) fn digests(course: &Course) -> Result<Group> {
    let bytes = course.amount(128 * MIB, MIB);
    let data = floats(bytes as u64 / 4, &mut Rng::with_seed(7));
    let mut races = Vec::new();
    for (sum, bare) in [(Checksum::Sha256, "sha2"), (Checksum::Crc32c, "crc")] {
        let file = course.inputs.dense(&data, &WriteOptions::default().checksum(sum))?;
        let contestants = course.workers("read", &["zten", bare], &[&file])?;
        let name = if bare == "sha2" { "sha256" } else { "crc32c" };
        races.push(course.race(name, bytes, 9, contestants)?);
    }
    let mut group = Group {
        title: "Verifying digests".into(),
        about: "One component of 128 MiB is read to its end. The comparison is the crate that computes \
                the digest."
            .into(),
        measure: "ns",
        unit: "byte",
        races,
        claims: Vec::new(),
    };
    if let [sha256, ..] = &group.races[..] {
        let share = sha256.ratio("sha2", "zten")?;
        group.claim("sha256, one core: of bare sha2", share, AtLeast(0.9));
    }
    Ok(group)
}

/// Races checking a large file with the command.
pub(super) fn whole(course: &Course) -> Result<Group> {
    let bytes = course.amount(1024 * MIB, 8 * MIB);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("whole.zt");
    large(&path, bytes)?;
    let readers = [
        "zten check",
        "zten check, two threads",
        "sha2",
        "zten check, two threads, cold",
        "sha2, cold",
    ];
    let program = course.programs.built("zten");
    let contestants = course.workers("whole", &readers, &[&program, &path])?;
    let race = course.race("1 GiB", bytes, 5, contestants)?;
    fs::remove_file(&path)?;
    let mut group = Group {
        title: "Checking a whole file".into(),
        about: "The command checks a file of 1 GiB on disk, 16 tensors with sha256. The comparison reads \
                the file and hashes it with `sha2`. Cold means that the file was not in the page cache."
            .into(),
        measure: "ns",
        unit: "byte",
        races: vec![race],
        claims: Vec::new(),
    };
    if let [race] = &group.races[..] {
        let cores = race.ratio("zten check", "zten check, two threads")?;
        let bare = race.ratio("sha2", "zten check")?;
        group.claim("check 1 GiB: two cores over one", cores, AtLeast(1.7));
        group.claim("check 1 GiB, one core: of bare sha2", bare, AtLeast(0.9));
    }
    Ok(group)
}

fn large(path: &std::path::Path, bytes: usize) -> Result<()> {
    const TENSORS: usize = 16;
    let mut random = Rng::with_seed(8);
    let mut writer = zten::Writer::create(path)?;
    for place in 0..TENSORS {
        let words = bytes / TENSORS / 8;
        let data: Vec<u8> = (0..words).flat_map(|_| random.u64(..).to_le_bytes()).collect();
        let shape = [data.len() as u64 / 4];
        writer.add(
            &format!("layer.{place:02}"),
            &shape,
            ComponentData::of_bytes(DType::F32, &data),
        )?;
    }
    Ok(writer.finish()?)
}
