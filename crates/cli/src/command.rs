//! The commands that read files, and how each is run, in this process or in a worker.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::slice;

use serde::{Deserialize, Serialize};
use zten::OpenOptions;
use zten::write::FileSink;
use zten_worker::Confinement;

use crate::app::App;
use crate::args::{CAT_HELP, CONVERT_STATUS, Cat, Check, Convert, Diff, EDIT_STATUS, Edit, Hash};
use crate::args::{LS_HELP, Ls, STAT_HELP, Stat};
use crate::budget::Task;
use crate::file::{FileWithShards, Opened, model_path};
use crate::kind::Kind;
use crate::report::Problem;
use crate::strictness::Strictness;
use crate::{cat, check, convert, diff, edit, hash, ls, stat};

/// A command that reads files.
#[derive(Debug, clap::Subcommand, Serialize, Deserialize)]
pub(crate) enum Call {
    /// Check files: structure, every rule, digests, compression, the values of bools and indices
    Check(Check),
    /// List the objects of a file
    #[command(after_help = LS_HELP)]
    Ls(Ls),
    /// Compute the range, mean and spread of the elements of objects, and count NaN, infinities and zeros
    #[command(after_help = STAT_HELP)]
    Stat(Stat),
    /// Print the elements of an object
    #[command(after_help = CAT_HELP)]
    Cat(Cat),
    /// Print the SHA-256 digest of every component, or check files against a list of digests
    #[command(after_help = crate::args::hash::AFTER_HELP)]
    Hash(Hash),
    /// Compare the contents of two files, whatever their format, generation, encoding and byte order
    #[command(after_help = crate::args::diff::AFTER_HELP)]
    Diff(Diff),
    /// Write a zTensor, safetensors, NumPy (.npy, .npz), GGUF or PyTorch file as a zTensor (1.2 or 2),
    /// safetensors or NumPy file
    #[command(after_help = CONVERT_STATUS)]
    Convert(Convert),
    /// Rename objects and change attributes of a zTensor or safetensors file: its data is copied as it is, or shared by the
    /// file system, and a new file takes the place of the old one
    #[command(after_help = EDIT_STATUS)]
    Edit(Edit),
}

/// A job of a command: the files that the command is run on, [`Call::files_of_job`] in number.
pub(crate) struct Job<'a> {
    /// The number of the job, from 0.
    pub(crate) number: u64,
    pub(crate) files: Vec<Result<Opened, Box<Problem>>>,
    pub(crate) create: &'a dyn Create,
}

/// Creates the files that a command writes.
pub(crate) trait Create {
    /// Creates output `number` of a set with `shards` shards (0 of 0 for a single file). Output number `shards` is the root or
    /// index. The file gets its name in [`publish`](Self::publish).
    fn create(&self, number: u32, shards: u32) -> io::Result<File>;

    /// Gives the complete files their names. In a worker this does nothing: the broker publishes the files when the worker has
    /// ended.
    fn publish(&self) -> Result<(), Box<Problem>> {
        Ok(())
    }
}

impl Call {
    /// Returns the limits and tolerances for all files.
    pub(crate) fn strictness(&self) -> &Strictness {
        match self {
            Self::Check(args) => &args.strictness,
            Self::Ls(args) => &args.strictness,
            Self::Stat(args) => &args.strictness,
            Self::Cat(args) => &args.strictness,
            Self::Hash(args) => &args.strictness,
            Self::Diff(args) => &args.strictness,
            Self::Convert(args) => &args.strictness,
            Self::Edit(args) => &args.strictness,
        }
    }

    /// Returns the paths of the files that the command reads. For `check` these are only the named paths: see
    /// [`Entries`](check::Entries) for the files in folders and lists.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        match self {
            Self::Check(args) => args.files.clone(),
            Self::Ls(args) => [slice::from_ref(&args.file), &args.also].concat(),
            Self::Stat(args) => vec![args.file.clone()],
            Self::Cat(args) => vec![args.file.clone()],
            Self::Hash(args) => args.paths(),
            Self::Diff(args) => vec![args.old.clone(), args.new.clone()],
            Self::Convert(args) => vec![args.input.clone()],
            Self::Edit(args) => vec![args.file.clone()],
        }
    }

    /// Returns whether a path to a folder means the model in the folder. `edit` replaces its file, so it takes the exact path
    /// only.
    pub(crate) fn finds_models(&self) -> bool {
        !matches!(self, Self::Edit(_))
    }

    /// Returns the number of files of one job.
    pub(crate) fn files_of_job(&self) -> usize {
        match self {
            Self::Diff(_) => 2,
            Self::Hash(args) => args.check.len().saturating_add(1),
            _ => 1,
        }
    }

    /// Returns the kind of work on each job, by which its budget is computed.
    pub(crate) fn task(&self) -> Task {
        match self {
            Self::Check(args) if args.manifest_only => Task::Look,
            Self::Check(_) => Task::Validate,
            Self::Ls(_) => Task::Look,
            Self::Cat(_) => Task::Print,
            Self::Hash(_) | Self::Stat(_) => Task::Decode,
            Self::Diff(_) => Task::Compare,
            Self::Convert(_) | Self::Edit(_) => Task::Convert,
        }
    }

    /// Returns whether the worker writes data to standard output, past the broker.
    pub(crate) fn writes_data(&self) -> bool {
        matches!(self, Self::Cat(_))
    }

    /// Returns whether the command writes files.
    pub(crate) fn writes_files(&self) -> bool {
        matches!(self, Self::Convert(_) | Self::Edit(_))
    }

    /// Returns the path of output `number` of `shards`, and whether an existing file is replaced. Returns `None` if the command
    /// has no such output.
    fn output(&self, number: u32, shards: u32) -> Option<(PathBuf, bool)> {
        // The bound holds for a worker that was taken over, too, which could otherwise create files without end.
        if shards > self.strictness().options().limit().shards() {
            return None;
        }
        match self {
            Self::Convert(args) => Some((convert::shard_name(args, number, shards)?, args.force)),
            Self::Edit(args) if (number, shards) == (0, 0) => {
                Some((args.target().to_owned(), args.output.is_none() || args.force))
            }
            _ => None,
        }
    }

    /// Runs the command on `job`. Returns the verdict on the file if the command is `check`.
    pub(crate) fn run(&self, app: &mut App, job: Job<'_>) -> io::Result<Option<Kind>> {
        let Job { number, files, create } = job;
        let mut files = files.into_iter();
        let Some(file) = files.next() else { return Ok(None) };
        let options = self.strictness().options();
        match self {
            #[cfg(target_os = "linux")]
            Self::Check(args) => return check::job(app, args, file).map(Some),
            // Without workers, `check` walks its entries by itself, in `check::run`.
            #[cfg(not(target_os = "linux"))]
            Self::Check(_) => Ok(()),
            Self::Ls(args) => with_archive(app, file, &options, |app, archive| {
                ls::run(app, args, archive, number)
            }),
            Self::Stat(args) => {
                with_archive(app, file, &options, |app, archive| stat::run(app, args, archive))
            }
            Self::Cat(args) => {
                with_archive(app, file, &options, |app, archive| cat::run(app, args, archive))
            }
            Self::Hash(args) => hash::run(app, args, file, files.next()),
            Self::Diff(args) => match files.next() {
                Some(new) => diff::run(app, args, [file, new]),
                None => Ok(()),
            },
            Self::Convert(args) => convert::run(app, args, file, create),
            Self::Edit(args) => edit::run(app, args, file, create),
        }?;
        Ok(None)
    }
}

/// Opens `file` as an archive and calls `run` with it, or prints the problem.
fn with_archive(
    app: &mut App,
    file: Result<Opened, Box<Problem>>,
    options: &OpenOptions,
    run: impl FnOnce(&mut App, &FileWithShards) -> io::Result<()>,
) -> io::Result<()> {
    match file.and_then(|file| file.archive(options)) {
        Ok(archive) => run(app, &archive),
        Err(problem) => app.problem(&problem),
    }
}

/// Runs a command: in workers if `mode` asks for confinement or `--jobs` for several processes, and in this process otherwise.
pub(crate) fn run(app: &mut App, call: &Call, mode: Confinement) -> io::Result<()> {
    let wants_jobs = matches!(call, Call::Check(Check { jobs: Some(_), .. }));
    #[cfg(target_os = "linux")]
    if mode.confines() || wants_jobs {
        return crate::broker::run(app, call, mode);
    }
    if mode == Confinement::Require || wants_jobs {
        return app.usage("--require-sandbox and --jobs are available on Linux only");
    }
    if let Call::Check(args) = call {
        return check::run(app, args);
    }
    let outputs = Outputs::of(call);
    for (number, paths) in (0..).zip(call.paths().chunks(call.files_of_job())) {
        let open = |path: &PathBuf| {
            let model = model_path(path).filter(|_| call.finds_models()).transpose();
            model
                .and_then(|model| Opened::open(model.as_ref().unwrap_or(path), call.strictness()))
                .map_err(|error| Box::new(Problem::io(path, &error)))
        };
        let job = Job { number, files: paths.iter().map(open).collect(), create: &outputs };
        call.run(app, job)?;
        app.out.flush()?;
    }
    Ok(())
}

/// The files that a command writes. A file that is not published is removed when the value is dropped.
pub(crate) struct Outputs<'a> {
    call: &'a Call,
    created: RefCell<Vec<(PathBuf, bool, FileSink)>>,
    /// The number of shards that the first file was created with.
    shards: Cell<Option<u32>>,
}

impl<'a> Outputs<'a> {
    /// Creates an empty set of outputs of `call`.
    pub(crate) fn of(call: &'a Call) -> Self {
        Self { call, created: RefCell::default(), shards: Cell::default() }
    }

    /// Returns whether no file has been created.
    pub(crate) fn is_empty(&self) -> bool {
        self.created.borrow().is_empty()
    }
}

impl Create for Outputs<'_> {
    fn create(&self, number: u32, shards: u32) -> io::Result<File> {
        let mut created = self.created.borrow_mut();
        let is_next = usize::try_from(number).is_ok_and(|number| number == created.len());
        // The names of the files contain the number of shards, so all files of a set must have the same number.
        let is_same = self.shards.get().is_none_or(|first| first == shards);
        let output = self.call.output(number, shards).filter(|_| is_next && is_same);
        let (path, replaces) = output.ok_or(io::ErrorKind::InvalidInput)?;
        let sink = FileSink::create(&path)?;
        if !replaces && fs::symlink_metadata(&path).is_ok() {
            return Err(occupied());
        }
        let file = sink.file().try_clone()?;
        created.push((path, replaces, sink));
        self.shards.set(Some(shards));
        Ok(file)
    }

    fn publish(&self) -> Result<(), Box<Problem>> {
        for (path, replaces, sink) in self.created.take() {
            let published = if replaces { sink.publish() } else { sink.publish_new() };
            published.map_err(|error| {
                let error = match io::Error::from(error) {
                    // Another process created the file in the meantime.
                    error if error.kind() == io::ErrorKind::AlreadyExists => occupied(),
                    error => error,
                };
                Box::new(Problem::io(&path, &error))
            })?;
        }
        Ok(())
    }
}

fn occupied() -> io::Error {
    io::Error::other("a file exists there; --force replaces it")
}
