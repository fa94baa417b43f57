//! Converting in the process that this is, and the steps of it.

use std::fs;
use std::io::{self, Write as _};

use zten::write::FileSink;
use zten_formats::{Detected, Rule};

use super::output::{Output, Target};
use super::plan::Plan;
use super::{export, tensors};
use crate::app::App;
use crate::args::Convert;
use crate::escape;
use crate::file::{Opened, counted};
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
    let (sink, objects) = convert(args, file, plan, || create(args))?;
    publish(args, sink)?;
    Ok(objects)
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
        .map_err(|error| Box::new(Problem::io(&args.output, &error)))?;
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

/// Writes all of the input: what is yet to be published, and how many objects it has.
pub(super) fn convert<S: Output>(
    args: &Convert,
    file: Opened,
    plan: &Plan,
    create: impl FnOnce() -> Result<S, Box<Problem>>,
) -> Result<(S, u64), Box<Problem>> {
    let unknown = Detected::Misnamed(Rule::FormatUnknown);
    let archive = file.any(&args.strictness.options(), Some(unknown))?;
    let objects = archive.len().into();
    if plan.target == Target::Tensors {
        return Ok((tensors::convert(args, &archive, create()?, plan)?, objects));
    }
    Ok((export::archive(args, &archive, create()?, plan.target)?, objects))
}
