//! Files that either implementation writes and appends to. Both read all of each file.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use ciborium::Value;
use fastrand::Rng;
use zten::{Archive, element::StorageType};

use crate::content::{Attributes, Content, Object, Sum};
use crate::generate::{self, Taste};
use crate::ours::{self, Manner};
use crate::theirs;

/// The implementation that writes a file: zten or the reference implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hand {
    Ours,
    Theirs,
}

/// How many files, objects and other things were compared, for the report of the run.
#[derive(Default)]
struct Counts {
    files: u64,
    appended: u64,
    older: u64,
    canonical: u64,
    objects: u64,
    components: u64,
    packed: u64,
    bytes: u64,
    damaged: u64,
    altered: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, appended, older, canonical, objects, components, packed, bytes, .. } =
            self;
        let Self { damaged, altered, .. } = self;
        write!(
            f,
            "{files} files ({appended} appended to, {older} of 1.1, {canonical} canonical), {objects} objects, \
             {components} components ({packed} compressed), {bytes} bytes; {damaged} damaged \
             files and {altered} other contents told apart"
        )
    }
}

/// Writes `count` files with each writer, and `count` files with both writers in turn. Compares what both implementations read with
/// what was to be written.
pub(crate) fn run(count: u64, seed: u64) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("x.zt");
    let kinds: [(&str, &[Hand]); 3] = [
        ("written by zten", &[Hand::Ours]),
        ("written by ztensor", &[Hand::Theirs]),
        ("written by both in turn", &[Hand::Ours, Hand::Theirs]),
    ];
    for (kind_at, (kind, hands)) in (0..).zip(kinds) {
        let mut counts = Counts::default();
        for at in 0..count {
            let mut rng = Rng::with_seed(seed * 1_000_000 + kind_at * 100_000 + at);
            one(&path, hands, &mut rng, &mut counts)
                .with_context(|| format!("file {at} {kind}, of seed {seed}"))?;
        }
        println!("{kind}, read by both: {counts}");
    }
    Ok(())
}

fn one(path: &Path, hands: &[Hand], rng: &mut Rng, counts: &mut Counts) -> Result<()> {
    if path.exists() {
        fs::remove_file(path)?;
    }
    let content = generate::content(rng, Taste::Everything);
    let sum = Sum::ALL[rng.usize(..3)];
    let canonical = hands == [Hand::Ours] && rng.u8(..4) == 0;
    let manner = Manner { sum, canonical };
    let sum = if canonical { Sum::Sha256 } else { sum };
    // The first stage writes a new file, and later stages append to it.
    let stages = if canonical { 1 } else { rng.usize(1..4).max(hands.len()) };
    let mut left = &content.objects[..];
    let mut hand = rng.usize(..hands.len());
    let mut version = "1.2.0";
    for stage in 0..stages {
        let take = if stage + 1 == stages { left.len() } else { rng.usize(..=left.len()) };
        let (now, later) = left.split_at(take);
        left = later;
        let first = Content { attributes: content.attributes.clone(), objects: now.to_vec() };
        match (hands[hand], stage) {
            (Hand::Ours, 0) => ours::create(path, &first, manner, rng).context("zten writes")?,
            (Hand::Ours, _) => ours::append(path, now, manner, rng).context("zten appends")?,
            (Hand::Theirs, 0) => {
                theirs::create(path, &first, sum, rng).context("ztensor writes")?;
                if hands.len() > 1 && rng.bool() {
                    version = "1.1.0";
                    older(path)?;
                }
            }
            (Hand::Theirs, _) => {
                theirs::append(path, now, sum, rng).context("ztensor appends")?;
            }
        }
        hand = (hand + 1) % hands.len();
    }
    ours::compare(path, &content, Some(sum), canonical).context("zten reads")?;
    let wanted = (version, Some(sum));
    theirs::compare(path, &content, wanted).context("ztensor reads")?;
    if rng.u8(..4) == 0 {
        let mut other = content.clone();
        if alter(&mut other, rng) {
            // The comparison must fail for other content. Otherwise its success would mean nothing.
            ensure!(ours::compare(path, &other, Some(sum), canonical).is_err(), "zten reads more");
            ensure!(theirs::compare(path, &other, wanted).is_err(), "ztensor reads more");
            counts.altered += 1;
        }
    }
    if sum != Sum::None {
        damage(path, &content.objects, rng, counts)?;
    }
    counts.files += 1;
    counts.appended += u64::from(stages > 1);
    counts.older += u64::from(version == "1.1.0");
    counts.canonical += u64::from(canonical);
    counts.objects += content.objects.len() as u64;
    for object in &content.objects {
        counts.components += object.parts.len() as u64;
        counts.packed += u64::from(object.packed && !canonical) * object.parts.len() as u64;
        counts.bytes += object.parts.iter().map(|part| part.bytes.len() as u64).sum::<u64>();
    }
    Ok(())
}

/// Turns a file into one of 1.1. Appending to it keeps its version, although the appended objects may use features of 1.2.
fn older(path: &Path) -> Result<()> {
    let mut file = fs::read(path)?;
    let version = b"\x67version\x651.2.0";
    let at = file.windows(version.len()).rposition(|bytes| bytes == version);
    file[at.context("no version")? + 11] = b'1';
    fs::write(path, file)?;
    Ok(())
}

/// Changes one part of the content. Returns whether there was anything to change.
fn alter(content: &mut Content, rng: &mut Rng) -> bool {
    let Some(object) = rng.choice(&mut content.objects) else {
        let added = Attributes::from([("added".to_owned(), Value::Null)]);
        content.attributes.get_or_insert_default().extend(added);
        return true;
    };
    match rng.u8(..6) {
        0 => object.name.push_str(" of another name"),
        1 => object.shape.push(1),
        2 => object.format.push('x'),
        3 => {
            let attributes = object.attributes.get_or_insert_default();
            return attributes.insert("added".to_owned(), Value::Null).is_none();
        }
        _ => {
            let Some(part) = rng.choice(&mut object.parts) else { return false };
            match rng.choice(&mut part.bytes) {
                Some(byte) if part.storage != StorageType::Bool => *byte ^= 0x10,
                Some(byte) => *byte ^= 1,
                None => part.role.push('x'),
            }
        }
    }
    true
}

/// Flips a bit of one component. The reference implementation must report a wrong checksum, and zten an error, which shows that
/// they verify each other's files. Does nothing if no component has bytes.
fn damage(path: &Path, objects: &[Object], rng: &mut Rng, counts: &mut Counts) -> Result<()> {
    let full = |object: &Object| object.parts.iter().any(|part| !part.bytes.is_empty());
    let full: Vec<&Object> = objects.iter().filter(|object| full(object)).collect();
    let Some(object) = rng.choice(full) else { return Ok(()) };
    let parts = object.parts.iter().filter(|part| !part.bytes.is_empty());
    let part = rng.choice(parts.collect::<Vec<_>>()).context("a part that is not empty")?;
    let mut file = fs::read(path)?;
    let extent = {
        let archive = Archive::from_bytes(&file)?;
        let component = archive.get(&object.name).and_then(|found| found.component(&part.role));
        component.context("a component that was there before")?.extent()
    };
    let at = usize::try_from(rng.u64(extent.range()))?;
    file[at] ^= 1 << rng.u8(..8);
    fs::write(path, &file)?;
    theirs::rejects(path, &object.name, &part.role).context("ztensor reads damage")?;
    let archive = Archive::from_bytes(&file)?;
    let component = archive.get(&object.name).and_then(|found| found.component(&part.role));
    let component = component.context("a component that was there before")?;
    ensure!(
        component.read().is_err(),
        "zten read damaged bytes of {:?}/{}",
        object.name,
        part.role,
    );
    counts.damaged += 1;
    Ok(())
}
