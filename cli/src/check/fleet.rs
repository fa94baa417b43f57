//! Checking any number of files in confined processes.
//!
//! A process that is confined opens nothing. So this one, which is not, opens a few files at a time, hands
//! them over, and closes them; the confined one checks them and answers. Of an answer no more is
//! believed than must be: the words on a file, which it could have printed as well, and what they
//! amount to. However it ends, the file that it was checking is reported, and another process checks the rest.

mod message;
mod ordered;
mod running;
mod share;
mod source;
mod worker;

use std::io::{self, Write as _};

use rustix::event::{PollFd, PollFlags, poll};
use zten_shards::{ShardFile, Want};

use super::entries::{Entries, Handed};
use super::here;
use super::kind::Outcome;
use super::output::Output;
use super::record::{Form, Record};
use crate::app::App;
use crate::args::Check;
use crate::mode::Mode;
use crate::report::Problem;
use message::{Answer, FILES, Order, Sent, has_room, is_gone, is_too_many};
use ordered::Ordered;
use running::{Item, Running};
use share::ROOM;
use source::Source;
pub(crate) use worker::work;

/// How many processes in a row may end before they begin, where one has begun before.
const ATTEMPTS: u32 = 64;

/// Why no process can go on.
enum Halt {
    /// None can be confined, and one must be.
    Usage(String),
    /// None can be started.
    Unconfined,
}

/// Files to check, and the processes that do.
pub(super) struct Fleet<'a> {
    args: &'a Check,
    mode: Mode,
    source: Source<'a>,
    slots: Vec<Option<Running>>,
    ordered: Ordered,
    /// Whether a process could be started.
    has_begun: bool,
    /// How many ended since before they had begun.
    attempts: u32,
    halt: Option<Halt>,
}

impl<'a> Fleet<'a> {
    /// One of as many processes as are asked for, none of which has begun.
    pub(super) fn new(args: &'a Check, mode: Mode, entries: Entries<'a>) -> Self {
        let slots = (0..args.jobs.unwrap_or(1)).map(|_| None).collect();
        let (source, ordered) = (Source::new(args, entries), Ordered::default());
        Self { args, mode, source, slots, ordered, has_begun: false, attempts: 0, halt: None }
    }

    /// Checks all files, and says what has been found in their order.
    pub(super) fn run(mut self, app: &mut App, output: &mut Output) -> io::Result<()> {
        zten_sandbox::allow_many_files();
        loop {
            self.hand_out();
            while let Some((path, record)) = self.ordered.next() {
                output.record(app, &path, &record)?;
            }
            match self.halt.take() {
                Some(Halt::Usage(message)) => return app.usage(message),
                Some(Halt::Unconfined) => return self.here(app, output),
                None => {}
            }
            if self.is_done() {
                break;
            }
            // What is known is not held back by what is waited for.
            app.out.flush()?;
            self.wait()?;
            self.read();
        }
        match self.source.failed {
            Some(message) => app.usage(message),
            None => Ok(()),
        }
    }

    /// Whether all files have been checked and reported.
    fn is_done(&self) -> bool {
        self.source.is_over() && self.is_idle()
    }

    /// Whether no answer is waited for.
    fn is_idle(&self) -> bool {
        self.slots.iter().flatten().all(Running::is_idle)
    }

    /// Sends files to the processes that have few.
    fn hand_out(&mut self) {
        for slot in 0..self.slots.len() {
            let running = self.slots.get(slot).and_then(Option::as_ref);
            if !running.is_some_and(Running::is_busy) && self.halt.is_none() {
                self.send_batch(slot);
            }
        }
    }

    /// Opens as many files as make a message, and sends them.
    fn send_batch(&mut self, slot: usize) {
        let (mut items, mut files, mut bytes) = (Vec::new(), Vec::new(), 0_u64);
        let running = self.slots.get(slot).and_then(Option::as_ref);
        let is_idle = running.is_none_or(Running::is_idle);
        while let Some((item, handed)) = self.open_next(items.is_empty()) {
            let length = handed.length.max(item.shard);
            let total = bytes.saturating_add(length);
            let fits = match files.as_slice() {
                [] => is_idle || !item.alone,
                files => {
                    total <= ROOM && !item.alone && has_room(files, item.entry.path.as_os_str())
                }
            };
            if !fits || !self.can_take(slot, length, items.len()) {
                self.source.held = Some((item, handed));
                break;
            }
            bytes = total;
            let is_last = item.alone;
            let Handed { file, length } = handed;
            files.push(Sent { name: item.entry.path.clone(), file, length });
            items.push(item);
            if is_last || files.len() == FILES {
                break;
            }
        }
        if items.is_empty() {
            return;
        }
        let is_idle = self.is_idle();
        let Some(Some(running)) = self.slots.get_mut(slot) else { return };
        match running.send(Order::Check, &files) {
            Ok(()) => {
                running.left = running.left.saturating_sub(items.len());
                running.outstanding.extend(items);
                running.bytes = bytes;
            }
            // It was checking nothing, so it is none of these.
            Err(error) if is_gone(&error) && running.begun && running.is_idle() => {
                self.source.put_back(items);
                self.empty(slot);
            }
            // What it was checking, or why it never began, is found when it is asked for answers.
            Err(error) if is_gone(&error) => running.outstanding.extend(items),
            // Others are on their way, and will have come.
            Err(error) if is_too_many(&error) && !is_idle => self.source.put_back(items),
            Err(error) => items.into_iter().for_each(|item| self.failed(item, &error)),
        }
    }

    /// Whether a process can take a file of so many bytes beside others, if need be a new one.
    fn can_take(&mut self, slot: usize, length: u64, others: usize) -> bool {
        let Some(slot) = self.slots.get_mut(slot) else { return false };
        if slot.as_ref().is_some_and(|running| running.takes(length, others)) {
            return true;
        }
        if others > 0 || slot.as_ref().is_some_and(|running| !running.is_idle()) {
            return false;
        }
        *slot = None;
        match Running::start(self.args, self.mode, share::longest(length)) {
            Ok(running) => *slot = Some(running),
            Err(error) => {
                // The others do its work.
                if self.slots.iter().all(Option::is_none) {
                    self.not_begun(&error.to_string());
                }
                return false;
            }
        }
        true
    }

    /// The next file, open; those that cannot be opened are reported. None, if there is no other yet.
    fn open_next(&mut self, is_first: bool) -> Option<(Item, Handed)> {
        if let Some(held) = self.source.held.take() {
            return Some(held);
        }
        loop {
            let item = self.source.next_item(&self.ordered, false)?;
            match item.entry.hand_over(self.args) {
                Ok(handed) => return Some((item, handed)),
                Err(error) if is_too_many(&error) && !(is_first && self.is_idle()) => {
                    self.source.again.push_front(item);
                    return None;
                }
                Err(error) => self.failed(item, &error),
            }
        }
    }

    /// A file that the system would not let be read.
    fn failed(&mut self, item: Item, error: &io::Error) {
        let problem = Problem::io(&item.entry.path, error);
        self.found(item, problem);
    }

    fn found(&mut self, item: Item, problem: Problem) {
        let path = item.entry.path;
        let outcome: Outcome = Err(Box::new(problem));
        let record = Record::new(Form::of(self.args), &path, &outcome);
        self.ordered.put(item.number, path, record);
    }

    /// Waits for an answer, or for more of the list.
    fn wait(&self) -> io::Result<()> {
        let running = self.slots.iter().flatten();
        let busy = running.filter(|running| !running.is_idle());
        let mut asked: Vec<PollFd<'_>> = busy
            .map(|running| PollFd::from_borrowed_fd(running.descriptor(), PollFlags::IN))
            .collect();
        let list = self.source.waits_for(&self.ordered);
        asked.extend(list.map(|list| PollFd::from_borrowed_fd(list, PollFlags::IN)));
        // Nothing is waited for where entries could not be opened, and others are there.
        if asked.is_empty() {
            return Ok(());
        }
        match poll(&mut asked, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes all answers that are there.
    fn read(&mut self) {
        for slot in 0..self.slots.len() {
            // One that says more than it was asked for does not keep others from being heard.
            for _ in 0..4 * FILES {
                let Some(Some(running)) = self.slots.get_mut(slot) else { break };
                if running.is_idle() {
                    break;
                }
                match running.next_answer() {
                    Ok(Some(answer)) => self.answered(slot, answer),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Ok(None) => self.lost(slot, None),
                    Err(error) => self.lost(slot, Some(&error)),
                }
            }
        }
    }

    fn answered(&mut self, slot: usize, answer: Answer) {
        let Some(Some(running)) = self.slots.get_mut(slot) else { return };
        match answer {
            Answer::Begun => {
                running.begun = true;
                self.has_begun = true;
                self.attempts = 0;
            }
            Answer::NotConfined(why) => {
                self.halt = Some(Halt::Usage(format!("--require-sandbox: {why}")));
                self.empty(slot);
            }
            Answer::Found(records) => {
                let told = records.len().min(running.outstanding.len());
                for (item, record) in running.outstanding.drain(..told).zip(records) {
                    self.ordered.put(item.number, item.entry.path, record);
                }
            }
            Answer::Wants(wanted) => {
                let most = self.args.strictness.options().limit().shards();
                if u64::try_from(running.wanted.len()).is_ok_and(|number| number < most.into()) {
                    running.wanted.push(wanted);
                }
            }
            Answer::WantsNoMore => self.send_shards(slot),
        }
    }

    /// Opens the shards that a process asks for, and sends them.
    fn send_shards(&mut self, slot: usize) {
        let Some(Some(running)) = self.slots.get_mut(slot) else { return };
        let wanted = std::mem::take(&mut running.wanted);
        let Some(item) = running.outstanding.front() else { return };
        let path = item.entry.path.clone();
        let mut longest = 0;
        let mut files = Vec::new();
        let mut outcome = Ok(());
        for wanted in wanted {
            match wanted.open(&path) {
                Ok(Some(ShardFile { name, file, length })) => {
                    longest = match wanted {
                        Want::Shard(_) => longest.max(length),
                        // The headers of all of them are held at a time.
                        Want::Beside(_) => length.saturating_add(longest),
                    };
                    files.push(Sent { name: name.into(), file, length });
                }
                Ok(None) => continue,
                Err(error) => outcome = Err(error),
            }
            if files.len() == FILES {
                if longest <= running.longest && outcome.is_ok() {
                    outcome = running.send(Order::Shards, &files);
                }
                files.clear();
            }
        }
        if longest <= running.longest && outcome.is_ok() {
            outcome = running.send(Order::LastShards, &files);
            if outcome.is_ok() {
                return;
            }
        }
        // One that is gone is found to be when it is asked for answers.
        if outcome.as_ref().is_err_and(is_gone) || running.send(Order::Drop, &[]).is_err() {
            return;
        }
        let Some(mut item) = running.outstanding.pop_front() else { return };
        item.shard = longest;
        match outcome {
            Err(error) => self.failed(item, &error),
            // Another process, started for files of that length, will ask again.
            Ok(()) => self.source.again.push_front(item),
        }
    }

    /// A process that has ended, or says what cannot be.
    fn lost(&mut self, slot: usize, why: Option<&io::Error>) {
        let Some(mut running) = self.slots.get_mut(slot).and_then(Option::take) else { return };
        let ended = match (why, running.end()) {
            (Some(why), _) => why.to_string(),
            (None, Ok(status)) => status.to_string(),
            (None, Err(error)) => error.to_string(),
        };
        if !running.begun {
            self.attempts = self.attempts.saturating_add(1);
            if !self.has_begun || self.attempts > ATTEMPTS {
                self.not_begun(&ended);
            }
        } else if running.outstanding.len() == 1
            && let Some(item) = running.outstanding.pop_front()
        {
            let problem = Problem::ended(&item.entry.path, &ended);
            self.found(item, problem);
        }
        // It may not have reported those before the one that ended it.
        let alone = running.outstanding.drain(..).map(|item| Item { alone: true, ..item });
        self.source.put_back(alone);
    }

    /// No process can be started. Once one has read a file, that is no reason to do without: what it has
    /// read may be the cause.
    fn not_begun(&mut self, why: &str) {
        self.halt = Some(match self.mode {
            Mode::Try | Mode::Off if !self.has_begun => Halt::Unconfined,
            _ => Halt::Usage(format!("no process to check files in could be started: {why}")),
        });
    }

    /// Ends a process.
    fn empty(&mut self, slot: usize) {
        if let Some(mut running) = self.slots.get_mut(slot).and_then(Option::take) {
            self.source.put_back(running.outstanding.drain(..));
        }
    }

    /// Checks what is left in this process.
    fn here(mut self, app: &mut App, output: &mut Output) -> io::Result<()> {
        for slot in 0..self.slots.len() {
            self.empty(slot);
        }
        let held = self.source.held.take().map(|(item, _)| item);
        self.source.put_back(held);
        self.source.again.make_contiguous().sort_by_key(|item| item.number);
        while let Some(item) = self.source.next_item(&self.ordered, true) {
            let outcome = here::outcome(&item.entry, self.args);
            let record = Record::new(Form::of(self.args), &item.entry.path, &outcome);
            self.ordered.put(item.number, item.entry.path, record);
            while let Some((path, record)) = self.ordered.next() {
                output.record(app, &path, &record)?;
            }
            app.out.flush()?;
        }
        match self.source.failed {
            Some(message) => app.usage(message),
            None => Ok(()),
        }
    }
}
