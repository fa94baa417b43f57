//! Files of any format that is read as zTensor files.

use std::io::Write;

use zten::write::{Copier, IoSink};
use zten::{ErrorKind, Generation};
use zten_formats::{find_without_profile, profile};

use super::plan::Plan;
use crate::args::Convert;
use crate::file::{FileWithShards, stored};
use crate::progress::Progress;
use crate::report::Problem;
use crate::sources::Sources;

/// Copies all of a file.
pub(super) fn convert(
    args: &Convert,
    archive: &FileWithShards,
    out: impl Write,
    plan: &Plan,
) -> Result<(), Box<Problem>> {
    if plan.generation == Generation::V2
        && let Some(finding) = find_without_profile(archive.manifest())
    {
        return Err(Box::new(Problem::found(&args.input, finding)));
    }
    let progress = Progress::new(stored(archive.manifest()));
    let failed = |error| Box::new(Problem::reading(&args.input, archive, &error));
    let mut files = Sources::bind(archive, &progress).map_err(failed)?;
    files.require().map_err(failed)?;
    let copier = Copier::new(archive.manifest()).with_shard_bytes(archive.shard_bytes());
    let copier = match plan.level {
        Some(level) => copier.compressed(level),
        None => copier,
    };
    let copier = match plan.generation {
        Generation::V2 => copier.layouts(profile),
        _ => copier,
    };
    let written = copier.file(archive.manifest(), &files.all(), IoSink(out), &plan.options);
    written.map(drop).map_err(|error| match error.kind() {
        ErrorKind::Write => Box::new(Problem::io(&args.output, &error.into())),
        _ => failed(files.settle(error)),
    })
}
