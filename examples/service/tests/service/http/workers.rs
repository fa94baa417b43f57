//! Tests of files that take over their worker, and of workers that end.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use zten_service::http::Quota;
use zten_service::{Service, Settings};
use zten_worker::Budget;

use super::client::{Client, get, get_text, post, sized_request};
use super::served::{Served, is_free_again, lying, patient, plenty, valid};

/// Returns limits that allow one file at a time.
fn one() -> Quota {
    Quota { files: 1, queue: 0, ..plenty() }
}

/// Returns settings with one worker, so that a worker that is not returned to the pool blocks the next file.
fn alone() -> Settings {
    Settings { workers: 1, ..patient() }
}

/// A file for which the lying worker gives an answer that an honest worker could give.
const HONEST: &[u8] = b"honest";

#[test]
fn a_worker_that_is_lost_is_lost_alone() {
    let served = Served::lying(alone(), one());
    for (behavior, why) in [
        ("nothing", "exit status 0"),
        ("panic", "panicked"),
        ("abort", "SIGABRT"),
        ("socket", "forbidden system call"),
        ("memory", "out of memory"),
        ("endless", "more than 16777216 bytes"),
        ("no json", "invalid answer"),
        ("deep json", "invalid answer"),
        ("more json", "invalid answer"),
        ("unknown field", "unknown field `more`"),
        ("unknown rule", "unknown rule"),
        ("unknown format", "unknown format"),
        ("unknown format of a rejection", "unknown format"),
        ("a false note", "a note names no rule, or a rule that makes no notes"),
        ("a note as the reason", "the rule of a rejection makes only notes"),
        ("an error", "out of \\u{1b}[2Jideas"),
    ] {
        let answer = post(served.address, behavior.as_bytes());
        assert_eq!((answer.status, answer.text("verdict")), (500, "error"), "{behavior}");
        assert!(answer.text("message").contains(why), "{behavior}: {answer:?}");
        assert_eq!(post(served.address, HONEST).status, 200, "after {behavior}");
    }
    let lost = get_text(served.address, "/metrics");
    for line in [
        "zten_checks_lost_total{reason=\"forbidden-call\"} 1\n",
        "zten_checks_lost_total{reason=\"aborted\"} 2\n",
        "zten_requests_total{status=\"500\"} 16\n",
    ] {
        assert!(lost.contains(line), "{lost}");
    }
}

/// Checks that an answer in the right form is accepted, so that the answers in the tests above were rejected for their
/// lies.
#[test]
fn an_answer_of_the_right_form_is_taken() {
    let served = Served::lying(alone(), one());
    assert_eq!(post(served.address, HONEST).text("verdict"), "valid");
    let answer = post(served.address, b"honest rejection");
    assert_eq!((answer.text("verdict"), answer.text("rule")), ("invalid", "file-size"));
}

#[test]
fn a_worker_that_takes_too_long_is_ended() {
    let deadline = Duration::from_millis(300);
    let budget = Budget { deadline, ..patient().budget };
    let served = Served::lying(Settings { budget, ..alone() }, one());
    for behavior in [&b"sleep"[..], b"spin"] {
        let answer = post(served.address, behavior);
        assert_eq!((answer.status, answer.text("verdict")), (504, "error"));
        assert!(answer.text("message").contains("no answer within 300ms"), "{answer:?}");
    }
}

/// Returns the process that has this argument.
fn process(argument: &str) -> Option<Pid> {
    let processes = fs::read_dir("/proc").unwrap();
    processes.filter_map(Result::ok).find_map(|entry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let mut arguments = line.split(|byte| *byte == 0).skip(1);
        arguments.any(|own| own == argument.as_bytes()).then(|| Pid::from_raw(number))?
    })
}

/// A server whose only worker does nothing until it is killed.
struct Asleep {
    served: Served,
    client: Client,
    worker: Pid,
}

impl Asleep {
    /// Starts the server. `number` identifies its worker among those of other tests.
    fn new(number: u64, settings: Settings, quota: Quota) -> Self {
        let argument = format!("{}-{number}", std::process::id());
        let served = Served::new(lying(settings, [argument.clone().into()]), quota);
        let mut client = Client::new(served.address).unwrap();
        client.send(&sized_request(b"sleep")).unwrap();
        while !get_text(served.address, "/metrics").contains("zten_workers_busy 1\n") {
            std::thread::sleep(Duration::from_millis(1));
        }
        // A worker that is killed before it has received its file would be replaced without an error, so the test waits
        // until the file has arrived.
        std::thread::sleep(Duration::from_millis(300));
        let worker = process(&argument).unwrap();
        Self { served, client, worker }
    }
}

/// Checks that the server rejects other files because it is busy.
fn is_busy(served: &Served) {
    for _ in 0..3 {
        let other = post(served.address, HONEST);
        assert!(other.status == 503 && other.has("retry-after: 1"), "{other:?}");
    }
}

fn kill(worker: Pid) {
    kill_process(worker, Signal::KILL).unwrap();
}

#[test]
fn a_worker_that_is_killed_costs_its_file_alone() {
    let Asleep { served, client, worker } = Asleep::new(1, alone(), one());
    assert_eq!(get(served.address, "/health").text("status"), "busy");
    is_busy(&served);
    kill(worker);
    let answer = client.answer();
    assert_eq!((answer.status, answer.text("verdict")), (500, "error"));
    assert!(answer.text("message").contains("SIGKILL"), "{answer:?}");
    assert_eq!(post(served.address, HONEST).status, 200);
}

/// Checks that a client is told to return later if all workers are busy for too long.
#[test]
fn a_file_waits_for_a_worker_so_long_and_no_longer() {
    let quota = Quota { files: 2, ..one() };
    let settings = Settings { wait: Duration::from_millis(300), ..alone() };
    let Asleep { served, client, worker } = Asleep::new(2, settings, quota);
    is_busy(&served);
    kill(worker);
    assert_eq!(client.answer().status, 500);
}

/// Checks that the worker of a client that leaves is ended, and that the next client gets another worker.
#[test]
fn a_client_that_leaves_gives_its_worker_back() {
    let Asleep { served, client, .. } = Asleep::new(3, alone(), one());
    is_busy(&served);
    drop(client);
    assert!(is_free_again(&served));
}

#[test]
fn health_is_that_of_a_worker() {
    let served = Served::honest(plenty());
    let answer = get(served.address, "/health");
    assert_eq!((answer.status, answer.text("status")), (200, "ok"));

    // The workers of the first service give no useful answers. The second service can store no files, because its
    // folder does not exist.
    let served = Served::lying(alone(), plenty());
    let answer = get(served.address, "/health");
    assert_eq!((answer.status, answer.text("status")), (503, "failing"));
    assert!(answer.text("message").contains("no such lie"), "{answer:?}");
    let served = Served::honest(Quota { spool: "/no/such/folder".into(), ..plenty() });
    assert_eq!(get(served.address, "/health").text("status"), "failing");
    assert_eq!(post(served.address, b"x").status, 507);
}

/// Checks that each answer is right or reports a killed worker while workers are killed and clients send files.
#[test]
fn clients_survive_killed_workers() {
    const CLIENTS: usize = 16;
    let argument = format!("{}-killed", std::process::id());
    let honest = env!("CARGO_BIN_EXE_zten-service").into();
    let program = Some((honest, vec![argument.clone().into()]));
    let service = Service::start(Settings { program, ..patient() }).unwrap();
    let served = Served::new(service, plenty());
    let file = valid();
    let (killed, right) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                for _ in 0..10 {
                    let answer = post(served.address, &file);
                    if answer.status == 200 {
                        assert_eq!(answer.text("verdict"), "valid");
                        right.fetch_add(1, Ordering::Relaxed);
                    } else {
                        assert_eq!(answer.status, 500, "{answer:?}");
                        assert!(answer.text("message").contains("SIGKILL"), "{answer:?}");
                        killed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        scope.spawn(|| {
            while killed.load(Ordering::Relaxed) + right.load(Ordering::Relaxed) < CLIENTS * 10 {
                if let Some(worker) = process(&argument) {
                    // A worker can end between the time it is found and the signal.
                    let sent = kill_process(worker, Signal::KILL);
                    assert!(matches!(sent, Ok(()) | Err(Errno::SRCH)), "{sent:?}");
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        });
    });
    assert!(right.into_inner() > 0);
}
