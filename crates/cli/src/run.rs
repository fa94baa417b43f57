//! Runs a command on its files, in this process or in workers.

#[cfg(target_os = "linux")]
mod broker;
pub(crate) mod budget;
pub(crate) mod silence;
#[cfg(target_os = "linux")]
pub(crate) mod worker;

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};
use std::path::PathBuf;

use zten::write::FileSink;
use zten_worker::Confinement;

use crate::args::{Call, Check};
use crate::commands::check::{CheckedFile, Entries, RenderedOutcome};
use crate::commands::{self, Create, Job, check, convert, hash};
use crate::output::app::App;
use crate::output::report::Problem;

/// Runs a command: in workers if `mode` asks for confinement or `--jobs` is given, and in this process otherwise. On systems other
/// than Linux, `--require-sandbox` and `--jobs` are errors. If `hash --check` is given no files, the files that the list names are
/// added to `call` first.
pub(crate) fn run(app: &mut App, call: &mut Call, mode: Confinement) -> io::Result<()> {
    if let Call::Hash(args) = call
        && let ([list], true) = (&args.check[..], args.files.is_empty())
    {
        match hash::listed_files(args, list) {
            Ok(files) => args.files = files,
            Err(message) => return app.usage(message),
        }
    }
    let call = &*call;
    let wants_jobs = matches!(call, Call::Check(Check { jobs: Some(_), .. }));
    #[cfg(target_os = "linux")]
    if mode.confines() || wants_jobs {
        return broker::run(app, call, mode);
    }
    if mode == Confinement::Require || wants_jobs {
        return app.usage("--require-sandbox and --jobs are available on Linux only");
    }
    run_here(app, call)
}

/// Runs a command in this process.
fn run_here(app: &mut App, call: &Call) -> io::Result<()> {
    let mut entries = match Entries::of(call) {
        Ok(entries) => entries,
        Err(message) => return app.usage(message),
    };
    let mut checks = match call {
        Call::Check(args) => Some(check::Output::begin(app, args, &entries)?),
        _ => None,
    };
    let outputs = Outputs::of(call);
    for number in 0.. {
        let job_entries = match entries.next_job(call) {
            Ok(Some(job_entries)) => job_entries,
            Ok(None) => break,
            Err(message) => return app.usage(message),
        };
        let open = |entry: &CheckedFile| {
            let file = entry.opened(call.strictness());
            file.map_err(|error| Box::new(Problem::io(&entry.path, &error)))
        };
        let files = job_entries.iter().map(open).collect();
        let job = Job { number, files, create: &outputs, longest_result: usize::MAX };
        let record = commands::run(call, app, job)?;
        if let (Some(checks), Some(record), Some(entry)) =
            (&mut checks, record, job_entries.first())
        {
            let also = entry.also.clone();
            checks.record(app, &entry.path, &RenderedOutcome { also, ..record })?;
        }
        app.out.flush()?;
    }
    checks.map_or(Ok(()), |checks| checks.end(app))
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

/// Returns the path of output `number` of `shards`, and whether an existing file is replaced. Returns `None` if the command has no
/// such output, or `shards` exceeds the limit on shards.
fn output(call: &Call, number: u32, shards: u32) -> Option<(PathBuf, bool)> {
    // The bound holds for a worker that was taken over, too, which could otherwise create files without end.
    if shards > call.strictness().options().limit().shards() {
        return None;
    }
    match call {
        Call::Convert(args) => Some((convert::shard_name(args, number, shards)?, args.force)),
        Call::Edit(args) if (number, shards) == (0, 0) => {
            Some((args.target().to_owned(), args.output.is_none() || args.force))
        }
        Call::Patch(args) if (number, shards) == (0, 0) => {
            args.output().map(|path| (path.to_owned(), args.replaces()))
        }
        _ => None,
    }
}

impl Create for Outputs<'_> {
    fn create(&self, number: u32, shards: u32) -> io::Result<File> {
        let mut created = self.created.borrow_mut();
        let is_next = usize::try_from(number).is_ok_and(|number| number == created.len());
        // The names of the files contain the number of shards, so all files of a set must have the same number.
        let is_same = self.shards.get().is_none_or(|first| first == shards);
        let output = output(self.call, number, shards).filter(|_| is_next && is_same);
        let (path, replaces) = output.ok_or(io::ErrorKind::InvalidInput)?;
        let is_stdout = is_to_stdout(self.call);
        let sink = if is_stdout {
            // The formats need a file in which earlier bytes can be written last, and nothing is printed if the conversion fails.
            FileSink::create(&std::env::temp_dir().join(format!("zten-{}", std::process::id())))?
        } else {
            FileSink::create(&path)?
        };
        if !is_stdout && !replaces && fs::symlink_metadata(&path).is_ok() {
            return Err(occupied());
        }
        let file = sink.file().try_clone()?;
        created.push((path, replaces, sink));
        self.shards.set(Some(shards));
        Ok(file)
    }

    fn publish(&self) -> Result<(), Box<Problem>> {
        for (path, replaces, sink) in self.created.take() {
            if is_to_stdout(self.call) {
                print(sink.file()).map_err(|error| Box::new(Problem::io(&path, &error)))?;
                continue;
            }
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

/// Returns whether the command writes its only file to standard output.
fn is_to_stdout(call: &Call) -> bool {
    matches!(call, Call::Convert(args) if args.is_to_stdout())
}

/// Copies `file` from its beginning to standard output. A closed pipe is not an error: the reader has enough.
fn print(mut file: &File) -> io::Result<()> {
    file.rewind()?;
    let mut out = io::stdout().lock();
    match io::copy(&mut file, &mut out).and_then(|_| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

fn occupied() -> io::Error {
    io::Error::other("the file exists already; --force replaces it")
}
