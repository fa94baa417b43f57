//! The budget of a worker, computed from the lengths of its files and the limits of the command line.

use zten_sandbox::Budget;

use crate::args::Call;
use crate::args::strictness::Strictness;
use crate::source::remote;

/// Bytes of memory that any job gets, whatever its files: for the program, buffers, and elements that are held back until
/// they are verified.
const BASE: u64 = 256 << 20;
/// Bytes of memory for each byte of a manifest or header.
///
/// Opening a zTensor, safetensors or GGUF file takes at most 8 bytes for each, beside the manifest or header itself.
/// Converting takes the most: an object of 30 bytes in a GGUF header becomes 220 bytes of a manifest, whose buffer may have
/// twice its length reserved. The longest header has 104 MB and 3.4 million tensors: it takes less than 8 bytes of address
/// space for each byte with plain tensors, and less than 16 with tensors of blocks.
const PER_MANIFEST: u64 = 16;
/// Bytes of memory for each byte of coordinates, whose cells are held while they are validated. A value of 4 bytes takes 8 bytes,
/// and 8 more while the list of cells grows.
const PER_COORDINATE: u64 = 4;
/// The largest number of bytes to which deflate expands one byte.
const PER_DEFLATED: u64 = 1032;
/// Bytes of memory for each byte of an array in column-major order, which is held to be transposed: 1 for the array, and 2
/// while the buffer grows.
const PER_HELD: u64 = 3;
/// Bytes of memory for each patch that is applied: a chunk of each of 18 streams, and a frame.
const PER_PATCH: u64 = 20 << 20;
/// Bytes that the allocator reserves at a time for a thread.
const ARENA: u64 = 64 << 20;
/// The number of zstd windows whose memory decoding takes for each thread, one of them in reserve.
const WINDOWS: u64 = 4;
/// Bytes that are decoded or read in a second of processor time, on a slow machine.
const RATE: u64 = 16 << 20;
/// Seconds of processor time for any job, whatever its files.
const SECONDS: u64 = 60;
/// Bytes of output that a job may write for each byte that it decodes. The text of the smallest elements is the longest.
const PER_BYTE: u64 = 32;
/// Bytes of output that any job may write, whatever its files.
const OUTPUT: u64 = 64 << 20;

/// A kind of work on files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Reading manifests or headers only.
    Look,
    /// Printing one component, or a part of it.
    Print,
    /// Decoding all components one after another, in stored order.
    Validate,
    /// Decoding all components one after another.
    Decode,
    /// Decoding the components of two files in parallel.
    Compare,
    /// Converting or editing: writing the content of a file, or of several files of one model, to one or more new files.
    Convert,
    /// Making a patch from two files, applying or checking patches, or printing a patch.
    Patch,
}

impl Task {
    /// Returns the kind of work on each job, by which its budget is computed.
    pub(super) fn of(call: &Call) -> Self {
        match call {
            Call::Check(args) if args.manifest_only => Self::Look,
            Call::Check(_) => Self::Validate,
            Call::Ls(_) => Self::Look,
            Call::Cat(_) => Self::Print,
            Call::Hash(_) | Call::Stat(_) => Self::Decode,
            Call::Diff(_) => Self::Compare,
            Call::Convert(_) | Call::Edit(_) => Self::Convert,
            Call::Patch(_) => Self::Patch,
        }
    }

    /// Returns whether several threads work on a large file.
    pub(crate) fn takes_threads(self) -> bool {
        matches!(self, Self::Validate | Self::Decode | Self::Compare)
    }
}

/// The lengths in bytes of the files of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lengths {
    pub(crate) known: Vec<u64>,
    /// The total length in bytes of the sibling files of an index. Their headers are in memory at the same time.
    pub(crate) siblings: u64,
    /// True if a file is a stream, which is held in memory.
    pub(crate) held: bool,
    /// The sibling files that may be found later.
    pub(crate) later: DeferredFiles,
}

/// The sibling files of a remote file. They are found after the budget is set, so their lengths are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DeferredFiles {
    /// No sibling files are looked for.
    #[default]
    Nothing,
    /// Shards of a zTensor file, whose own manifests are not read.
    Shards,
    /// Files of an index, whose headers are held.
    Headers,
}

/// Raises `budget` by the budget of another `job`. The worker processes the files of that job after the files of earlier jobs.
pub(crate) fn add(budget: &mut Budget, job: &Budget) {
    let more = |one: Option<u64>, other: Option<u64>, base: u64| {
        one.zip(other).map(|(one, other)| one.saturating_add(other.saturating_sub(base)))
    };
    budget.memory = budget.memory.zip(job.memory).map(|(one, other)| one.max(other));
    budget.seconds = more(budget.seconds, job.seconds, SECONDS);
    budget.file = more(budget.file, job.file, OUTPUT.saturating_add(written()));
}

/// Returns the budget that `task` needs for files of `lengths` with `threads` threads.
pub(crate) fn for_task(
    task: Task,
    lengths: &Lengths,
    strictness: &Strictness,
    threads: usize,
) -> Budget {
    let options = strictness.options();
    let limits = options.limit();
    let Lengths { known, siblings, held: is_held, later } = lengths;
    let siblings = Some(*siblings).filter(|siblings| *siblings > 0);
    let lengths: Vec<u64> = known.iter().copied().chain(siblings).collect();
    let sum = |lengths: &mut dyn Iterator<Item = u64>| lengths.fold(0, u64::saturating_add);

    let manifests = lengths.iter().map(|length| limits.manifest().min(*length));
    let manifests = match task {
        // These tasks hold the headers of all files of a job at the same time; the other tasks read one file after another.
        Task::Compare | Task::Convert | Task::Patch => sum(&mut manifests.into_iter()),
        _ => manifests.max().unwrap_or_default(),
    };
    let manifests = match later {
        DeferredFiles::Nothing | DeferredFiles::Shards => manifests,
        DeferredFiles::Headers => manifests.saturating_add(limits.manifest()),
    };
    // Files that are decoded one after another take the memory of the largest.
    let coordinates = match task {
        Task::Look => 0,
        _ if *later != DeferredFiles::Nothing => u64::MAX,
        Task::Compare => sum(&mut lengths.iter().copied()),
        _ => lengths.iter().copied().max().unwrap_or_default(),
    };
    let cells = coordinates.min(limits.decoded()).saturating_mul(PER_COORDINATE);
    let threads = u64::try_from(threads).unwrap_or(u64::MAX);
    let held = match task {
        // Validation does not transpose arrays, so it holds none.
        Task::Validate => 0,
        _ => coordinates.saturating_mul(PER_DEFLATED),
    };
    let held = held.min(limits.decoded().saturating_mul(threads)).saturating_mul(PER_HELD);
    let streams = match task {
        Task::Patch => u64::try_from(lengths.len()).unwrap_or(u64::MAX).saturating_mul(PER_PATCH),
        _ => 0,
    };
    let decoders = limits.window().saturating_mul(WINDOWS).saturating_add(ARENA);
    let memory = BASE
        .saturating_add(manifests.saturating_mul(PER_MANIFEST))
        .saturating_add(cells)
        .saturating_add(held)
        .saturating_add(streams)
        .saturating_add(decoders.saturating_mul(threads))
        // A file from standard input is read into a buffer. While the buffer grows, its old and its new allocation exist at the
        // same time.
        .saturating_add(if *is_held { limits.decoded().saturating_mul(2) } else { 0 });

    let decoded = lengths.iter().map(|length| limits.decoded_total(*length));
    let bytes = sum(&mut lengths.iter().copied().chain(decoded));
    let seconds = match later {
        DeferredFiles::Nothing => bytes.div_ceil(RATE),
        // The lengths are not known, so the time limit of the network bounds the work instead.
        DeferredFiles::Shards | DeferredFiles::Headers => {
            let files = u64::try_from(lengths.len()).unwrap_or(u64::MAX);
            remote::time_limit().saturating_mul(files).saturating_mul(threads)
        }
    };
    let seconds = SECONDS.saturating_add(seconds);
    let output = bytes.saturating_mul(PER_BYTE).saturating_add(OUTPUT);
    let file = output.saturating_add(written());
    let file = Some(file).filter(|_| *later == DeferredFiles::Nothing);
    // If components may share their bytes, the work is not bounded by the length of the file.
    let bounded = !strictness.shares_blobs();
    Budget {
        memory: Some(memory),
        seconds: bounded.then_some(seconds),
        file: file.filter(|_| bounded),
        descriptors: 0,
    }
}

/// Returns the current length of standard output if it is a file, and 0 otherwise.
fn written() -> u64 {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        let out = std::io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from);
        out.and_then(|out| out.metadata()).map_or(0, |out| out.len())
    }
    #[cfg(not(unix))]
    0
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Call;
    use crate::args::{Args, Command};

    fn budget(task: Task, lengths: &[u64], options: &[&str]) -> Budget {
        let args = ["zten", "check", "x"].iter().chain(options);
        let Command::Call(Call::Check(args)) = Args::try_parse_from(args).unwrap().command else {
            panic!("it is called otherwise");
        };
        let lengths = Lengths { known: lengths.to_vec(), ..Lengths::default() };
        for_task(task, &lengths, &args.strictness, 1)
    }

    #[cfg(feature = "remote")]
    #[test]
    fn files_that_are_found_later_are_bounded_by_time() {
        let args = Args::try_parse_from(["zten", "check", "x"]).unwrap();
        let Command::Call(Call::Check(args)) = args.command else {
            panic!("it is called otherwise");
        };
        let budget = |later, length| {
            let lengths = Lengths { known: vec![length], later, ..Lengths::default() };
            for_task(Task::Decode, &lengths, &args.strictness, 2)
        };
        let shards = budget(DeferredFiles::Shards, 1000);
        assert_eq!(shards.seconds, Some(60 + 2 * 6 * 60 * 60));
        // The budget allows the cells of the longest file, but no further manifest.
        let longest = budget(DeferredFiles::Nothing, 1 << 40).memory.unwrap();
        assert!(budget(DeferredFiles::Nothing, 1000).memory.unwrap() < shards.memory.unwrap());
        assert!(shards.memory.unwrap() < longest);
        assert_eq!(budget(DeferredFiles::Headers, 1 << 40).memory.unwrap(), longest + (16 << 30));
    }

    #[test]
    fn small_files_get_little() {
        let small = budget(Task::Decode, &[1000], &[]);
        assert!(small.memory.unwrap() < 1 << 30, "{small:?}");
        // Validation holds no array in memory, however much a deflated array expands.
        let validated = budget(Task::Validate, &[1 << 20], &[]).memory.unwrap();
        assert!(
            validated < 1 << 30 && budget(Task::Decode, &[1 << 20], &[]).memory.unwrap() > 3 << 30
        );
        assert!(small.seconds.unwrap() < 2 * 60 * 60, "{small:?}");
        // Many files that are processed one after another need the memory of the largest.
        assert_eq!(budget(Task::Decode, &[1000; 50], &[]).memory, small.memory);
        assert!(budget(Task::Compare, &[1000; 50], &[]).memory > small.memory);
    }

    #[test]
    fn the_largest_valid_files_fit_their_budgets() {
        let tera = budget(Task::Decode, &[1 << 40], &[]);
        // The budget is enough at 16 MiB a second, a rate at which any machine reads and hashes.
        assert!(tera.seconds.unwrap() > (1 << 40) / (16 << 20), "{tera:?}");
        assert!(tera.file.unwrap() > 8 << 40);
        // Two safetensors files with the longest header that is allowed. Memory must suffice for the headers and their indices.
        let header = 100_000_000_u64;
        for task in
            [Task::Look, Task::Print, Task::Validate, Task::Decode, Task::Convert, Task::Compare]
        {
            let files = if task == Task::Compare { 2 } else { 1 };
            let budget = budget(task, &[header + 8, header + 8], &[]);
            assert!(budget.memory.unwrap() > BASE + files * 9 * header, "{task:?}: {budget:?}");
        }
        // The output may hold the text of every decoded byte.
        assert!(budget(Task::Look, &[1000], &[]).file.unwrap() > 16 * (4 << 30));
    }

    #[test]
    fn limits_of_the_command_line_count() {
        let usual = budget(Task::Decode, &[1 << 40], &[]);
        let less =
            budget(Task::Decode, &[1 << 40], &["--limit=manifest=1M", "--limit=decoded-total=1G"]);
        assert!(less.memory < usual.memory && less.seconds < usual.seconds, "{less:?}");
        let window = budget(Task::Decode, &[1000], &["--limit", "window=1G"]);
        assert!(window.memory.unwrap() > 3 << 30);
        let shared = budget(Task::Decode, &[1000], &["--tolerate", "shared-blobs"]);
        assert_eq!((shared.seconds, shared.file), (None, None));
    }
}
