//! The worker: the confined process that runs a command on files that the broker opens.
//!
//! The worker has one socket, its standard input, over which it receives files, and sends text, requests and results. Apart
//! from the socket it can write only to standard output (for `cat`) and to the output files of the command.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use zten::shards::Want;
use zten_worker::process::{
    PACKET, PART, Received, Start, confine, invalid, receive_start, split_at_most, write,
};

use crate::app::App;
use crate::command::{Call, Create, Job};
use crate::file::Opened;
use crate::handle::{Finder, Handle, ShardHandle};
use crate::kind::Kind;
use crate::message::{Done, Found, Input, InputKind, Reply, Request, Stream, WireWant};
use crate::objects::WORTH_IT;
use crate::paint::{self, Streams};
use crate::progress::{self, Terminals};
use crate::remote::Remote;
use crate::report::Problem;
use crate::status::Status;
use crate::{remote, threads};

/// The first argument of a worker process.
pub(crate) const ARGUMENT: &str = "--worker";

/// The settings of a worker, which it receives before its first file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Settings<C> {
    pub(crate) call: C,
    pub(crate) threads: usize,
    pub(crate) streams: Streams,
    pub(crate) terminals: Terminals,
    pub(crate) remote: remote::Settings,
}

/// The worker's end of the socket.
#[derive(Debug)]
pub(crate) struct Channel(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    received: Option<Received>,
    /// Inputs that arrived while the worker waited for an answer.
    ahead: VecDeque<(Input, Option<File>)>,
    /// Serialized messages that have not been sent.
    unsent: Vec<u8>,
}

/// A message of the broker, with the file that it mentions.
enum Answer {
    Input(Input, Option<File>),
    Found(Option<(File, Found)>),
    Created(File),
    Failed(io::Error),
}

impl Channel {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a message to the next packet.
    fn put(&self, request: &Request<'_>) -> io::Result<()> {
        self.lock().put(request)
    }

    /// Sends a message, and all messages that were added before, now.
    pub(crate) fn send(&self, request: &Request<'_>) -> io::Result<()> {
        let mut state = self.lock();
        state.put(request)?;
        state.flush()
    }

    /// Sends `text` for a stream, in parts, and empties it. The bytes of an incomplete character at the end stay in `text`.
    pub(crate) fn text(&self, stream: Stream, text: &mut Vec<u8>) -> io::Result<()> {
        let valid = match str::from_utf8(text) {
            Ok(_) => text.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(error) => return Err(io::Error::other(error)),
        };
        let mut rest =
            text.get(..valid).and_then(|text| str::from_utf8(text).ok()).unwrap_or_default();
        while !rest.is_empty() {
            let (part, after) = split_at_most(rest, PART);
            self.put(&Request::Text(stream, part))?;
            rest = after;
        }
        text.drain(..valid);
        Ok(())
    }

    /// Asks the broker for the sibling file `want` of input `number`.
    pub(crate) fn find(&self, number: u32, want: &Want) -> io::Result<Option<ShardHandle>> {
        match self.ask(&Request::Find(number, WireWant(want.clone())))? {
            Answer::Found(found) => Ok(found.map(|(file, found)| ShardHandle {
                name: want.name().to_owned(),
                file: Handle::Local(file, Finder::Nothing),
                length: found.length,
                identity: found.identity,
            })),
            Answer::Failed(error) => Err(error),
            _ => Err(invalid("another answer")),
        }
    }

    /// Sends `request`, and waits for the answer. Inputs that arrive before the answer are kept.
    fn ask(&self, request: &Request<'_>) -> io::Result<Answer> {
        let mut state = self.lock();
        state.put(request)?;
        state.flush()?;
        loop {
            match state.receive()? {
                Some(Answer::Input(input, file)) => state.ahead.push_back((input, file)),
                Some(answer) => return Ok(answer),
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }

    /// Returns the next input, or `None` if no more follow. Sends the pending results first if the next input has not
    /// arrived or is large, so that they are not delayed.
    fn next(&self) -> io::Result<Option<(Input, Option<File>)>> {
        let mut state = self.lock();
        match state.ahead.front() {
            Some((Input { kind: InputKind::File(length), .. }, _)) if *length < WORTH_IT => {}
            _ => state.flush()?,
        }
        if let Some(input) = state.ahead.pop_front() {
            return Ok(Some(input));
        }
        loop {
            match state.receive()? {
                Some(Answer::Input(input, file)) => state.ahead.push_back((input, file)),
                Some(_) => return Err(invalid("an answer to nothing")),
                None => return Ok(None),
            }
            // The inputs of one packet are read together, so that small files are processed without a message between them.
            if state.received.as_ref().is_none_or(Received::is_over) {
                return Ok(state.ahead.pop_front());
            }
        }
    }
}

impl Create for Channel {
    fn create(&self, number: u32, shards: u32) -> io::Result<File> {
        match self.ask(&Request::Create(number, shards))? {
            Answer::Created(file) => Ok(file),
            Answer::Failed(error) => Err(error),
            _ => Err(invalid("another answer")),
        }
    }
}

impl State {
    fn put(&mut self, request: &Request<'_>) -> io::Result<()> {
        let message = postcard::to_allocvec(request).map_err(io::Error::other)?;
        if self.unsent.len().saturating_add(message.len()) > PACKET {
            self.flush()?;
        }
        self.unsent.extend(message);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.unsent.is_empty() {
            write(io::stdin(), &self.unsent)?;
            self.unsent.clear();
        }
        Ok(())
    }

    /// Receives the next message. Returns `None` if the broker has closed the socket.
    fn receive(&mut self) -> io::Result<Option<Answer>> {
        loop {
            let received = match &mut self.received {
                Some(received) => received,
                none => match Received::receive(io::stdin())? {
                    Some(received) => none.insert(received),
                    None => return Ok(None),
                },
            };
            let answer = match received.message()? {
                None => {
                    self.received = None;
                    continue;
                }
                Some(Reply::Input(input)) => {
                    let has_file = !matches!(input.kind, InputKind::Failed(_));
                    let file = has_file.then(|| received.file()).transpose()?;
                    Answer::Input(input, file)
                }
                Some(Reply::Found(None)) => Answer::Found(None),
                Some(Reply::Found(Some(found))) => Answer::Found(Some((received.file()?, found))),
                Some(Reply::Created) => Answer::Created(received.file()?),
                Some(Reply::Failed(failure)) => Answer::Failed(failure.into()),
                Some(Reply::Bytes(_)) => return Err(invalid("another answer")),
            };
            return Ok(Some(answer));
        }
    }
}

/// The files of a job, or the problems of files that could not be opened.
type Files = Vec<Result<Opened, Box<Problem>>>;

/// Runs the worker: receives the settings, confines the process, and runs the command on each job until the broker closes the
/// socket.
pub(crate) fn run() -> io::Result<()> {
    zten_sandbox::end_with_parent();
    let start: Start<Settings<Call>> = receive_start()?;
    let Settings { call, threads, streams, terminals, remote } = &start.settings;
    paint::set(*streams);
    remote::decide(remote);
    let channel = Arc::new(Channel(Mutex::default()));
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
        let job = Job { number, files, create: &*channel };
        let ran = call.run(&mut app, job);
        let is_written = app.is_written();
        let (status, kind) = app.finish(ran)?;
        let has_files = is_written || status == Status::Success;
        let kind = kind.as_ref().map(Kind::numbers);
        channel.put(&Request::Done(Done { status, kind, has_files }))?;
    }
    Ok(())
}

/// Receives the number and the files of the next job, or `None` if there is no other job.
fn next_job(channel: &Arc<Channel>, call: &Call) -> io::Result<Option<(u64, Files)>> {
    let (mut job, mut files) = (0, Vec::new());
    while files.len() < call.files_of_job() {
        let Some((input, file)) = channel.next()? else { return Ok(None) };
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
    let Input { name, number, kind, other_names, origin, .. } = input;
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
            Opened { other_names, origin, ..Opened::new(&name, file, length) }
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
