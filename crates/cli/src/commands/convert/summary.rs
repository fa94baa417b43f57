//! The summary of a conversion: objects, sizes, time.

use std::io::{self, Write as _};

use zten::formats::write::WrittenFormat;
use zten::num::u64_from_usize;

use super::left_out::LeftOut;
use super::plan::Plan;
use super::sharded::shard_name;
use crate::args::Convert;
use crate::escape;
use crate::input::file::{FileWithShards, counted};
use crate::output::app::App;
use crate::size::human;
use crate::source::remote::shown;

/// The number of objects, the bytes of the input files, and the bytes and the number of the output files.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) objects: usize,
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) files: u32,
    /// Further notes for the user, one line each.
    pub(super) notes: Vec<String>,
    pub(super) left_out: LeftOut,
}

/// Returns the total length in bytes of a file and its shards.
pub(super) fn input(archive: &FileWithShards) -> u64 {
    archive.file_len().saturating_add(archive.shard_bytes())
}

impl Summary {
    /// Prints one line about the conversion, and its notes. If standard output has the data, only the notes are printed, on
    /// standard error; with `--quiet`, neither is printed. In any case, standard error names the tensors that are left out, and the
    /// exit status is set.
    pub(super) fn print(self, app: &mut App, args: &Convert, plan: &Plan) -> io::Result<()> {
        app.set_written();
        app.set_exit_status(self.left_out.status());
        let left_out = self.left_out.line();
        if args.quiet {
            // `--quiet` prints no summary and no notes. The tensors that are left out are named below in any case.
        } else if args.is_to_stdout() {
            // Standard output has the data. As other programs in a pipe do, the command says nothing if all is well.
            self.notes.iter().try_for_each(|note| app.error(note))?;
        } else {
            self.print_summary(app, args, plan)?;
        }
        let input = escape::path(&shown(&args.input));
        left_out.map_or(Ok(()), |line| app.error(format_args!("{input}: {line}")))
    }

    fn print_summary(self, app: &mut App, args: &Convert, plan: &Plan) -> io::Result<()> {
        let Self { objects, input, output, files, notes, .. } = self;
        let shards = files.saturating_sub(1);
        let path = shard_name(args, shards, shards).unwrap_or_else(|| args.output.clone());
        let format = match plan.target {
            WrittenFormat::ZTensor => plan.generation.as_str(),
            other => other.suffix(),
        };
        let tensors = counted(u64_from_usize(objects), "tensor");
        write!(app.out, "{}: written ({format}, {tensors}, ", escape::path(&path))?;
        if files > 1 {
            write!(app.out, "{files} files, ")?;
        }
        let hundredths = u128::from(output).saturating_mul(100);
        let percent = hundredths.checked_div(input.into()).unwrap_or(100);
        let seconds = plan.begun.elapsed().as_secs_f64();
        writeln!(app.out, "{}, {percent} % of the input, {seconds:.1} s)", human(output))?;
        notes.iter().try_for_each(|note| writeln!(app.out, "  {note}"))
    }
}
