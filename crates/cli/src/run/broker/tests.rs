//! Tests of the broker with workers that were taken over.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::fd::OwnedFd;
use std::thread;

use clap::Parser as _;
use rustix::net::{SendFlags, send};
use zten_worker::process::{Process, Received, pair, write};

use super::*;
use crate::args::{Args, Command};
use crate::link::message::{Input, Reply};
use crate::link::verdict::KindNumbers;

/// A deterministic random number generator (xorshift64).
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        (0..self.next(most)).map(|_| u8::try_from(self.next(256)).unwrap()).collect()
    }

    /// Returns a random message of a worker, valid or not.
    fn message(&mut self) -> Vec<u8> {
        let text = ["valid\n", "\u{1b}[31mred", "\u{1b}]0;title\u{7}", "\u{9b}2J", "a\rb", "\n"];
        let want = [
            "shard s xxh3 00",
            "sibling a.safetensors",
            "sibling secret.safetensors",
            "shard ../../etc xxh3 00",
            "sibling /etc/hostname",
        ];
        let number = u32::try_from(self.next(3)).unwrap();
        let request = match self.next(9) {
            0 => {
                let memory = Some(self.next(u64::MAX));
                let greeting = Greeting::Ready { memory, missing: None };
                return postcard::to_allocvec(&greeting).unwrap();
            }
            1 => Request::Text(Stream::Output, text[usize::try_from(self.next(6)).unwrap()]),
            2 => Request::Text(Stream::Errors, text[usize::try_from(self.next(6)).unwrap()]),
            3 => Request::Progress(self.next(100), self.next(100), self.next(100)),
            4 => {
                let mut message = postcard::to_allocvec(&(2_u8, number)).unwrap();
                let want = want[usize::try_from(self.next(5)).unwrap()];
                message.extend(postcard::to_allocvec(want).unwrap());
                return message;
            }
            5 => Request::Create(number, 0),
            6 => Request::Read(number, self.next(9), self.next(9)),
            7 => return self.bytes(200),
            _ => {
                let verdict = u8::try_from(self.next(9)).unwrap();
                let kind = KindNumbers {
                    verdict,
                    rule: Some(3),
                    notes: vec![5; usize::from(verdict)],
                    other: Some(verdict * 3),
                };
                Request::Done(Done { status: Status::Success, kind: Some(kind), has_files: true })
            }
        };
        postcard::to_allocvec(&request).unwrap()
    }

    /// Acts as a worker: sends fewer than 40 packets and receives some, or stops when the broker closes the socket.
    fn play(&mut self, socket: &OwnedFd) {
        // Without a greeting the broker ends the worker at once.
        let mut packet = if self.next(8) == 0 { Vec::new() } else { ready() };
        for _ in 0..self.next(40) {
            packet.extend((0..=self.next(6)).flat_map(|_| self.message()));
            if send(socket, &packet, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_err() {
                return;
            }
            packet.clear();
            if self.next(3) == 0 {
                let _ = Received::poll(socket);
            }
        }
    }
}

/// Returns the greeting of a worker that is ready.
fn ready() -> Vec<u8> {
    postcard::to_allocvec(&Greeting::Ready { memory: None, missing: None }).unwrap()
}

/// Wraps a worker that is a thread at the other end of `socket`.
fn running(socket: OwnedFd) -> Running {
    Running::new(Process::at(socket, zten_sandbox::Budget::default()), 1)
}

fn call(arguments: &[&str]) -> Call {
    let arguments = [&["zten"], arguments].concat();
    match Args::parse_from(arguments).command {
        Command::Call(call) => call,
        _ => panic!("not a command that reads files"),
    }
}

/// However a worker behaves, the broker ends, prints no control characters except newlines, and gives no output file its name.
#[test]
fn workers_that_were_taken_over_gain_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for name in ["a.zt", "b.zt", "a-s.zt"] {
        std::fs::write(path(name), name).unwrap();
    }
    let (a, b, out) = (path("a.zt"), path("b.zt"), path("out.zt"));
    for seed in 1..300 {
        let calls = [
            call(&["check", "--json", &a, &b]),
            call(&["ls", &a]),
            call(&["diff", &a, &b]),
            call(&["convert", &a, &out]),
        ];
        let call = &calls[seed % calls.len()];
        let printed = tempfile::tempfile().unwrap();
        let mut app = App::to_file(printed.try_clone().unwrap());
        let mut players = Vec::new();
        let mut start = |number: u64| {
            let (own, theirs) = pair().unwrap();
            let mut random = Random(u64::try_from(seed).unwrap() * 1000 + number);
            random.next(2);
            players.push(thread::spawn(move || random.play(&theirs)));
            own
        };
        let mut broker = Broker::of(&mut app, call, Confinement::Off, 1).unwrap();
        // The test starts a worker for each job that is left, at most eight in total.
        for number in 0..8 {
            let Some((item, handed)) = broker.open_next(&mut app, true).unwrap() else { break };
            let task = Task::new(item, &handed);
            let running = running(start(number));
            if running.process.send(&handed.packet).is_err() {
                broker.source.put_back([task.item]);
                continue;
            }
            let mut running = running;
            running.tasks.push_back(task);
            broker.slots[0] = Some(running);
            while broker.slots[0].as_ref().is_some_and(|running| !running.is_idle()) {
                broker.wait().unwrap();
                broker.receive(&mut app, 0).unwrap();
            }
            broker.slots[0] = None;
        }
        drop(broker);
        let _ = app.end(Ok(()));
        for player in players {
            player.join().unwrap();
        }
        let (mut printed, mut text) = (printed, String::new());
        printed.seek(SeekFrom::Start(0)).unwrap();
        printed.read_to_string(&mut text).unwrap();
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        assert!(!std::path::Path::new(&out).exists());
    }
}

/// A worker that does some jobs, leaves the verdict out of others, and ends or sends anything at random.
struct Player {
    random: Random,
    /// The number of files that the broker sends for one job.
    files: usize,
    checks: bool,
    /// True if the worker receives packets and answers none.
    sleeps: bool,
}

impl Player {
    /// Acts as a worker until the broker closes the socket, or the worker ends at random.
    fn play(&mut self, socket: &OwnedFd) -> io::Result<()> {
        let mut requests = Vec::new();
        if self.random.next(8) == 0 {
            return Ok(());
        }
        requests.extend(ready());
        let mut inputs = 0;
        while let Some(mut received) = Received::receive(socket)? {
            while let Some(reply) = received.message()? {
                let Reply::Input(input) = reply else { continue };
                inputs += 1;
                if inputs % self.files == 0 && !self.job(&input, &mut requests) {
                    write(socket, &requests)?;
                    while self.sleeps && Received::receive(socket)?.is_some() {}
                    return Ok(());
                }
                // Sends some answers together in one packet, and others one by one.
                if self.random.next(3) == 0 || requests.len() > PART / 2 {
                    write(socket, &requests)?;
                    requests.clear();
                }
            }
            if !requests.is_empty() {
                write(socket, &requests)?;
                requests.clear();
            }
        }
        Ok(())
    }

    /// Appends the answers for one job to `requests`. Returns false if the worker ends after them.
    fn job(&mut self, input: &Input, requests: &mut Vec<u8>) -> bool {
        let text = format!("{}: done\n", input.name.display());
        let text = postcard::to_allocvec(&Request::Text(Stream::Output, &text)).unwrap();
        let done = |kind| Request::Done(Done { status: Status::Success, kind, has_files: true });
        let put = |requests: &mut Vec<u8>, request| {
            requests.extend(postcard::to_allocvec(&request).unwrap());
        };
        match self.random.next(40) {
            0 => return false,
            // The worker ends after a part of a result, which must not be printed.
            1 if self.checks => {
                requests.extend(&text);
                return false;
            }
            2 if self.checks => {
                requests.extend(&text);
                put(requests, done(None));
                return true;
            }
            3 if self.checks => {
                put(requests, done(None));
                return true;
            }
            4 => requests.extend(ready()),
            5 => put(requests, Request::Read(0, 0, 0)),
            6 => requests.extend([&[9][..], &self.random.bytes(40)].concat()),
            // The worker sleeps until the broker ends it.
            9 => {
                put(requests, Request::Progress(0, 1, 1));
                self.sleeps = true;
                return false;
            }
            10 if self.checks => requests.extend(&text),
            11 if self.checks => {
                let valid = KindNumbers { verdict: 0, rule: None, notes: Vec::new(), other: None };
                put(requests, done(Some(valid)));
            }
            8 => {
                let late = Greeting::NotConfined("nothing works".to_owned());
                requests.extend(postcard::to_allocvec(&late).unwrap());
            }
            7 => put(requests, Request::Text(Stream::Output, "\u{1b}]0;title\u{7}")),
            _ => {}
        }
        requests.extend(&text);
        let valid = KindNumbers { verdict: 0, rule: None, notes: Vec::new(), other: None };
        put(requests, done(self.checks.then_some(valid)));
        true
    }
}

/// Whatever workers do, every input has one result, the results are in the order of the inputs, and the command ends.
#[test]
fn every_input_has_one_result() {
    let folder = tempfile::tempdir().unwrap();
    let path =
        |number: usize| folder.path().join(format!("f{number}")).to_str().unwrap().to_owned();
    for number in 0..1300 {
        std::fs::write(path(number), "").unwrap();
    }
    for seed in 0..300_u64 {
        let mut random = Random(seed * 7919 + 1);
        random.next(2);
        // Some lists are longer than the window of results.
        let most = if seed % 30 == 0 { 1300 } else { 60 };
        let files: Vec<_> =
            (1..2 + usize::try_from(random.next(most)).unwrap()).map(path).collect();
        let jobs = u16::try_from(1 + random.next(3)).unwrap();
        let list = format!("--check={}", path(0));
        let also: Vec<_> = files.iter().skip(1).map(|file| format!("--also={file}")).collect();
        let mut arguments: Vec<&str> = match seed % 4 {
            0 | 1 => vec!["check"],
            2 => vec!["hash", &list],
            _ => vec!["ls", &files[0]],
        };
        let named = if seed % 4 == 3 { &also } else { &files };
        arguments.extend(named.iter().map(String::as_str));
        let call = call(&arguments);
        let checks = matches!(call, Call::Check(_));
        let printed = tempfile::tempfile().unwrap();
        let mut app = App::to_file(printed.try_clone().unwrap());
        let mut players = Vec::new();
        let mut start = |call: &Call, _: Confinement, _: &Task| {
            let (own, theirs) = pair()?;
            let random = Random(random.next(u64::MAX) | 1);
            let mut player = Player { random, files: call.files_of_job(), checks, sleeps: false };
            players.push(thread::spawn(move || player.play(&theirs)));
            Ok(running(own))
        };
        let mut broker =
            Broker::of(&mut app, &call, Confinement::Off, if checks { jobs } else { 1 }).unwrap();
        broker.silence = Some(Duration::from_millis(20));
        broker.work(&mut app, &mut start).unwrap();
        broker.printer.end(&mut app).unwrap();
        drop(broker.slots);
        let _ = app.end(Ok(()));
        for player in players {
            let _ = player.join().unwrap();
        }
        let (mut printed, mut text) = (printed, String::new());
        printed.seek(SeekFrom::Start(0)).unwrap();
        printed.read_to_string(&mut text).unwrap();
        let of_files = text.lines().filter_map(|line| line.split_once(": ")).map(|(path, _)| path);
        let of_files: Vec<_> = of_files.collect();
        let wrong =
            (0..files.len()).find(|at| of_files.get(*at).is_none_or(|own| *own != files[*at]));
        assert_eq!(wrong, None, "seed {seed}: {:?}", text.lines().nth(wrong.unwrap_or(0)));
        assert_eq!(of_files.len(), files.len(), "seed {seed}: {text}");
        assert!(!text.contains("internal error"), "seed {seed}: {text}");
    }
}

/// A worker that asks for a file gets only files that may be shards of the input, and no link. A request beyond the limit on shards
/// is a fault.
#[test]
fn only_shards_are_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("a.zt"), "").unwrap();
    std::fs::write(path("a-s.zt"), "shard").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", path("a-link.zt")).unwrap();
    let call = call(&["hash", "--limit=shards=3", &path("a.zt")]);
    let printed = tempfile::tempfile().unwrap();
    let mut app = App::to_file(printed);
    let mut broker = Broker::of(&mut app, &call, Confinement::Off, 1).unwrap();
    let (own, theirs) = pair().unwrap();
    let (item, handed) = broker.open_next(&mut app, true).unwrap().unwrap();
    let mut running = running(own);
    running.process.send(&handed.packet).unwrap();
    running.tasks.push_back(Task::new(item, &handed));
    drop(handed);
    broker.slots[0] = Some(running);
    let mut received = Received::receive(&theirs).unwrap().unwrap();
    let Some(Reply::Input(Input { number: 0, .. })) = received.message().unwrap() else {
        panic!("no input")
    };
    let mut ask = |name: &str| {
        let want = Want::read(&format!("shard {name} xxh3 00")).unwrap();
        broker.find(0, 0, &want).unwrap();
        let mut received = Received::receive(&theirs).unwrap().unwrap();
        match received.message().unwrap() {
            Some(Reply::Found(found)) => found.map(|found| found.length),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(["s", "link", "t"].map(&mut ask), [Some(5), None, None]);
    let one_more = Want::read("shard s xxh3 00").unwrap();
    assert_eq!(broker.find(0, 0, &one_more).unwrap_err().kind(), io::ErrorKind::InvalidData);
}

/// A worker makes no more files than the limit allows, each once, in order, and all for the same number of shards.
#[test]
fn no_more_files_are_created_than_the_limit_allows() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.safetensors");
    let call =
        call(&["convert", "--shard-size=1", "--limit=shards=2", "in.zt", out.to_str().unwrap()]);
    let outputs = Outputs::of(&call);
    assert!(outputs.create(0, 3).is_err() && outputs.create(1, 2).is_err());
    assert!(outputs.create(0, 2).is_ok() && outputs.create(0, 2).is_err());
    assert!(outputs.create(1, 1).is_err());
    assert!(outputs.create(1, 2).is_ok() && outputs.create(2, 2).is_ok());
    assert!(outputs.create(3, 2).is_err());
}

#[test]
fn text_with_control_characters_is_rejected() {
    let colored = "a\tb\n\u{1b}[1mc\u{1b}[0m é\n";
    assert!(is_clean(colored, true) && !is_clean(colored, false));
    for text in
        ["\r", "\u{7}", "\u{1b}", "\u{1b}[2J", "\u{1b}]0;t", "\u{9b}m", "\u{1b}[1", "\u{7f}"]
    {
        assert!(!is_clean(text, true), "{text:?}");
    }
}
