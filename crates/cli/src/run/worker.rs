//! The worker: the confined process that runs a command on files that the broker opens.
//! The worker has one socket, its standard input, over which it receives files, and sends text, requests and results. Apart
//! from the socket it can write only to standard output (for `cat` and `ls --attribute`) and to the output files of the
//! command.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zten_report::stores::Role;
use zten_worker::process::{PART, Start, confine, receive_start};

use crate::args::{Call, RemoteSettings};
use crate::commands;
use crate::commands::{Create, Job};
use crate::input::file::{Blobs, Opened};
use crate::input::objects::WORTH_IT;
use crate::input::threads;
use crate::link::channel::Channel;
use crate::link::message::{Done, Input, InputKind, Request};
use crate::link::status::Status;
use crate::output::app::App;
use crate::output::kind::OutcomeKind;
use crate::output::paint::{self, Streams};
use crate::output::progress::{self, Terminals};
use crate::output::report::Problem;
use crate::source::handle::{Finder, Handle};
use crate::source::remote;
use crate::source::remote::Remote;

/// The first command-line argument of a worker process, by which the program knows that it is one.
pub(crate) const ARGUMENT: &str = "--worker";

/// The settings of a worker, which it receives before its first file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Settings<C> {
    pub(crate) call: C,
    pub(crate) threads: usize,
    pub(crate) streams: Streams,
    pub(crate) terminals: Terminals,
    pub(crate) remote: RemoteSettings,
}

impl Create for Channel {
    fn create(&self, number: u32, shards: u32) -> io::Result<File> {
        self.create(number, shards)
    }
}

/// The files of a job, or the problems of files that could not be opened.
type Files = Vec<Result<Opened, Box<Problem>>>;

/// Runs the worker: receives the settings, confines the process, and runs the command on each job until the broker closes the
/// socket. Runs no job if the process cannot be confined as the settings require.
pub(crate) fn run() -> io::Result<()> {
    zten_sandbox::end_with_parent();
    let start: Start<Settings<Call>> = receive_start()?;
    let Settings { call, threads, streams, terminals, remote } = &start.settings;
    paint::set(*streams);
    remote::decide(remote);
    let channel = Arc::new(Channel::default());
    progress::set(*terminals, Arc::clone(&channel));
    let start_threads = || match threads {
        0 | 1 => threads::none(),
        number => threads::start(*number),
    };
    if !confine(&start, start_threads)? {
        return Ok(());
    }
    while let Some((number, files)) = next_job(&channel, call)? {
        let mut app = App::in_worker(&channel, call.writes_data());
        let job = Job { number, files, create: &*channel, longest_result: PART };
        let ran = commands::run(call, &mut app, job).and_then(|record| {
            let Some(record) = record else { return Ok(None) };
            app.out.write_all(record.text.as_bytes())?;
            Ok(Some(record.kind))
        });
        let is_written = app.is_written();
        let (status, kind) = app.finish(ran)?;
        let has_files = is_written || status == Status::Success;
        let kind = kind.as_ref().map(OutcomeKind::numbers);
        channel.put(&Request::Done(Done { status, kind, has_files }))?;
    }
    Ok(())
}

/// Receives the number and the files of the next job, or `None` if there is no other job.
fn next_job(channel: &Arc<Channel>, call: &Call) -> io::Result<Option<(u64, Files)>> {
    let (mut job, mut files) = (0, Vec::new());
    while files.len() < call.files_of_job() {
        let Some((input, file)) = channel.next(WORTH_IT)? else { return Ok(None) };
        job = input.job;
        files.push(open(channel, call, input, file));
    }
    Ok(Some((job, files)))
}

fn open(
    channel: &Arc<Channel>,
    call: &Call,
    input: Input,
    file: Option<File>,
) -> Result<Opened, Box<Problem>> {
    let strictness = call.strictness();
    let Input { name, number, kind, other_names, origin, role, .. } = input;
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let opened = match kind {
        InputKind::Failed(failure) => Err(failure.into()),
        InputKind::File(length) => file.ok_or_else(missing).map(|file| {
            let finder = if strictness.looks_for_shards() {
                Finder::Broker(Arc::clone(channel), number)
            } else {
                Finder::Nothing
            };
            let file = Handle::Local(file, finder);
            let channel = Arc::clone(channel);
            let blobs: Blobs = Box::new(move |sha256| channel.blob(number, sha256));
            let blobs = Some(blobs).filter(|_| role == Role::Manifest);
            Opened { other_names, origin, role, blobs, ..Opened::new(&name, file, length) }
        }),
        InputKind::Stream => file
            .ok_or_else(missing)
            .and_then(|mut file| Opened::stream(Path::new("-"), &mut file, strictness)),
        InputKind::Remote => file
            .ok_or_else(missing)
            .and_then(|file| Remote::received(file, strictness.max_siblings()))
            .map(|file| Opened::remote(&name, file)),
    };
    opened.map_err(|error| Box::new(Problem::io(&name, &error)))
}
