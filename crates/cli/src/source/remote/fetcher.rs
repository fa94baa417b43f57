//! The process that talks to the server of a remote file. It serves ranges of the file and of its sibling files to the
//! process at the other end of its standard input, and does not look at the bytes.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use zten_remote::{Plan, RemoteError, RemoteFile, Want};
use zten_worker::process::{IoFailure, MessagePart, PART, Received, invalid, write};

use super::settings;
use crate::args::RemoteSettings as Settings;
use crate::link::message::{FoundSibling, Reply, Request, WireWant};

/// The first command-line argument of a process that fetches a remote file, by which the program knows that it is one.
pub(crate) const ARGUMENT: &str = "--fetch";

/// The largest number of files for which blocks are fetched ahead and held.
const AHEAD: usize = 4;

/// The arguments of the process: the name of the file, the largest number of sibling files to look for, and the settings.
#[derive(Serialize, Deserialize)]
pub(super) struct Start<'a> {
    pub(super) name: &'a str,
    pub(super) most: u32,
    pub(super) settings: Settings,
}

/// Sends an answer over the socket that is standard input.
fn reply(reply: &Reply<'_>) -> io::Result<()> {
    write(io::stdin(), &postcard::to_allocvec(reply).map_err(io::Error::other)?)
}

fn fail(error: &io::Error) -> io::Result<()> {
    reply(&Reply::Failed(IoFailure::new(error)))
}

/// Runs the process: opens the file, and answers requests until the socket is closed or a request is invalid. If the file cannot be
/// opened, sends the error and ends.
pub(crate) fn run() -> io::Result<()> {
    zten_sandbox::end_with_parent();
    // A panic is reported as an error, without its message, which may repeat bytes that a server has sent.
    std::panic::set_hook(Box::new(|_| ()));
    let mut received = Received::receive(io::stdin())?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let start: MessagePart<'_> = received.message()?.ok_or_else(|| invalid("no start"))?;
    let Start { name, most, settings } =
        postcard::from_bytes(start.bytes).map_err(io::Error::other)?;
    settings::decide(&settings);
    let root = match settings::open(name) {
        Ok(root) => root,
        Err(error) => return fail(&error),
    };
    reply(&Reply::Found(Some(FoundSibling { number: 0, identity: None, length: root.length() })))?;
    let (found, recent) = (vec![root], VecDeque::new());
    let mut files = Files { found, most, asked: 0, recent, plan: Vec::new() };
    while let Some(mut received) = Received::receive(io::stdin())? {
        while let Some(request) = received.message()? {
            files.answer(request)?;
        }
    }
    Ok(())
}

/// The remote file and its sibling files.
struct Files {
    /// The open files by number. The first is the remote file itself.
    found: Vec<RemoteFile>,
    /// The largest number of sibling files to look for.
    most: u32,
    /// The number of sibling files that have been looked for.
    asked: u32,
    /// The numbers of the files that were read last, the latest at the end.
    recent: VecDeque<u32>,
    /// The ranges so far of a plan whose last part has not arrived.
    plan: Vec<Range<u64>>,
}

/// The largest number of ranges of a plan. Further ranges are read without a plan.
const RANGES: usize = 1 << 18;

impl Files {
    fn answer(&mut self, request: Request<'_>) -> io::Result<()> {
        match request {
            Request::Read(number, start, end) => {
                let mut part = Vec::with_capacity(PART);
                let file = self.read(number)?;
                let served = file.read_with(start..end, |mut bytes| {
                    // Packets are filled, because a server may send small pieces.
                    while !bytes.is_empty() {
                        let room = PART.saturating_sub(part.len()).min(bytes.len());
                        let (head, rest) = bytes.split_at(room);
                        part.write_all(head)?;
                        bytes = rest;
                        if part.len() == PART {
                            reply(&Reply::Bytes(&part))?;
                            part.clear();
                        }
                    }
                    Ok::<_, io::Error>(())
                });
                match served {
                    Ok(()) if part.is_empty() => Ok(()),
                    Ok(()) => reply(&Reply::Bytes(&part)),
                    Err(error) => reply(&Reply::Failed(IoFailure::new(&error))),
                }
            }
            // A plan beyond the end of the file ends this process: a worker that was not taken over sends none.
            Request::Plan(number, ranges, more) => {
                let ranges = ranges.into_iter().map(|(start, end)| start..end);
                let left = RANGES.saturating_sub(self.plan.len());
                self.plan.extend(ranges.take(left));
                if more {
                    return Ok(());
                }
                let plan = std::mem::take(&mut self.plan);
                let runs = plan.split(Range::is_empty).map(|run| run.iter().cloned());
                Ok(self.get(number)?.plan(Plan::of_runs(runs))?)
            }
            Request::Find(_, WireWant(want)) => match self.find(&want)? {
                Ok(found) => reply(&Reply::Found(found)),
                Err(error) => fail(&error.into()),
            },
            _ => Err(invalid("the process for remote files does not answer this kind of request")),
        }
    }

    fn get(&self, number: u32) -> io::Result<&RemoteFile> {
        let file = usize::try_from(number).ok().and_then(|number| self.found.get(number));
        file.ok_or_else(|| invalid("the request has the number of a file that was not found"))
    }

    /// Returns file `number` for reading. Pauses the file that was read longest ago, so that blocks of only [`AHEAD`] files
    /// are held.
    fn read(&mut self, number: u32) -> io::Result<&RemoteFile> {
        if self.recent.back() != Some(&number) {
            self.recent.retain(|other| *other != number);
            self.recent.push_back(number);
            if self.recent.len() > AHEAD
                && let Some(last) = self.recent.pop_front()
            {
                self.get(last)?.pause();
            }
        }
        self.get(number)
    }

    /// Finds the sibling file `want` in the folder of the first file or below. The inner error is that of the server, and
    /// is sent as the answer.
    ///
    /// # Errors
    /// The process at the other end asks for more siblings than it may, so this process ends.
    fn find(&mut self, want: &Want) -> io::Result<Result<Option<FoundSibling>, RemoteError>> {
        if self.asked >= self.most {
            return Err(invalid(
                "the process at the other end requests more files than the limit allows",
            ));
        }
        self.asked = self.asked.saturating_add(1);
        let found = match self.get(0)?.find(want) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(Ok(None)),
            Err(error) => return Ok(Err(error)),
        };
        let (length, number) = (found.length(), u32::try_from(self.found.len()));
        self.found.push(found);
        Ok(Ok(number.ok().map(|number| FoundSibling { number, identity: None, length })))
    }
}
