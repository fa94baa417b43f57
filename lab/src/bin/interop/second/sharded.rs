//! Roots and shards that `zten` writes, and that the reference reads like a single file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use fastrand::Rng;
use zten::Generation;
use zten::element::StorageType;
use zten::verify::DigestAlgorithm;
use zten::write::{Copier, WriteOptions};

use super::{Object, generate, ours, theirs};

/// Names of shards, unsorted.
const NAMES: [&str; 4] = ["00002-of-00003", "b", "A_.-9", "00001-of-00003"];

/// Writes `count` roots with up to four shards, compares what both implementations read, and checks that both report a damaged
/// shard.
pub(super) fn run(folder: &Path, count: u64, seed: u64) -> Result<()> {
    let path = folder.join("root.zt");
    let (mut shards, mut objects, mut damaged) = (0, 0, 0);
    for at in 0..count {
        let mut rng = Rng::with_seed(seed * 1_000_000 + 900_000 + at);
        let wanted = generate::objects(&mut rng);
        let names = &NAMES[..rng.usize(..=NAMES.len())];
        let context = || format!("root {at} of 2, of seed {seed}");
        one(&path, names, &wanted, &mut rng).with_context(context)?;
        damaged += u64::from(damage(&path, names, &wanted, &mut rng).with_context(context)?);
        shards += names.len();
        objects += wanted.len();
        for name in names {
            fs::remove_file(shard_path(&path, name))?;
        }
    }
    println!(
        "of 2, written by zten with shards, read by both: {count} roots, {shards} shards, {objects} objects; \
         {damaged} damaged shards"
    );
    Ok(())
}

/// Writes `count` roots to a folder (`0.zt`, `1.zt`, ...), with arrays of types that every reader has.
pub(super) fn emit(folder: &Path, count: u64, seed: u64) -> Result<()> {
    fs::create_dir_all(folder)?;
    for at in 0..count {
        let mut rng = Rng::with_seed(seed * 1_000_000 + 950_000 + at);
        let mut objects = generate::objects(&mut rng);
        objects.retain(|object| {
            let plain =
                |part: &super::Part| part.logical.is_none() && part.storage != StorageType::Bf16;
            // For the Python package, a scalar is an array of one element, so scalars are left out.
            object.layout == "dense"
                && !object.shape.is_empty()
                && object.attributes.is_empty()
                && object.parts.iter().all(plain)
        });
        let path = folder.join(format!("{at}.zt"));
        let names = &NAMES[..rng.usize(1..=NAMES.len())];
        let places: Vec<_> = names.iter().map(|name| (*name, shard_path(&path, name))).collect();
        ours::create_sharded(&path, &places, &objects, &mut rng)?;
    }
    Ok(())
}

/// Returns the path at which both implementations look for the shard `name` of the file `root`.
fn shard_path(root: &Path, name: &str) -> PathBuf {
    let stem = root.file_stem().unwrap_or_default().to_string_lossy();
    root.with_file_name(format!("{stem}-{name}.zt"))
}

fn one(path: &Path, names: &[&str], objects: &[Object], rng: &mut Rng) -> Result<()> {
    let places: Vec<_> = names.iter().map(|name| (*name, shard_path(path, name))).collect();
    ours::create_sharded(path, &places, objects, rng).context("zten writes")?;
    theirs::compare(path, objects).context("ztensor reads")?;
    theirs::verify_shards(path).context("ztensor verifies shards")?;
    let one = path.with_file_name("one.zt");
    let own = joined(path, &one).context("zten reads")?;
    ours::compare(&one, objects, false).context("zten reads what was in shards")?;
    let other = theirs::content_digest(path)?;
    ensure!(own == other, "content digest {own}, and to ztensor {other}");
    Ok(())
}

/// Verifies a root and its shards, writes them as one file, and returns the content digest of the root. Fails if a digest does not
/// match.
fn joined(path: &Path, one: &Path) -> Result<String> {
    let root = zten::open(path)?;
    ours::verify(&root)?;
    let options = WriteOptions::default().generation(Generation::V2);
    let copy = Copier::new(root.manifest()).file(root.manifest(), &root, Vec::new(), &options)?;
    fs::write(one, copy)?;
    let digest = root.manifest().content_digest(DigestAlgorithm::Xxh3);
    Ok(digest.map_err(|error| anyhow::anyhow!("{error}"))?.to_string())
}

/// Flips a bit of a shard. Both implementations must report the damage. Returns false if there are no shards.
fn damage(path: &Path, names: &[&str], objects: &[Object], rng: &mut Rng) -> Result<bool> {
    let Some(name) = rng.choice(names) else { return Ok(false) };
    let place = shard_path(path, name);
    let mut file = fs::read(&place)?;
    let at = rng.usize(..file.len());
    file[at] ^= 1 << rng.u8(..8);
    fs::write(&place, &file)?;
    ensure!(joined(path, &path.with_file_name("one.zt")).is_err(), "zten reads damage at {at}");
    let read = theirs::compare(path, objects).and_then(|()| theirs::verify_shards(path));
    ensure!(read.is_err(), "ztensor reads damage at {at}");
    Ok(true)
}
