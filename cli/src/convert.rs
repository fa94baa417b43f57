//! `zten convert`: other formats, and zTensor files of any generation, as 1.2 files.

mod foreign;
mod input;
mod tensors;

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use zten::write::{Checksum, FileSink, Level, Settings};

use crate::app::App;
use crate::args::{Convert, Digest};
use crate::escape;
use crate::file::{counted, open};
use crate::report::Problem;
pub(crate) use input::Trouble;

/// How to write, as the command line asks.
#[derive(Clone, Copy)]
struct Plan {
    settings: Settings,
    canonical: bool,
    level: Option<Level>,
}

/// Converts one file. What is in the way leaves no file behind, and the one that was there.
pub(crate) fn run(app: &mut App, args: &Convert) -> io::Result<()> {
    let plan = match plan(args) {
        Ok(plan) => plan,
        Err(usage) => return app.usage(usage),
    };
    let written = convert(args, &plan).and_then(|(sink, objects)| {
        sink.publish().map_err(|error| Box::new(Problem::io(&args.output, &error)))?;
        Ok(objects)
    });
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

/// Writes all of the input: a file that is yet to be published, and how many objects it has.
fn convert(args: &Convert, plan: &Plan) -> Result<(FileSink, u64), Box<Problem>> {
    let (input, options) = (&args.input, args.strictness.options());
    let create = || {
        let sink = FileSink::create(&args.output);
        sink.map_err(|error| Box::new(Problem::io(&args.output, &error)))
    };
    if is_tensors(input).map_err(|error| Box::new(Problem::io(input, &error)))? {
        let archive = open(input, &options)?;
        let sink = tensors::convert(args, &archive, create()?, plan)?;
        return Ok((sink, archive.len().into()));
    }
    let foreign = input::open(input, options.limit())
        .map_err(|trouble| Box::new(Problem::foreign(input, &trouble)))?;
    let objects = u64::try_from(foreign.listing().tensors.len()).unwrap_or(u64::MAX);
    Ok((foreign::convert(args, foreign, create()?, plan)?, objects))
}

/// Whether a file begins as zTensor files of any version do.
fn is_tensors(path: &Path) -> io::Result<bool> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut start = Vec::new();
    File::open(path)?.take(8).read_to_end(&mut start)?;
    Ok([&b"ZTEN"[..], b"\x89ZT"].iter().any(|magic| start.starts_with(magic)))
}
