//! What `zten convert` takes.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use zten::write::Level;

use crate::strictness::Strictness;

/// `zten convert`
#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct Convert {
    /// The file to read. How it begins tells its format. Of safetensors in several files, name the
    /// index, which ends in .index.json: the files that it names are read, too. So are the shards of
    /// a zTensor file
    #[arg(value_name = "IN")]
    #[serde(with = "super::os_path")]
    pub(crate) input: PathBuf,
    /// The file to write. Its suffix is its format: .zt, .safetensors, .npz or .npy. It appears when it
    /// is complete. If the format cannot hold something, that is named, and nothing is written
    #[arg(value_name = "OUT")]
    #[serde(with = "super::os_path")]
    pub(crate) output: PathBuf,
    /// The generation of a .zt file; 1.2 if nothing is said
    #[arg(long, value_name = "GENERATION")]
    pub(crate) to: Option<To>,
    /// Replace the file that is at OUT
    #[arg(long)]
    pub(crate) force: bool,
    /// Compress every component of a .zt file, at a level from 1 (fast) to 5 (small)
    #[arg(
        long,
        value_name = "LEVEL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2",
        value_parser = level
    )]
    pub(crate) zstd: Option<u8>,
    /// The digest that every component of a .zt file gets; if nothing is said, sha256, in 2 xxh3
    #[arg(long, value_name = "ALGORITHM")]
    pub(crate) digest: Option<Digest>,
    /// Write the canonical form of a .zt file, of which there is one for one content
    #[arg(long, conflicts_with = "zstd")]
    pub(crate) canonical: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}

/// A digest, by its name in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub(crate) enum Digest {
    /// SHA-256
    Sha256,
    /// CRC-32C, which finds accidents only; in 1.2
    Crc32c,
    /// XXH3-64, which finds accidents only; in 2
    Xxh3,
    /// None
    None,
}

/// A generation that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub(crate) enum To {
    /// Read by releases of `ztensor` before 2.0
    #[value(name = "1.2")]
    V1_2,
    /// Draft 4, read by releases of `ztensor` from 2.0 on
    #[value(name = "2")]
    V2,
}

/// The arguments of the command, in which a level of `--zstd` may stand by itself: only where
/// a number follows is it one.
pub(crate) fn arguments() -> impl Iterator<Item = OsString> {
    let mut given = std::env::args_os().peekable();
    std::iter::from_fn(move || {
        let argument = given.next()?;
        let is_level =
            |next: &OsString| next.to_str().is_some_and(|next| next.parse::<u8>().is_ok());
        match given.next_if(|next| argument == "--zstd" && is_level(next)) {
            Some(level) => {
                let mut joined = argument;
                joined.push("=");
                joined.push(level);
                Some(joined)
            }
            None => Some(argument),
        }
    })
}

/// A level of compression.
fn level(text: &str) -> Result<u8, String> {
    let level = text.parse().ok().filter(|level| Level::new(*level).is_ok());
    level.ok_or_else(|| "compression level must be between 1 and 5".to_owned())
}
