//! `zten convert`: writes a file of any supported format as a zTensor file of generation 1.2 or 2, or as a safetensors or NumPy
//! file.

mod cast;
mod composites;
mod dequantized;
mod export;
mod failure;
mod left_out;
#[cfg(test)]
mod memory;
mod plan;
mod select;
mod sharded;
mod shared;
mod summary;
mod tensors;

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use zten::OpenOptions;
use zten::formats::write::WrittenFormat;
use zten::formats::{Detected, data_end, recognize};
use zten::num::u64_from_usize;
use zten_report::archive::{left_out, left_out_names};

use crate::args::Convert;
use crate::commands::Create;
use crate::input::file::{FileWithShards, Opened, counted};
use crate::output::app::App;
use crate::output::progress;
use crate::output::report::Problem;
pub(crate) use failure::{ConvertFailure, problem};
use left_out::LeftOut;
use plan::Plan;
pub(crate) use select::Selection;
pub(crate) use sharded::shard_name;
use summary::Summary;

/// Converts one file, and prints a summary or the problem. If the conversion fails, no new file appears, and an existing
/// file at OUT stays.
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
    if args.is_to_stdout() && progress::output_is_terminal() {
        return app.usage("standard output is a terminal: redirect it, or name a file");
    }
    match file.and_then(|file| write(args, file, create, &plan)) {
        Ok(summary) => summary.print(app, args, &plan),
        Err(problem) => app.problem(&problem),
    }
}

/// Writes and publishes the output.
fn write(
    args: &Convert,
    file: Opened,
    create: &dyn Create,
    plan: &Plan,
) -> Result<Summary, Box<Problem>> {
    let (archive, trimmed) = archive(args, file)?;
    let mut summary = if plan.shard_size.is_some() {
        sharded::convert(args, &archive, plan, create)?
    } else {
        let created = create.create(0, 0);
        let out = created.map_err(|error| Box::new(Problem::io(&args.output, &error)))?;
        let mut out = Counted::new(out);
        let Written { objects, mut notes, left_out } = convert(args, &archive, &mut out, plan)?;
        add_left_out(&mut notes, args, &archive);
        let flushed = out.flush();
        flushed.map_err(|error| Box::new(Problem::io(&args.output, &error)))?;
        let (input, output) = (summary::input(&archive), out.length);
        Summary { objects, input, output, files: 1, notes, left_out }
    };
    summary.notes.extend((trimmed > 0).then(|| {
        let bytes = counted(trimmed, "byte");
        format!("left out {bytes} after the last tensor")
    }));
    create.publish()?;
    Ok(summary)
}

/// A buffered output file that counts the bytes of its length as they are written.
#[derive(Debug)]
pub(crate) struct Counted {
    out: BufWriter<File>,
    position: u64,
    pub(crate) length: u64,
}

impl Counted {
    pub(crate) fn new(file: File) -> Self {
        Self { out: BufWriter::with_capacity(64 << 10, file), position: 0, length: 0 }
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.position = self.position.saturating_add(u64_from_usize(written));
        self.length = self.length.max(self.position);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = self.out.seek(to)?;
        Ok(self.position)
    }
}

/// Validates the manifest or header of `file`, the input. Returns the open archive and the number of bytes that `--trim`
/// has cut off after the last tensor, which is 0 without `--trim`.
fn archive(args: &Convert, mut file: Opened) -> Result<(FileWithShards, u64), Box<Problem>> {
    let options = args.strictness.options();
    let trimmed = if args.trim { trim(&mut file, &options)? } else { 0 };
    // Without `--dequantize`, the tensors of codes and scales of a quantized tensor are converted one by one, so they are
    // not grouped here.
    Ok((file.archive(&options)?.with_conventions(args.dequantize.is_none())?, trimmed))
}

/// Shortens `file` to the end of its last tensor, and returns the number of bytes that are left out. A file whose format zten does
/// not read, or whose format does not tell this end, stays as it is.
fn trim(file: &mut Opened, options: &OpenOptions) -> Result<u64, Box<Problem>> {
    let failed = |error| Box::new(Problem::format_error(&file.path, &error, None));
    let recognition = recognize(&file.file, file.length, &file.path).map_err(failed)?;
    let Some(Detected::Read(format)) = recognition.detected(&file.path) else { return Ok(0) };
    let end = data_end(format, (&file.file, file.length), options).map_err(failed)?;
    // A file that is too short is not trimmed, and its error is found when it is opened.
    let end = end.unwrap_or(file.length).min(file.length);
    let trimmed = file.length.saturating_sub(end);
    file.length = end;
    Ok(trimmed)
}

/// What a conversion has written: the number of objects, notes for the user (one line each), and the tensors that were left
/// out.
#[derive(Debug, Default)]
struct Written {
    objects: usize,
    notes: Vec<String>,
    left_out: LeftOut,
}

/// Writes the objects of `archive` to `out` in the format of `plan`.
fn convert(
    args: &Convert,
    archive: &FileWithShards,
    out: impl Write + Seek,
    plan: &Plan,
) -> Result<Written, Box<Problem>> {
    match plan.target {
        WrittenFormat::ZTensor => tensors::convert(args, archive, out, plan),
        _ => export::archive(args, archive, out, plan),
    }
}

/// Adds the line about values that the archive of a checkpoint leaves out to the `notes` for the user, and with `--verbose` a line
/// for each of these values.
fn add_left_out(notes: &mut Vec<String>, args: &Convert, archive: &FileWithShards) {
    notes.extend(left_out(archive.manifest()));
    if args.verbose {
        let names = left_out_names(archive.manifest()).iter();
        notes.extend(names.map(|name| format!("left out: {name}")));
    }
}
