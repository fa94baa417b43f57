//! The broker against workers that were taken over.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::fd::OwnedFd;
use std::thread;

use clap::Parser as _;
use rustix::net::{SendFlags, send};

use super::*;
use crate::args::{Args, Command};
use crate::channel::{self, Received};
use crate::kind::KindNumbers;
use crate::message::{Input, Reply};

/// A source of numbers that are the same for the same seed.
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

    /// Some message, valid or not.
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
            0 => Request::Ready(Some(self.next(u64::MAX))),
            1 => Request::Text(Stream::Output, text[usize::try_from(self.next(6)).unwrap()]),
            2 => Request::Text(Stream::Errors, text[usize::try_from(self.next(6)).unwrap()]),
            3 => Request::Progress(self.next(100), self.next(100)),
            4 => {
                let mut message = postcard::to_allocvec(&(4_u8, number)).unwrap();
                let want = want[usize::try_from(self.next(5)).unwrap()];
                message.extend(postcard::to_allocvec(want).unwrap());
                return message;
            }
            5 => Request::Create(number, 0),
            6 => Request::Read(number, self.next(9), self.next(9)),
            7 => return self.bytes(200),
            _ => {
                let verdict = u8::try_from(self.next(9)).unwrap();
                let kind =
                    KindNumbers { verdict, rule: Some(3), notes: vec![5; usize::from(verdict)] };
                Request::Done(Done { status: Status::Success, kind: Some(kind) })
            }
        };
        postcard::to_allocvec(&request).unwrap()
    }

    /// Plays a worker: sends packets and receives some, until the broker closes the socket.
    fn play(&mut self, socket: &OwnedFd) {
        for _ in 0..self.next(40) {
            let packet: Vec<u8> = (0..=self.next(6)).flat_map(|_| self.message()).collect();
            if send(socket, &packet, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_err() {
                return;
            }
            if self.next(3) == 0 {
                let _ = Received::poll(socket);
            }
        }
    }
}

fn call(arguments: &[&str]) -> Call {
    let arguments = [&["zten"], arguments].concat();
    match Args::parse_from(arguments).command {
        Command::Call(call) => call,
        _ => panic!("not a command that reads files"),
    }
}

/// However a worker behaves, the broker ends, prints no control character, and opens nothing but what may be a shard.
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
            let (own, theirs) = channel::pair().unwrap();
            let mut random = Random(u64::try_from(seed).unwrap() * 1000 + number);
            random.next(2);
            players.push(thread::spawn(move || random.play(&theirs)));
            own
        };
        let mut broker = Broker::of(&mut app, call, Mode::Off, 1).unwrap();
        // Workers that are gone are not replaced without end.
        for number in 0..8 {
            let Some((item, handed)) = broker.open_next(&mut app, true).unwrap() else { break };
            let task = Task::new(item, &handed);
            let running = Running::new(None, start(number), zten_sandbox::Budget::default(), 1);
            if running.send(&handed.packet).is_err() {
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

/// A worker that asks for a file gets what may be a shard of the input, and nothing else.
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
    let mut broker = Broker::of(&mut app, &call, Mode::Off, 1).unwrap();
    let (own, theirs) = channel::pair().unwrap();
    let (item, handed) = broker.open_next(&mut app, true).unwrap().unwrap();
    let mut running = Running::new(None, own, zten_sandbox::Budget::default(), 1);
    running.send(&handed.packet).unwrap();
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

/// A worker makes no more files than the limit allows, each once and in order.
#[test]
fn only_so_many_files_are_created() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.safetensors");
    let call =
        call(&["convert", "--shard-size=1", "--limit=shards=2", "in.zt", out.to_str().unwrap()]);
    let outputs = Outputs::of(&call);
    assert!(outputs.create(0, 3).is_err() && outputs.create(1, 2).is_err());
    assert!(outputs.create(0, 2).is_ok() && outputs.create(0, 2).is_err());
    assert!(outputs.create(1, 2).is_ok() && outputs.create(2, 2).is_ok());
    assert!(outputs.create(3, 2).is_err());
}

#[test]
fn text_is_clean() {
    let colored = "a\tb\n\u{1b}[1mc\u{1b}[0m é\n";
    assert!(is_clean(colored, true) && !is_clean(colored, false));
    for text in
        ["\r", "\u{7}", "\u{1b}", "\u{1b}[2J", "\u{1b}]0;t", "\u{9b}m", "\u{1b}[1", "\u{7f}"]
    {
        assert!(!is_clean(text, true), "{text:?}");
    }
}
