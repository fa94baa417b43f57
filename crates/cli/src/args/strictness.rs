//! The strictness of reading: tolerances and limits, as the command line gives them.

use serde::{Deserialize, Serialize};
use zten::shards::Links;
use zten::{Limits, OpenOptions, Tolerance};
use zten_report::size;

/// The strictness of reading.
#[derive(Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct Strictness {
    /// Accept files that break one rule: narrow-indices, shared-blobs, missing-zeros, or torch-global: classes that zten does
    /// not know in checkpoints of PyTorch. Nothing is imported, and `check` still reports it
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = tolerance)]
    tolerate: Vec<NamedTolerance>,
    /// Change a limit: manifest, depth, rank, keys, shards, window, decoded or decoded-total. Sizes may have a unit: KB,
    /// MB, GB or TB (decimal), KiB, MiB, GiB, TiB, K, M, G or T (binary)
    #[arg(long, value_name = "NAME=SIZE", value_parser = limit)]
    limit: Vec<NamedLimit>,
    /// Do not open the shards that a file refers to
    #[arg(long)]
    no_shards: bool,
    /// Follow symbolic links to the files that an index or a file refers to, and with -r all links in folders. Without this
    /// option, of these links only those from the snapshots to the blobs of a Hugging Face cache are followed. A file or
    /// folder that is named may always be a link
    #[arg(long)]
    follow: bool,
}

/// A value of `--tolerate`, which was checked to be the name of a [`Tolerance`].
#[derive(Clone, Debug, Serialize, Deserialize)]
struct NamedTolerance(String);

/// A value of `--limit`: the name of a limit of the library, and the limit's new value, which was checked.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct NamedLimit {
    name: String,
    value: u64,
}

impl Strictness {
    /// Returns whether several components may share the same bytes of a file (`--tolerate shared-blobs`).
    pub(crate) fn shares_blobs(&self) -> bool {
        self.tolerate.iter().any(|name| name.0 == Tolerance::SharedBlobs.name())
    }

    /// Returns whether all symbolic links are followed (`--follow`).
    pub(crate) fn follows(&self) -> bool {
        self.follow
    }

    /// Returns which symbolic links to sibling files are followed.
    pub(crate) fn links(&self) -> Links {
        if self.follow { Links::All } else { Links::OfHub }
    }

    /// Returns whether the shards and siblings to which a file refers are opened.
    pub(crate) fn looks_for_shards(&self) -> bool {
        !self.no_shards
    }

    /// Returns the largest number of sibling files that may be opened for one file: its shards, or the files that an index
    /// (`*.index.json`) names. With `--no-shards` it is 0.
    pub(crate) fn max_siblings(&self) -> u32 {
        if self.no_shards { 0 } else { self.options().limit().shards() }
    }

    /// Returns the limits and tolerances in the form that the library takes to open a file.
    pub(crate) fn options(&self) -> OpenOptions {
        let limits = self.limit.iter().fold(Limits::default(), |limits, limit| {
            // `limit` has checked the name and the value when the command line was parsed.
            limits.with_named(&limit.name, limit.value).unwrap_or(limits)
        });
        let options = OpenOptions::default().limits(limits);
        self.tolerate.iter().fold(options, |options, NamedTolerance(name)| {
            options.tolerate_named(name).unwrap_or(options)
        })
    }
}

/// Parses a value of `--tolerate`: the name of a tolerance.
fn tolerance(name: &str) -> Result<NamedTolerance, String> {
    let known = Tolerance::ALL.iter().find(|tolerance| tolerance.name() == name);
    known.map(|known| NamedTolerance(known.name().to_owned())).ok_or_else(|| {
        let names: Vec<_> = Tolerance::ALL.iter().map(|tolerance| tolerance.name()).collect();
        format!("unknown tolerance: expected {}", names.join(", "))
    })
}

/// Parses a limit and its size, as in `decoded=8GiB`.
fn limit(text: &str) -> Result<NamedLimit, String> {
    let (name, size) = text.split_once('=').ok_or("invalid limit: expected NAME=SIZE")?;
    if !Limits::NAMES.contains(&name) {
        return Err(format!("unknown limit {name:?}: expected {}", Limits::NAMES.join(", ")));
    }
    let value = size::parse(size)?;
    match Limits::default().with_named(name, value) {
        Ok(_) => Ok(NamedLimit { name: name.to_owned(), value }),
        Err(_) => Err(format!("limit {name} is {value}, which is outside the range of this limit")),
    }
}
