//! `zten convert`: other formats, and zTensor files of any generation, as 1.2 files.

#[cfg(target_os = "linux")]
mod apart;
mod foreign;
mod input;
mod tensors;

use std::io::{self, Write as _};

use zten::write::{Checksum, FileSink, Level, Settings, Sink};

use crate::app::App;
use crate::args::{Convert, Digest};
use crate::escape;
use crate::file::{Opened, counted};
use crate::report::Problem;
use crate::sandbox::Mode;
pub(crate) use input::Trouble;

/// How to write, as the command line asks.
#[derive(Clone, Copy)]
struct Plan {
    settings: Settings,
    canonical: bool,
    level: Option<Level>,
}

/// Converts one file. What is in the way leaves no file behind, and the one that was there.
pub(crate) fn run(app: &mut App, args: &Convert, mode: Mode) -> io::Result<()> {
    let plan = match plan(args) {
        Ok(plan) => plan,
        Err(usage) => return app.usage(usage),
    };
    #[cfg(target_os = "linux")]
    if mode.confines() {
        return apart::run(app, args, &plan, mode);
    }
    if mode == Mode::Require {
        return app.usage("--require-sandbox: only Linux has a sandbox");
    }
    let written = here(args, &plan);
    end(app, args, written)
}

/// The same in confinement, into a file that the process that started this one has opened, and
/// publishes.
pub(crate) fn work(app: &mut App, args: &Convert, mode: Mode) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if let Ok(plan) = plan(args) {
        return apart::work(app, args, &plan, mode);
    }
    run(app, args, mode)
}

/// Converts in this process.
fn here(args: &Convert, plan: &Plan) -> Result<u64, Box<Problem>> {
    let (sink, objects) = convert(args, open(args)?, plan, || create(args))?;
    publish(args, sink)?;
    Ok(objects)
}

fn open(args: &Convert) -> Result<Opened, Box<Problem>> {
    Opened::open(&args.input).map_err(|error| Box::new(Problem::io(&args.input, &error)))
}

fn create(args: &Convert) -> Result<FileSink, Box<Problem>> {
    FileSink::create(&args.output).map_err(|error| Box::new(Problem::io(&args.output, &error)))
}

fn publish(args: &Convert, sink: FileSink) -> Result<(), Box<Problem>> {
    sink.publish().map_err(|error| Box::new(Problem::io(&args.output, &error.into())))
}

/// Tells what has been written, or why nothing has.
fn end(app: &mut App, args: &Convert, written: Result<u64, Box<Problem>>) -> io::Result<()> {
    match written {
        Ok(objects) => {
            let output = escape::path(&args.output);
            writeln!(app.out, "{output}: written (1.2, {})", counted(objects, "object"))
        }
        Err(problem) => app.problem(&problem),
    }
}

fn plan(args: &Convert) -> Result<Plan, &'static str> {
    if args.canonical && !matches!(args.digest, None | Some(Digest::Sha256)) {
        return Err("a canonical file has sha256 digests: --canonical takes no other --digest");
    }
    let checksum = match args.digest {
        None | Some(Digest::Sha256) => Checksum::Sha256,
        Some(Digest::Crc32c) => Checksum::Crc32c,
        Some(Digest::None) => Checksum::None,
    };
    let limits = *args.strictness.options().limit();
    let settings = Settings::default().checksum(checksum).limits(limits);
    let settings = if args.canonical { settings.canonical() } else { settings };
    Ok(Plan { settings, canonical: args.canonical, level: args.zstd })
}

/// Writes all of the input: what is yet to be published, and how many objects it has.
fn convert<S: Sink<Error = io::Error>>(
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
        .map_err(|trouble| Box::new(Problem::foreign(input, &trouble)))?;
    let objects = u64::try_from(foreign.tensors().len()).unwrap_or(u64::MAX);
    Ok((foreign::convert(args, foreign, create()?, plan)?, objects))
}

/// Whether a file begins as zTensor files of any version do.
fn is_tensors(file: &Opened) -> io::Result<bool> {
    let start = file.start(8)?;
    Ok([&b"ZTEN"[..], b"\x89ZT"].iter().any(|magic| start.starts_with(magic)))
}
