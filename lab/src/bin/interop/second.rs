//! Files of generation 2 that either implementation writes and appends to. Both read all of each file, and compute the same content
//! digest.

mod generate;
mod ours;
mod sharded;
mod theirs;

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use zten::Archive;
use zten::element::{LogicalType, StorageType};
use zten::verify::DigestAlgorithm;

/// An object of generation 2, with which the results of both implementations are compared.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) layout: &'static str,
    pub(crate) shape: Vec<u64>,
    /// A text for each key.
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) parts: Vec<Part>,
    pub(crate) compressed: bool,
}

/// A component of an [`Object`], with its decoded little-endian bytes.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) role: &'static str,
    pub(crate) storage: StorageType,
    pub(crate) logical: Option<LogicalType>,
    pub(crate) elements: u64,
    pub(crate) bytes: Vec<u8>,
}

/// The number of files, objects and so on that were compared.
#[derive(Default)]
struct Counts {
    files: u64,
    appended: u64,
    canonical: u64,
    /// The number of canonical files that have the same bytes from both writers.
    equal: u64,
    objects: u64,
    bytes: u64,
    digests: u64,
    damaged: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, appended, canonical, equal, objects, bytes, digests, damaged } = self;
        write!(
            f,
            "{files} files ({appended} appended to, {canonical} canonical, {equal} of them the same bytes from both), {objects} objects, {bytes} bytes, \
             {digests} content digests; {damaged} damaged files"
        )
    }
}

/// Writes `count` files with each writer, and `count` files with both writers in turn, and compares what both implementations read.
/// Then does the same for files with shards.
pub(crate) fn run(count: u64, seed: u64) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("x.zt");
    let kinds = ["written by zten", "written by ztensor 2", "written by both in turn"];
    for (kind_at, kind) in (0..).zip(kinds) {
        let mut counts = Counts::default();
        for at in 0..count {
            let mut rng = Rng::with_seed(seed * 1_000_000 + kind_at * 100_000 + at);
            one(&path, kind_at, &mut rng, &mut counts)
                .with_context(|| format!("file {at} of 2 {kind}, of seed {seed}"))?;
        }
        println!("of 2, {kind}, read by both: {counts}");
    }
    sharded::run(folder.path(), count, seed)
}

/// Writes files of arrays with shards, for other readers.
pub(crate) fn emit(folder: &Path, count: u64, seed: u64) -> Result<()> {
    sharded::emit(folder, count, seed)
}

fn one(path: &Path, kind: u64, rng: &mut Rng, counts: &mut Counts) -> Result<()> {
    if path.exists() {
        fs::remove_file(path)?;
    }
    let objects = generate::objects(rng);
    let canonical = kind < 2 && rng.u8(..4) == 0;
    let stages = if canonical { 1 } else { rng.usize(1..4).max(usize::from(kind == 2) * 2) };
    let mut left = &objects[..];
    let mut is_ours = kind == 0 || kind == 2 && rng.bool();
    for stage in 0..stages {
        let take = if stage + 1 == stages { left.len() } else { rng.usize(..=left.len()) };
        let (now, later) = left.split_at(take);
        left = later;
        match (is_ours, stage) {
            (true, 0) => ours::create(path, now, canonical).context("zten writes")?,
            (true, _) => ours::append(path, now).context("zten appends")?,
            (false, 0) => theirs::create(path, now, canonical).context("ztensor writes")?,
            (false, _) => theirs::append(path, now).context("ztensor appends")?,
        }
        is_ours ^= kind == 2;
    }
    let own_form = canonical && kind == 0;
    ours::compare(path, &objects, own_form).context("zten reads")?;
    theirs::compare(path, &objects).context("ztensor reads")?;
    // In the reference's canonical form, empty blobs have another offset, so files with empty blobs are not compared.
    let is_empty = |part: &Part| part.bytes.is_empty();
    if own_form && !objects.iter().flat_map(|object| &object.parts).any(is_empty) {
        let other = path.with_extension("theirs");
        theirs::create(&other, &objects, true)?;
        ensure!(fs::read(path)? == fs::read(&other)?, "another canonical file");
        fs::remove_file(other)?;
        counts.equal += 1;
    }
    let own = {
        let file = fs::read(path)?;
        let archive = Archive::from_bytes(&file)?;
        archive.manifest().content_digest(DigestAlgorithm::Xxh3).map(|digest| digest.to_string())
    };
    let other = theirs::content_digest(path)?;
    let own = own.map_err(|error| anyhow::anyhow!("{error}"))?;
    ensure!(own == other, "content digest {own}, and to ztensor {other}");
    counts.digests += 1;
    counts.damaged += u64::from(damage(path, &objects, rng)?);
    counts.files += 1;
    counts.appended += u64::from(stages > 1);
    counts.canonical += u64::from(canonical);
    counts.objects += objects.len() as u64;
    let parts = objects.iter().flat_map(|object| &object.parts);
    counts.bytes += parts.map(|part| part.bytes.len() as u64).sum::<u64>();
    Ok(())
}

/// Flips a bit of a raw component (a seek table has unused bits, so frames are left alone). Both implementations must report the
/// damage, which shows that they verify each other's files. Returns false if no raw component has bytes.
fn damage(path: &Path, objects: &[Object], rng: &mut Rng) -> Result<bool> {
    let full = |object: &&Object| {
        !object.compressed && object.parts.iter().any(|part| !part.bytes.is_empty())
    };
    let Some(object) = rng.choice(objects.iter().filter(full).collect::<Vec<_>>()) else {
        return Ok(false);
    };
    let part = object.parts.iter().find(|part| !part.bytes.is_empty()).context("one with bytes")?;
    let mut file = fs::read(path)?;
    let extent = {
        let archive = Archive::from_bytes(&file)?;
        let component = archive.get(&object.name).and_then(|found| found.component(part.role));
        component.context("a part that was there before")?.extent()
    };
    let at = usize::try_from(rng.u64(extent.range()))?;
    file[at] ^= 1 << rng.u8(..8);
    fs::write(path, &file)?;
    ensure!(ours::compare(path, objects, false).is_err(), "zten reads damage");
    ensure!(theirs::compare(path, objects).is_err(), "ztensor reads damage");
    Ok(true)
}
