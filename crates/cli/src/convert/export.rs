//! Files of any format that is read as safetensors and NumPy files.

mod archived;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::io::{Seek, Write};

use super::output::{self, Failure, Source as _, Target};
use super::sharded::{self, Files};
use crate::args::Convert;
use crate::file::{FileWithShards, stored};
use crate::progress::Progress;
use crate::report::Problem;
use archived::Archived;

/// Writes all of a file, or what is selected of it, and returns the number of objects.
pub(super) fn archive(
    args: &Convert,
    archive: &FileWithShards,
    mut out: impl Write + Seek,
    target: Target,
) -> Result<usize, Box<Problem>> {
    with_source(args, archive, |source| output::write(target, source, &mut out))
}

/// The same as several safetensors files.
pub(super) fn archive_sharded(
    args: &Convert,
    archive: &FileWithShards,
    files: &Files<'_>,
) -> Result<usize, Box<Problem>> {
    with_source(args, archive, |source| sharded::safetensors(args, source, files))
}

fn with_source(
    args: &Convert,
    archive: &FileWithShards,
    write: impl FnOnce(&mut Archived<'_>) -> Result<(), Failure>,
) -> Result<usize, Box<Problem>> {
    let (progress, overflow) = (Progress::new(stored(archive.manifest())), Cell::new(None));
    let written = Archived::new(args, archive, (&progress, &overflow)).and_then(|mut source| {
        write(&mut source)?;
        Ok(source.count())
    });
    written.map_err(|failure| failure.problem([&args.input, &args.output]))
}
