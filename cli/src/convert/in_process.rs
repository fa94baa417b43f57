//! Converting in the process that this is, and the steps of it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, Write};

use zten::num::u64_from_usize;
use zten::write::FileSink;
use zten_formats::{Detected, Rule};

use super::output::Target;
use super::plan::Plan;
use super::{export, tensors};
use crate::app::App;
use crate::args::Convert;
use crate::escape;
use crate::file::{FileWithShards, Opened, counted};
use crate::report::Problem;
use crate::shards;

/// Converts in this process.
pub(super) fn run(args: &Convert, plan: &Plan) -> Result<u64, Box<Problem>> {
    let mut file = open(args)?;
    if args.strictness.looks_for_shards() {
        zten_sandbox::allow_many_files();
        shards::find_in_process(&mut file, &args.strictness.options())
            .map_err(|error| Box::new(Problem::io(&args.input, &error)))?;
    }
    let archive = archive(args, file)?;
    let sink = create(args)?;
    convert(args, &archive, buffered(sink.file()), plan)?;
    publish(args, sink)?;
    Ok(u64_from_usize(archive.len()))
}

/// Opens the file to read, and those beside it that it may name.
pub(super) fn open(args: &Convert) -> Result<Opened, Box<Problem>> {
    let failed = |error| Box::new(Problem::io(&args.input, &error));
    let mut file = Opened::open(&args.input, args.strictness.most_beside()).map_err(failed)?;
    let most = args.strictness.options().limit().shards();
    shards::open_beside(&mut file, most).map_err(failed)?;
    Ok(file)
}

/// Opens the file to write, which has no name yet.
pub(super) fn create(args: &Convert) -> Result<FileSink, Box<Problem>> {
    let sink = FileSink::create(&args.output)
        .map_err(|error| Box::new(Problem::io(&args.output, &error.into())))?;
    is_free(args)?;
    Ok(sink)
}

/// Whether there is nothing in the place of the file to write, or it is to be replaced.
fn is_free(args: &Convert) -> Result<(), Box<Problem>> {
    if args.force || fs::symlink_metadata(&args.output).is_err() {
        return Ok(());
    }
    Err(Box::new(Problem::io(&args.output, &occupied())))
}

fn occupied() -> io::Error {
    io::Error::other("a file is there already; --force replaces it")
}

/// Gives the file that was written its name.
pub(super) fn publish(args: &Convert, sink: FileSink) -> Result<(), Box<Problem>> {
    let published = if args.force { sink.publish() } else { sink.publish_new() };
    published.map_err(|error| {
        let error = match io::Error::from(error) {
            // It has come meanwhile.
            error if error.kind() == io::ErrorKind::AlreadyExists => occupied(),
            error => error,
        };
        Box::new(Problem::io(&args.output, &error))
    })
}

/// Tells what has been written, or why nothing has.
pub(super) fn end(
    app: &mut App,
    args: &Convert,
    plan: &Plan,
    written: Result<u64, Box<Problem>>,
) -> io::Result<()> {
    match written {
        Ok(objects) => {
            let output = escape::path(&args.output);
            let format = match plan.target {
                Target::Tensors => plan.generation.as_str(),
                other => other.suffix(),
            };
            writeln!(app.out, "{output}: written ({format}, {})", counted(objects, "object"))
        }
        Err(problem) => app.problem(&problem),
    }
}

/// Validates the manifest or header of the input.
pub(super) fn archive(args: &Convert, file: Opened) -> Result<FileWithShards, Box<Problem>> {
    let unknown = Detected::Misnamed(Rule::FormatUnknown);
    file.any(&args.strictness.options(), Some(unknown))
}

/// The file to write, whose bytes come in small pieces.
pub(super) fn buffered(file: &File) -> BufWriter<&File> {
    BufWriter::with_capacity(64 << 10, file)
}

/// Writes all of the input.
pub(super) fn convert(
    args: &Convert,
    archive: &FileWithShards,
    out: impl Write + Seek,
    plan: &Plan,
) -> Result<(), Box<Problem>> {
    match plan.target {
        Target::Tensors => tensors::convert(args, archive, out, plan),
        target => export::archive(args, archive, out, target),
    }
}
