//! `zten convert`: other formats, and zTensor files of any generation, as files of 1.2 or 2; and all of them
//! as safetensors and NumPy files.

mod export;
#[cfg(test)]
mod memory;
mod output;
mod plan;
mod tensors;

use std::io::{self, BufWriter, Seek, Write};

use zten::num::u64_from_usize;
use zten_formats::{Detected, Rule};

use crate::app::App;
use crate::args::Convert;
use crate::command::Create;
use crate::escape;
use crate::file::{FileWithShards, Opened, counted};
use crate::report::Problem;
use output::Target;
use plan::Plan;

/// Checks what the command line asks for.
///
/// # Errors
/// The reason why it cannot be done.
pub(crate) fn check_arguments(args: &Convert) -> Result<(), &'static str> {
    Plan::new(args).map(drop)
}

/// Converts one file. What is in the way leaves no file behind, and the one that was there.
pub(crate) fn run(
    app: &mut App,
    args: &Convert,
    file: Result<Opened, Box<Problem>>,
    create: &dyn Create,
) -> io::Result<()> {
    let plan = match Plan::new(args) {
        Ok(plan) => plan,
        Err(message) => return app.usage(message),
    };
    match file.and_then(|file| write(args, file, create, &plan)) {
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

/// Writes and publishes the output, and returns the number of its objects.
fn write(
    args: &Convert,
    file: Opened,
    create: &dyn Create,
    plan: &Plan,
) -> Result<u64, Box<Problem>> {
    let archive = archive(args, file)?;
    let created = create.create(0);
    let out = created.map_err(|error| Box::new(Problem::io(&args.output, &error)))?;
    // Its bytes come in small pieces.
    convert(args, &archive, BufWriter::with_capacity(64 << 10, &out), plan)?;
    create.publish()?;
    Ok(u64_from_usize(archive.len()))
}

/// Validates the manifest or header of the input.
fn archive(args: &Convert, file: Opened) -> Result<FileWithShards, Box<Problem>> {
    let unknown = Detected::Misnamed(Rule::FormatUnknown);
    file.any(&args.strictness.options(), Some(unknown))
}

/// Writes all of the input.
fn convert(
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
