//! The commands. Each command is a function of a job, and behaves in the same way in a worker and in the process of the user.

pub(crate) mod cat;
pub(crate) mod check;
pub(crate) mod convert;
pub(crate) mod diff;
pub(crate) mod edit;
pub(crate) mod explain;
pub(crate) mod hash;
pub(crate) mod ls;
pub(crate) mod pages;
pub(crate) mod patch;
pub(crate) mod sandbox;
pub(crate) mod stat;

use std::fs::File;
use std::io;
use std::iter;

use zten::OpenOptions;

use crate::args::Call;
use crate::input::file::{FileWithShards, Opened};
use crate::output::app::App;
use crate::output::report::Problem;
use check::RenderedOutcome;

/// A job of a command: the files that the command is run on, [`Call::files_of_job`] in number.
pub(crate) struct Job<'a> {
    /// The number of the job, from 0.
    pub(crate) number: u64,
    pub(crate) files: Vec<Result<Opened, Box<Problem>>>,
    pub(crate) create: &'a dyn Create,
    /// The largest text of a result in bytes: a message of a worker has no room for more.
    pub(crate) longest_result: usize,
}

/// Creates the files that a command writes.
pub(crate) trait Create {
    /// Creates output `number` of a set with `shards` shards (0 of 0 for a single file). Output number `shards` is the root of a
    /// zTensor file, or the index (`*.index.json`) of safetensors files. The file gets its name in [`publish`](Self::publish).
    fn create(&self, number: u32, shards: u32) -> io::Result<File>;

    /// Gives the complete files their names. In a worker this does nothing: the broker publishes the files when the worker has
    /// ended.
    fn publish(&self) -> Result<(), Box<Problem>> {
        Ok(())
    }
}

/// Runs the command on `job`. The command prints its output, except for `check`: its result is returned, because results are
/// printed in the order of the files, and counted.
pub(crate) fn run(call: &Call, app: &mut App, job: Job<'_>) -> io::Result<Option<RenderedOutcome>> {
    let Job { number, files, create, longest_result } = job;
    let mut files = files.into_iter();
    let Some(file) = files.next() else { return Ok(None) };
    let options = call.strictness().options();
    match call {
        Call::Check(args) => return Ok(Some(check::run(args, file, longest_result))),
        Call::Ls(args) => with_archive(app, file, (&options, args.plain), |app, archive| {
            ls::run(app, args, archive, number)
        }),
        Call::Stat(args) => with_archive(app, file, (&options, args.plain), |app, archive| {
            stat::run(app, args, archive)
        }),
        Call::Cat(args) => with_archive(app, file, (&options, args.plain), |app, archive| {
            cat::run(app, args, archive)
        }),
        Call::Hash(args) => hash::run(app, args, file, files.next()),
        Call::Diff(args) => match files.next() {
            Some(new) => diff::run(app, args, [file, new]),
            None => Ok(()),
        },
        Call::Convert(args) => convert::run(app, args, file, create),
        Call::Edit(args) => edit::run(app, args, file, create),
        Call::Patch(args) => patch::run(app, args, iter::once(file).chain(files).collect(), create),
    }?;
    Ok(None)
}

/// Opens `file` as an archive and calls `run` with it, or prints the problem. Groups of tensors that follow a convention of
/// quantization are one tensor each, unless `plain`.
fn with_archive(
    app: &mut App,
    file: Result<Opened, Box<Problem>>,
    (options, plain): (&OpenOptions, bool),
    run: impl FnOnce(&mut App, &FileWithShards) -> io::Result<()>,
) -> io::Result<()> {
    match file.and_then(|file| file.archive(options)?.with_conventions(plain)) {
        Ok(archive) => run(app, &archive),
        Err(problem) => app.problem(&problem),
    }
}
