//! Opening files with many objects, opening hostile manifests, and looking up objects.

use anyhow::{Context as _, Result};
use zten::write::Checksum;

use super::Wanted::{AtLeast, AtMost};
use super::{Course, Group, Race};
use crate::inputs::Order;
use crate::race::Times;
use crate::report::grouped;
use crate::workers::HOSTILE;

/// The name of a kind of file, the order of its objects, and their checksum.
type Kind = (&'static str, Order, Checksum);

const SORTED: Kind = ("sorted", Order::Sorted, Checksum::None);
const SHUFFLED: Kind = ("shuffled", Order::Shuffled, Checksum::None);
const DIGESTS: Kind = ("sorted, with sha256", Order::Sorted, Checksum::Sha256);

/// The number of objects for which `safetensors` rejects the header, and `ztensor` takes seconds and gigabytes.
const LARGEST: usize = 1_000_000;

fn one(course: &Course, count: usize, (name, order, sum): Kind) -> Result<Race> {
    let file = course.inputs.objects(count, order, sum)?;
    let mut contestants = course.workers("open", &["zten", "bare walk"], &[&file])?;
    if count < LARGEST {
        let other = course.inputs.safetensors(count)?;
        contestants.push(course.programs.worker("safetensors", "open", &[&other])?);
        let more = ["minicbor, skipping", "serde_cbor_2, ignoring", "ztensor 1.2.3"];
        contestants.extend(course.workers("open", &more, &[&file])?);
        contestants.push(course.programs.ztensor_1_1(&file)?);
    }
    let bytes = std::fs::read(&file)?;
    let manifest = zten::Archive::from_bytes(&bytes)?.manifest().extent();
    let name = format!("{} objects, {name}", grouped(count));
    let rounds = if count < LARGEST { 15 } else { 7 };
    let race = course.race(name, count, rounds, contestants)?;
    Ok(Race { manifest: Some(manifest.end - manifest.start), ..race })
}

fn old(course: &Course, count: usize) -> Result<Race> {
    let file = course.inputs.old_objects(count)?;
    let mut contestants =
        course.workers("open", &["zten", "bare walk", "ztensor 1.2.3"], &[&file])?;
    contestants.push(course.programs.ztensor_1_1(&file)?);
    course.race(format!("{} objects, 0.1", grouped(count)), count, 15, contestants)
}

/// Returns the cost for each object among `most`, sorted and shuffled, relative to the cost among 1,000, from one race.
fn growth(course: &Course, most: usize) -> Result<[f64; 2]> {
    const FEW: usize = 1_000;
    let mut contestants = Vec::new();
    for (count, (_, order, sum)) in [(FEW, SORTED), (most, SORTED), (most, SHUFFLED)] {
        let file = course.inputs.objects(count, order, sum)?;
        contestants.push(course.programs.worker("zten", "open", &[&file])?);
    }
    let times = course.times(9, contestants)?;
    let [few, sorted, shuffled] = &times[..] else {
        return Err(anyhow::anyhow!("others raced"));
    };
    let each = |many: &Times| many.over(few) * FEW as f64 / most as f64;
    Ok([each(sorted), each(shuffled)])
}

/// Races opening files with many objects.
pub(super) fn open(course: &Course) -> Result<Group> {
    let many = course.amount(100_000, 2_000);
    let most = course.amount(LARGEST, 20_000);
    let races = vec![
        one(course, 10, SORTED)?,
        one(course, 1_000, SORTED)?,
        one(course, many, SORTED)?,
        one(course, many, SHUFFLED)?,
        one(course, many, DIGESTS)?,
        old(course, many)?,
        one(course, most, SORTED)?,
        one(course, most, SHUFFLED)?,
    ];
    let growth = growth(course, most)?;
    let mut group = Group {
        title: "Opening".into(),
        about: "The file has dense objects with the names of a transformer's tensors, and is in memory. \
                zten checks every rule that needs no data. The bare walk only reads the heads of the \
                same CBOR, and checks nothing. `safetensors` reads a header with the same number of \
                tensors (`read_metadata`), and `ztensor` its own manifest. Heap is the largest amount of \
                heap memory, not counting the file."
            .into(),
        measure: "ns",
        unit: "object",
        races,
        claims: Vec::new(),
    };
    let [_, _, sorted, shuffled, ..] = &group.races[..] else {
        return Err(anyhow::anyhow!("other races"));
    };
    let heap = |race: &Race| {
        let manifest = race.manifest.context("a manifest")?;
        Ok::<_, anyhow::Error>(race.times("zten")?.heap as f64 / manifest as f64)
    };
    let claims = [
        (
            "open 100 k objects: ztensor 1.2.3 takes × as long",
            sorted.ratio("ztensor 1.2.3", "zten")?,
            AtLeast(20.0),
        ),
        ("… shuffled", shuffled.ratio("ztensor 1.2.3", "zten")?, AtLeast(15.0)),
        (
            "open 100 k objects: safetensors takes × as long",
            sorted.ratio("safetensors", "zten")?,
            AtLeast(10.0),
        ),
        ("… shuffled", shuffled.ratio("safetensors", "zten")?, AtLeast(8.0)),
        ("open 100 k objects: × the bare walk", sorted.ratio("zten", "bare walk")?, AtMost(2.5)),
        ("an object of 1 M: × one of 1 k", growth[0], AtMost(1.5)),
        ("… shuffled", growth[1], AtMost(2.5)),
        ("heap at 100 k objects: × the manifest", heap(sorted)?, AtMost(1.3)),
        ("… shuffled", heap(shuffled)?, AtMost(1.3)),
    ];
    for (what, figure, wanted) in claims {
        group.claim(what, figure, wanted);
    }
    Ok(group)
}

/// Races opening manifests that are made to be expensive.
pub(super) fn hostile(course: &Course) -> Result<Group> {
    let mut contestants = Vec::new();
    let mut bytes = Vec::new();
    for (name, make) in HOSTILE {
        let mut racer = course.programs.worker("zten", "hostile", &[name.as_ref()])?;
        (*name).clone_into(&mut racer.name);
        contestants.push(racer);
        bytes.push(make().manifest.len() as f64);
    }
    let times = course.times(15, contestants)?;
    let ordinary = times.first().zip(bytes.first()).context("an ordinary one")?;
    let ratio = |(times, bytes): (&Times, &f64)| {
        (times.name.clone(), times.over(ordinary.0) * ordinary.1 / bytes)
    };
    let ratios: Vec<_> = times.iter().zip(&bytes).map(ratio).collect();
    let worst = ratios.iter().max_by(|a, b| a.1.total_cmp(&b.1)).context("a worst")?.clone();
    let races =
        ratios.into_iter().zip(times).zip(&bytes).map(|(((name, ratio), times), bytes)| Race {
            name: format!("{name}: {ratio:.2} ×"),
            units: *bytes,
            manifest: None,
            times: vec![times],
        });
    let mut group = Group {
        title: "Hostile manifests".into(),
        about: "The time for each byte of manifests that are made to be expensive, compared with an \
                ordinary manifest: 100,000 objects with digests and sorted names. `work-bound.md` counts \
                the instructions of such manifests."
            .into(),
        measure: "ns",
        unit: "byte",
        races: races.collect(),
        claims: Vec::new(),
    };
    group.claim(format!("the worst, {}: × an ordinary byte", worst.0), worst.1, AtMost(50.0));
    Ok(group)
}

/// Races looking up objects by their names.
pub(super) fn look_up(course: &Course) -> Result<Group> {
    let count = course.amount(100_000, 2_000);
    let mut races = Vec::new();
    for (name, order, sum) in [SORTED, SHUFFLED] {
        let file = course.inputs.objects(count, order, sum)?;
        let mut contestants = course.workers("look-up", &["zten"], &[&file])?;
        let other = course.inputs.safetensors(count)?;
        contestants.push(course.programs.worker("safetensors", "look-up", &[&other])?);
        races.push(course.race(name, count, 15, contestants)?);
    }
    let mut group = Group {
        title: "Looking up".into(),
        about:
            "Each of 100,000 objects is looked up by its name, in random order, and bound to its \
                bytes."
                .into(),
        measure: "ns",
        unit: "object",
        races,
        claims: Vec::new(),
    };
    let ratios: Result<Vec<f64>> =
        group.races.iter().map(|race| race.ratio("zten", "safetensors")).collect();
    for (what, ratio) in
        ["look up and bind: × SafeTensors::tensor", "… shuffled"].into_iter().zip(ratios?)
    {
        group.claim(what, ratio, AtMost(0.9));
    }
    Ok(group)
}
