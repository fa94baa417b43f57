//! The process that talks to the server. It serves ranges of one file, and of those that this one names, to the
//! process at the other end of its standard input, and looks at no byte of them.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::ops::Range;
use std::os::fd::AsFd as _;

use zten_remote::{Plan, RemoteError, RemoteFile, Want};

use super::settings;
use super::wire::{self, FileNumber, Found, Question};

/// Files of which blocks are fetched ahead, and held.
const AHEAD: usize = 4;

/// Serves files, until nothing more is asked.
pub(crate) fn run() -> io::Result<()> {
    zten_sandbox::end_with_parent();
    // A panic is told as an error, and without its own words: they may repeat what a server has sent.
    std::panic::set_hook(Box::new(|_| ()));
    let socket = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (mut from, mut to) = (&socket, BufWriter::with_capacity(1 << 20, &socket));
    let (name, most) = (wire::text(&mut from)?, wire::short(&mut from)?);
    let mut files = match settings::open(&name) {
        Ok(root) => Files { found: vec![root], most, asked: 0, recent: VecDeque::new() },
        Err(error) => {
            wire::put_failure(&mut to, &error.to_string())?;
            return to.flush();
        }
    };
    let length = files.get(0)?.length();
    wire::put_found(&mut to, Some(&Found { number: 0, length }))?;
    to.flush()?;
    while let Some(question) = wire::question(&mut from)? {
        match question {
            Question::Read(number, range) => {
                let file = files.read(number)?;
                let served = file.read_with(range, |bytes| wire::put_bytes(&mut to, bytes));
                if let Err(error) = served {
                    wire::put_failure(&mut to, &error.to_string())?;
                }
            }
            // A process that plans what the file does not have was taken over.
            Question::Plan(number, ranges) => {
                let runs = ranges.split(Range::is_empty).map(|run| run.iter().cloned());
                files.get(number)?.plan(Plan::of_runs(runs))?;
            }
            Question::Find(want) => match files.find(&want)? {
                Ok(found) => wire::put_found(&mut to, found.as_ref())?,
                Err(error) => wire::put_failure(&mut to, &error.to_string())?,
            },
        }
        to.flush()?;
    }
    Ok(())
}

/// A file, and those that were found that it names.
struct Files {
    /// By their numbers.
    found: Vec<RemoteFile>,
    /// How many may be looked for.
    most: u32,
    /// How many were.
    asked: u32,
    /// Those that were read last.
    recent: VecDeque<FileNumber>,
}

impl Files {
    fn get(&self, number: FileNumber) -> io::Result<&RemoteFile> {
        let file = usize::try_from(number).ok().and_then(|number| self.found.get(number));
        file.ok_or_else(|| taken_over("reads a file that was not found"))
    }

    /// A file that is read from: of no more than a few, blocks are held.
    fn read(&mut self, number: FileNumber) -> io::Result<&RemoteFile> {
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

    /// Finds a file, below the folder of the first one.
    fn find(&mut self, want: &Want) -> io::Result<Result<Option<Found>, RemoteError>> {
        if self.asked >= self.most {
            return Err(taken_over("asks for more files than the limit allows"));
        }
        self.asked = self.asked.saturating_add(1);
        let found = match self.get(0)?.find(want) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(Ok(None)),
            Err(error) => return Ok(Err(error)),
        };
        let (length, number) = (found.length(), u32::try_from(self.found.len()));
        self.found.push(found);
        Ok(Ok(number.ok().map(|number| Found { number, length })))
    }
}

fn taken_over(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the other process {what}"))
}
