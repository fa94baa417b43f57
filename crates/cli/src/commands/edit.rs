//! `zten edit`: changes names and attributes in a file, and keeps its data.
//! Only the manifest or header is parsed. The result is an [`Edition`]: bytes before the data, the range of the old file
//! that is kept, and bytes after the range. The kernel copies the range, or shares its blocks, into a file without a name,
//! which then replaces the old file. This program reads the data only if the kernel cannot copy it, and never validates the
//! data.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;

use zten::formats::write::gguf::{self, EditedHeader, HeaderEdit};
use zten::formats::write::safetensors::{self, Dtype, Padding};
use zten::formats::write::{self, Inexpressible};
use zten::formats::{Format, Recognition, Recognized};
use zten::num::u64_from_usize;
use zten::write::{WriteOptions, Writer};
use zten::{Error, ErrorKind, Generation, ReadAt as _};

use crate::args::attributes::changed;
use crate::args::{Edit, Select};
use crate::commands::Create;
use crate::commands::convert::Selection;
use crate::commands::convert::{ConvertFailure, problem as failed};
use crate::escape;
use crate::input::file::{FileWithShards, Opened};
use crate::output::app::App;
use crate::output::report::Problem;
use crate::size::human;
use crate::source::handle::Handle;

/// The content of the new file: bytes before the data, a range of the old file, and bytes after the data.
#[derive(Debug, PartialEq, Eq)]
struct Edition {
    head: Vec<u8>,
    kept: Range<u64>,
    tail: Vec<u8>,
}

impl Edition {
    /// Computes the new content of `archive` from its manifest or header. A file of 0.1, a data shard, a file of a format that
    /// `edit` does not write, and an OUT with the suffix of another format are errors.
    fn new(args: &Edit, archive: &FileWithShards) -> Result<Self, Box<Problem>> {
        let manifest = archive.manifest();
        match (manifest.generation(), manifest.file_format()) {
            (Some(Generation::V0_1), _) => Err(other(args, "file of 0.1")),
            (Some(_), _) if manifest.is_data_shard() => Err(other(args, "data shard")),
            (Some(_), _) => {
                check_output(args, Recognized::ZTensor)?;
                Self::of_ztensor(args, archive)
            }
            (None, "safetensors") => {
                check_output(args, Recognized::Read(Format::Safetensors))?;
                Self::of_safetensors(args, archive)
            }
            (None, "GGUF") => {
                check_output(args, Recognized::Read(Format::Gguf))?;
                Self::of_gguf(args, archive)
            }
            (None, format) => Err(other(args, &format!("{format} file"))),
        }
    }

    /// Computes the new content of a zTensor file: the blobs of the old file, followed by a new manifest.
    fn of_ztensor(args: &Edit, archive: &FileWithShards) -> Result<Self, Box<Problem>> {
        let selection = select(args, archive)?;
        let edit = || -> Result<Result<Self, String>, Error> {
            let manifest = archive.manifest();
            let mut writer = Writer::edit(Vec::new(), manifest, &WriteOptions::default())?;
            if !args.set.is_empty() || !args.unset.is_empty() {
                match changed(&archive.attributes(), &args.set, &args.unset) {
                    Ok(attributes) => writer.attributes_encoded(&attributes)?,
                    Err(sentence) => return Ok(Err(sentence)),
                }
            }
            if !args.rename.is_empty() {
                writer.rename(|name| selection.new_name(archive.get(name)?.ordinal()))?;
            }
            let (head, kept) = (Vec::new(), 0..manifest.edits_at());
            Ok(Ok(Self { head, kept, tail: writer.finish()? }))
        };
        match edit() {
            Ok(edited) => edited.map_err(|sentence| problem(args, &sentence)),
            Err(error) if error.kind() == ErrorKind::OutOfMemory => {
                Err(Box::new(Problem::reading(&args.file, archive, &error)))
            }
            Err(error) => Err(problem(args, &error.to_string())),
        }
    }

    /// Computes the new content of a safetensors file: a new header, followed by the data of the old file.
    fn of_safetensors(args: &Edit, archive: &FileWithShards) -> Result<Self, Box<Problem>> {
        let selection = select(args, archive)?;
        let attributes = changed(&archive.attributes(), &args.set, &args.unset);
        let attributes = attributes.map_err(|sentence| problem(args, &sentence))?;
        let data = archive.manifest().extent().end;
        let tensors = archive.tensors().map(|own| {
            let name = selection.new_name(own.ordinal()).unwrap_or(own.name());
            safetensors::check_name(name)?;
            let dtype = Dtype::of(own.dtype());
            let (Some(dtype), Some(extent)) = (dtype, own.component("data").map(|it| it.extent()))
            else {
                return Err(Inexpressible::tensor(own.name(), "its type cannot be written"));
            };
            let at = |offset: u64| offset.saturating_sub(data);
            let (shape, data) = (own.shape().to_vec(), at(extent.offset())..at(extent.end()));
            Ok(safetensors::Tensor { name, dtype, shape, data })
        });
        let header = |least| -> Result<_, ConvertFailure> {
            let mut head = Vec::new();
            let padding = Padding::Least(least);
            safetensors::write_header(&attributes.entries(), tensors.clone(), padding, &mut head)?;
            Ok(head)
        };
        let old = data.saturating_sub(u64_from_usize(size_of::<u64>()));
        let head = header(old).and_then(|head| {
            match u64_from_usize(head.len()).saturating_sub(data) {
                0 => Ok(head),
                // A header that grows does so by whole blocks, so that the file system can share the blocks of the data.
                more => header(old.saturating_add(more.next_multiple_of(BLOCK))),
            }
        });
        let head = head.map_err(|failure| failed(failure, [&args.file, args.target()]))?;
        Ok(Self { head, kept: data..archive.file_len(), tail: Vec::new() })
    }

    /// Computes the new content of a GGUF file: a new header, followed by the data of the old file. The format puts the data at the
    /// first aligned offset behind the header, so the file system shares blocks only if the header grows by whole blocks.
    fn of_gguf(args: &Edit, archive: &FileWithShards) -> Result<Self, Box<Problem>> {
        let count = archive.attributes().get::<u64>("split.count").ok().flatten();
        if count.is_some_and(|count| count > 1) && !args.rename.is_empty() {
            let sentence = "the file is part of a split model, and zten does not rename tensors in one part alone; zten convert writes one new file";
            return Err(problem(args, sentence));
        }
        let selection = select(args, archive)?;
        let attributes = changed(&archive.attributes(), &args.set, &args.unset);
        let attributes = attributes.map_err(|sentence| problem(args, &sentence))?;
        let new_name = |name: &str| selection.new_name(archive.get(name)?.ordinal());
        let edit = HeaderEdit { attributes: &attributes.entries(), new_name: &new_name };
        let (source, length) = (archive.source(), archive.file_len());
        let edited = gguf::edit_header(source, length, &args.strictness.options(), &edit);
        let EditedHeader { bytes, data } = edited.map_err(|failure| match failure {
            write::WriteFailure::Source(error) => {
                Box::new(Problem::reading(&args.file, archive, &error))
            }
            write::WriteFailure::Output(error) => Box::new(Problem::io(args.target(), &error)),
            write::WriteFailure::Inexpressible(why) => problem(args, &why.to_string()),
        })?;
        Ok(Self { head: bytes, kept: data..length, tail: Vec::new() })
    }

    /// Writes the new content to `new`, with the data of `old`.
    fn apply(&self, old: &Handle, mut new: &File) -> Result<(), Error> {
        new.write_all(&self.head).map_err(Error::from_write)?;
        copy(old, self.kept.clone(), new)?;
        new.write_all(&self.tail).map_err(Error::from_write)
    }

    /// Returns the length of the new file in bytes.
    fn length(&self) -> u64 {
        self.own().saturating_add(self.kept.end.saturating_sub(self.kept.start))
    }

    /// Returns the number of bytes that do not come from the old file.
    fn own(&self) -> u64 {
        u64_from_usize(self.head.len()).saturating_add(u64_from_usize(self.tail.len()))
    }
}

/// Writes the bytes in `range` of `old` at the position of `new`. The kernel copies them or shares their blocks if it can.
pub(crate) fn copy(old: &Handle, mut range: Range<u64>, mut new: &File) -> Result<(), Error> {
    #[cfg(target_os = "linux")]
    if let Handle::Local(old, _) = old {
        while range.start < range.end {
            let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(AT_ONCE);
            let copied = rustix::fs::copy_file_range(
                old,
                Some(&mut range.start),
                new,
                None,
                length.min(AT_ONCE),
            );
            // The kernel cannot copy (further). The loop below reads and writes the rest, or reports that it is missing.
            if !matches!(copied, Ok(1..)) {
                break;
            }
        }
    }
    let mut piece = vec![0; PIECE];
    while range.start < range.end {
        let left = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(PIECE);
        let (piece, _) = piece.split_at_mut(left.min(PIECE));
        old.read_at(range.start, piece)?;
        new.write_all(piece).map_err(Error::from_write)?;
        range.start = range.start.saturating_add(u64_from_usize(piece.len()));
    }
    Ok(())
}

/// The number of bytes that are read and written at a time.
const PIECE: usize = 256 << 10;
/// The number of bytes that the kernel copies in one call.
#[cfg(target_os = "linux")]
const AT_ONCE: usize = 1 << 30;
/// The block size in bytes of most file systems. A copy can share blocks with the old file if the data moves by whole blocks.
const BLOCK: u64 = 4096;

fn select(args: &Edit, archive: &FileWithShards) -> Result<Selection, Box<Problem>> {
    let select = Select { rename: args.rename.clone(), ..Select::default() };
    Selection::new(&select, archive).map_err(|sentence| problem(args, &sentence))
}

/// Returns the problem of a valid file to which the edit cannot be applied.
fn problem(args: &Edit, sentence: &str) -> Box<Problem> {
    Box::new(Problem::inexpressible(&args.file, &sentence))
}

/// Checks that the name of OUT is not that of another format than `kind`, by which other programs would read the file.
fn check_output(args: &Edit, kind: Recognized) -> Result<(), Box<Problem>> {
    if args.output.is_none() || Recognition::from(kind).check_name(args.target()).is_ok() {
        return Ok(());
    }
    let sentence =
        "OUT has the suffix of another format, and edit keeps the format; zten convert changes it";
    Err(problem(args, sentence))
}

fn other(args: &Edit, what: &str) -> Box<Problem> {
    problem(args, &format!("a {what} cannot be edited; zten convert writes a new file"))
}

/// Edits one file. If the edit fails, the file stays as it was.
pub(crate) fn run(
    app: &mut App,
    args: &Edit,
    file: Result<Opened, Box<Problem>>,
    create: &dyn Create,
) -> io::Result<()> {
    if args.output.as_deref().is_some_and(|output| output.as_os_str() == "-") {
        return app.usage("the output must be a file, and - would mean standard output; -o ./- writes a file of the name -");
    }
    match file.and_then(|file| edit(args, file, create)) {
        Ok(_) if args.quiet => Ok(()),
        Ok(edition) => {
            let (all, own) = (human(edition.length()), human(edition.own()));
            writeln!(app.out, "{}: written ({all}, {own} of it new)", escape::path(args.target()))
        }
        Err(problem) => app.problem(&problem),
    }
}

fn edit(args: &Edit, file: Opened, create: &dyn Create) -> Result<Edition, Box<Problem>> {
    if !matches!(file.file, Handle::Local(..)) {
        return Err(problem(args, "only a local file that is not a blob of a store can be edited"));
    }
    let archive = file.archive(&args.strictness.options())?;
    let edition = Edition::new(args, &archive)?;
    let not_written = |error: &io::Error| Box::new(Problem::io(args.target(), error));
    let new = create.create(0, 0).map_err(|error| not_written(&error))?;
    edition.apply(archive.source(), &new).map_err(|error| match error.kind() {
        ErrorKind::Write => not_written(&error.into()),
        _ => Box::new(Problem::reading(&args.file, &archive, &error)),
    })?;
    create.publish()?;
    Ok(edition)
}
