//! Converting in a confined process of its own.
//!
//! The file that is written must get its name when it is whole, which a confined process cannot
//! do. So this process opens the file to write, starts another one, and looks at nothing but how
//! that ends; the other opens the file to read, confines itself, and writes. It finds the file to
//! write at its standard input, of all places: there the standard library hands it over.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use zten::num::u64_from_usize;
use zten::write::FileSink;

use super::in_process::{self, archive, buffered, convert, create, end, open, publish};
use super::plan::Plan;
use crate::app::App;
use crate::args::Convert;
use crate::mode::Mode;
use crate::remote::is_remote;
use crate::report::Problem;
use crate::sandbox::{self, Access, Lengths, Task};
use crate::status::Status;

/// What the other process says before it reads anything; how many objects it has written follows.
const BEGUN: &str = "begun ";
/// Bytes of that, and one more.
const MOST: u64 = 27;
/// Status of a process that could not become the program: an emulator of another machine knows of
/// that only when it has been started.
const NOT_BEGUN: i32 = 127;

/// Has another process convert the file, and publishes what it has written.
pub(super) fn run(app: &mut App, args: &Convert, plan: &Plan, mode: Mode) -> io::Result<()> {
    // What is read over the network is found once, by the other process.
    let found = if is_remote(&args.input) { Ok(()) } else { open(args).map(drop) };
    let sink = match found.and_then(|()| create(args)) {
        Ok(sink) => sink,
        Err(problem) => return app.problem(&problem),
    };
    let ended = start(&sink).map_err(|error| Ended::NotBegun(error.to_string())).and_then(outcome);
    match ended {
        Ok(objects) => {
            let written = publish(args, sink).map(|()| objects);
            end(app, args, plan, written)
        }
        Err(Ended::NotBegun(why)) if mode == Mode::Require => {
            app.usage(format_args!("--require-sandbox: no process could be started: {why}"))
        }
        Err(Ended::NotBegun(_)) => {
            drop(sink);
            let written = in_process::run(args, plan);
            end(app, args, plan, written)
        }
        // It has said why.
        Err(Ended::Told(status)) => {
            app.worsen(status);
            Ok(())
        }
        Err(Ended::Otherwise(how)) => app.problem(&Problem::ended(&args.input, &how)),
    }
}

/// How the other process ended, where it has written nothing that is whole.
enum Ended {
    /// It has read nothing, and never will.
    NotBegun(String),
    Told(Status),
    Otherwise(String),
}

/// This program, with the same arguments and one more.
fn start(sink: &FileSink) -> io::Result<Child> {
    let mut given = std::env::args_os();
    let name = given.next().unwrap_or_else(|| "zten".into());
    Command::new("/proc/self/exe")
        .arg0(name)
        .arg("--worker")
        .args(given)
        .stdin(sink.file().try_clone()?)
        .stdout(Stdio::piped())
        .spawn()
}

/// How many objects the other process says that it has written. It is not believed more than it
/// must be: it has read the file.
fn outcome(mut child: Child) -> Result<u64, Ended> {
    let mut said = Vec::new();
    if let Some(out) = child.stdout.take() {
        // What has come counts, whatever happens then.
        let _ = out.take(MOST).read_to_end(&mut said);
    }
    let ended = child.wait().map_err(|error| Ended::Otherwise(error.to_string()))?;
    match ended.code() {
        Some(0) => str::from_utf8(&said)
            .ok()
            .and_then(|said| said.strip_prefix(BEGUN)?.parse().ok())
            .ok_or_else(|| Ended::Otherwise("it does not say what it has written".to_owned())),
        // Once it has said that it begins, whatever it has read cannot take that back.
        Some(NOT_BEGUN) if said.is_empty() => Err(Ended::NotBegun(ended.to_string())),
        Some(1) => Err(Ended::Told(Status::Refused)),
        Some(2) => Err(Ended::Told(Status::Trouble)),
        _ => Err(Ended::Otherwise(ended.to_string())),
    }
}

/// Writes the file that is standard input, in confinement.
pub(super) fn work(app: &mut App, args: &Convert, plan: &Plan, mode: Mode) -> io::Result<()> {
    zten_sandbox::end_with_parent();
    let output = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    let output = match output {
        Ok(output) => output,
        Err(error) => return app.problem(&Problem::io(&args.output, &error)),
    };
    let mut files = [open(args)];
    if args.strictness.looks_for_shards() && files.iter().any(Result::is_ok) {
        zten_sandbox::allow_many_files();
        let access = Access { mode, task: Task::Convert, strictness: &args.strictness };
        if sandbox::find_shards(app, &mut files, access)?.is_none() {
            return Ok(());
        }
    }
    let [file] = files;
    let file = match file {
        Ok(file) => file,
        Err(problem) => return app.problem(&problem),
    };
    write!(app.out, "{BEGUN}")?;
    app.out.flush()?;
    let beside = file.beside.iter().map(|file| file.length);
    let known = beside.chain([file.length]).collect();
    let lengths = Lengths { known, later: sandbox::later(&file, Task::Convert, &args.strictness) };
    if !sandbox::converts(app, mode, &lengths, &args.strictness)? {
        return Ok(());
    }
    let written = archive(args, file).and_then(|archive| {
        convert(args, &archive, buffered(&output), plan)?;
        Ok(u64_from_usize(archive.len()))
    });
    match written {
        Ok(objects) => write!(app.out, "{objects}"),
        Err(problem) => app.problem(&problem),
    }
}
