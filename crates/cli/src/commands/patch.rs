//! `zten patch`: makes, applies, checks and prints patches between checkpoints.

mod show;

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use zten::formats::write::WrittenFormat;
use zten::num::u64_from_usize;
use zten::write::{IoSink, Level, WriteOptions};
use zten::{Error, ErrorKind, Generation, OpenOptions};
use zten_patch::{Chain, Model, Patch, PatchFailure, Settings, make, verify};
use zten_report::digests::hex;

use crate::args::{Patch as Args, PatchAction, PatchApply, PatchMake};
use crate::commands::Create;
use crate::commands::convert::{Counted, problem as failed};
use crate::commands::edit::copy;
use crate::escape;
use crate::input::file::{FileWithShards, Opened, counted, stored};
use crate::input::sources::Sources;
use crate::output::app::App;
use crate::output::progress::Progress;
use crate::output::report::Problem;
use crate::size::human;
use crate::source::handle::Handle;

/// Runs a subcommand of `zten patch` on its files: OLD and NEW (`make`), OLD and patches (`apply`, `verify`), or a patch (`show`).
pub(crate) fn run(
    app: &mut App,
    args: &Args,
    files: Vec<Result<Opened, Box<Problem>>>,
    create: &dyn Create,
) -> io::Result<()> {
    if args.output().is_some_and(|path| path.as_os_str() == "-") {
        return app.usage("the output must be a file, and - would mean standard output; -o ./- writes a file of the name -");
    }
    let Some(format) = target(args) else {
        return app.usage(
            "unknown format of NEW: expected a name that ends in .zt, .safetensors, .npz or .npy",
        );
    };
    let options = args.strictness().options();
    let archives = match archives(files, &options) {
        Ok(archives) => archives,
        Err(problems) => return problems.iter().try_for_each(|problem| app.problem(problem)),
    };
    let bytes = archives.iter().map(|archive| stored(archive.manifest()));
    let progress = Progress::new(bytes.fold(0, u64::saturating_add));
    let done = with_files(&archives, &progress, |opened| match &args.action {
        PatchAction::Make(args) => written_patch(args, opened, create),
        PatchAction::Apply(args) => applied(args, opened, (create, format)),
        PatchAction::Verify(args) => checked(&args.old, opened).map(|line| (line, args.quiet)),
        PatchAction::Show(args) => show::text(args, opened).map(|text| (text, false)),
    });
    match done {
        Ok((_, true)) => Ok(()),
        Ok((text, false)) => writeln!(app.out, "{text}"),
        Err(problem) => app.problem(&problem),
    }
}

/// Returns the format of the output: for `apply` by the suffix of NEW, or `None` if this suffix is unknown. For the other
/// subcommands it is zTensor, the format of patches.
fn target(args: &Args) -> Option<WrittenFormat> {
    match &args.action {
        PatchAction::Apply(args) => WrittenFormat::from_path(&args.output),
        _ => Some(WrittenFormat::ZTensor),
    }
}

/// Parses the headers of all files. If any file is rejected, returns the problems of all rejected files.
fn archives(
    files: Vec<Result<Opened, Box<Problem>>>,
    options: &OpenOptions,
) -> Result<Vec<FileWithShards>, Vec<Problem>> {
    let (mut archives, mut problems) = (Vec::new(), Vec::new());
    for file in files {
        match file.and_then(|file| file.archive(options)) {
            Ok(archive) => archives.push(archive),
            Err(problem) => problems.push(*problem),
        }
    }
    if problems.is_empty() { Ok(archives) } else { Err(problems) }
}

/// The open files of a command.
struct Files<'a> {
    archives: &'a [FileWithShards],
    models: Vec<Model<'a>>,
    /// The source of the bytes of each file.
    sources: Vec<&'a dyn zten::shards::Source>,
}

/// Opens the shards of all files, verifies that all shards were found and match their digests, and calls `run`.
fn with_files<T>(
    archives: &[FileWithShards],
    progress: &Progress,
    run: impl FnOnce(&Files<'_>) -> Result<T, Box<Problem>>,
) -> Result<T, Box<Problem>> {
    let mut bound = Vec::new();
    for archive in archives {
        let failed = |error| Box::new(Problem::reading(&archive.path, archive, &error));
        let mut sources = Sources::bind(archive, progress).map_err(failed)?;
        sources.require().map_err(failed)?;
        bound.push(sources);
    }
    let all: Vec<_> = bound.iter().map(Sources::all).collect();
    let mut files = Files { archives, models: Vec::new(), sources: Vec::new() };
    for (archive, source) in archives.iter().zip(&all) {
        let failed = |error| Box::new(Problem::reading(&archive.path, archive, &error));
        let model = Model::new(archive.manifest(), source).map_err(failed)?;
        files.models.push(model.with_shard_bytes(archive.shard_bytes()));
        files.sources.push(source);
    }
    run(&files)
}

impl<'a> Files<'a> {
    /// Returns `error`, which is about the command's file `number` (from 0), as the problem of that file.
    fn problem(&self, number: usize, error: &Error) -> Box<Problem> {
        match self.archives.get(number) {
            Some(archive) => Box::new(Problem::reading(&archive.path, archive, error)),
            None => Box::new(Problem::io(Path::new("-"), &io::Error::other(error.to_string()))),
        }
    }

    /// Returns `failure` as the problem of a file, or of the `output`.
    fn failed(&self, failure: PatchFailure, output: &Path) -> Box<Problem> {
        match failure {
            PatchFailure::Old(error) => self.problem(0, &error),
            PatchFailure::New(error) => self.problem(1, &error),
            PatchFailure::Patch(number, error) => self.problem(number.saturating_add(1), &error),
            PatchFailure::Output(error) => Box::new(Problem::io(output, &error)),
            PatchFailure::Inexpressible(why) => {
                let input = self.archives.first().map_or(output, |archive| &archive.path);
                failed(why.into(), [input, output])
            }
            other => Box::new(Problem::io(output, &io::Error::other(other.to_string()))),
        }
    }

    /// Opens the files from number `first` on as patches.
    fn patches(&self, first: usize) -> Result<Vec<Patch<'a>>, Box<Problem>> {
        let files = self.archives.iter().zip(&self.sources).enumerate().skip(first);
        files
            .map(|(number, (archive, source))| {
                let patch = Patch::open(archive.manifest(), *source);
                patch.map_err(|error| self.problem(number, &error))
            })
            .collect()
    }
}

/// Makes a patch, and gives its file its name. Returns the line to print about the patch, and whether the user asked not to print
/// the line.
fn written_patch(
    args: &PatchMake,
    files: &Files<'_>,
    create: &dyn Create,
) -> Result<(String, bool), Box<Problem>> {
    let [old, new] = files.models.as_slice() else { return Ok((String::new(), true)) };
    let not_written = |error: &io::Error| Box::new(Problem::io(&args.output, error));
    let mut out = Counted::new(create.create(0, 0).map_err(|error| not_written(&error))?);
    let settings = Settings { level: Level::new(args.level).unwrap_or_default() };
    let made = make(old, new, IoSink(&mut out), &settings);
    let (_, summary) = made.map_err(|failure| match failure {
        PatchFailure::Inexpressible(why) => failed(why.into(), [&args.new, &args.output]),
        failure => files.failed(failure, &args.output),
    })?;
    out.flush().map_err(|error| not_written(&error))?;
    create.publish()?;
    let share = share(out.length, summary.bytes);
    let counts = [
        (summary.changed, "changed"),
        (summary.whole, "whole"),
        (summary.removed, "removed"),
        (summary.renamed, "renamed"),
        (summary.unchanged, "unchanged"),
    ];
    let counts: Vec<_> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let counts = if counts.is_empty() { "no tensors".to_owned() } else { counts.join(", ") };
    let (path, size) = (escape::path(&args.output), human(out.length));
    Ok((format!("{path}: written ({size}{share}; {counts})"), args.quiet))
}

/// Returns `length` as a share of `bytes`, as text to print after the length: `, 1.25 % of the new tensors`. Returns empty
/// text if `bytes` is 0.
fn share(length: u64, bytes: u64) -> String {
    let hundredths = u128::from(length).saturating_mul(10_000).checked_div(bytes.into());
    hundredths.map_or_else(String::new, |own| {
        format!(", {}.{:02} % of the new tensors", own / 100, own % 100)
    })
}

/// Applies patches, and gives the result its name. Returns the line to print about the result, and whether the user asked not to
/// print the line.
fn applied(
    args: &PatchApply,
    files: &Files<'_>,
    (create, format): (&dyn Create, WrittenFormat),
) -> Result<(String, bool), Box<Problem>> {
    let Some(base) = files.models.first() else { return Ok((String::new(), true)) };
    let patches = files.patches(1)?;
    let wrong = |failure| files.failed(failure, &args.output);
    let chain = Chain::new(base, &patches).map_err(wrong)?;
    let not_written = |error: &io::Error| Box::new(Problem::io(&args.output, error));
    let out = create.create(0, 0).map_err(|error| not_written(&error))?;
    let length = match files.archives.first() {
        Some(archive) if format == WrittenFormat::Safetensors && shares_header(archive, &chain) => {
            copy_unchanged(archive, &chain, &out).map_err(|error| match error.kind() {
                ErrorKind::Write => not_written(&error.into()),
                _ => files.problem(0, &error),
            })?;
            let mut write = |offset: u64, bytes: &[u8]| {
                (&out).seek(SeekFrom::Start(offset))?;
                (&out).write_all(bytes)
            };
            chain.update(&out, &mut write).map_err(wrong)?;
            archive.file_len()
        }
        _ => {
            let mut out = Counted::new(out);
            let options = options(args, files, &patches);
            chain.write(format, &mut out, &options).map_err(wrong)?;
            out.flush().map_err(|error| not_written(&error))?;
            out.length
        }
    };
    create.publish()?;
    let tensors = counted(u64_from_usize(chain.len()), "tensor");
    let identity = chain.result().map(|result| hex(&result)).unwrap_or_default();
    let (path, size) = (escape::path(&args.output), human(length));
    Ok((format!("{path}: written ({size}, {tensors}, identity {identity})"), args.quiet))
}

/// Returns the settings of a zTensor file: its generation is 2 if the last patch was made for a file of generation 2, or, where
/// that patch does not tell, if OLD is of generation 2. Otherwise it is 1.2.
fn options(args: &PatchApply, files: &Files<'_>, patches: &[Patch<'_>]) -> WriteOptions {
    let own = files.archives.first().and_then(|archive| archive.generation());
    let generation = match patches.last().and_then(Patch::generation).or(own) {
        Some(Generation::V2) => Generation::V2,
        _ => Generation::V1_2,
    };
    let limits = *args.strictness.options().limit();
    WriteOptions::default().generation(generation).limits(limits)
}

/// Returns whether the result is a copy of `archive`, a local safetensors file, in which only elements of tensors change.
fn shares_header(archive: &FileWithShards, chain: &Chain<'_, '_>) -> bool {
    let is_in_file = |own: zten::Component<'_>| own.shard().is_none();
    archive.manifest().file_format() == "safetensors"
        && matches!(archive.source(), Handle::Local(..))
        && archive.tensors().flat_map(|own| own.components()).all(is_in_file)
        && chain.keeps_header()
}

/// Copies the header and the unchanged tensors of `archive` to their offsets in `new`. The kernel copies neighbors at once,
/// or shares their blocks.
fn copy_unchanged(
    archive: &FileWithShards,
    chain: &Chain<'_, '_>,
    mut new: &File,
) -> Result<(), Error> {
    let extents = chain.unchanged().flat_map(|own| own.components()).map(|own| own.extent());
    let header = 0..archive.manifest().extent().end;
    let mut ranges: Vec<_> = extents.map(|own| own.offset()..own.end()).collect();
    ranges.push(header);
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut ranges = ranges.into_iter().peekable();
    while let Some(mut range) = ranges.next() {
        while let Some(next) = ranges.next_if(|next| next.start == range.end) {
            range.end = next.end;
        }
        new.seek(SeekFrom::Start(range.start)).map_err(Error::from_write)?;
        copy(archive.source(), range, new)?;
    }
    Ok(())
}

/// Checks patches against the file `old`. Returns the line to print about them.
fn checked(old: &Path, files: &Files<'_>) -> Result<String, Box<Problem>> {
    let Some(base) = files.models.first() else { return Ok(String::new()) };
    let patches = files.patches(1)?;
    let verified = verify(base, &patches).map_err(|failure| files.failed(failure, old))?;
    let count = match patches.len() {
        1 => "1 patch leads".to_owned(),
        count => format!("{count} patches lead"),
    };
    let (path, base, result) = (escape::path(old), hex(&verified.base), hex(&verified.result));
    Ok(format!("{path}: {count} from {base} to {result}"))
}
