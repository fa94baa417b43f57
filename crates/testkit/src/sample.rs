//! Samples for tests under Miri, which takes thousands of times as long as the machine does.
//! Elsewhere nothing is left out. A sample is the same in every run, and has no compressed
//! components: one takes Miri minutes, for the buffers that are zeroed byte by byte.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The step of a sample: one of so many small files is in it, beside the smallest file of each group.
const STEP: usize = 40;

/// A file of more bytes is in a sample only if its group has no smaller one.
const SMALL: u64 = 1 << 10;

/// The smallest file of each group, and some of the other small ones.
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

/// Returns whether a component of a file is compressed with zstd, or any text is `zstd`.
fn is_compressed(path: &Path) -> bool {
    let bytes = std::fs::read(path).unwrap();
    let manifest = &bytes[bytes.len().saturating_sub(4 << 10)..];
    manifest.windows(5).any(|text| text == b"\x64zstd")
}

/// The group of an accepted file: the folder it is in, or what its name begins with.
pub(crate) fn kind(name: &str) -> String {
    let path = Path::new(name);
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_str().unwrap().to_owned(),
        _ => name.split("--").next().filter(|kind| *kind != name).unwrap_or_default().to_owned(),
    }
}

/// Returns the least number of cases that a test should find: `count`, or 1 under Miri.
pub fn least<N: From<u8>>(count: N) -> N {
    if cfg!(miri) { 1.into() } else { count }
}

/// Returns the number of rounds of a randomized test: `count`, or one of 200 under Miri.
pub fn rounds(count: usize) -> usize {
    if cfg!(miri) { count.div_ceil(200) } else { count }
}

/// The step from one place to the next, of places that would all be tried.
pub fn stride(step: usize) -> usize {
    if cfg!(miri) { step * 199 } else { step }
}

/// Bytes that look like chance.
pub fn chance(seed: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| rng.u8(..)).take(1500).collect()
}
