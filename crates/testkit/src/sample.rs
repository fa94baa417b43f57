//! Chooses samples of the corpus for tests under Miri, which is thousands of times slower than the machine. Without
//! Miri, tests use all files. A sample is the same in each run, and has no compressed components: Miri needs minutes
//! for each, because it zeroes their buffers byte by byte.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The distance between the small files that a sample takes: one of 40.
const STEP: usize = 40;

/// The largest size in bytes of a file in a sample, unless it is the smallest file of its group.
const SMALL: u64 = 1 << 10;

/// Returns `files` unchanged, or under Miri a sample of them: the smallest file of each `group` and one of [`STEP`]
/// small files, except for files with a compressed component.
pub(crate) fn smallest<T>(
    files: Vec<T>,
    group: impl Fn(&T) -> String,
    path: impl Fn(&T) -> &PathBuf,
) -> Vec<T> {
    if !cfg!(miri) {
        return files;
    }
    let size = |file: &T| std::fs::metadata(path(file)).unwrap().len();
    let sizes: Vec<u64> = files.iter().map(size).collect();
    let mut smallest = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        let least = smallest.entry(group(file)).or_insert(at);
        if sizes[at] < sizes[*least] {
            *least = at;
        }
    }
    let small = (0..files.len()).filter(|at| sizes[*at] <= SMALL).step_by(STEP);
    let chosen: BTreeSet<usize> = smallest.into_values().chain(small).collect();
    let files = files.into_iter().enumerate().filter(|(at, _)| chosen.contains(at));
    files.map(|(_, file)| file).filter(|file| !is_compressed(path(file))).collect()
}

/// Returns whether the last 4 KiB of the file at `path` contain the CBOR text `zstd`, which is the encoding of each compressed
/// component before generation 2.
fn is_compressed(path: &Path) -> bool {
    let bytes = std::fs::read(path).unwrap();
    let manifest = &bytes[bytes.len().saturating_sub(4 << 10)..];
    manifest.windows(5).any(|text| text == b"\x64zstd")
}

/// Returns the group of the accepted file `name`: its folder, or the part of its name before `--`; empty if it has
/// neither.
pub(crate) fn kind(name: &str) -> String {
    let path = Path::new(name);
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_str().unwrap().to_owned(),
        _ => name.split("--").next().filter(|kind| *kind != name).unwrap_or_default().to_owned(),
    }
}

/// Returns the smallest number of cases that a test must find so that its loop is not empty: `count`, or 1 under
/// Miri.
pub fn least<N: From<u8>>(count: N) -> N {
    if cfg!(miri) { 1.into() } else { count }
}

/// Returns the number of rounds of a randomized test: `count`, or a 200th of it, rounded up, under Miri.
pub fn rounds(count: usize) -> usize {
    if cfg!(miri) { count.div_ceil(200) } else { count }
}

/// Returns the distance between two positions that a test tries: `step`, or 199 times as far under Miri.
pub fn stride(step: usize) -> usize {
    if cfg!(miri) { step * 199 } else { step }
}

/// Returns 1,500 pseudorandom bytes, which are the same for the same `seed`.
pub fn chance(seed: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| rng.u8(..)).take(1500).collect()
}
