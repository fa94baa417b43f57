//! Files of the corpus and their expected verdicts.

use std::path::{Path, PathBuf};

/// The verdict that the service must give about a file.
pub(crate) enum Known {
    Valid,
    /// The file is invalid by this rule at this offset.
    Invalid(String, Option<u64>),
}

pub(crate) struct Sample {
    pub(crate) path: PathBuf,
    pub(crate) known: Known,
}

/// Returns the files of the corpus that are checked without options.
pub(crate) fn samples() -> impl Iterator<Item = Sample> {
    let accepted = zten_testkit::accepted().map(|file| {
        let known = file.opens_only.map(|rule| Known::Invalid(rule, None));
        Sample { path: file.path, known: known.unwrap_or(Known::Valid) }
    });
    let rejected = zten_testkit::reject_index().filter(|row| row.given == "-").map(|row| Sample {
        path: row.path,
        known: Known::Invalid(row.expected.rule, row.expected.offset),
    });
    accepted.chain(rejected)
}

/// Returns a hash of the file name in `path`, by which files are shuffled into the same order each time.
pub(crate) fn mixed(path: &Path) -> u32 {
    let name = path.file_name().unwrap().as_encoded_bytes();
    name.iter().fold(0, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}
