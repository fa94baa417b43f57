//! Converting in the process that this is, and the steps of it.

use std::io::{self, Write as _};

use zten::write::{FileSink, Sink};

use super::plan::Plan;
use super::{foreign, input, tensors};
use crate::app::App;
use crate::args::Convert;
use crate::escape;
use crate::file::{Opened, counted};
use crate::num::u64_from_usize;
use crate::report::Problem;

/// Converts in this process.
pub(super) fn run(args: &Convert, plan: &Plan) -> Result<u64, Box<Problem>> {
    let (sink, objects) = convert(args, open(args)?, plan, || create(args))?;
    publish(args, sink)?;
    Ok(objects)
}

/// Opens the file to read.
pub(super) fn open(args: &Convert) -> Result<Opened, Box<Problem>> {
    Opened::open(&args.input).map_err(|error| Box::new(Problem::io(&args.input, &error)))
}

/// Opens the file to write, which has no name yet.
pub(super) fn create(args: &Convert) -> Result<FileSink, Box<Problem>> {
    FileSink::create(&args.output).map_err(|error| Box::new(Problem::io(&args.output, &error)))
}

/// Gives the file that was written its name.
pub(super) fn publish(args: &Convert, sink: FileSink) -> Result<(), Box<Problem>> {
    sink.publish().map_err(|error| Box::new(Problem::io(&args.output, &error.into())))
}

/// Tells what has been written, or why nothing has.
pub(super) fn end(
    app: &mut App,
    args: &Convert,
    written: Result<u64, Box<Problem>>,
) -> io::Result<()> {
    match written {
        Ok(objects) => {
            let output = escape::path(&args.output);
            writeln!(app.out, "{output}: written (1.2, {})", counted(objects, "object"))
        }
        Err(problem) => app.problem(&problem),
    }
}

/// Writes all of the input: what is yet to be published, and how many objects it has.
pub(super) fn convert<S: Sink<Error = io::Error>>(
    args: &Convert,
    file: Opened,
    plan: &Plan,
    create: impl FnOnce() -> Result<S, Box<Problem>>,
) -> Result<(S, u64), Box<Problem>> {
    let (input, options) = (&args.input, args.strictness.options());
    if is_tensors(&file).map_err(|error| Box::new(Problem::io(input, &error)))? {
        let archive = file.archive(&options)?;
        let sink = tensors::convert(args, &archive, create()?, plan)?;
        return Ok((sink, archive.len().into()));
    }
    let foreign = input::open(file, input, options.limit())
        .map_err(|trouble| foreign::troubled(input, &trouble))?;
    let objects = u64_from_usize(foreign.tensors().len());
    Ok((foreign::convert(args, foreign, create()?, plan)?, objects))
}

/// Whether a file begins as zTensor files of any version do.
fn is_tensors(file: &Opened) -> io::Result<bool> {
    let start = file.start(8)?;
    Ok([&b"ZTEN"[..], b"\x89ZT"].iter().any(|magic| start.starts_with(magic)))
}
