//! Tests of pools on Linux: with workers that are hostile, that are killed, or that many clients use at the same time.

use std::fs::{self, File};
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use zten_worker::{Budget, Builder, Confinement, Ending, Function, Job, JobError, Pool};
use zten_worker::{StartError, Work};

use super::{ECHO, file};

/// True because workers can be confined on this platform.
pub(crate) const CONFINES: bool = true;

pub(crate) const TESTS: [(&str, fn()); 14] = [
    ("hostile_workers_cost_their_job_only", hostile_workers_cost_their_job_only),
    ("limits_hold", limits_hold),
    ("a_job_that_is_too_long_is_not_temporary", a_job_that_is_too_long_is_not_temporary),
    ("workers_are_confined", workers_are_confined),
    ("a_worker_has_one_job", a_worker_has_one_job),
    ("reused_workers_get_time_for_each_job", reused_workers_get_time_for_each_job),
    ("queues_are_bounded", queues_are_bounded),
    ("jobs_can_be_canceled", jobs_can_be_canceled),
    ("a_killed_worker_is_reported", a_killed_worker_is_reported),
    ("a_worker_killed_while_idle_is_replaced", a_worker_killed_while_idle_is_replaced),
    ("dropping_a_pool_ends_its_jobs", dropping_a_pool_ends_its_jobs),
    ("tickets_are_futures", tickets_are_futures),
    ("programs_without_init_are_no_workers", programs_without_init_are_no_workers),
    ("clients_survive_killed_workers", clients_survive_killed_workers),
];

/// A time limit for steps that take almost no time.
const PLENTY: Duration = Duration::from_secs(60);

/// Writes `bytes` to the socket without using the functions of the crate, as a file that has taken its worker over can.
fn send(bytes: &[u8]) {
    let _ = rustix::io::write(io::stdin(), bytes);
}

/// Waits without end, so that the worker never answers. A confined process may not sleep, but may wait for another thread.
fn wait_forever() -> ! {
    loop {
        thread::park();
    }
}

/// Returns a part of an answer of `length` bytes, encoded as the protocol requires.
fn part(length: usize) -> Vec<u8> {
    postcard::to_allocvec(&(0_u8, "x".repeat(length))).unwrap()
}

/// A function whose argument names the way in which it behaves, such as "panic" or "a flood".
pub(crate) static BEHAVE: Function = Function::new("behave", |work: Work| {
    match String::from_utf8(work.argument).unwrap().as_str() {
        "garbage" => send(&[0xff; 100]),
        "another greeting" => send(&[0, 0, 0]),
        "a long packet" => send(&vec![0; (64 << 10) + 1]),
        "a length beyond the packet" => send(&[0, 255, 1, 7]),
        "a flood" => loop {
            send(&part(60_000));
        },
        "the answer to another job" => send(&[1, 99]),
        "more after the answer" => send(&[1, 0, 0, 1, 7]),
        "half an answer" => {
            send(&part(100));
            std::process::exit(0);
        }
        "nothing" => std::process::exit(3),
        "panic" => panic!("as told"),
        "abort" => std::process::abort(),
        "a socket" => drop(std::net::UdpSocket::bind("127.0.0.1:0")),
        "a thread" => drop(thread::Builder::new().spawn(|| ())),
        "a descriptor" => {
            let packet = zten_worker::process::Packet::of(&0_u8, None).unwrap();
            let _ = packet.send(io::stdin());
        }
        "write" => {
            let mut file = &work.files[0].file;
            let _ = io::Write::write_all(&mut file, b"more");
        }
        "memory" => {
            let mut all = Vec::new();
            loop {
                all.extend(vec![1_u8; 1 << 20]);
            }
        }
        "spin" => loop {
            std::hint::spin_loop();
        },
        "a while" => {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(700) {
                std::hint::spin_loop();
            }
            return Ok(Vec::new());
        }
        "open" => {
            let error = File::open("/etc/hostname").unwrap_err();
            return Ok(error.raw_os_error().unwrap().to_string().into_bytes());
        }
        "environment" => return Ok(std::env::vars_os().count().to_string().into_bytes()),
        "process" => return Ok(std::process::id().to_string().into_bytes()),
        "wait" => {}
        other => panic!("unknown behavior: {other}"),
    }
    wait_forever()
});

fn behave(behavior: &str) -> Job {
    Job::new(&BEHAVE).argument(behavior)
}

fn one() -> Builder {
    let budget = Budget { deadline: PLENTY, ..Budget::default() };
    Pool::builder(Confinement::Require).workers(1).wait(PLENTY).budget(budget)
}

fn echoes(pool: &Pool) {
    assert_eq!(pool.run(Job::new(&ECHO).argument("still")).unwrap(), b"still");
}

/// A function that returns whether an error is the expected one.
type Expected<'a> = &'a dyn Fn(&JobError) -> bool;

fn hostile_workers_cost_their_job_only() {
    let pool = one().start().unwrap();
    let answer = |why: &JobError| matches!(why, JobError::Answer(_));
    let ended = |own: Ending| move |why: &JobError| matches!(why, JobError::Ended(ending) if *ending == own);
    let cases: [(&str, Expected<'_>); 16] = [
        ("garbage", &answer),
        ("another greeting", &answer),
        ("a long packet", &answer),
        ("a length beyond the packet", &answer),
        ("a flood", &answer),
        ("the answer to another job", &answer),
        ("more after the answer", &answer),
        ("half an answer", &ended(Ending::Exited(Some(0)))),
        ("nothing", &ended(Ending::Exited(Some(3)))),
        ("panic", &ended(Ending::Panicked)),
        ("abort", &ended(Ending::Aborted)),
        ("a socket", &ended(Ending::ForbiddenCall)),
        ("a thread", &ended(Ending::ForbiddenCall)),
        ("a descriptor", &ended(Ending::ForbiddenCall)),
        ("memory", &ended(Ending::Aborted)),
        ("write", &ended(Ending::Output)),
    ];
    for (behavior, is_expected) in cases {
        let job = behave(behavior).file(file(b""), "x").unwrap();
        // The budget leaves no doubt about which limit ends a worker that asks for memory.
        let budget = Budget { memory: 64 << 20, ..pool.budget() };
        let error = pool.run(job.budget(budget)).unwrap_err();
        assert!(is_expected(&error), "{behavior}: {error:?}");
        echoes(&pool);
    }
}

fn limits_hold() {
    let pool = one().start().unwrap();
    let start = Instant::now();
    let deadline = Duration::from_millis(300);
    for behavior in ["wait", "spin"] {
        let job = behave(behavior).budget(Budget { deadline, ..pool.budget() });
        let error = pool.run(job).unwrap_err();
        assert!(matches!(error, JobError::Deadline(own) if own == deadline), "{error:?}");
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());

    let job = behave("spin").budget(Budget { processor_time: Duration::ZERO, ..pool.budget() });
    let error = pool.run(job).unwrap_err();
    assert!(matches!(error, JobError::Ended(Ending::ProcessorTime)), "{error:?}");
    assert!(error.to_string().contains("processor time"), "{error}");
    echoes(&pool);
}

/// Checks that a job that no worker can receive is not reported as a worker that cannot be started, which may change.
fn a_job_that_is_too_long_is_not_temporary() {
    let pool = one().start().unwrap();
    let error = pool.run(Job::new(&ECHO).argument(vec![0; 64 << 20])).unwrap_err();
    assert!(matches!(error, JobError::TooLong) && !error.is_temporary(), "{error:?}");
    echoes(&pool);
}

fn workers_are_confined() {
    let pool = one().start().unwrap();
    // The function answers with the error number of opening a file: EACCES (13), which the filter returns.
    assert_eq!(pool.run(behave("open")).unwrap(), b"13");
    assert_eq!(pool.run(behave("environment")).unwrap(), b"0");
}

fn a_worker_has_one_job() {
    let processes = |jobs| {
        let pool = one().jobs_per_worker(jobs).start().unwrap();
        let mut seen: Vec<_> = (0..4).map(|_| pool.run(behave("process")).unwrap()).collect();
        seen.sort();
        seen.dedup();
        seen.len()
    };
    assert_eq!((processes(1), processes(2), processes(4)), (4, 2, 1));
}

/// Checks that each job of a reused worker gets its own processor time, although the kernel counts the time over all jobs, and that
/// a job that uses more is still ended.
fn reused_workers_get_time_for_each_job() {
    let budget =
        Budget { processor_time: Duration::from_secs(1), deadline: PLENTY, ..Budget::default() };
    let pool = one().budget(budget).jobs_per_worker(9).start().unwrap();
    for _ in 0..5 {
        pool.run(behave("a while")).unwrap();
    }
    let error = pool.run(behave("spin")).unwrap_err();
    assert!(matches!(error, JobError::Ended(Ending::ProcessorTime)), "{error:?}");
}

/// Waits until a worker of `pool` does a job.
fn is_running(pool: &Pool) {
    while pool.load().running == 0 {
        thread::yield_now();
    }
}

fn queues_are_bounded() {
    let wait = Duration::from_millis(200);
    let pool = one().queue(1).wait(wait).start().unwrap();
    let blocked = pool.submit(behave("wait")).unwrap();
    is_running(&pool);
    let waiting = pool.submit(Job::new(&ECHO)).unwrap();
    assert!(matches!(pool.submit(Job::new(&ECHO)), Err(JobError::QueueFull)));
    assert_eq!(pool.load().waiting, 1);
    // Nobody takes the job, and it ends although its worker is busy.
    let error = waiting.wait().unwrap_err();
    assert!(matches!(error, JobError::Waited(own) if own == wait) && error.is_temporary());
    drop(blocked);
    // The worker is killed, because nobody waits for its answer.
    while pool.load().running > 0 {
        thread::yield_now();
    }
    echoes(&pool);
}

fn jobs_can_be_canceled() {
    let pool = one().start().unwrap();
    let running = pool.submit(behave("wait")).unwrap();
    is_running(&pool);
    let waiting = pool.submit(Job::new(&ECHO)).unwrap();
    waiting.cancel();
    assert!(matches!(waiting.wait(), Err(JobError::Canceled)));
    running.cancel();
    let start = Instant::now();
    assert!(matches!(running.wait(), Err(JobError::Canceled)));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    echoes(&pool);
}

/// Returns the processes that this one has started and has not waited for, dead or alive.
fn children() -> Vec<Pid> {
    states().into_iter().map(|(child, _)| child).collect()
}

/// Returns the processes that this one has started and has not waited for, each with its state: a dead process has the state `Z`.
fn states() -> Vec<(Pid, String)> {
    let own = std::process::id().to_string();
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let state = |number: i32| {
        // The name of the program may hold anything in brackets; the state and the parent follow.
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        let mut fields = stat.rsplit(") ").next()?.split(' ');
        let (state, parent) = (fields.next()?.to_owned(), fields.next()?);
        (parent == own).then_some((Pid::from_raw(number)?, state))
    };
    numbers.filter_map(state).collect()
}

fn kill(process: Pid) {
    let _ = kill_process(process, Signal::KILL);
}

fn a_killed_worker_is_reported() {
    let pool = one().start().unwrap();
    let ticket = pool.submit(behave("wait")).unwrap();
    is_running(&pool);
    // The worker is running, but may not have received its job yet. If it were killed before, another worker would do the
    // job, so the test waits.
    thread::sleep(Duration::from_millis(300));
    children().into_iter().for_each(kill);
    let error = ticket.wait().unwrap_err();
    assert!(matches!(error, JobError::Ended(Ending::Signal(9))), "{error:?}");
    assert_eq!(error.to_string(), "the worker ended without an answer: it was killed (SIGKILL)");
    echoes(&pool);
}

fn a_worker_killed_while_idle_is_replaced() {
    let pool = one().start().unwrap();
    for _ in 0..20 {
        // Waits until the worker is dead: a dying worker could still take a job, and the job would get the blame.
        loop {
            let states = states();
            if !states.is_empty() && states.iter().all(|(_, state)| state == "Z") {
                break;
            }
            for (child, _) in states {
                kill(child);
            }
        }
        echoes(&pool);
    }
}

fn dropping_a_pool_ends_its_jobs() {
    let open = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open();
    let pool = one().start().unwrap();
    let running = pool.submit(behave("wait")).unwrap();
    is_running(&pool);
    let waiting = pool.submit(Job::new(&ECHO).file(file(b""), "x").unwrap()).unwrap();
    drop(pool);
    assert!(matches!(running.wait(), Err(JobError::Stopped)));
    assert!(matches!(waiting.wait(), Err(JobError::Stopped)));
    assert_eq!((open(), children()), (before, Vec::new()));
}

fn tickets_are_futures() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let pool = one().workers(2).start().unwrap();
    runtime.block_on(async {
        let submit = |text: &str| pool.submit(Job::new(&ECHO).argument(text)).unwrap();
        let (one, two) = tokio::join!(submit("one"), submit("two"));
        assert_eq!((one.unwrap(), two.unwrap()), (b"one".to_vec(), b"two".to_vec()));
    });
    // A ticket that is polled without being ready stays pending.
    let mut ticket = pin!(pool.submit(behave("wait")).unwrap());
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(ticket.as_mut().poll(&mut context), Poll::Pending));
}

fn programs_without_init_are_no_workers() {
    for program in ["/bin/true", "/bin/cat"] {
        let started = one().program(program, []).start();
        assert!(matches!(started, Err(StartError::Ended(_))), "{program}: {started:?}");
    }
    let started = one().program("/no/such/program", []).start();
    assert!(matches!(started, Err(StartError::NotStarted(_))), "{started:?}");
}

/// Returns the memory that this process uses, in KiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Checks that 64 clients, which send jobs while workers are killed, get only right answers and errors that a worker was killed,
/// and that memory grows by less than 64 MiB.
fn clients_survive_killed_workers() {
    const CLIENTS: usize = 64;
    let seconds = std::env::var("ZTEN_WORKER_SECONDS").ok();
    let seconds = seconds.map_or(1, |seconds| seconds.parse().unwrap());
    let pool = one().workers(4).queue(CLIENTS).start().unwrap();
    let before = resident();
    let (is_over, answered, killed) =
        (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (pool, is_over) = (&pool, &is_over);
            let (answered, killed) = (&answered, &killed);
            scope.spawn(move || {
                for number in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    let content = format!("{client} {number}").repeat(1000);
                    let job = Job::new(&ECHO).file(file(content.as_bytes()), "f").unwrap();
                    match pool.run(job) {
                        Ok(answer) => {
                            let expected = format!("f {} {content}", content.len());
                            assert!(answer == expected.as_bytes(), "another client's answer");
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(JobError::Ended(Ending::Signal(9))) => {
                            killed.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => panic!("{error:?}"),
                    }
                }
            });
        }
        let end = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < end {
            children().into_iter().for_each(kill);
            thread::sleep(Duration::from_millis(20));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let (answered, killed) = (answered.into_inner(), killed.into_inner());
    let grown = resident().saturating_sub(before);
    println!("{answered} answers, {killed} killed workers, {grown} KiB more memory");
    assert!(answered > 0 && killed > 0);
    assert!(grown < 64 << 10, "{grown} KiB");
}
