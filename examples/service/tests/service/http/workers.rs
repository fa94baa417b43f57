//! Files that take over their worker, and workers that end.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use zten_service::http::{Quota, probe};
use zten_service::{Service, Settings};

use super::client::{Client, get, post, sized_request};
use super::served::{Served, is_free_again, patient, plenty};

/// One worker at a time: if it were not given back, there would be none.
fn one() -> Quota {
    Quota { workers: 1, files: 1, queue: 0, ..plenty() }
}

/// A file whose answer could come from an honest worker.
const HONEST: &[u8] = b"no place";

#[test]
fn a_worker_that_is_lost_is_lost_alone() {
    let served = Served::lying(patient(), one());
    for behavior in ["nothing", "abort", "socket", "memory", "endless", "no json", "unknown rule"] {
        let answer = post(served.address, behavior.as_bytes());
        assert_eq!((answer.status, answer.text("verdict")), (500, "error"), "{behavior}");
        assert!(answer.text("message").starts_with("the worker is lost: "), "{answer:?}");
        assert_eq!(post(served.address, HONEST).status, 200, "after {behavior}");
    }
}

#[test]
fn a_file_cannot_change_any_more() {
    let served = Served::lying(patient(), one());
    assert_eq!(post(served.address, b"sealed input").status, 200);
}

#[test]
fn a_worker_that_takes_too_long_is_ended() {
    let hurried = Settings { time: Duration::from_millis(300), ..patient() };
    let served = Served::lying(hurried, one());
    let answer = post(served.address, b"sleep");
    assert_eq!((answer.status, answer.text("verdict")), (504, "error"));
    assert!(answer.text("message").contains("it took too long"), "{answer:?}");
}

/// The process that has this argument.
fn process(argument: &str) -> Option<Pid> {
    let processes = fs::read_dir("/proc").unwrap();
    processes.filter_map(Result::ok).find_map(|entry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let mut arguments = line.split(|byte| *byte == 0).skip(1);
        arguments.any(|own| own == argument.as_bytes()).then(|| Pid::from_raw(number))?
    })
}

/// A front, and a worker of it that does nothing until it is killed.
struct Asleep {
    served: Served,
    client: Client,
    worker: Pid,
}

impl Asleep {
    /// `number` tells its worker from those of other tests.
    fn new(number: u64, quota: Quota) -> Self {
        let memory = (number << 30) + u64::from(std::process::id());
        let served = Served::lying(Settings { memory, ..patient() }, quota);
        let mut client = Client::new(served.address).unwrap();
        client.send(&sized_request(b"sleep")).unwrap();
        let worker = loop {
            if let Some(worker) = process(&memory.to_string()) {
                break worker;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        Self { served, client, worker }
    }
}

/// Other files are sent, and not taken.
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
    let Asleep { served, client, worker } = Asleep::new(1, one());
    assert_eq!(get(served.address, "/health").text("status"), "busy");
    is_busy(&served);
    kill(worker);
    let answer = client.answer();
    assert_eq!((answer.status, answer.text("verdict")), (500, "error"));
    assert!(answer.text("message").contains("signal: 9"), "{answer:?}");
    assert_eq!(post(served.address, HONEST).status, 200);
}

/// The client may come again if all workers are busy for too long.
#[test]
fn a_file_waits_for_a_worker_so_long_and_no_longer() {
    let quota = Quota { files: 2, wait: Duration::from_millis(1), ..one() };
    let Asleep { served, client, worker } = Asleep::new(2, quota);
    is_busy(&served);
    kill(worker);
    assert_eq!(client.answer().status, 500);
}

/// A client that leaves has its file checked all the same: it cannot have more workers by that.
#[test]
fn a_client_that_leaves_keeps_its_worker() {
    let Asleep { served, client, worker } = Asleep::new(3, one());
    drop(client);
    is_busy(&served);
    kill(worker);
    assert!(is_free_again(&served));
}

#[test]
fn health_is_that_of_a_worker() {
    let served = Served::honest(plenty());
    let answer = get(served.address, "/health");
    assert_eq!((answer.status, answer.text("status")), (200, "ok"));

    // A service whose workers answer nothing of any form, and one that has none.
    for program in ["/bin/true", "/no/such/program"] {
        let service = Service::new(program, patient());
        assert!(probe(&service).is_err());
        let served = Served::new(service, plenty());
        let answer = get(served.address, "/health");
        assert_eq!((answer.status, answer.text("status")), (503, "failing"), "{program}");
        assert!(answer.text("message").contains("worker"), "{answer:?}");
        let status = post(served.address, b"x").status;
        assert!(status >= 500, "{status}");
    }
}
