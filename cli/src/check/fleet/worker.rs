//! The confined process: it checks the files that it is sent over the socket that is its standard
//! input, and opens none.

use std::collections::VecDeque;
use std::io;

use zten_shards::{ShardFile, Want};

use super::message::{Answer, Order, Sent, TEXT, answer, has_room_for, next_order};
use super::share;
use crate::args::Check;
use crate::check::kind::Outcome;
use crate::check::record::{Form, Record};
use crate::check::validate::begin;
use crate::companion::Companion;
use crate::file::Opened;
use crate::handle::Handle;
use crate::mode::Mode;
use crate::objects::WORTH_IT;
use crate::remote::{Remote, is_remote};
use crate::report::Problem;
use crate::sandbox;
use crate::threads;

/// Confines the process, and checks what comes until nothing more does.
pub(crate) fn work(args: &Check, mode: Mode) -> io::Result<()> {
    zten_sandbox::end_with_parent();
    let longest = args.longest.unwrap_or_default();
    let share = share::of(args, longest);
    if mode.confines() {
        let report = sandbox::receives(&share, &args.strictness);
        if let Err(why) = report.complete()
            && mode == Mode::Require
        {
            return answer(&Answer::NotConfined(why));
        }
    } else if share.threads > 1 {
        threads::start(share.threads);
    } else {
        threads::none();
    }
    answer(&Answer::Begun)?;
    let mut worker =
        Worker { args, form: Form::of(args), ahead: VecDeque::new(), found: Vec::new() };
    while let Some(file) = worker.next()? {
        worker.check(file)?;
    }
    Ok(())
}

struct Worker<'a> {
    args: &'a Check,
    form: Form,
    /// Files that have come, and are still to be checked.
    ahead: VecDeque<Sent>,
    /// What has been found and not been said.
    found: Vec<Record>,
}

impl Worker<'_> {
    /// The next file.
    fn next(&mut self) -> io::Result<Option<Sent>> {
        while self.ahead.is_empty() {
            match next_order(io::stdin())? {
                Some((Order::Check, files)) => self.ahead.extend(files),
                Some(_) => return Err(io::Error::other("shards of no file")),
                None => return Ok(None),
            }
        }
        Ok(self.ahead.pop_front())
    }

    /// Says what has been found.
    fn tell(&mut self) -> io::Result<()> {
        let found = std::mem::take(&mut self.found);
        if found.is_empty() { Ok(()) } else { answer(&Answer::Found(found)) }
    }

    /// Checks a file, and says what has been found when nothing more comes, or what takes long.
    fn check(&mut self, Sent { name, file, length }: Sent) -> io::Result<()> {
        let opened = if is_remote(&name) {
            let found = Remote::received(file, self.args.strictness.most_beside());
            found.map(|file| Opened::remote(&name, file))
        } else {
            Ok(Opened::new(&name, Handle::Local(file), length))
        };
        let opened = opened.map_err(|error| Box::new(Problem::io(&name, &error)));
        let outcome = match opened.and_then(|opened| begin(opened, self.args)) {
            Err(problem) => Err(problem),
            Ok(mut begun) => {
                let wants = begun.wants(self.args);
                if !wants.is_empty() {
                    let Some(files) = self.ask(wants)? else { return Ok(()) };
                    begun.add(files.into_iter().map(Companion::from));
                }
                begun.validate(&name, self.args)
            }
        };
        let mut record = Record::new(self.form, &name, &outcome);
        if let Err(problem) = outcome
            && record.text.len() > TEXT
        {
            let outcome: Outcome = Err(Box::new(problem.without_names()));
            record = Record::new(self.form, &name, &outcome);
        }
        if !has_room_for(&self.found, &record) {
            self.tell()?;
        }
        self.found.push(record);
        // What is known of one file is not held back by the work on another, but for small ones.
        match self.ahead.front() {
            Some(next) if next.length < WORTH_IT => Ok(()),
            _ => self.tell(),
        }
    }

    /// Asks for the shards of a file. None where it is to be checked elsewhere.
    fn ask(&mut self, wants: Vec<Want>) -> io::Result<Option<Vec<ShardFile>>> {
        self.tell()?;
        for want in wants {
            answer(&Answer::Wants(want))?;
        }
        answer(&Answer::WantsNoMore)?;
        let mut shards = Vec::new();
        loop {
            let Some((order, sent)) = next_order(io::stdin())? else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            match order {
                // They came before the answer was read.
                Order::Check => self.ahead.extend(sent),
                Order::Drop => return Ok(None),
                Order::Shards | Order::LastShards => {
                    shards.extend(sent.into_iter().map(|Sent { name, file, length }| {
                        let name = name.to_string_lossy().into_owned();
                        ShardFile { name, file, length }
                    }));
                }
            }
            if order == Order::LastShards {
                return Ok(Some(shards));
            }
        }
    }
}
